"""The model that comes with the package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import infogain
from infogain import InputError, Recipe, TokensPerStep, UnknownName
from infogain.load import zoo_folder
from infogain.samplers import make
from infogain.zoo import Alphabet, load_task
from infogain.zoo.card import CARD_FILE, PAGE_FILE, page
from infogain.zoo.score import score

FOLDER = zoo_folder("tiny-reason")


def test_it_is_small_and_its_card_says_what_its_numbers_say() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 16 * 2**20
    card = json.loads((FOLDER / CARD_FILE).read_text())
    assert (FOLDER / PAGE_FILE).read_text() == page("tiny-reason", card)
    model, _ = infogain.load("zoo:tiny-reason", device="cpu")
    assert sum(p.numel() for p in model.transformer.parameters()) == card["parameters"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "least"), [("oneway", 0.3), ("judgement", 0.9), ("sudoku", 0.9), ("countdown", 0.6), ("arithmetic", 0.6)]
)
def test_it_knows_its_tasks(name: str, least: float) -> None:
    """Validation problems, far below the card's scores, so that no chance fails it."""
    model, alphabet = infogain.load("zoo:tiny-reason", device="cpu")
    assert isinstance(alphabet, Alphabet)
    task = load_task(name)
    count = 6 if name == "arithmetic" else 16
    recipe = Recipe(make("info-gain", tau_token=0.0), TokensPerStep(1))
    result = score(model, alphabet, task, task.problems(count, "validation"), recipe)
    assert result.accuracy >= least


def test_it_reads_and_writes_text() -> None:
    model = infogain.load("zoo:tiny-reason", device="cpu")
    text = infogain.generate(model, "C24,13,6=31:", "entropy", length=18)[0]
    assert text.finish == "eos"
    assert text.text.endswith("=31")
    grid = infogain.infill(model, "S1[MASK:15]", Recipe(make("entropy", tau_token=0.0)))[0].text
    assert load_task("sudoku").right(load_task("sudoku").problems(1, "test")[0], grid)
    with pytest.raises(InputError, match="also has"):
        infogain.generate(model, "Hello!")
    with pytest.raises(InputError, match="which this checkpoint lacks"):
        infogain.generate(model, "C24,13,6=31:", chat=True)
    with pytest.raises(InputError, match="no chat template"):
        model.tokenizer.chat([])
    assert model.tokenizer.word(1) == "0"


def test_names_of_the_zoo_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'tiny-reason'"):
        infogain.load("zoo:tiny-reson")
