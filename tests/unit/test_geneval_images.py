"""Images for GenEval: they lie where its program looks, and what it says is counted by group."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infogain.errors import InputError
from infogain.evals.images.geneval_images import PROMPTS, RESULTS, find_prompts, missing, prepare, read_results, shares

LINES = [
    {"tag": "single_object", "include": [{"class": "bench", "count": 1}], "prompt": "a photo of a bench"},
    {"tag": "single_object", "include": [{"class": "cow", "count": 1}], "prompt": "a photo of a cow"},
    {"tag": "counting", "include": [{"class": "clock", "count": 2}], "prompt": "a photo of two clocks"},
]


def write_prompts(folder: Path) -> Path:
    path = folder / PROMPTS
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


def result(number: int, sample: int, correct: bool) -> str:
    """A line as GenEval's program writes it."""
    where = f"/elsewhere/table4-entropy/{number:05}/samples/{sample:04}.png"
    return json.dumps({"filename": where, "tag": "?", "correct": correct, "reason": ""}) + "\n"


def test_prompts_are_those_of_the_file_or_of_its_folder(tmp_path: Path) -> None:
    path = write_prompts(tmp_path)
    prompts = find_prompts(path)
    assert find_prompts(tmp_path) == prompts
    assert [(each.number, each.tag, each.prompt) for each in prompts] == [
        (number, line["tag"], line["prompt"]) for number, line in enumerate(LINES)
    ]
    for nowhere in (None, tmp_path / "none", tmp_path / "none.jsonl"):
        with pytest.raises(InputError, match="must be given with --data"):
            find_prompts(nowhere)
    path.write_text('{"tag": "counting"}\n')
    with pytest.raises(InputError, match="line 1 must be JSON with tag, prompt and include"):
        find_prompts(path)


def test_images_lie_where_its_program_looks(tmp_path: Path) -> None:
    prompts = find_prompts(write_prompts(tmp_path))
    prepare(tmp_path, prompts)
    assert json.loads((tmp_path / "00002" / "metadata.jsonl").read_text()) == LINES[2]
    todo = missing(tmp_path, prompts, 2)
    assert [(image.prompt.number, image.sample) for image in todo] == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    assert todo[4].path(tmp_path) == tmp_path / "00001" / "samples" / "0001.png"
    todo[0].path(tmp_path).touch()
    assert missing(tmp_path, prompts, 2) == todo[1:]


def test_what_it_says_is_counted_by_group(tmp_path: Path) -> None:
    prompts = find_prompts(write_prompts(tmp_path))
    assert read_results(tmp_path) == {}
    judged = [(0, 0, True), (0, 1, True), (1, 0, True), (1, 1, False), (2, 0, True)]
    (tmp_path / RESULTS).write_text("".join(result(*line) for line in judged))
    found = shares(read_results(tmp_path), prompts, 2)
    assert set(found) == {"single_object"}, "an image of the other group is not judged yet"
    assert found["single_object"].value == 0.75
    assert 0 < found["single_object"].low < 0.75 < found["single_object"].high <= 1
    assert shares(read_results(tmp_path), prompts, 1)["counting"].value == 1.0
    (tmp_path / RESULTS).write_text("{}\n")
    with pytest.raises(InputError, match="line 1: must be what GenEval's program writes"):
        read_results(tmp_path)
