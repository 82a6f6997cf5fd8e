"""GenEval: its rules on hand-made detections, its files, its sums, and what its models are asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from infogain.errors import InputError
from infogain.evals.images.detectors import Sizes, as_geneval, cut_out, instances, prepared
from infogain.evals.images.geneval_prompts import (
    GenEvalPrompt,
    as_prompt,
    read_prompts,
    read_samples,
    tags_of,
    write_samples,
)
from infogain.evals.images.geneval_rules import Detection, judge, kept, relations
from infogain.evals.images.geneval_scores import (
    PUBLISHED,
    JudgedImage,
    geneval_scores,
    judge_sets,
    table_of_tags,
)
from infogain.evals.images.image_names import imagenet_names

BENCH = {"class": "bench", "count": 1}
LINES: dict[str, dict[str, Any]] = {
    "single_object": {"include": [BENCH]},
    "two_object": {"include": [BENCH, {"class": "dog", "count": 1}]},
    "counting": {"include": [{"class": "clock", "count": 2}], "exclude": [{"class": "clock", "count": 3}]},
    "colors": {"include": [{**BENCH, "color": "blue"}]},
    "position": {"include": [BENCH, {"class": "dog", "count": 1, "position": ["right of", 0]}]},
    "color_attr": {"include": [{**BENCH, "color": "red"}, {"class": "dog", "count": 1, "color": "black"}]},
}


def line(tag: str) -> str:
    return json.dumps({"tag": tag, **LINES[tag], "prompt": f"a photo for {tag}"})


def prompt(tag: str) -> GenEvalPrompt:
    return as_prompt(line(tag), "here")


def seen(*confidences: float, at: float = 0.0) -> list[Detection]:
    return [Detection((at, 0, at + 10, 10), confidence) for confidence in confidences]


def colors(**named: Sequence[str]) -> Any:
    """What CLIP would say of the objects of each class."""
    return lambda objects, name: list(named[name])[: len(objects)]


def never(objects: Sequence[Detection], name: str) -> list[str]:
    raise AssertionError("no colour is wanted")


def test_one_object_must_be_there() -> None:
    assert judge(prompt("single_object"), {"bench": seen(0.31)}, never).correct
    faint = judge(prompt("single_object"), {"bench": seen(0.3)}, never)  # above, not at, the threshold
    assert faint.reasons == ("expected bench>=1, found 0",)
    assert not judge(prompt("single_object"), {"dog": seen(0.99)}, never).correct
    assert judge(prompt("single_object"), {"bench": seen(0.9, 0.8), "dog": seen(0.9)}, never).correct  # more is well


def test_two_objects_must_both_be_there() -> None:
    assert judge(prompt("two_object"), {"bench": seen(0.5), "dog": seen(0.5)}, never).correct
    assert judge(prompt("two_object"), {"bench": seen(0.5, 0.6)}, never).reasons == ("expected dog>=1, found 0",)
    assert judge(prompt("two_object"), {}, never).reasons == ("expected bench>=1, found 0", "expected dog>=1, found 0")


def test_counts_are_exact_and_need_more_confidence() -> None:
    assert judge(prompt("counting"), {"clock": seen(0.95, 0.91)}, never).correct
    assert judge(prompt("counting"), {"clock": seen(0.95, 0.91, 0.89)}, never).correct  # a third is too unsure
    assert judge(prompt("counting"), {"clock": seen(0.95, 0.9)}, never).reasons == ("expected clock>=2, found 1",)
    assert judge(prompt("counting"), {"clock": seen(0.95, 0.92, 0.91)}, never).reasons == ("expected clock<3, found 3",)


def test_colours_are_those_of_the_surest_object() -> None:
    found = {"bench": seen(0.4, 0.9)}
    assert judge(prompt("colors"), found, colors(bench=["blue"])).correct
    wrong = judge(prompt("colors"), found, colors(bench=["green", "blue"]))
    assert wrong.reasons == ("expected blue bench>=1, found green",)
    by_confidence = judge(prompt("colors"), found, lambda objects, name: [str(one.confidence) for one in objects])
    assert by_confidence.reasons == ("expected blue bench>=1, found 0.9",)
    assert judge(prompt("colors"), {}, never).reasons == ("expected bench>=1, found 0",)


def test_each_object_has_its_own_colour() -> None:
    found = {"bench": seen(0.9), "dog": seen(0.9)}
    assert judge(prompt("color_attr"), found, colors(bench=["red"], dog=["black"])).correct
    swapped = judge(prompt("color_attr"), found, colors(bench=["black"], dog=["red"]))
    assert swapped.reasons == ("expected red bench>=1, found black", "expected black dog>=1, found red")
    assert len(judge(prompt("color_attr"), found, colors(bench=["red"], dog=["brown"])).reasons) == 1


def test_positions() -> None:
    bench = seen(0.9)
    assert judge(prompt("position"), {"bench": bench, "dog": seen(0.9, at=30)}, never).correct
    left = judge(prompt("position"), {"bench": bench, "dog": seen(0.9, at=-30)}, never)
    assert left.reasons == ("expected dog right of target, found left of",)
    within = judge(prompt("position"), {"bench": bench, "dog": seen(0.9, at=1)}, never)
    assert within.reasons == ("expected dog right of target, found neither side",)
    alone = judge(prompt("position"), {"dog": seen(0.9, at=30)}, never)
    assert alone.reasons == ("expected bench>=1, found 0", "no target for dog to be right of")


def test_the_position_of_the_surest_object_counts() -> None:
    dogs = [*seen(0.8, at=30), *seen(0.9, at=-30)]
    assert not judge(prompt("position"), {"bench": seen(0.9), "dog": dogs}, never).correct


BOXES = {  # as seen from an object of 10×10 at the origin; both lose a tenth of their sizes, 2 pixels here
    (30, 0): {"right of"},
    (-30, 0): {"left of"},
    (0, -30): {"above"},
    (0, 30): {"below"},
    (30, 30): {"right of", "below"},
    (-20, -20): {"left of", "above"},
    (2, 2): set(),  # what is taken off is all there is
    (4, 0): set(),  # 2 of 4 pixels are left: half of the distance, and not more
    (4.1, 0): {"right of"},
    (30, 15): {"right of"},  # 13 of 33.5 pixels downwards
    (30, 25): {"right of", "below"},
}


@pytest.mark.parametrize(("place", "expected"), BOXES.items())
def test_relations(place: tuple[float, float], expected: set[str]) -> None:
    x, y = place
    assert relations(Detection((x, y, x + 10, y + 10), 1), Detection((0, 0, 10, 10), 1)) == expected


def test_sixteen_objects_of_a_class_count() -> None:
    found = kept({"dog": seen(*(0.31 + i / 100 for i in range(20))), "cat": seen(0.1)}, "single_object")
    assert set(found) == {"dog"}
    assert [round(one.confidence, 2) for one in found["dog"]] == [round(0.5 - i / 100, 2) for i in range(16)]


def test_prompts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "evaluation_metadata.jsonl"
    path.write_text("\n".join(line(tag) for tag in LINES) + "\n")
    found = read_prompts(path)
    assert tags_of(found) == dict.fromkeys(LINES, 1)
    assert found[4].include[1].position == ("right of", 0)
    assert found[2].exclude[0].count == 3
    assert found[1].classes == {"bench", "dog"}
    assert sum(PUBLISHED.values()) == 553


A = {"class": "a", "count": 1}
BAD_LINES: list[tuple[Any, str]] = [
    ("{", "must be JSON with tag"),
    ({"include": [{"count": 1}]}, "must be JSON with tag"),
    ({}, "must include an object"),
    ({"include": [{**A, "position": ["above", 0]}]}, "a position must be to one before it"),
    ({"tag": "color", "include": [A]}, "Did you mean 'colors'"),
    ({"include": [{**A, "color": "reed"}]}, "Did you mean 'red'"),
    ({"include": [{**A, "size": 2}]}, "rule of GenEval 'size'"),
    ({"include": [BENCH, {**A, "position": ["left off", 0]}]}, "Did you mean 'left of'"),
]


@pytest.mark.parametrize(("told", "problem"), BAD_LINES)
def test_prompts_that_are_none_are_refused(tmp_path: Path, told: Any, problem: str) -> None:
    text = told if isinstance(told, str) else json.dumps({"tag": "colors", "prompt": "x", **told})
    (tmp_path / "prompts.jsonl").write_text(f"{line('colors')}\n{text}\n")
    with pytest.raises(InputError, match=problem):
        read_prompts(tmp_path / "prompts.jsonl")
    (tmp_path / "prompts.jsonl").write_text("\n")
    with pytest.raises(InputError, match="it is empty"):
        read_prompts(tmp_path / "prompts.jsonl")


def test_samples_have_genevals_layout(tmp_path: Path) -> None:
    place = write_samples(tmp_path, 7, prompt("counting"), torch.zeros(2, 3, 4, 4))
    assert [str(path.relative_to(tmp_path)) for path in sorted(place.rglob("*.*"))] == [
        "00007/metadata.jsonl",
        "00007/samples/0000.png",
        "00007/samples/0001.png",
    ]
    assert json.loads((place / "metadata.jsonl").read_text())["tag"] == "counting"
    (place / "grid.png").write_bytes(b"")
    (found,) = read_samples(tmp_path)
    assert (found.prompt, len(found.images)) == (prompt("counting"), 2)


def test_samples_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder per prompt"):
        read_samples(tmp_path)
    place = write_samples(tmp_path, 0, prompt("colors"), [])
    with pytest.raises(InputError, match=r"images such as 0000\.png"):
        read_samples(tmp_path)
    (place / "metadata.jsonl").write_text(f"{line('colors')}\n{line('colors')}\n")
    with pytest.raises(InputError, match="one prompt; it holds 2"):
        read_samples(tmp_path)


class ByBrightness:
    """A detector that finds a bench in every image that is not black."""

    name = "brightness"

    def __init__(self, *classes: str) -> None:
        self.classes = set(classes)

    def detect(self, image: Tensor) -> dict[str, list[Detection]]:
        return {"bench": seen(0.9)} if image.float().mean() > 0 else {}


class AlwaysBlue:
    name = "blue"

    def colors(self, image: Tensor, objects: Sequence[Detection], class_name: str) -> list[str]:
        return ["blue"] * len(objects)


def test_a_folder_is_judged(tmp_path: Path) -> None:
    bright, black = torch.ones(3, 4, 4), -torch.ones(3, 4, 4)
    write_samples(tmp_path, 0, prompt("single_object"), [bright, black])
    write_samples(tmp_path, 1, prompt("colors"), [bright, bright])
    done: list[int] = []
    images = judge_sets(read_samples(tmp_path), ByBrightness("bench"), AlwaysBlue(), done.append)
    assert [one.judged.correct for one in images] == [True, False, True, True]
    assert sum(done) == 4
    with pytest.raises(InputError, match="does not know bench"):
        judge_sets(read_samples(tmp_path), ByBrightness("dog"), AlwaysBlue())


def judged(tag: str, number: int, correct: bool) -> JudgedImage:
    one = as_prompt(json.dumps({"tag": tag, **LINES[tag], "prompt": f"{tag} {number}"}), "here")
    found = {name: seen(0.99) for name in one.classes} if correct else {}
    return JudgedImage(one, Path(f"{number}.png"), judge(one, found, colors(bench=["blue"])))


def test_the_overall_score_is_the_mean_over_tags() -> None:
    """One of four and two of two: 62.5 %, where the mean over images would be a half."""
    images = [judged("single_object", i // 2, i == 0) for i in range(4)]
    images += [judged("colors", i, True) for i in range(2)]
    scores = geneval_scores(images)
    assert (scores.tags["single_object"].value, scores.tags["colors"].value) == (0.25, 1)
    assert scores.overall.value == 0.625
    assert (scores.prompts["single_object"], scores.images["single_object"]) == (2, 4)
    assert not scores.complete
    table = table_of_tags(scores)
    assert [row[0] for row in table.rows] == ["single_object", "colors", "overall"]
    assert table.rows[0][1:4] == ["2", "80", "4"]
    assert table.rows[-1][1:4] == ["4", "553", "6"]
    assert table.rows[-1][4].startswith("62.5 [")
    plain = scores.plain()
    assert plain["overall"]["correct"] == 0.625
    assert json.loads(json.dumps(plain)) == plain


def test_all_prompts_make_a_geneval_score() -> None:
    images = [judged(tag, i, False) for tag, count in PUBLISHED.items() for i in range(count)]
    assert geneval_scores(images).complete
    assert not geneval_scores(images[1:]).complete


def test_classes_have_genevals_names() -> None:
    assert [as_geneval(name) for name in ("mouse", "remote", "sofa", "dog")] == [
        *("computer mouse", "tv remote", "couch", "dog"),
    ]


def test_an_image_is_shown_as_the_detector_was_trained() -> None:
    assert Sizes.of(512, 512) == Sizes((512, 512), (800, 800), (800, 800))
    assert Sizes.of(100, 400) == Sizes((100, 400), (333, 1333), (352, 1344))  # the long side is full first
    sizes = Sizes.of(100, 400)
    pixels = prepared(torch.full((3, 100, 400), 255, dtype=torch.uint8), sizes)
    assert pixels.shape == (1, 3, 352, 1344)
    assert pixels[0, 0, 0, 0].item() == pytest.approx((255 - 123.675) / 58.395)
    assert pixels[0, :, 333:].abs().max() == 0
    assert pixels[0, :, :, 1333:].abs().max() == 0


def test_objects_come_from_masks_and_classes() -> None:
    """Two queries over an image of 16×16: a sure dog in the upper left quarter, and one that is no object."""
    classes = torch.tensor([[5.0, 0, 0], [0, 0, 5.0]])
    masks = torch.full((2, 8, 8), -20.0)
    masks[0, :4, :4] = 20
    sizes = Sizes((16, 16), (32, 32), (32, 32))
    found = instances(classes, masks, ["dog", "cat"], sizes)
    assert set(found) == {"dog"}
    (dog,) = found["dog"]
    assert dog.mask is not None
    assert (dog.box, tuple(dog.mask.shape)) == ((0, 0, 8, 8), (16, 16))
    chance = float(classes[0].softmax(0)[0])
    assert 0.9 * chance < dog.confidence <= chance
    assert instances(classes, masks - 50, ["dog", "cat"], sizes) == {}


def test_padding_is_cut_off_masks() -> None:
    """An object within the right half of what is padded lies outside the image."""
    masks = torch.full((1, 8, 8), -20.0)
    masks[0, :, 4:] = 20
    classes = torch.tensor([[9.0, 0]])
    assert instances(classes, masks, ["dog"], Sizes((8, 8), (32, 14), (32, 32))) == {}
    (dog,) = instances(classes, masks, ["dog"], Sizes((8, 8), (32, 32), (32, 32)))["dog"]
    assert dog.box == (4, 0, 8, 8)


def test_objects_are_cut_out_before_grey() -> None:
    image = torch.arange(48, dtype=torch.uint8).view(3, 4, 4)
    mask = torch.zeros(4, 4, dtype=torch.bool)
    mask[1, 1] = True
    view = cut_out(image, Detection((1, 1, 3, 3), 1, mask))
    assert view[0].tolist() == [[5, 0x99], [0x99, 0x99]]
    assert cut_out(image, Detection((1, 1, 3, 3), 1))[0].tolist() == [[5, 6], [9, 10]]


def test_names_of_classes_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("\n".join(f"class {i}" for i in range(1000)) + "\n")
    assert imagenet_names(path)[999] == "class 999"
    path.write_text("tench\n\n")
    with pytest.raises(InputError, match="has 1 in 2 lines"):
        imagenet_names(path)


def test_names_of_classes_come_from_torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    monkeypatch.setitem(__import__("sys").modules, "torchvision.models._meta", None)
    with pytest.raises(InputError, match="give a file"):
        imagenet_names()
    names = [f"class {i}" for i in range(1000)]
    fake = SimpleNamespace(_IMAGENET_CATEGORIES=names)
    monkeypatch.setattr("infogain.evals.images.image_names.import_module", lambda name: fake)
    assert imagenet_names() == names
