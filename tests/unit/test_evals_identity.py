"""What names a run: all that decides its texts, and nothing that only says how much of it is wanted."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import infogain
from infogain import Recipe
from infogain.algorithm.noise import row_seeds
from infogain.errors import ContextError, InputError
from infogain.evals import evaluate
from infogain.evals.evaluate import Plan, prepare
from infogain.evals.tasks import gsm8k, load_task
from infogain.samplers import make
from infogain.samplers.frequencies import find_table
from infogain.text.prompts import Job, infills
from infogain.text.text_model import TextModel
from tests.parity.checkpoints import write_checkpoint

QUESTIONS = ("How many dogs?", "How many cats?", "And mats?")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint that chats, with the benchmark's file beside it."""
    write_checkpoint(tmp_path, "dream")
    edit(tmp_path / "config.json", max_position_embeddings=1024)
    write_data(tmp_path, QUESTIONS)
    return tmp_path


def write_data(folder: Path, questions: tuple[str, ...]) -> None:
    lines = [json.dumps({"question": question, "answer": "#### 4"}) for question in questions]
    (folder / "gsm8k.jsonl").write_text("\n".join(lines))


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def plan(folder: Path, recipe: Recipe | None = None, model: TextModel | None = None, **asked: Any) -> Plan:
    """A plan whose model is described by a name alone, so that all else must be found out by posing the items."""
    task, model = load_task("gsm8k"), model or infogain.load(folder, device="cpu", cache="none")
    protocol = task.protocol(model.tokenizer, **{"length": 8, "seeds": 1, **asked})
    return prepare(task, model, {"name": "m"}, protocol, recipe or Recipe(make("entropy")), folder)


def edit_template(folder: Path) -> None:
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    edit(folder / "tokenizer_config.json", chat_template=settings["chat_template"].replace("\n", " "))


def edit_vocabulary(folder: Path) -> None:
    vocabulary = json.loads((folder / "vocab.json").read_text())
    edit(folder / "vocab.json", d=vocabulary["c"], c=vocabulary["d"])


def edit_last_item(folder: Path) -> None:
    write_data(folder, (*QUESTIONS[:-1], "And rats?"))


@pytest.mark.parametrize("change", [edit_template, edit_vocabulary, edit_last_item])
def test_prompts_that_the_model_sees_otherwise_are_another_run(folder: Path, change: Callable[[Path], None]) -> None:
    """Whatever the limit: what is changed may lie beyond it."""
    before = plan(folder, limit=1).name
    assert plan(folder, limit=1).name == before
    change(folder)
    assert plan(folder, limit=1).name != before


@pytest.mark.parametrize("style", ["chat", "plain"])
def test_another_wording_or_another_stop_is_another_run(
    folder: Path, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = plan(folder, style=style).name
    with monkeypatch.context() as patch:
        patch.setattr(gsm8k, "ASK", "Think.")
        assert plan(folder, style=style).name != before
    monkeypatch.setattr(gsm8k.GSM8K, "stops", ("\n",))
    assert (plan(folder, style=style).name == before) == (style == "chat")  # which stops at its end of turn alone


def test_a_run_grows_with_limit_and_seeds(folder: Path) -> None:
    names = {plan(folder, limit=limit, seeds=seeds).name for limit in (1, 2, None) for seeds in (1, 3)}
    assert len(names) == 1


def test_an_item_that_cannot_be_posed_is_told_of_only_where_it_is_asked_for(folder: Path) -> None:
    write_data(folder, (*QUESTIONS, "Why? " * 1000))
    asked = plan(folder, limit=3)
    assert asked.name == plan(folder, limit=1).name
    assert len(asked.job.rows) == 3
    with pytest.raises(ContextError, match="prompt 3 takes"):
        plan(folder)
    with pytest.raises(InputError, match="examples to show"):
        plan(folder, shots=99)


def test_what_is_not_asked_for_is_not_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def warns(model: TextModel, texts: list[str]) -> Job:
        warnings.warn(texts[0], stacklevel=2)
        return infills(model, texts)

    monkeypatch.setattr(evaluate, "infills", warns)
    model, task = infogain.load("zoo:tiny-reason", device="cpu"), load_task("zoo:sudoku")
    with pytest.warns(UserWarning, match="^S") as given:
        prepare(task, model, {"name": "m"}, task.protocol(model.tokenizer, limit=1), Recipe(make("entropy")))
    assert len(given) == 1


def test_another_content_of_pcs_table_is_another_run_and_another_path_is_not(folder: Path) -> None:
    model = infogain.load("zoo:tiny-reason", device="cpu")
    task, table = load_task("zoo:sudoku"), folder / "table.json"

    def name(path: Path, sampler: str = "pc") -> str:
        pc = make("pc", frequencies=str(path))
        recipe = Recipe(pc if sampler == "pc" else make("best-of-n", n=2, base=pc))
        return prepare(task, model, {"name": "m"}, task.protocol(model.tokenizer), recipe).name

    table.write_bytes(find_table("zoo:tiny-reason").read_bytes())
    (folder / "copy.json").write_bytes(table.read_bytes())
    before = name(table), name(table, "best-of-n")
    assert before == (name(folder / "copy.json"), name(folder / "copy.json", "best-of-n"))
    counts = json.loads(table.read_text())["counts"]
    edit(table, counts={**counts, "3": counts["3"] + 1})
    after = name(table), name(table, "best-of-n")
    assert after[0] != before[0]
    assert after[1] != before[1]


def test_seeds_of_different_recipe_seeds_never_coincide(folder: Path) -> None:
    model = infogain.load(folder, device="cpu", cache="none")
    plans = {seed: plan(folder, Recipe(make("entropy"), seed=seed), model, seeds=5) for seed in range(-2, 6)}
    seeds = [seed for one in plans.values() for rows in one.seeds for seed in rows]
    assert len(set(seeds)) == len(seeds) == 8 * 5 * len(QUESTIONS)
    for seed, one in plans.items():  # the first repetition is what `generate` decodes with the same recipe
        assert one.seeds[0] == row_seeds(seed, len(QUESTIONS))


def test_the_largest_seed_can_be_repeated(folder: Path) -> None:
    assert len(plan(folder, Recipe(make("entropy"), seed=2**63 - 1), seeds=2).seeds) == 2
