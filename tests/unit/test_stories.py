"""Stories: prompts that come with the package, and the rule that says where a text falls apart."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from infogain import InfoGainError
from infogain.evals.coherence import CHECKS, faults
from infogain.evals.protocol import Protocol
from infogain.evals.task import Item
from infogain.evals.tasks import load_task
from infogain.evals.tasks.writing import Writing
from infogain.load import load
from infogain.recipe import Recipe
from infogain.studies.benchmark import Benchmark, check_data
from infogain.studies.cell import BENCHMARKS, Cell, Point
from infogain.studies.independent import units
from infogain.studies.subject import Subject
from tests.unit.test_posed import checkpoint

ROOT = Path(__file__).parents[2]
TEXTS = [json.loads(line) for line in (ROOT / "tests/data/stories.jsonl").read_text(encoding="utf-8").splitlines()]
SOUND = "The cat sat on the mat and looked at the rain."
CHAT: Any = SimpleNamespace(chats=True)
PLAIN: Any = SimpleNamespace(chats=False)


# the rule


def wrongly_judged(which: str, good: bool) -> list[str]:
    texts = [each["text"] for each in TEXTS if each["set"] == which and each["good"] == good]
    return [text for text in texts if bool(faults(text)) == good]


@pytest.mark.parametrize(
    ("which", "good", "count", "wrong"),
    [
        ("tried", True, 27, 0),
        ("tried", False, 30, 0),
        ("held out", True, 20, 0),
        ("held out", False, 20, 2),
    ],
)
def test_the_documented_numbers_are_those_of_the_rule(which: str, good: bool, count: int, wrong: int) -> None:
    assert len([each for each in TEXTS if each["set"] == which and each["good"] == good]) == count
    assert len(wrongly_judged(which, good)) == wrong
    kind = "good" if good else "bad"
    row = f"| {which}, {kind} | {count} | {count - wrong} |"
    assert row in (ROOT / "docs/evaluate.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", [each["text"] for each in TEXTS if each["good"] and each["set"] == "tried"])
def test_a_good_text_may_break_off_anywhere(text: str) -> None:
    words = text.split(" ")
    broken = [" ".join(words[:count]) for count in range(8, len(words))]
    assert [cut for cut in broken if faults(cut)] == []


BROKEN = {
    "too short": ["", " \n", ".,!", "The cat."],
    "special token": [f"{SOUND}<|endoftext|>", f"{SOUND} [MASK]", f"{SOUND}</s>"],
    "letters of another script": [f"{SOUND} 猫", f"{SOUND} кот"],
    "said twice": ["The cat cat sat on a mat.", "She went to the to the old mill.", "He said that that that was all."],
    "loop": ["He saw a cat, cat, cat, cat in there.", "It ran up the hill, up the hill, up the hill."],
    "comes three times": ["I saw it on the hill, then I saw it on the road, and I saw it on the roof."],
    "sentence twice": ["She walked to the old mill. She walked to the old mill. It rained."],
    "monotonous": ["The king of the town saw the queen of the hill, the son of the queen, the dog, and the cat."],
    "marks": [
        "Once upon a time, , it rained.",
        "It rained.. We left.",
        "It rained., so we left.",
        ", it rained and we left",
    ],
    "small letter begins a sentence": ["It was late. the cat was out in the rain."],
    "words that do not meet": [
        "It was in the a house of mine.",
        "The is of no use to us.",
        "It was were out in there.",
    ],
    "word before a mark": [
        "She sat in the, and waited for me.",
        "He had a cat and. It was me.",
        "I saw the tail of. It was me.",
    ],
    "a or an": ["He had an cat in his boat.", "A old man came up to me."],
    "words without small ones": ["Garden moon happy tree river small dog friend sunny morning."],
    "glued": ["Once upon a timeThere was a cat.", "It was a storystory of a cat."],
}


@pytest.mark.parametrize("kind", CHECKS)
def test_every_check_finds_its_fault(kind: str) -> None:
    for text in BROKEN[kind]:
        assert kind in [fault.partition(":")[0] for fault in faults(text)], text


@pytest.mark.parametrize(
    "text",
    [
        SOUND,
        "He had had a cat, and that that was so pleased me.",
        "It was very very cold, and no, no, no, I did not go out.",
        "On and on and on they went, over and over and over again.",
        "“Who is it?” she asked. “It’s me!” “Who?” “Me...” . . . and then he left.",
        "We left at 9 p.m. and met Mr. Lee, Dr. Wu, etc., in an hour or so.",
        "It was an honest answer, a one-eyed cat, a unicorn and a European.",
        "It was all that she had ever dreamed of. Plan A is what we have.",
        "Run, run, run! The sea is here. Sea water is cold.",
    ],
)
def test_ordinary_english_has_no_fault(text: str) -> None:
    assert faults(text) == []


# the task


def test_fifty_prompts_come_with_the_package() -> None:
    source, items = load_task("stories").items()
    assert source == "stories.txt"
    assert len({item.question for item in items}) == len(items) == 50
    assert items[0].question == "Write a story about a cat."


def test_prompts_may_be_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("Write one.\nWrite two.\n")
    assert [item.question for item in load_task("stories").items(tmp_path)[1]] == ["Write one.", "Write two."]
    with pytest.raises(InfoGainError, match=r"stories is read from prompts\.jsonl or"):
        load_task("stories").items(tmp_path / "..")


def test_eighty_tokens_are_asked_for_in_chat_where_there_is_a_template() -> None:
    task = load_task("stories")
    assert task.protocol(CHAT) == Protocol("chat", 0, 80, 5, None)
    assert task.protocol(PLAIN).style == "plain"
    item = Item("0", "Write a story.")
    assert task.build(item, [], "chat") == [{"role": "user", "content": "Write a story."}]
    assert task.build(item, [], "plain") == "Write a story.\n\n"


def test_a_score_says_what_is_wrong() -> None:
    task, item = load_task("stories"), Item("0", "Write a story.")
    assert task.score(item, SOUND).right
    assert task.score(item, SOUND).note == ""
    score = task.score(item, "The cat cat sat on a mat, , and slept.")
    assert (score.right, score.answer, score.note) == (False, "2 faults", "said twice: cat cat; marks: , ,")
    assert task.score(item, "").answer == "1 fault"


def test_models_of_the_zoo_know_no_words() -> None:
    model = load("zoo:tiny-reason", device="cpu")
    assert load_task("stories").unsupported(model) == Writing().unsupported(model)
    assert load_task("stories").unsupported(model) is not None


# studies


def test_cells_ask_stories_as_the_evaluation_does(tmp_path: Path) -> None:
    subject = Subject(
        checkpoint(tmp_path / "llada", "llada"), "cpu", tmp_path
    )  # a folder of other benchmarks is no matter
    benchmark = subject.benchmark("stories")
    assert benchmark.fingerprint == Benchmark("stories", None).fingerprint
    problems = benchmark.problems(3)
    job, stops = benchmark.job(subject.text, problems)
    assert len(job.rows) == 3
    assert all(row[-80:] == [subject.text.denoiser.mask_id] * 80 for row in job.rows)
    assert stops == ()
    assert [benchmark.right(problems[0], text) for text in (SOUND, "the the the the the")] == [True, False]


def test_stories_need_no_data(tmp_path: Path) -> None:
    cell = Cell("stories", Recipe(), 50)
    assert cell.task in BENCHMARKS
    assert len(units(cell)) == 50
    with pytest.raises(InfoGainError, match="--data is for cells on gsm8k: "):
        check_data(tmp_path, [Point({}, cell)])
