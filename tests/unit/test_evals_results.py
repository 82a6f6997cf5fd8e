"""Results: two runs compared problem by problem, tables and pages that show what a model wrote and nothing else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import infogain
from infogain.cli.results import changes, verdicts
from infogain.errors import InputError
from infogain.evals.intervals import paired_bootstrap
from infogain.evals.listing import listing
from infogain.evals.reproduced_table import table_page
from infogain.evals.run_comparison import compare, differences, unfinished
from infogain.evals.run_page import ROOM, in_order, run_page
from infogain.evals.runs import Run
from infogain.evals.summary import summary
from infogain.report.tables import FORMATS, Table, as_latex, as_markdown
from infogain.samplers import make

HOSTILE = (
    "</pre></script><script>alert(1)</script><img src=https://evil.example/x onerror=alert(2)>&\"'$x_{1}\\%#~^|`*\n-"
)


def about(task: str = "t", sampler: str = "entropy", **more: Any) -> dict[str, Any]:
    return {
        "version": 2,
        "task": task,
        "model": {"name": "zoo:tiny-reason", "fingerprint": "f"},
        "protocol": {"style": "infill", "shots": 0, "seeds": 1},
        "recipe": infogain.Recipe(make(sampler)).plain(),
        "data": {"source": "drawn", "fingerprint": "d", "items": 4},
        "created": "2026-01-01T00:00:00+00:00",
        **more,
    }


def line(item: str, score: int, seed: int = 0, entropy: float = 1.0, **more: Any) -> dict[str, Any]:
    return {
        "key": {"task": "t", "item": item, "seed": seed, "recipe": "r"},
        "score": score,
        "prompt": f"{item}: 2+2=",
        "text": "4",
        "answer": "4",
        "gold": "4",
        "cumulative_entropy": entropy,
        "forwards": 2,
        "token_forwards": 20,
        "committed": 2,
        "choices": None,
        "bypassed": None,
        "seconds": 0.5,
        "seed": 7,
        "finish": "length",
        **more,
    }


def run_of(folder: Path, lines: list[dict[str, Any]], **told: Any) -> Run:
    run = Run(folder)
    with run.writing(about(**told)) as add:
        for each in lines:
            add(each)
    return run


def test_a_comparison_counts_what_was_gained_and_lost(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a", [line(str(i), int(i < 6)) for i in range(10)])
    second = run_of(tmp_path / "b", [line(str(i), int(i >= 2), entropy=0.5) for i in range(11)], sampler="ar")
    found = compare(first, second)
    assert (found.problems, found.texts, found.unpaired) == (10, 10, 1)
    assert (found.gained, found.lost, found.both_right, found.both_wrong) == (4, 2, 4, 0)
    assert found.accuracy
    assert (found.accuracy.first, found.accuracy.second) == (0.6, 0.8)
    assert found.accuracy.difference.value == pytest.approx(0.2)
    assert found.accuracy.difference.low < 0.2 < found.accuracy.difference.high
    assert found.entropy.difference.value == found.entropy.difference.low == -0.5
    assert found.entropy.difference.high < 0
    assert "sampler.name: entropy → ar" in differences(first.about, second.about)


def test_prompts_and_tables_that_differ_are_told() -> None:
    posed = {"source": "drawn", "fingerprint": "d", "items": 4, "prompts": "p"}
    old, new = about(), about(data=posed, frequencies="f")
    assert differences(old, new) == ["prompts: unset → p", "content of frequencies: unset → f"]
    other = about(data={**posed, "prompts": "q"}, frequencies="g")
    assert differences(new, other) == ["prompts: p → q", "content of frequencies: f → g"]


def test_seeds_of_a_problem_are_averaged_before_problems_are_drawn(tmp_path: Path) -> None:
    """Two problems pull in opposite directions, four seeds each: as wide as two problems are, not eight texts."""
    first = run_of(tmp_path / "a", [line(item, int(item == "x"), seed) for item in "xy" for seed in range(4)])
    second = run_of(tmp_path / "b", [line(item, int(item == "y"), seed) for item in "xy" for seed in range(4)])
    found = compare(first, second)
    assert (found.problems, found.texts) == (2, 8)
    assert found.accuracy
    assert found.accuracy.difference == (0.0, -1.0, 1.0)


@pytest.mark.parametrize(
    ("right", "said"),
    [(20, "is higher in the second run"), (0, "is lower in the second run"), (11, "is not decided")],
)
def test_a_comparison_says_what_is_decided(right: int, said: str, tmp_path: Path) -> None:
    first = run_of(tmp_path / "a", [line(str(i), int(i < 10)) for i in range(20)])
    second = run_of(tmp_path / "b", [line(str(i), int(i < right)) for i in range(20)])
    assert verdicts(compare(first, second))[0].startswith(f"pass@1 {said}")


def test_one_decode_of_many_problems_is_not_compared_as_many(tmp_path: Path) -> None:
    """The first run does not draw: its twenty problems are one canvas and one text. The second draws them all."""
    same: dict[str, Any] = {"prompt": "W__*__="}
    first = run_of(tmp_path / "a", [line(str(i), 1, text="t", **same) for i in range(20)])
    drawn = [line(str(i), i % 2, text=f"t{i}", **same) for i in range(20)]
    second = run_of(tmp_path / "b", drawn)
    found = compare(first, second).accuracy
    assert found
    assert (found.difference.value, found.difference.plain()) == (-0.5, None)
    assert changes(compare(first, second)).rows[0] == ["pass@1", "100.0", "50.0", "−50.0", "[–]"]
    assert summary(first.items())["independent"] == 1
    assert summary(first.items())["accuracy_95"][0] < 0.2
    assert summary(first.items())["entropy_95"] is None
    assert summary(drawn)["independent"] == 20


def test_the_bootstrap_has_the_width_that_is_known() -> None:
    value, low, high = paired_bootstrap([0.25] * 9)
    assert 0 < low < value == high == 0.25
    values = [1.0] * 500 + [0.0] * 500  # the mean of 1,000 fair coins: 95 % within 0.5 ± 0.031
    _, low, high = paired_bootstrap(values)
    assert low == pytest.approx(0.469, abs=0.003)
    assert high == pytest.approx(0.531, abs=0.003)
    assert paired_bootstrap(values) == (0.5, low, high)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"task": "u"}, "the task is t and u"),
        ({"data": {"fingerprint": "e", "items": 4}}, "items is d and e"),
    ],
)
def test_different_problems_are_not_compared(told: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        compare(run_of(tmp_path / "a", [line("1", 1)]), run_of(tmp_path / "b", [line("1", 1)], **told))


def test_runs_without_a_common_text_are_not_compared(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none in common"):
        compare(run_of(tmp_path / "a", [line("1", 1)]), run_of(tmp_path / "b", [line("2", 1)]))


def test_a_listing_has_a_row_for_each_run_even_an_empty_one(tmp_path: Path) -> None:
    table = listing([run_of(tmp_path / "t-1234567", [line("1", 1), line("2", 0)]), run_of(tmp_path / "t-empty", [])])
    assert table.columns[:6] == ["run", "task", "model", "sampler", "K", "pass@1"]
    full, empty = table.rows
    assert full[:6] == ["123456", "t", "zoo:tiny-reason", "entropy", "1", "50.0"]
    assert full[7] == "2 of 4"
    assert empty[5:] == ["–", "–", "0 of 4", *["–"] * 5]


@pytest.mark.parametrize("kind", FORMATS)
def test_an_unfinished_run_says_so_wherever_it_is_listed(kind: str, tmp_path: Path) -> None:
    part = run_of(tmp_path / "t-part", [line(str(i), 1) for i in range(3)])
    whole = run_of(tmp_path / "t-whole", [line(str(i), 1) for i in range(4)])
    assert "3 of 4" in FORMATS[kind](listing([part, whole]))
    assert "of" not in listing([whole]).rows[0][listing([whole]).columns.index("texts")]
    assert "3 of 4" in run_page(part, part.items())
    assert unfinished(part, whole) == ["the first run is unfinished: 3 of 4 texts"]
    assert unfinished(whole, whole) == []


def test_latex_takes_no_sign_for_a_command() -> None:
    text = as_latex(Table(["a&b", "H̃"], [[HOSTILE, "−1"]]))
    head, body = text.splitlines()[2], text.splitlines()[4]
    assert head == r"a\&b & $\tilde{H}$ \\"
    assert body.endswith(r" & $-$1 \\")
    cell = body.removesuffix(r" & $-$1 \\")
    known = r"\\(?:textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar)\{\}|\\[&%$#_{}]"
    assert not re.search(r"[\\{}$&#^_%~]", re.sub(known, "", cell))
    assert text.startswith("\\begin{tabular}{lr}\n\\toprule\n")
    assert text.count("\n") == 7


def test_markdown_keeps_a_cell_a_cell() -> None:
    text = as_markdown(Table(["sampler", "n"], [[HOSTILE, "1"]]))
    row = text.splitlines()[2]
    assert len(text.splitlines()) == 3
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    assert "<" not in row
    assert not re.search(r"(?<!\\)[`*_\[\]]", row)


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def assert_fetches_nothing(page: str) -> None:
    for tag, attributes in read(page).tags:
        assert tag not in ("img", "iframe", "link", "object", "embed", "base"), tag
        assert not {"src", "href", "action", "srcset"} & attributes.keys(), (tag, attributes)
    assert "default-src 'none'" in page


def test_hostile_texts_stay_texts_on_a_page(tmp_path: Path) -> None:
    bad = line(HOSTILE, 0, text=HOSTILE, answer=HOSTILE, gold=HOSTILE, note=HOSTILE)
    bad["prompt"] = [{"role": HOSTILE, "content": HOSTILE}]
    run = run_of(tmp_path / "r-1", [bad], task=HOSTILE)
    page = run_page(run, run.items())
    plain = run_page(run_of(tmp_path / "r-2", [line("1", 0, note="n")], task="t"), [line("1", 0, note="n")])
    assert_fetches_nothing(page)
    assert [tag for tag, _ in read(page).tags] == [tag for tag, _ in read(plain).tags]
    assert read(page).texts.count(HOSTILE) >= 4
    assert_fetches_nothing(table_page(HOSTILE, HOSTILE, Table([HOSTILE], [[HOSTILE]]), [HOSTILE]))


def test_a_page_plays_the_traces_it_has_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = infogain.models.judgement()
    trace = infogain.decode(toy.model, toy.canvas(1), make("entropy"), trace=True).trace
    assert trace is not None
    lines = [line("1", 1, trace="traces/1.jsonl"), line("2", 0, trace="traces/2.jsonl"), line("3", 0)]
    run = run_of(tmp_path / "r-1", lines)
    (run.folder / "traces").mkdir()
    for name in ("1", "2"):
        trace.save(run.folder / "traces" / f"{name}.jsonl")
    page = run_page(run, lines)
    assert page.count('<template><div class="infogain-viewer">') == 2
    assert page.count('class="item right"') == 1
    assert page.count('class="item wrong"') == 2
    assert_fetches_nothing(page)
    viewers = re.findall(r'<script type="application/json">(.*?)</script>', page)
    assert [json.loads(viewer)["runs"][0]["title"] for viewer in viewers] == ["1", "2"]
    size = (run.folder / "traces" / "1.jsonl").stat().st_size
    assert size < ROOM
    monkeypatch.setattr("infogain.evals.run_page.ROOM", size)
    small = run_page(run, lines)
    assert small.count("<template>") == 1
    assert f"infogain view {run.folder / 'traces' / '2.jsonl'} --open" in small


def test_texts_come_in_the_benchmarks_order() -> None:
    lines = [line("10", 1), line("9", 0, 1), line("9", 1, 0), line("HumanEval/2", 0)]
    names = [(each["key"]["item"], each["key"]["seed"]) for each in in_order(lines)]
    assert names == [("9", 0), ("9", 1), ("10", 0), ("HumanEval/2", 0)]
    assert [each["key"]["item"] for each in in_order(lines, right=False, limit=1)] == ["9"]
