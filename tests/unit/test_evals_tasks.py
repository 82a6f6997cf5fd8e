"""Tasks: read from the benchmarks' own formats, and posed as the protocol says."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from infogain import InfoGainError
from infogain.evals.answers import boxed
from infogain.evals.protocol import Protocol
from infogain.evals.snippets import read_program
from infogain.evals.source import Hub, Record, read_file, read_hub
from infogain.evals.task import EvalTask, Item
from infogain.evals.tasks import TASKS, load_task, register
from infogain.evals.tasks.mbpp import TEST
from infogain.evals.tasks.sudoku import lines
from infogain.load import load
from infogain.zoo.tasks import TASKS as ZOO

GSM8K = {"question": "Two and two?", "answer": "2 + 2 = <<2+2=4>>4\n#### 4"}
MATH = {"problem": "What is $1/2$?", "solution": "…", "answer": r"\frac{1}{2}", "unique_id": "test/algebra/1.json"}
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": "def one():\n",
    "canonical_solution": "    return 1\n",
    "test": "def check(f):\n    assert f() == 1\n",
    "entry_point": "one",
}
MBPP = {
    "task_id": 11,
    "prompt": "Write 1.",
    "code": "def one(): 1",
    "test_imports": [],
    "test_list": ["assert one()"],
}
MBPP_FILE = "sanitized-mbpp.json"
COUNTDOWN = {"input": "15,44,79,50", "output": "44-15=29,79-29=50"}
PUZZLE, SOLUTION = "3102200002100320", "3142243142131324"
CHAT: Any = SimpleNamespace(chats=True)
PLAIN: Any = SimpleNamespace(chats=False)


def write(folder: Path, name: str, entries: list[dict[str, Any]]) -> Path:
    path = folder / name
    if path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(entry) for entry in entries) + "\n")
    elif path.suffix == ".json":
        path.write_text(json.dumps(entries))
    else:
        path.write_text("Puzzle,Solution\n" + "".join(f"{e['Puzzle']},{e['Solution']}\n" for e in entries))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A benchmark file of each format."""
    write(tmp_path, "gsm8k.jsonl", [GSM8K, {"question": "And three?\u2028Really?", "answer": "#### 1,200"}])
    write(tmp_path, "math500.jsonl", [MATH])
    write(tmp_path, "humaneval.jsonl", [HUMANEVAL])
    write(tmp_path, "sanitized-mbpp.json", [{**MBPP, "task_id": i} for i in (2, 10, 11, 510, 511, 974)])
    write(tmp_path, "countdown.jsonl", [COUNTDOWN])
    write(tmp_path, "countdown4.jsonl", [{"input": "1,2,3,4,10", "output": "1+2=3,3+3=6,6+4=10"}])
    write(tmp_path, "sudoku.csv", [{"Puzzle": PUZZLE, "Solution": SOLUTION}])
    return tmp_path


def test_every_format_is_read(data: Path) -> None:
    found = {
        name: load_task(name).items(data) for name in ("gsm8k", "math500", "humaneval", "mbpp", "countdown", "sudoku")
    }
    assert [(item.id, item.gold) for item in found["gsm8k"][1]] == [("0", "4"), ("1", "1200")]
    assert found["math500"][1] == [Item("test/algebra/1.json", MATH["problem"], MATH["answer"])]
    assert found["humaneval"][1][0].extra["entry_point"] == "one"
    assert found["countdown"][1] == [Item("0", "15,44,79,50", "44-15=29,79-29=50")]
    assert found["sudoku"] == ("sudoku.csv", [Item("0", PUZZLE, SOLUTION)])
    assert load_task("countdown4").items(data)[1][0].question == "1,2,3,4,10"
    assert load_task("gsm8k").items(data / "gsm8k.jsonl") == found["gsm8k"]


def test_mbpp_asks_its_test_split_only(data: Path) -> None:
    assert [item.id for item in load_task("mbpp").items(data)[1]] == ["11", "510"]
    assert len(TEST) == 500


BROKEN = [
    ("gsm8k.jsonl", "gsm8k", '{"question": "x"}\n', r"line 1, field 'answer': is missing; there are question"),
    ("gsm8k.jsonl", "gsm8k", json.dumps(GSM8K) + "\n" + "\n" * 5 + "{bad\n", r"gsm8k.jsonl, line 7: must be JSON"),
    ("gsm8k.jsonl", "gsm8k", "", r"gsm8k.jsonl must hold at least one entry; it is empty"),
    ("gsm8k.jsonl", "gsm8k", "\n \n", "it is empty"),
    ("gsm8k.jsonl", "gsm8k", json.dumps(MATH) + "\n", r"line 1, field 'question': is missing.*another benchmark\?"),
    ("gsm8k.jsonl", "gsm8k", json.dumps({**GSM8K, "answer": "4"}), r"line 1, field 'answer': must be a solution that"),
    ("gsm8k.jsonl", "gsm8k", json.dumps({**GSM8K, "question": 4}), r"field 'question': must be a text; got 4"),
    ("gsm8k.jsonl", "gsm8k", "[1]\n", r"line 1: must be a table of fields; got \[1\]"),
    (MBPP_FILE, "mbpp", "[]", "it is empty"),
    (MBPP_FILE, "mbpp", "{}", "must hold a list"),
    (MBPP_FILE, "mbpp", json.dumps([MBPP, {**MBPP, "task_id": True}]), r"entry 2, field 'task_id': must be a whole"),
    (MBPP_FILE, "mbpp", json.dumps([{**MBPP, "test_list": "x"}]), r"entry 1, field 'test_list': must be a list"),
    (MBPP_FILE, "mbpp", json.dumps([{**MBPP, "task_id": 2}]), "must hold test items of mbpp; it has none"),
    (MBPP_FILE, "mbpp", json.dumps([MBPP, MBPP]), "items of mbpp must have different names; two are '11'"),
    (MBPP_FILE, "mbpp", "[" * 100_000, "must be JSON; it is not: maximum recursion depth"),
    ("countdown.jsonl", "countdown", '{"input": "1,2,3,4,10", "output": "x"}', r"field 'input': must be 3 numbers and"),
    ("countdown.jsonl", "countdown", '{"input": "1,2,3,7", "output": "1+2=3"}', r"field 'output': must be steps that"),
    ("sudoku.csv", "sudoku", f"Puzzle,Solution\n{PUZZLE},{'1' * 200_000}\n", "line 2: must be CSV; it is not: field"),
    ("sudoku.csv", "sudoku", "Puzzle,Solution\n123,123\n", r"line 2, field 'Puzzle': must be sixteen digits"),
    (
        "sudoku.csv",
        "sudoku",
        f"Puzzle,Solution\n{PUZZLE},{SOLUTION[::-1]}\n",
        r"line 2, field 'Solution': must be a grid",
    ),
    (
        "sudoku.csv",
        "sudoku",
        "Puzzle,Solution\n12" + "0" * 14 + ",1289891221989821\n",  # a grid, in other digits
        r"line 2, field 'Solution': must be a grid",
    ),
    ("sudoku.csv", "sudoku", f"Puzzle,Solution\n{PUZZLE}\n", r"line 2, field 'Solution': is missing"),
    ("sudoku.csv", "sudoku", "a,b\n1,2\n", r"line 2, field 'Puzzle': is missing"),
]


@pytest.mark.parametrize(("name", "task", "text", "message"), BROKEN)
def test_a_broken_file_is_named_with_line_and_field(
    name: str, task: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InfoGainError, match=message):
        load_task(task).items(tmp_path)


def test_a_byte_order_mark_is_no_part_of_the_first_field(tmp_path: Path) -> None:
    (tmp_path / "sudoku.csv").write_text(f"Puzzle,Solution\n{PUZZLE},{SOLUTION}\n", encoding="utf-8-sig")
    assert load_task("sudoku").items(tmp_path)[1] == [Item("0", PUZZLE, SOLUTION)]


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InfoGainError, match=r"gsm8k is read from gsm8k.jsonl; there is none in"):
        load_task("gsm8k").items(tmp_path)
    (tmp_path / "x.xml").write_text("x")
    with pytest.raises(InfoGainError, match=r"a benchmark's file ends in .jsonl, .json, .csv, .txt; got x.xml"):
        read_file(tmp_path / "x.xml")
    (tmp_path / "x.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InfoGainError, match="must be UTF-8"):
        read_file(tmp_path / "x.jsonl")


def test_the_hub_is_asked_where_no_folder_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    module, asked = ModuleType("datasets"), []

    def load_dataset(path: str, config: str | None, split: str) -> list[dict[str, str]]:
        asked.append((path, config, split))
        if path == "nowhere":
            raise ConnectionError("no route\nto host")
        return [GSM8K]

    module.__dict__["load_dataset"] = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    source, items = load_task("gsm8k").items()
    assert (source, [item.gold for item in items]) == ("openai/gsm8k (test)", ["4"])
    assert asked == [("openai/gsm8k", "main", "test")]
    with pytest.raises(InfoGainError, match="fetching nowhere from the hub failed: no route to host Check"):
        read_hub(Hub("nowhere"))
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InfoGainError, match=r"needs datasets: pip install 'infogain\[eval\]'"):
        read_hub(Hub("nowhere"))


# examples


def posed(task: EvalTask) -> list[Item]:
    """What is in a test that holds every example of the task as an item, too."""
    return [Item(str(i), f" {shot.question}\n", shot.answer) for i, shot in enumerate(task.examples()[::2])]


@pytest.mark.parametrize(
    "name", [name for name in TASKS if not name.startswith("zoo:") and name not in ("writing", "stories")]
)
def test_an_example_never_comes_from_the_test(name: str) -> None:
    task = load_task(name)
    every = task.examples()
    items = posed(task)
    free = task.free_examples(items)
    assert len(every) >= 3
    assert free == every[1::2]
    with pytest.raises(InfoGainError, match=f"{name} has .* examples to show before item 0; got shots=99"):
        task.shots_for(items[0], free, 99)


@pytest.mark.parametrize("name", ["sudoku", "countdown", "countdown4", "countdown5"])
def test_no_example_of_planning_gives_away_an_item(name: str) -> None:
    """The items that are drawn, all of them, with the shots each is posed with."""
    task = load_task(name)
    _, items = task.items()
    free = task.free_examples(items)
    for item in items:
        shots = task.shots_for(item, free, task.shots)
        assert len(shots) == task.shots
        for shot in shots:
            assert shot.question != item.question
            assert not task.score(item, answered(task, shot.answer)).right


def answered(task: EvalTask, answer: str) -> str:
    return f"Solution:\n{lines(answer)}" if task.name == "sudoku" else answer


def test_a_grid_that_solves_the_item_is_not_shown() -> None:
    task = load_task("sudoku")
    shot = task.examples()[0]
    item = Item("0", "0" * 8 + shot.answer[8:], shot.answer)
    assert task.gives_away(shot, item)
    assert shot not in task.shots_for(item, task.examples(), 3)


# how tasks are posed


def test_shots_are_turns_of_a_chat_or_texts_before() -> None:
    task = load_task("gsm8k")
    item, shots = Item("0", "Two and two?", "4"), task.examples()[:2]
    chat = task.build(item, shots, "chat")
    assert [m["role"] for m in chat if isinstance(m, dict)] == ["user", "assistant"] * 2 + ["user"]
    assert isinstance(chat[-1], dict)
    assert chat[-1]["content"].startswith("Two and two?\nPlease reason step by step")
    plain = task.build(item, shots, "plain")
    assert isinstance(plain, str)
    assert plain.count("Question:") == 3
    assert plain.endswith("Answer: ")
    assert shots[0].answer in plain
    assert task.stops[0] == "\n\nQuestion:"
    assert task.build(item, [], "chat") == [chat[-1]]


@pytest.mark.parametrize("name", ["gsm8k", "math500", "humaneval", "mbpp", "countdown", "countdown4"])
@pytest.mark.parametrize("style", ["chat", "plain"])
def test_a_prompt_holds_the_question_and_every_example_before_it(name: str, style: str) -> None:
    task = load_task(name)
    *shots, asked = task.examples()[:3]
    prompt = json.dumps(task.build(Item("0", asked.question, ""), shots, style), ensure_ascii=False)
    shown = [part for shot in shots for part in (shot.question, shot.answer)]
    places = [prompt.find(json.dumps(text.strip(), ensure_ascii=False)[1:-1]) for text in (*shown, asked.question)]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("name", ["gsm8k", "math500", "countdown", "countdown4", "countdown5"])
def test_examples_are_right(name: str) -> None:
    task = load_task(name)
    for shot in task.examples():
        score = task.score(Item("0", shot.question, boxed(shot.answer) or shot.answer), task.reply(shot))
        assert score.right, shot


HUMANEVAL_EXAMPLES = (
    "assert double_all([1, 2]) == [2, 4]",
    "assert is_shouting('OH NO') and not is_shouting('Oh no') and not is_shouting('!')",
    "assert count_days(47) == 1",
)


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_examples_of_programs_are_found_and_run(name: str) -> None:
    """MBPP's questions hold tests of their own; those of HumanEval are told in words."""
    task = load_task(name)
    examples = task.examples()
    told = [re.findall("^assert .*$", shot.question, re.MULTILINE) for shot in examples]
    tests = [[test] for test in HUMANEVAL_EXAMPLES] if name == "humaneval" else told
    assert all(tests)
    for shot, lines_of in zip(examples, tests, strict=True):
        space: dict[str, Any] = {}
        exec(read_program(task.reply(shot), None), space)
        for test in lines_of:
            exec(test, space)


def test_sudoku_is_posed_as_a_grid_with_holes() -> None:
    task = load_task("sudoku")
    text = task.build(Item("0", PUZZLE, SOLUTION), task.examples()[:5], "infill")
    assert isinstance(text, str)
    assert text.endswith("Solution:\n31[MASK]2\n2[MASK][MASK][MASK]\n[MASK]21[MASK]\n[MASK]32[MASK]")
    assert text.count("[MASK]") == PUZZLE.count("0")
    assert text.count("Puzzle:") == 6


def test_a_tokenizer_that_joins_digits_cannot_be_asked_a_sudoku() -> None:
    task, joined = load_task("sudoku"), SimpleNamespace(encode=lambda text: [len(text)])
    single = SimpleNamespace(encode=lambda text: list(text.encode()))
    assert task.unsupported(SimpleNamespace(tokenizer=single)) is None  # type: ignore[arg-type]
    assert "a cell must be one token" in str(task.unsupported(SimpleNamespace(tokenizer=joined)))  # type: ignore[arg-type]


def test_a_model_of_the_zoo_knows_its_own_tasks_only() -> None:
    model = load("zoo:tiny-reason", device="cpu")
    known = {
        name
        for name, task in TASKS.items()
        if not name.startswith(("humaneval", "mbpp")) and not task.unsupported(model)
    }
    assert known == {f"zoo:{name}" for name in ZOO}
    assert "it does not know the characters ['\\n', " in str(load_task("gsm8k").unsupported(model))


PAPER = {"gsm8k": (0, 256), "math500": (0, 512), "humaneval": (0, 256), "mbpp": (0, 256), "countdown": (3, 48)}


def test_protocols_are_the_papers_unless_told_otherwise() -> None:
    for name, (shots, length) in PAPER.items():
        assert load_task(name).protocol(CHAT) == Protocol("chat", shots, length, 5, None)
        assert load_task(name).protocol(PLAIN).style == "plain"
    assert load_task("sudoku").protocol(CHAT) == Protocol("infill", 5, None, 5, None)
    given = load_task("gsm8k").protocol(CHAT, shots=4, style="plain", length=64, seeds=1, limit=9)
    assert given.plain() == {"style": "plain", "shots": 4, "length": 64, "seeds": 1, "limit": 9}
    assert load_task("zoo:sudoku").protocol(CHAT).style == "chat"
    with pytest.raises(InfoGainError, match=r"unknown style of sudoku: 'chat'.*Available: infill"):
        load_task("sudoku").protocol(CHAT, style="chat")
    with pytest.raises(InfoGainError, match=r"a text with holes \(style infill\) has no length"):
        load_task("sudoku").protocol(CHAT, length=9)


def test_the_zoos_tasks_have_names_of_their_own() -> None:
    """Countdown with four numbers and Sudoku are there twice: as benchmarks, and as the zoo draws them."""
    assert {name for name in TASKS if name.startswith("zoo:")} == {f"zoo:{name}" for name in ZOO}
    assert all(task.name == name for name, task in TASKS.items())
    for name in ("countdown", "countdown4", "sudoku"):
        ours, theirs = load_task(f"zoo:{name}"), load_task(name)
        assert type(ours) is not type(theirs)
        assert ours.items()[1][0].question != theirs.items()[1][0].question


def test_a_task_is_registered_once() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        register(load_task("gsm8k"))
    with pytest.raises(InfoGainError, match=r"unknown task 'gsm8'. Did you mean 'gsm8k'\?"):
        load_task("gsm8")


def test_a_record_says_what_it_has() -> None:
    with pytest.raises(InfoGainError, match="x, field 'a': is missing; there are none"):
        Record("x", {}).text("a")
