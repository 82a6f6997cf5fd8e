"""Images in the viewer and in `replay`: the grid of codes, what a page shows of the picture, and what is refused."""

from __future__ import annotations

import base64
import json
import math
import re
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infogain import InputError, Trace, view
from infogain.loop.trace import Candidate, Row, Story, TraceImage, TraceStep, tell
from tests.unit.test_view import CHROMIUM, ONE_WAY, embedded, needs_chromium, opened, run, title_of, traced

HEIGHT, WIDTH, START = 3, 4, 4  # of sixteen columns, of which column 5 is given
CELLS = range(START, START + HEIGHT * WIDTH)
GREEN = (0, 255, 0)  # as nothing else on a page


def png(height: int, width: int, colour: tuple[int, int, int] = GREEN) -> str:
    """An image of one colour as a data URI."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = (b"\0" + bytes(colour) * width) * height
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return f"data:image/png;base64,{base64.b64encode(file).decode()}"


def imaged(sampler: str = "info-gain", count: int = 1, **options: Any) -> Trace:
    """A toy's decode, whose last columns are said to be the codes of an image."""
    trace = traced(sampler, count=count, **{"schedule": 2, **options})
    image = TraceImage(HEIGHT, WIDTH, [START] * count, [png(HEIGHT, WIDTH)] * count)
    words = {token: f"<|{sign}|>" if sign == "*" else sign for token, sign in enumerate(ONE_WAY.alphabet)}
    return replace(trace, image=image, words=words)


def test_the_page_knows_the_grid_and_the_picture() -> None:
    trace = imaged(count=2)
    (told,) = embedded(view.page([("a", trace)]))["runs"]
    for row, prompt in enumerate(told["prompts"]):
        assert prompt["image"] == {
            "height": HEIGHT,
            "width": WIDTH,
            "start": START,
            "picture": png(HEIGHT, WIDTH),
            "prompt": "",
        }
        assert prompt["canvas"] == trace.canvas[row]
    assert "image" not in embedded(view.page([("a", replace(trace, image=None))]))["runs"][0]["prompts"][0]


def test_an_image_is_called_by_its_prompt() -> None:
    trace = imaged()
    trace.canvas[0][:START] = [ONE_WAY.alphabet.index(sign) for sign in "1*00"]
    trace = replace(trace, steps=[])
    assert title_of(view.page([("t", trace)])) == "100", "special tokens are no words"
    assert title_of(view.page([("t", replace(trace, words=None))])) == "t"
    assert embedded(view.page([("t", trace)]))["runs"][0]["prompts"][0]["image"]["prompt"] == "100"


HOSTILE = [
    "https://example.org/pixel.png",
    "javascript:alert(1)",
    "data:image/svg+xml;base64,AAAA",
    "data:text/html;base64,AAAA",
    "data:image/png,AAAA",
    "data:image/png;base64,",
    'data:image/png;base64,AAAA" onerror="alert(1)',
    "data:image/png;base64,AAAA);background:url(https://example.org",
    "data:image/png;base64,AAAA\n",
    " data:image/png;base64,AAAA",
    7,
    None,
    ["data:image/png;base64,AAAA"],
]


@pytest.mark.parametrize("picture", HOSTILE)
def test_a_picture_that_is_no_png_file_in_full_is_refused(picture: Any, tmp_path: Path) -> None:
    trace, path = imaged(), tmp_path / "t.jsonl"
    assert trace.image is not None
    with pytest.raises(InputError, match="must be PNG files as data URIs"):
        replace(trace.image, pictures=[picture])
    trace.save(path)
    header, rest = path.read_text().split("\n", 1)
    table = json.loads(header)
    table["image"]["pictures"] = [picture]
    path.write_text(json.dumps(table) + "\n" + rest)
    for command in ("view", "replay"):
        result = run(command, path)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"error: {path}: the pictures of a trace must be PNG files as data URIs")
    assert not path.with_suffix(".html").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"height": 0}, "at least one code; got 0×4"),
        ({"width": "4"}, "must be the JSON lines|at least one code"),
        ({"height": True}, "at least one code"),
        ({"starts": [-1]}, "at least one code"),
        ({"starts": []}, "for each of its 1 rows; it has 0 and 1"),
        ({"pictures": [png(1, 1)] * 2}, "it has 1 and 2"),
        ({"starts": [START + 1]}, "end at column 17 of row 0, which has 16"),
        ({"height": None}, "must be the JSON lines|at least one code"),
    ],
)
def test_a_grid_that_its_row_does_not_hold_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    trace, path = imaged(), tmp_path / "t.jsonl"
    assert trace.image is not None
    bad = replace(trace, image=replace(trace.image, **change))
    bad.save(path)
    with pytest.raises(InputError, match=said):
        Trace.load(path)
    with pytest.raises((InputError, TypeError)):
        view.page([("t", bad)])


def test_a_page_of_an_image_fetches_nothing() -> None:
    html = view.page([("a", imaged())])
    assert html.count("data:") == 1, "the picture"
    assert not re.search(r"https?:|//[a-z]+\.|\b(?:src|href)\s*=|@import|url\(", html)


def cells_of(shown: str) -> list[set[str]]:
    """The classes of every cell of the grid, in order."""
    board = shown.split('class="board"')[1].split("</div>")[0]
    found = re.findall(r'<span data-column="(\d+)"[^>]*class="cell ([^"]*)"[^>]*><i>(.*?)</i>', board)
    assert [int(column) for column, _, _ in found] == list(CELLS)
    assert {text for _, _, text in found} == {""}, "no numbers in the cells"
    return [set(classes.split()) for _, classes, _ in found]


@needs_chromium
def test_a_browser_shows_each_code_as_given_written_or_masked(tmp_path: Path) -> None:
    page, trace = tmp_path / "t.html", imaged()
    page.write_text(view.page([("t", trace)]), encoding="utf-8")
    for step in (0, 3, 7):
        shown = opened(page, f"#step={step}")
        part = tell(replace(trace, steps=trace.steps[:step]), "t").best(0)
        for column, classes in zip(CELLS, cells_of(shown), strict=True):
            given, hole = trace.canvas[0][column] != trace.mask_id, part.tokens[column] == trace.mask_id
            assert ({"given", "written", "hole"} & classes) == {"given" if given else "hole" if hole else "written"}
            assert ("fresh" in classes) == (column in part.fresh)
        assert f'<img src="{png(HEIGHT, WIDTH)}"' in shown
        assert "its patch of the finished image" in shown
        assert 'class="cell patch given"' in shown, "the legend explains cells that are given"
        assert "row, column and code" in shown


def green_pixels(page: Path, link: str) -> int:
    """How many pixels of the window show the picture, be it faintly."""
    image = pytest.importorskip("PIL.Image")
    picture = page.parent / "shot.png"
    flags = [f"--user-data-dir={page.parent / 'user'}", f"--screenshot={picture}", "--window-size=1000,1400"]
    subprocess.run([*CHROMIUM, *flags, page.as_uri() + link], capture_output=True, check=True, timeout=120)
    with image.open(picture) as file:
        colours = file.convert("RGB").getcolors(1 << 24)
    return sum(count for count, (red, green, blue) in colours if green > 45 + max(red, blue))


TRYING = "<script>addEventListener('load', () => document.querySelector('tbody tr').focus())</script></body>"


@needs_chromium
@pytest.mark.parametrize("end", ["</body>", TRYING], ids=["shown", "trying a candidate"])
def test_no_patch_is_seen_before_its_code_is_written(end: str, tmp_path: Path) -> None:
    page, trace = tmp_path / "t.html", imaged("entropy")
    page.write_text(view.page([("t", trace)]).replace("</body>", end), encoding="utf-8")
    whole = green_pixels(page, f"#step={len(trace.steps)}")
    assert whole > 10_000
    for step in (0, 3):
        part = tell(replace(trace, steps=trace.steps[:step]), "t").best(0)
        shown = [column for column in CELLS if part.tokens[column] != trace.mask_id]
        assert 0 < len(shown) < len(CELLS)
        assert green_pixels(page, f"#step={step}") == pytest.approx(whole * len(shown) / len(CELLS), rel=0.25)


# infogain replay


def grid_lines(text: str, step: int) -> list[str]:
    """The grid after a step, without the words before each line."""
    _, *lines = [line for line in text.splitlines() if line.startswith(f"step {step:3}  ")]
    return [line[21:] for line in lines]


def test_replay_draws_the_grid(tmp_path: Path) -> None:
    trace, path = imaged("entropy"), tmp_path / "t.jsonl"
    trace.save(path)
    text = run("replay", path).stdout
    story = Story(trace)
    for number, step in enumerate(trace.steps, 1):
        story.follow(step)
        best, lines = story.best(0), grid_lines(text, number)
        assert [len(line) for line in lines] == [2 * WIDTH] * HEIGHT
        for i, column in enumerate(CELLS):
            sign = "".join(lines)[2 * i : 2 * i + 2]
            if trace.canvas[0][column] != trace.mask_id:
                assert sign == "▚▚"
            else:
                assert (sign == "██") == (best.tokens[column] != trace.mask_id)
                assert sign in ("██", "  ", "··", "::", "░░", "▒▒")
    assert f"H̃ {best.cost:5.2f}" in text


def test_replay_shows_of_a_large_grid_what_there_is_room_for(tmp_path: Path) -> None:
    """A terminal of 80 columns has no room for 60 cells, nor one of 25 lines for 40."""
    for height, width in ((40, 2), (2, 60)):
        cells, mask = height * width, 9
        trace = imaged()
        image = TraceImage(height, width, [0], [png(1, 1)])
        big = Trace(trace.recipe, mask, [[mask] * cells], image=image, steps=one_step(cells))
        big.save(tmp_path / "t.jsonl")
        text = run("replay", tmp_path / "t.jsonl").stdout
        lines = grid_lines(text, 1)
        every = math.ceil(max(height / 17, 2 * width / 80))
        assert f"1 cell of {every**2} shown" in text
        assert len(lines) == math.ceil(height / every)
        assert {len(line) for line in lines} == {2 * math.ceil(width / every)}


def one_step(cells: int) -> list[TraceStep]:
    row = Row(0, 0, 0, list(range(cells)), [1.0] * cells, [Candidate([0], [1], 0.0, 1.0, True)])
    return [TraceStep(0, [row])]


def test_several_images_are_drawn_below_each_other(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    imaged("entropy", count=6).save(path)
    text = run("replay", path).stdout
    step = [line for line in text.splitlines() if line.startswith("step   1  ")]
    shown = sum("H̃" in line for line in step)
    assert 1 < shown < 6
    assert step[-1].endswith(f"… and {6 - shown} more")
    assert len(step) == shown * (HEIGHT + 1) + 1
