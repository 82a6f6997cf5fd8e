"""`infogain image`, and `infogain compare` of images: every flag does something, and mistakes cost nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import infogain
from infogain import Recipe, Trace
from infogain.cli import image_output, planned_images
from infogain.cli.model import IMAGE_DEFAULT
from infogain.errors import NumericsError
from infogain.images.generate_images import decode_images
from infogain.images.image_model import load_image_model
from infogain.images.picture_grid import EMPTY
from infogain.images.png_recipe import read_png, save_png
from infogain.images.unmasking import HEAT
from tests.e2e.test_cli import TERMINAL, ok, refused, run
from tests.image_models import CLASSES, CODES, write_classes, write_codec, write_mmada
from tests.parity.checkpoints import write_checkpoint

pytest.importorskip("transformers")
pillow = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    write_classes(path / "classes")
    write_classes(path / "coded", replace(CLASSES, codes=CODES, height=2, width=2, channels=3), codec=True)
    write_mmada(path / "mmada")
    write_codec(path / "magvit")
    return path


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INFOGAIN_MODEL", raising=False)


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def size(path: Path | str) -> tuple[int, int]:
    with pillow.open(path) as file:
        width, height = file.size
        return width, height


def colours(path: Path | str) -> set[Any]:
    with pillow.open(path) as file:
        return {shade for _, shade in file.convert("RGB").getcolors(1 << 24)}


# Single images


def test_an_image_is_a_file_that_says_how_to_make_it_again(models: Path, tmp_path: Path) -> None:
    (line,) = lines(ok("image", "Ankle-Boot", "-m", models / "classes", "--sampler", "info-gain", "-k", 3))
    about = read_png("ankle-boot.png")
    assert size("ankle-boot.png") == (3, 4)
    assert {key: about[key] for key in line if key in about} == {k: v for k, v in line.items() if k in about}
    assert (line["number"], line["file"], "codes" in line) == (0, "ankle-boot.png", False)
    model = load_image_model(models / "classes")
    (again,) = infogain.generate_images(model, about["prompt"], Recipe.of(about["recipe"]), seeds=[about["seed"]])
    assert again.codes.tolist() == about["codes"]
    assert json.loads(ok("image", "--read", "ankle-boot.png")) == about
    ok(
        "image",
        "ankle boot",
        "-m",
        models / "classes",
        "--sampler",
        "info-gain",
        "-k",
        3,
        "--scale",
        8,
        "--out",
        "l.png",
    )
    assert size("l.png") == (24, 32)
    assert read_png("l.png")["codes"] == about["codes"]


def test_an_image_is_made_again_from_its_file_alone(models: Path, tmp_path: Path) -> None:
    flags = ["-m", models / "mmada", "--codec", models / "magvit", "--size", "8,12", "--sampler", "info-gain", "--n", 3]
    ok("image", "the cat sat", *flags, "--steps", 3, "--guidance", 1.5, "--count", 2, "--folder", "each")
    old = read_png("each/0001.png")
    ok("image", "--like", "each/0001.png")
    assert read_png("the-cat-sat.png") == old
    ok("image", "--like", "each/0001.png", "--steps", 2, "--seed", 4, "--size", 8, "--out", "other.png")
    new = read_png("other.png")
    assert (new["recipe"]["schedule"]["count"], new["recipe"]["sampler"]) == (2, old["recipe"]["sampler"])
    assert (new["size"], new["prompt"], new["seed"] != old["seed"]) == ([8, 8], "the cat sat", True)
    ok("image", "trouser", "-m", models / "classes", "-k", 5)
    ok("image", "T-shirt", "--like", "trouser.png", "--count", 2, "--out", "two.png")
    (first, second) = read_png("two.png")["images"]
    assert (first["prompt"], first["recipe"], first["seed"]) == (
        "T-shirt",
        second["recipe"],
        read_png("trouser.png")["seed"],
    )
    assert "two.png holds several" in refused("image", "--like", "two.png")
    shown, mask = given(tmp_path)
    parts = ["--image", shown, "--mask", mask]
    ok("image", "trouser", "-m", models / "classes", *parts, "--out", "part.png")
    assert "name it again with --image" in refused("image", "--like", "part.png")
    ok("image", "--like", "part.png", *parts, "--out", "again.png")
    assert read_png("again.png") == read_png("part.png")
    assert "must be an image" in refused("image", "--like", "absent.png")


def test_a_picture_without_a_name_takes_one_that_is_free(models: Path, tmp_path: Path) -> None:
    for seed in range(3):
        ok("image", "T-shirt", "-m", models / "classes", "--seed", seed)
    assert sorted(path.name for path in tmp_path.glob("*.png")) == ["t-shirt-2.png", "t-shirt-3.png", "t-shirt.png"]
    ok("image", "", "-m", models / "classes")
    assert read_png("image.png")["prompt"] == ""


def test_on_a_terminal_costs_are_printed(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_output, "sys", Watched())
    shown = run("image", "trouser", "-m", models / "classes", "-k", 4, "--count", 2, env={**TERMINAL, "NO_COLOR": "1"})
    assert shown.exit_code == 0, shown.output
    assert "image 2" in shown.stdout
    assert "token-forwards  columns that ran" in shown.stdout
    assert "{" not in shown.stdout
    assert "picture → trouser.png" in shown.stderr


class Watched:
    """What `sys` is to a module where a person watches the output."""

    maxsize = sys.maxsize

    class stdout:  # noqa: N801
        @staticmethod
        def isatty() -> bool:
            return True


def test_checkpoints_take_any_prompt_size_and_codec(models: Path) -> None:
    flags = ["-m", models / "mmada", "--codec", models / "magvit", "--size", "8,12", "--steps", 3]
    (line,) = lines(ok("image", "the cat sat", *flags, "--guidance", 1.5, "--shape", "linear", "--out", "cat.png"))
    about = read_png("cat.png")
    assert size("cat.png") == (12, 8)
    assert about["provenance"]["codec"].endswith("magvit")
    assert (line["recipe"]["guidance"], line["recipe"]["schedule"]["shape"]) == (1.5, "linear")
    ok("image", "the cat sat", "-m", models / "mmada", "--codec", models / "magvit", "--size", 8, "--out", "own.png")
    own = read_png("own.png")
    assert size("own.png") == (8, 8)
    assert (own["recipe"]["guidance"], own["recipe"]["schedule"]["count"]) == (3.5, 15)
    ok(
        "image",
        "the cat",
        *flags,
        "--recipe",
        "info-gain-images-5-steps",
        "--n",
        2,
        "--batch-size",
        1,
        "--out",
        "r.png",
    )
    assert read_png("r.png")["recipe"]["sampler"]["n"] == 2


# Several


def test_grids_over_samplers_steps_prompts_and_seeds(models: Path) -> None:
    flags = ["-m", models / "classes", "--samplers", "uniform,info-gain:validated", "--step-counts", "2,6"]
    told = lines(ok("image", "trouser", "T-shirt", *flags, "--seeds", "5,6,7", "--tau-token", 1, "--out", "g.png"))
    images = read_png("g.png")["images"]
    assert len(told) == len(images) == 2 * 2 * 2 * 3
    assert {(one["prompt"], one["recipe"]["sampler"]["name"], one["seed"]) for one in images} == {
        (prompt, sampler, seed)
        for prompt in ("trouser", "T-shirt")
        for sampler in ("uniform", "info-gain")
        for seed in (5, 6, 7)
    }
    assert sorted({max(max(row) for row in one["revealed"]) for one in images}) == [1, 5]
    assert all(one["recipe"]["sampler"]["tau_token"] == 1 for one in images)
    width, height = size("g.png")
    assert width > 3 * 160
    assert height > 8 * 160
    alone = load_image_model(models / "classes")
    for one in images[::5]:
        (again,) = infogain.generate_images(alone, one["prompt"], Recipe.of(one["recipe"]), seeds=[one["seed"]])
        assert again.codes.tolist() == one["codes"]


def test_several_images_of_a_prompt_come_as_a_grid_or_in_a_folder(models: Path, tmp_path: Path) -> None:
    flags = ["image", "trouser", "-m", models / "classes", "-k", 4]
    told = lines(ok(*flags, "--count", 4, "--folder", "each"))
    assert not (tmp_path / "trouser.png").exists()
    files = sorted((tmp_path / "each").iterdir())
    assert [path.name for path in files] == ["0000.png", "0001.png", "0002.png", "0003.png"]
    assert [read_png(path)["seed"] for path in files] == [line["seed"] for line in told]
    assert len({line["seed"] for line in told}) == 4
    ok(*flags, "--count", 4, "--out", "small.png", "--scale", 1)
    ok(*flags, "--count", 4, "--out", "large.png", "--scale", 9)
    assert size("large.png")[0] - size("small.png")[0] == 4 * 3 * 8
    assert [one["codes"] for one in read_png("small.png")["images"]] == [read_png(path)["codes"] for path in files]
    (first,) = lines(ok(*flags, "--out", "one.png"))
    assert first["seed"] == told[0]["seed"], "the first of several is the one that comes alone"


# How they came about


def test_the_unmasking_as_a_strip_an_animation_a_page_and_a_trace(models: Path) -> None:
    files = ["--strip", "s.png", "--gif", "a.gif", "--html", "p.html", "--trace", "t.jsonl"]
    ok("image", "trouser", "-m", models / "classes", "--sampler", "info-gain", "--steps", 6, *files)
    one = read_png("trouser.png")
    assert read_png("s.png")["images"] == [{"number": 0, **{k: v for k, v in one.items() if k != "version"}}]
    assert size("s.png")[0] > 6 * 120
    assert HEAT[-1] in colours("s.png")
    assert json.loads(ok("image", "--read", "a.gif"))["images"][0]["prompt"] == "trouser"
    with pillow.open("a.gif") as file:
        assert file.n_frames == 7
        assert json.loads(file.info["comment"])["images"][0]["codes"] == one["codes"]
    assert "trouser" in Path("p.html").read_text()
    trace = Trace.load("t.jsonl")
    assert trace.image is not None
    assert trace.image.pictures[0].startswith("data:image/png;base64,")
    assert trace.rows[0][trace.image.starts[0] :] == [code for row in one["codes"] for code in row]
    ok("view", "t.jsonl", "--out", "again.html")


def test_several_images_are_unmasked_side_by_side(models: Path) -> None:
    flags = ["-m", models / "coded", "--samplers", "uniform,best-of-n,info-gain-beam", "--step-counts", "1,4"]
    ok("image", "trouser", *flags, "--gif", "a.gif", "--strip", "s.png", "--html", "p.html", "--out", "g.png")
    with pillow.open("a.gif") as file:
        assert file.n_frames == 5
        assert file.size == (size("g.png")[0], file.size[1])
    assert len(read_png("s.png")["images"]) == 6


# Images that are given in part


def given(tmp_path: Path) -> tuple[Path, Path]:
    shown, mask = pillow.new("L", (3, 4), 64), pillow.new("L", (3, 4), 0)
    mask.paste(255, (0, 0, 2, 2))
    shown.save(tmp_path / "shown.png")
    mask.save(tmp_path / "mask.png")
    return tmp_path / "shown.png", tmp_path / "mask.png"


def test_parts_of_an_image_are_written_anew_and_images_grow(models: Path, tmp_path: Path) -> None:
    shown, mask = given(tmp_path)
    (line,) = lines(
        ok("image", "trouser", "-m", models / "classes", "--image", shown, "--mask", mask, "--out", "in.png")
    )
    about = read_png("in.png")
    assert line["committed"] == 4
    assert about["given"] == {"image": str(shown), "mask": str(mask), "extend": [0, 0, 0, 0]}
    assert [[step < 0 for step in row] for row in about["revealed"]] == [[False, False, True]] * 2 + [[True] * 3] * 2
    with pillow.open("in.png") as file:
        assert file.getpixel((2, 3)) == 63, "grey level 1 of 0 to 4"
    pillow.new("RGB", (8, 8), (9, 99, 199)).save("rgb.png")
    flags = ["-m", models / "mmada", "--codec", models / "magvit", "--steps", 2]
    ok("image", "the cat", *flags, "--image", "rgb.png", "--extend", "4,0,8,4", "--out", "grown.png")
    assert size("grown.png") == (20, 12)
    assert read_png("grown.png")["committed"] == 5 * 3 - 4


# What is refused


def test_mistakes_are_found_before_the_model_is_loaded(models: Path, tmp_path: Path) -> None:
    shown, mask = given(tmp_path)
    pillow.new("L", (4, 3)).save("turned.png")
    (tmp_path / "held.png").write_bytes(b"mine")
    (tmp_path / "each").mkdir()
    (tmp_path / "each" / "0001.png").write_bytes(b"mine")
    image = ("image", "trouser", "-m", tmp_path / "no-such-model")
    for flags, said in {
        ("--read", shown): "writes no image; 'trouser' came too",
        ("--steps", 0): "must be at least 1; got 0",
        ("--step-counts", "4,0"): "at least 1; got 0",
        ("--sampler", "unifrom"): "Did you mean 'uniform'?",
        ("--samplers", "uniform,unifrom"): "Did you mean 'uniform'?",
        ("--samplers", "uniform", "--sampler", "entropy"): "--sampler came too",
        ("--samplers", "uniform", "--n", 3): "none of uniform takes --n",
        ("--step-counts", "4", "-k", 2): "-k came too",
        ("--step-counts", "4", "--steps", 2): "--steps came too",
        ("--count", 2, "--seeds", "1,2"): "Drop either",
        ("--eos-ids", "3"): "an image ends nowhere",
        ("--out", "held.png"): "held.png exists, and what it holds would be lost",
        ("--out", "held.jpg"): "must name a file that ends in .png",
        ("--gif", "held.png"): "must name a file that ends in .gif",
        ("--out", "no/such.png"): "needs a folder that exists",
        ("--count", 2, "--folder", "each"): "0001.png exists",
        ("--count", 2, "--trace", "t.jsonl"): "--trace saves the steps of one image; 2 are asked for",
        ("--out", "x.png", "--strip", "x.png"): "every file needs a name of its own",
        ("--mask", mask): "Name the image with --image",
        ("--extend", "1,1,1,1"): "Name the image with --image",
        ("--image", "absent.png", "--mask", mask): "absent.png must be an image",
        ("--image", shown, "--mask", "turned.png"): "as large as its image, 4×3; got 3×4",
        ("--image", shown, "--extend", "1,2,3"): "extend must be four",
    }.items():
        assert said in refused(*image, *flags), flags
    assert "there must be a prompt" in refused("image", "-m", tmp_path / "no-such-model")
    assert "there is no such folder" in refused(*image)
    assert (tmp_path / "held.png").read_bytes() == (tmp_path / "each" / "0001.png").read_bytes() == b"mine"
    assert not list(tmp_path.glob("trouser*"))


def test_what_does_not_fit_the_model_is_refused_before_anything_is_decoded(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned_images, "decode_images", None)  # it would raise TypeError
    shown, mask = given(tmp_path)
    pillow.new("RGB", (3, 4)).save("rgb.png")
    pillow.new("L", (5, 4)).save("wide.png")
    pillow.new("L", (5, 4), 255).save("wide-mask.png")
    (tmp_path / "empty").mkdir()
    write_checkpoint(tmp_path / "llada", "llada")
    classes, mmada = ("-m", models / "classes"), ("-m", models / "mmada")
    for flags, said in {
        ("trousers", *classes): "Did you mean 'trouser'?",
        ("trouser", *classes, "--size", 8): "images of 4×3 pixels only; got 8×8",
        ("trouser", *classes, "--size", "4,3,2"): "height and width",
        ("trouser", *classes, "--codec", models / "magvit"): "codec of its own",
        ("trouser", *classes, "--image", "rgb.png", "--mask", mask): "mode L, as the model's are; got RGB",
        ("trouser", *classes, "--image", "wide.png", "--mask", "wide-mask.png"): "4×3 pixels only; got 4×5",
        ("trouser", *classes, "--image", shown): "something must be left to write",
        ("the cat", *mmada, "--codec", tmp_path / "empty"): "codec's folder must hold pytorch_model.safetensors",
        ("the cat", "-m", tmp_path / "llada"): "which writes texts",
    }.items():
        assert said in refused("image", *flags), flags
    assert not list(tmp_path.glob("t*.png"))


def test_without_pillow_the_command_says_what_to_install(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    for command in (["image", "trouser"], ["compare", "trouser"]):
        assert "pip install 'infogain[images]'" in refused(*command, "-m", models / "classes")


def test_images_that_are_done_are_kept_when_decoding_breaks_off(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(*given: Any) -> Any:
        yield next(decode_images(*given))
        raise NumericsError("the model returned no numbers.")

    monkeypatch.setattr(planned_images, "decode_images", breaking)
    flags = ["--count", 3, "--batch-size", 1, "--folder", "each", "--out", "g.png", "--gif", "a.gif"]
    result = run("image", "trouser", "-m", models / "classes", *flags)
    assert result.exit_code == 2
    assert "error: the model returned no numbers." in result.stderr
    assert [path.name for path in (tmp_path / "each").iterdir()] == ["0000.png"]
    assert len(read_png("g.png")["images"]) == len(lines(result.stdout)) == 1
    assert tuple(int(EMPTY[i : i + 2], 16) for i in (1, 3, 5)) in colours("g.png"), "the others are shown as absent"
    assert "1 of 3 images → each" in result.stderr


def test_help_has_defaults_and_examples(models: Path) -> None:
    shown = " ".join(ok("image", "--help").split())
    assert f"default: ({IMAGE_DEFAULT})" in shown
    assert 'infogain image "ankle boot" --count 8 --out boots.png' in shown
    assert "--eos-ids" not in shown
    assert "--refresh" not in shown
    assert "Did you mean --guidance?" in run("image", "x", "--guidance-scale", 3).stderr
    assert "infogain image" in refused("generate", "x", "-m", models / "classes")


# Side by side


def test_samplers_are_compared_by_their_images(models: Path) -> None:
    names = ["uniform", "info-gain:validated", "entropy"]
    flags = ["-m", models / "classes", "--samplers", ",".join(names), "--steps", 4, "--n", 3]
    shown = ok("compare", "trouser", *flags, "--out", "c.png")
    images = read_png("c.png")["images"]
    table = [line.split() for line in shown.splitlines() if line.startswith(tuple(names))]
    for name, row, one in zip(names, table, images, strict=True):
        entropy = f"{one['cumulative_entropy']:.2f}"
        assert row[:5] == [name, "12", entropy, str(one["forwards"]), str(one["token_forwards"])]
    assert [one["recipe"]["sampler"].get("n") for one in images] == [None, 3, None]
    assert len({one["seed"] for one in images}) == 1
    for title in ("codes", "H̃", "forwards", "token-forwards", "seconds"):
        assert f"\n{title}  " in shown
    assert size("c.png")[0] > 3 * 160
    assert "c.png exists" in refused("compare", "trouser", *flags, "--out", "c.png")


def test_what_images_do_not_have_is_refused_where_samplers_are_compared(models: Path, tmp_path: Path) -> None:
    compare = ("compare", "trouser", "-m", models / "classes")
    for flags, said in {
        ("--length", 4): "--length is for models that write texts",
        ("--system", "x"): "--system is for models that write texts",
        ("--plain",): "--chat is for models that write texts",
        ("--refresh", 2): "--refresh is for models that write texts",
        ("--eos-ids", "3"): "an image ends nowhere",
        ("--out", "c.json"): "must name a file that ends in .png",
        ("--samplers", "unifrom"): "Did you mean 'uniform'?",
        ("--codec", models / "magvit"): "codec of its own",
    }.items():
        assert said in refused(*compare, *flags), flags


# What a review found


def test_an_image_is_made_again_as_its_model_was_loaded(models: Path) -> None:
    flags = ["-m", models / "classes", "--cache", "dual", "--block", 4, "--dtype", "bfloat16", "--sampler", "info-gain"]
    ok("image", "trouser", *flags, "--out", "one.png")
    ok("image", "--like", "one.png", "--out", "again.png")
    one, again = read_png("one.png"), read_png("again.png")
    assert (one["provenance"]["cache"], one["provenance"]["dtype"]) == ("dual", "bfloat16")
    assert again["provenance"] == one["provenance"]
    assert again["codes"] == one["codes"]


def test_an_image_given_in_part_from_python_is_not_made_again_as_another(models: Path) -> None:
    shown, mask = pillow.new("L", (3, 4), 64), pillow.new("L", (3, 4), 0)
    mask.paste(255, (0, 0, 2, 2))
    model = load_image_model(models / "classes")
    (image,) = infogain.generate_images(model, "trouser", given=infogain.GivenImage(shown, mask))
    image.save("part.png")
    assert "name it again with --image" in refused("image", "--like", "part.png")


def test_what_would_be_ignored_is_refused(models: Path) -> None:
    flags = ["-m", models / "classes"]
    ok("image", "trouser", *flags, "--out", "one.png")
    assert "'--out' came too" in refused("image", "--read", "one.png", "--out", "never.png")
    assert "'trouser' came twice" in refused("image", "trouser", "trouser", *flags)
    assert "'uniform' came twice" in refused("image", "trouser", "--samplers", "uniform,uniform", *flags)
    assert "each seed must be named once" in refused("image", "trouser", "--seeds", "1,1", *flags)
    assert "guidance is 0" in refused("image", "trouser", "--guidance-shape", "rising", *flags)


def test_images_in_blocks_are_compared(models: Path) -> None:
    ok("compare", "trouser", "-m", models / "classes", "--samplers", "uniform,entropy", "--steps", 6, "--block", 4)


def test_a_file_that_says_too_little_is_refused(models: Path) -> None:
    save_png("odd.png", pillow.new("L", (3, 4)), {"seed": 1})
    assert "says nothing of prompt" in refused("image", "--like", "odd.png")
