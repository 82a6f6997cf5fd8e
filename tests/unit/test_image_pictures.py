"""Pictures of images: labelled grids, frames with heat, strips and animations, and files that say what made them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import infogain
from infogain import InputError
from infogain.images.generate_images import GeneratedImage
from infogain.images.image_model import ImageModel, load_image_model
from infogain.images.picture_grid import EMPTY, GAP, LINE, PAPER, GridCell, columns_of, in_rows, labelled_grid
from infogain.images.png_recipe import KEY, magnified, read_png, save_png, scale_for
from infogain.images.traced_image import traced
from infogain.images.unmasking import (
    HEAT,
    UNKNOWN,
    colour,
    frame,
    has_unknown,
    heat_legend,
    hottest,
    moments,
    save_gif,
    spread,
)
from infogain.images.unmasking import Moment as Shown
from infogain.loop.trace import Trace
from tests.image_models import write_classes, write_codec, write_mmada

pytest.importorskip("transformers")
pillow = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ImageModel:
    return load_image_model(write_classes(tmp_path_factory.mktemp("models") / "classes"))


@pytest.fixture(scope="module")
def made(model: ImageModel) -> GeneratedImage:
    (one,) = infogain.generate_images(model, "trouser", "info-gain", k=3, trace=True)
    return one


def plain(colour: str, width: int = 20, height: int = 10) -> Any:
    return pillow.new("RGB", (width, height), colour)


def rgb(code: str) -> tuple[int, ...]:
    return tuple(int(code[i : i + 2], 16) for i in (1, 3, 5))


# Files


def test_a_file_says_what_made_it_and_making_it_again_gives_the_same_codes(
    model: ImageModel, made: GeneratedImage, tmp_path: Path
) -> None:
    made.save(tmp_path / "one.png")
    about = read_png(tmp_path / "one.png")
    assert about == json.loads(json.dumps({"version": infogain.__version__, **made.plain()}))
    recipe, seeds = infogain.Recipe.of(about["recipe"]), [about["seed"]]
    (again,) = infogain.generate_images(model, about["prompt"], recipe, seeds=seeds)
    assert again.codes.tolist() == about["codes"]
    with pillow.open(tmp_path / "one.png") as file:
        assert (file.size, file.mode) == ((3, 4), "L")
        assert file.tobytes() == made.image.tobytes()


def test_a_magnified_file_has_squares_for_pixels(made: GeneratedImage, tmp_path: Path) -> None:
    made.save(tmp_path / "large.png", scale=5)
    with pillow.open(tmp_path / "large.png") as file:
        assert file.size == (15, 20)
        assert all(file.getpixel((x, y)) == made.image.getpixel((x // 5, y // 5)) for x in range(15) for y in range(20))
    assert read_png(tmp_path / "large.png")["codes"] == made.codes.tolist()
    for scale in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="scale must be a whole number of at least 1"):
            magnified(made.image, scale)  # type: ignore[arg-type]
    assert [scale_for(size, 160) for size in ((32, 32), (28, 40), (512, 512))] == [5, 6, 1]


def test_files_that_do_not_say_what_made_them_are_refused(tmp_path: Path) -> None:
    plain("red").save(tmp_path / "bare.png")
    (tmp_path / "text.png").write_text("no image")
    for about in ("[1]", "{"):
        from PIL import PngImagePlugin

        words = PngImagePlugin.PngInfo()
        words.add_itxt(KEY, about)
        plain("red").save(tmp_path / "odd.png", pnginfo=words)
        with pytest.raises(InputError, match="must be a PNG or GIF that says how it was made"):
            read_png(tmp_path / "odd.png")
    with pytest.raises(InputError, match="must be a PNG or GIF that says how it was made"):
        read_png(tmp_path / "bare.png")
    for name in ("text.png", "absent.png"):
        with pytest.raises(InputError, match="must be an image that Pillow reads"):
            read_png(tmp_path / name)


def test_a_long_record_and_any_letters_come_back_whole(tmp_path: Path) -> None:
    about = {"prompt": "猫 \u2028 é", "codes": list(range(200_000))}
    save_png(tmp_path / "long.png", plain("red"), about)
    assert read_png(tmp_path / "long.png") == {"version": infogain.__version__, **about}


# Grids


def test_a_grid_holds_every_picture_at_its_place() -> None:
    cells = [[GridCell(plain("red"), "a"), GridCell(plain("blue"), "b")], [GridCell(plain("lime")), GridCell(None)]]
    whole = labelled_grid(cells)
    assert whole.size == (GAP + 2 * (20 + GAP), GAP + LINE + 10 + GAP + 10 + GAP)
    top, under = GAP + LINE, GAP + LINE + 10 + GAP
    places = [(GAP, top), (GAP + 20 + GAP, top), (GAP, under)]
    for (x, y), name in zip(places, ((255, 0, 0), (0, 0, 255), (0, 255, 0)), strict=True):
        box = whole.crop((x, y, x + 20, y + 10))
        assert box.getcolors() == [(200, name)]
    missing = whole.crop((GAP + 20 + GAP, under, GAP + 40 + GAP, under + 10))
    assert rgb(EMPTY) in [shade for _, shade in missing.getcolors() or ()]
    assert whole.crop((0, 0, whole.width, GAP)).getcolors() == [(whole.width * GAP, rgb(PAPER))]


def test_names_are_drawn_and_take_place() -> None:
    cells = [[GridCell(plain("red", 100, 50), "a name"), GridCell(plain("red", 100, 50), "one that is much too long")]]
    bare, named = labelled_grid([[GridCell(cell.picture) for cell in cells[0]]]), labelled_grid(cells)
    assert bare.height == GAP + 50 + GAP
    assert named.height == bare.height + 2 * LINE, "the longer name is broken into two lines"
    beside = labelled_grid(cells, ["a row of pictures"])
    assert beside.width > named.width
    strip_of_names = beside.crop((GAP, 0, beside.width - named.width, beside.height))
    assert len(strip_of_names.getcolors() or ()) > 1, "something is written beside the row"
    legend = plain("black", 400, 12)
    explained = labelled_grid(cells, below=legend)
    assert explained.size == (400 + 2 * GAP, named.height + 12 + GAP)
    endless = labelled_grid([[GridCell(plain("red", 100, 50), "word " * 200)]])
    assert endless.height == GAP + 4 * LINE + 50 + GAP
    assert labelled_grid([[GridCell(plain("red", 3, 3), "unbreakable")]]).width == 3 + 2 * GAP


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (5, 5), (6, 3), (7, 3), (8, 4), (10, 5), (16, 4), (64, 8)])
def test_pictures_of_one_kind_stand_in_about_as_many_rows_as_columns(count: int, columns: int) -> None:
    assert columns_of(count) == columns
    rows = in_rows([GridCell(None, str(i)) for i in range(count)])
    assert [cell.label for row in rows for cell in row] == [str(i) for i in range(count)]
    assert {len(row) for row in rows[:-1]} <= {columns}


# How an image came about


def test_a_trace_knows_its_image(model: ImageModel, made: GeneratedImage, tmp_path: Path) -> None:
    trace = traced(model, made)
    assert trace.image is not None
    assert (trace.image.height, trace.image.width, trace.image.starts) == (4, 3, [1])
    assert trace.rows[0][1:] == made.codes.flatten().tolist()
    assert trace.words is not None
    assert trace.words[trace.canvas[0][0]] == "trouser"
    assert all(trace.words[code] == str(code) for code in trace.rows[0][1:])
    trace.save(tmp_path / "trace.jsonl")
    assert Trace.load(tmp_path / "trace.jsonl") == trace
    with pytest.raises(InputError, match="must have a trace"):
        traced(model, replace(made, trace=None))
    with pytest.raises(InputError, match="must be of one image"):
        moments(replace(trace, image=None))


def test_the_place_of_an_image_is_behind_its_prompt(tmp_path: Path) -> None:
    mmada = load_image_model(write_mmada(tmp_path / "mmada"), write_codec(tmp_path / "magvit"))
    prompts = ["the cat sat", "hello"]
    for one in infogain.generate_images(mmada, prompts, "entropy", size=(8, 12), k=2, guidance=0.0, trace=True):
        trace = traced(mmada, one)
        assert trace.image is not None
        first = trace.image.starts[0]
        found = [token - mmada.layout.first_code for token in trace.rows[0][first : first + 6]]
        assert found == one.codes.flatten().tolist()
        assert [len(moment.heat) for moment in moments(trace)] == [6, 4, 2, 0]


@pytest.mark.parametrize("sampler", ["info-gain", "info-gain-beam", "best-of-n", "entropy"])
def test_moments_tell_what_was_masked_before_each_step(model: ImageModel, sampler: str) -> None:
    (one,) = infogain.generate_images(model, "trouser", sampler, k=5, trace=True)
    told = moments(traced(model, one))
    revealed = one.revealed.flatten().tolist()
    for step, moment in enumerate(told):
        assert set(moment.heat) == {i for i, written in enumerate(revealed) if written >= step}
        assert all(heat is not None and 0 <= heat <= math.log(5) + 1e-5 for heat in moment.heat.values())
    assert len(told) == 4
    assert hottest([told]) == max(heat for moment in told for heat in moment.heat.values() if heat is not None)


def test_codes_of_blocks_that_are_not_open_have_no_heat(model: ImageModel) -> None:
    (one,) = infogain.generate_images(model, "trouser", "entropy", k=3, block=6, trace=True)
    told = moments(traced(model, one))
    assert [heat is None for heat in told[0].heat.values()] == [False] * 6 + [True] * 6
    assert has_unknown([told])
    assert not has_unknown([told[2:]])
    assert heat_legend(1.6, blocks=True).width > heat_legend(1.6).width


def test_a_frame_shows_heat_where_codes_are_masked_and_the_image_elsewhere() -> None:
    finished = magnified(pillow.new("L", (3, 2), 77), 4)
    shown = frame(finished, (2, 3), Shown({0: 0.0, 4: 2.0, 5: None}), 2.0)
    corners = [shown.getpixel((4 * x + 1, 4 * y + 1)) for y in range(2) for x in range(3)]
    grey = (77, 77, 77)
    assert corners == [HEAT[0], grey, grey, grey, HEAT[-1], UNKNOWN]
    assert shown.crop((0, 0, 4, 4)).getcolors() == [(16, HEAT[0])]
    assert finished.getpixel((0, 0)) == 77, "the finished image is left alone"


def test_colours_grow_darker_with_entropy() -> None:
    shades = [colour(heat / 20, 1.0) for heat in range(21)]
    brightness = [0.3 * red + 0.59 * green + 0.11 * blue for red, green, blue in shades]
    assert brightness == sorted(brightness, reverse=True)
    assert (colour(-1.0, 1.0), colour(5.0, 1.0)) == (HEAT[0], HEAT[-1])


def test_moments_of_a_strip_are_spread_from_the_first_to_the_last() -> None:
    assert spread(17, 6) == [0, 3, 6, 10, 13, 16]
    assert spread(6, 6) == [0, 1, 2, 3, 4, 5]
    assert spread(2, 6) == [0, 1]


def test_an_animation_has_a_frame_per_moment_and_holds_the_last(tmp_path: Path) -> None:
    path = tmp_path / "a.gif"
    save_gif(path, [plain(name) for name in ("red", "lime", "blue")], "what it is about: é" + "." * 1000)
    with pillow.open(path) as file:
        assert (file.n_frames, file.info["loop"]) == (3, 0)
        assert file.info["comment"].decode() == "what it is about: é" + "." * 1000
        seen = []
        for i in range(3):
            file.seek(i)
            seen.append((file.convert("RGB").getpixel((5, 5)), file.info["duration"]))
    assert seen == [((255, 0, 0), 500), ((0, 255, 0), 500), ((0, 0, 255), 2000)]
