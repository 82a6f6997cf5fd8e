"""The model that comes with the package."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import infogain
from infogain import InputError, Recipe, TokensPerStep, UnknownName
from infogain.load import zoo_folder
from infogain.samplers import make
from infogain.zoo import TASKS, Alphabet, load_task
from infogain.zoo.card import CARD_FILE, PAGE_FILE, page
from infogain.zoo.score import CARD, score
from infogain.zoo.train import read_arguments
from infogain.zoo.trainer import TrainingSettings

FOLDER = zoo_folder("tiny-reason")


def test_it_is_small_and_its_card_says_what_its_numbers_say() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 16 * 2**20
    card = json.loads((FOLDER / CARD_FILE).read_text())
    assert (FOLDER / PAGE_FILE).read_text() == page("tiny-reason", card)
    model, _ = infogain.load("zoo:tiny-reason", device="cpu")
    assert sum(p.numel() for p in model.transformer.parameters()) == card["parameters"]  # type: ignore[attr-defined]


LEAST = {
    "oneway": 0.2,
    "oneway-given": 0.25,
    "judgement": 0.25,
    "sudoku": 0.8,
    "sudoku6": 0.8,
    "countdown": 0.6,
    "countdown4": 0.25,
    "arithmetic": 0.5,
}


@pytest.mark.parametrize("name", TASKS)
def test_it_knows_its_tasks(name: str) -> None:
    """Validation problems, right in right steps, far below what was measured, so that no chance fails it."""
    model, alphabet = infogain.load("zoo:tiny-reason", device="cpu")
    assert isinstance(alphabet, Alphabet)
    task = load_task(name)
    count = min(16, 500 // task.width)  # long rows take long
    recipe = Recipe(make("margin", tau_token=0.0), TokensPerStep(1))
    result = score(model, alphabet, task, task.problems(count, "validation"), recipe)
    assert result.sound >= LEAST[name]


def test_its_card_is_of_the_tasks_and_samplers_there_are() -> None:
    card = json.loads((FOLDER / CARD_FILE).read_text())
    settings = TrainingSettings(**card["settings"])
    assert card["data"] == {task.name: task.about for task in settings.known}
    assert set(card["data"]) == set(TASKS)
    assert set(card["validation_loss"]) == set(settings.shares)
    assert card["tokens"] == card["steps"] * sum(settings.rows_of(n) * load_task(n).width for n in settings.shares)
    scored = [(each["task"], each["sampler"], each["k"]) for each in card["validation_scores"]]
    assert scored == [(task, recipe.sampler.name, recipe.plain()["schedule"]["k"]) for task in TASKS for recipe in CARD]
    config = json.loads((FOLDER / "config.json").read_text())
    assert config["max_sequence_length"] == max(task.width for task in TASKS.values()) == 124


def test_the_page_on_the_zoo_says_how_it_was_trained_and_how_hard_its_tasks_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "zoo.md").read_text(encoding="utf-8")
    card = json.loads((FOLDER / CARD_FILE).read_text())
    told = read_arguments(re.findall(r"infogain\.zoo\.train (.+)", page)[0].split())
    assert {name: getattr(told, name) for name in card["settings"]} == card["settings"]
    for name in set(TASKS) - {"sudoku6"}:  # whose forms are more than the card's
        greedy = [
            each["accuracy"]
            for each in card["validation_scores"]
            if (each["task"], each["k"]) == (name, 1) and each["sampler"] != "ar"
        ]
        assert f"| `{name}` | {100 * max(greedy):.1f} |" in page


def test_it_reads_and_writes_text() -> None:
    model = infogain.load("zoo:tiny-reason", device="cpu")
    text = infogain.generate(model, "C93,3,63=33:", "entropy", length=22)[0]
    assert text.finish == "eos"
    assert text.text.endswith("=33")
    grid = infogain.infill(model, "S1[MASK:15]", Recipe(make("entropy", tau_token=0.0)))[0].text
    assert load_task("sudoku").right(load_task("sudoku").problems(1, "test")[0], grid)
    with pytest.raises(InputError, match="also has"):
        infogain.generate(model, "Hello!")
    with pytest.raises(InputError, match="which this checkpoint lacks"):
        infogain.generate(model, "C93,3,63=33:", chat=True)
    with pytest.raises(InputError, match="no chat template"):
        model.tokenizer.chat([])
    assert model.tokenizer.word(1) == "0"


def test_names_of_the_zoo_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'tiny-reason'"):
        infogain.load("zoo:tiny-reson")
