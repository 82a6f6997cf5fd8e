"""Writing: prompts in every format, texts that are neither right nor wrong, and what is said of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from infogain import InfoGainError
from infogain.cli.results import changes, verdicts
from infogain.evals.judging.sides import model_outputs, pair_up, read_side, side_of_run
from infogain.evals.listing import listing
from infogain.evals.run_comparison import compare
from infogain.evals.run_lines import read_lines
from infogain.evals.run_page import run_page
from infogain.evals.runs import Run
from infogain.evals.summary import summary
from infogain.evals.tasks import load_task
from infogain.report.legend import EXPLAINED
from tests.unit.test_evals_results import about, line

ALPACA = [
    {"dataset": "helpful_base", "instruction": f"Write {i}.", "output": f"Text {i}.", "generator": "davinci"}
    for i in range(3)
]
PROMPTS = {
    "alpaca_eval.json": json.dumps(ALPACA),
    "prompts.jsonl": "".join(json.dumps({"prompt": f"Write {i}."}) + "\n" for i in range(3)),
    "prompts.json": json.dumps([f"Write {i}." for i in range(3)]),
    "prompts.txt": "Write 0.\n\n  Write 1.\r\nWrite 2.",
}
CHAT: Any = SimpleNamespace(chats=True)


@pytest.mark.parametrize("name", PROMPTS)
def test_prompts_are_read_from_every_format(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(PROMPTS[name], newline="")
    for place in (tmp_path, tmp_path / name):
        source, items = load_task("writing").items(place)
        assert source == name
        assert [(item.id, item.question, item.gold) for item in items] == [
            (str(i), f"Write {i}.", "") for i in range(3)
        ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"question": "x"}]', r"entry 1, field 'prompt': is missing; there are question"),
        ('[{"instruction": " "}]', r"field 'instruction': must be a text that is not blank"),
        ("[7]", r"entry 1: must be a table of fields; got 7"),
        ("[]", "it is empty"),
    ],
)
def test_mistakes_in_prompts_are_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "prompts.json").write_text(text)
    with pytest.raises(InfoGainError, match=message):
        load_task("writing").items(tmp_path)


def test_the_hubs_file_is_read_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    module, asked = ModuleType("datasets"), []

    def load_dataset(kind: str, data_files: str, split: str) -> list[dict[str, str]]:
        asked.append((kind, data_files, split))
        return ALPACA

    module.__dict__["load_dataset"] = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    assert [item.question for item in load_task("writing").items()[1]] == ["Write 0.", "Write 1.", "Write 2."]
    assert asked == [("json", "hf://datasets/tatsu-lab/alpaca_eval/alpaca_eval.json", "train")]


def test_the_protocol_is_the_papers_and_what_it_does_not_say_is_said() -> None:
    task = load_task("writing")
    protocol = task.protocol(CHAT)
    assert (protocol.length, protocol.limit, protocol.seeds, protocol.style) == (1024, 200, 1, "chat")
    first, second = task.remarks(protocol, 805)
    assert first.startswith("writing: the first 200 of 805 prompts")
    assert "does not name them" in first
    assert "infogain judge" in second
    assert len(task.remarks(task.protocol(CHAT, limit=805), 805)) == 1
    assert "does not name" not in task.remarks(task.protocol(CHAT, limit=5), 805)[0]
    assert load_task("gsm8k").protocol(CHAT).plain() == {"style": "chat", "shots": 0, "length": 256, "seeds": 5}
    assert load_task("gsm8k").remarks(protocol, 1319) == []


def text(item: int, words: str, seed: int = 0, **more: Any) -> dict[str, Any]:
    """A line of a run of writing."""
    given = {"score": None, "gold": None, "answer": None, "prompt": [{"role": "user", "content": f"Write {item}."}]}
    return {**line(str(item), 0, seed), **given, "text": words, **more}


def written(folder: Path, *lines: dict[str, Any], task: str = "writing") -> Run:
    run = Run(folder)
    with run.writing(about(task=task)) as add:
        for each in lines:
            add(each)
    return run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return written(tmp_path / "writing-m-entropy-123456789", text(0, "a b c d e"), text(1, "a b c d e f g"))


def test_a_run_of_texts_has_no_accuracy(run: Run) -> None:
    assert read_lines(run.folder / "items.jsonl").bad == []
    found = summary(run.items())
    assert not [name for name in found if "accuracy" in name]
    assert (found["lines"], found["words"]) == (2, 6)
    assert found["distinct_1"] == pytest.approx(7 / 12)
    assert found["self_bleu_of"] == "run"
    assert 0 < found["self_bleu"] < 1
    assert {"entropy", "forwards", "tokens_per_second"} <= set(found)
    json.dumps(found, allow_nan=False)


def test_texts_without_words_have_numbers_that_json_can_hold(tmp_path: Path) -> None:
    found = summary(written(tmp_path / "r-1", text(0, ""), text(1, " ")).items())
    assert (found["distinct_1"], found["self_bleu"], found["words"]) == (None, None, 0)
    json.dumps(found, allow_nan=False)
    assert listing([Run(tmp_path / "r-1")]).rows[0].count("–") >= 4


def test_a_listing_shows_what_its_runs_have(run: Run, tmp_path: Path) -> None:
    columns = listing([run]).columns
    assert "pass@1" not in columns
    assert "95 %" not in columns
    mine = ["words", "distinct-1", "distinct-2", "distinct-3", "self-BLEU"]
    assert [name for name in columns if name in mine] == mine
    assert set(mine) <= set(EXPLAINED)
    scored = Run(tmp_path / "t-2")
    with scored.writing(about()) as add:
        add(line("1", 1))
    both = listing([run, scored])
    rows = [dict(zip(both.columns, row, strict=True)) for row in both.rows]
    assert [row["pass@1"] for row in rows] == ["–", "100.0"]
    assert [row["words"] for row in rows] == ["6", "–"]


def test_a_page_marks_nothing_as_right_or_wrong(run: Run) -> None:
    page = run_page(run, run.items())
    assert page.count("<details") == 2
    assert 'value="right"' not in page
    assert "✓" not in page
    assert "✗" not in page
    assert "<dt>gold</dt>" not in page
    assert "a b c d e f g" in page


def test_two_runs_of_texts_are_compared_without_accuracy(run: Run, tmp_path: Path) -> None:
    other = written(tmp_path / "writing-m-ar-2", text(0, "x"), text(1, "y"))
    found = compare(run, other)
    assert found.accuracy is None
    assert [row[0] for row in changes(found).rows] == ["H̃"]
    assert not any("right" in said for said in verdicts(found))


def test_alpacaevals_format_is_written_and_read_back(run: Run, tmp_path: Path) -> None:
    made = model_outputs(run)
    assert made == [
        {"instruction": "Write 0.", "output": "a b c d e", "generator": run.name},
        {"instruction": "Write 1.", "output": "a b c d e f g", "generator": run.name},
    ]
    path = tmp_path / "outputs.json"
    path.write_text(json.dumps(made))
    assert read_side(path).texts == read_side(run.folder).texts == read_side(run.folder / "items.jsonl").texts
    assert read_side(path).about["generators"] == [run.name]
    (tmp_path / "reference.json").write_text(json.dumps(ALPACA))
    pairs = pair_up(read_side(run.folder), read_side(tmp_path / "reference.json"))
    assert [(pair.key.instruction, pair.a, pair.b) for pair in pairs] == [
        ("Write 0.", "a b c d e", "Text 0."),
        ("Write 1.", "a b c d e f g", "Text 1."),
    ]


def test_outputs_are_of_the_first_seed(tmp_path: Path) -> None:
    run = written(tmp_path / "w-1", text(0, "later", 1), text(0, "first", 0), text(1, "other", 0))
    assert [each["output"] for each in model_outputs(run)] == ["first", "other"]


def test_seeds_are_paired_with_seeds_and_repeated_instructions_with_each_other(tmp_path: Path) -> None:
    a = written(tmp_path / "w-1", text(0, "a0"), text(0, "a1", 1))
    b = written(tmp_path / "w-2", text(0, "b1", 1), text(0, "b0"), text(0, "b2", 2))
    assert [(pair.a, pair.b) for pair in pair_up(side_of_run(a), side_of_run(b))] == [("a0", "b0"), ("a1", "b1")]
    twice = [{"instruction": "Go.", "output": output} for output in ("one", "two")]
    for name in ("x.json", "y.json"):
        (tmp_path / name).write_text(json.dumps(twice))
    pairs = pair_up(read_side(tmp_path / "x.json"), read_side(tmp_path / "y.json"))
    assert [(pair.a, pair.b) for pair in pairs] == [("one", "one"), ("two", "two")]


def test_what_cannot_be_judged_is_refused(run: Run, tmp_path: Path) -> None:
    scored = Run(tmp_path / "t-2")
    with scored.writing(about()) as add:
        add(line("1", 1))
    with pytest.raises(InfoGainError, match="neither right nor wrong; t-2 is a run of t, whose texts are"):
        side_of_run(scored)
    with pytest.raises(InfoGainError, match=r"must hold texts; w-0 has none yet"):
        side_of_run(written(tmp_path / "w-0"))
    with pytest.raises(InfoGainError, match="have none in common"):
        pair_up(side_of_run(run), side_of_run(written(tmp_path / "w-9", text(9, "nine"))))
    with pytest.raises(InfoGainError, match="is neither"):
        read_side(tmp_path / "absent")
