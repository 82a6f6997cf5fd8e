"""What evals, studies and bench share: a table says the same in every form, and what its columns mean."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from infogain.bench.records import COMPARED, COSTS, TIMES, compare, criteria
from infogain.bench.speed_page import counted
from infogain.evals.listing import ASKED, FOUND
from infogain.report import numbers
from infogain.report.legend import EXPLAINED, TASKS_OF_THE_ZOO
from infogain.report.pages import render
from infogain.report.paper import JUDGEMENT, MEMORY, OVERHEAD, load_table
from infogain.report.tables import FORMATS, Link, Table, as_markdown, as_text, legend_in_markdown
from infogain.studies import STUDIES
from infogain.studies.report_page import load_records, tables
from infogain.studies.results_page import beside_the_paper
from infogain.zoo import TASKS

ROOT = Path(__file__).parents[2]
TABLE = Table(["sampler", "H̃", "forwards"], [["entropy", "1.50", "3"], ["info-gain", "1.25", "24"]], title="t")


@pytest.mark.parametrize("form", [*FORMATS, "text"])
def test_every_form_holds_every_cell_in_order(form: str) -> None:
    text = as_text(TABLE) if form == "text" else FORMATS[form](TABLE)
    places = [text.index(cell) for row in TABLE.rows for cell in row]
    assert places == sorted(places)


@pytest.mark.parametrize("form", ["markdown", "html", "text"])
def test_what_is_read_says_what_its_columns_mean(form: str) -> None:
    text = as_text(TABLE) if form == "text" else FORMATS[form](TABLE)
    for meaning in TABLE.meanings.values():
        assert meaning in text


def test_a_csv_reads_back() -> None:
    odd = Table(["a", 'b"'], [["1,5", "x\ny"], ["", "–"]])
    assert list(csv.reader(io.StringIO(FORMATS["csv"](odd)))) == [odd.columns, *odd.rows]


def test_a_part_keeps_what_stands_out() -> None:
    part = Table(["a", "b", "c"], [["1", "2", "3"]], text_columns=2, bold=[(0, 2), (0, 1)], title="t").part([0, 2])
    assert part == Table(["a", "c"], [["1", "3"]], text_columns=1, bold=[(0, 1)], title="t")


def test_columns_with_one_meaning_share_a_line() -> None:
    table = Table(["sampler", "SDAR: H̃", "TraDo: H̃", "Eq. 26: N · 5.19", "own"], [], explained={"own": "mine"})
    assert list(table.meanings) == ["sampler", "SDAR, TraDo", "Eq. 26", "own"]
    assert table.legend[-1] == "own: mine"
    assert legend_in_markdown(TABLE, table).count("**sampler**") == 1


def test_every_column_of_the_committed_studies_is_explained() -> None:
    results = ROOT / "docs" / "results"
    records = [*load_records(results), *load_records(results / "first-edition")]
    assert records
    for record in records:
        for table in [*beside_the_paper(record), *tables(record)]:
            assert_explained(table)


def test_every_task_of_the_zoo_may_be_a_column() -> None:
    assert list(TASKS) == TASKS_OF_THE_ZOO
    assert set(TASKS) <= set(EXPLAINED)


def assert_explained(table: Table) -> None:
    known = {**EXPLAINED, **table.explained}
    for name in table.columns:
        assert name in known or name.partition(":")[0] in known, name


def test_every_column_of_runs_and_benches_is_explained() -> None:
    case = {"a": dict.fromkeys(COMPARED, 1.0)}
    assert {*ASKED, *FOUND, *TIMES, *COSTS, "case", "over the first"} <= set(EXPLAINED)
    for table in (criteria({}), compare({"cases": case}, {"cases": case}), counted()):
        assert_explained(table)


def test_no_explanation_is_left_over_from_a_column_that_is_gone() -> None:
    """Each name stands in some line of the package that is no explanation."""
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py") if path.name != "legend.py")
    for name in EXPLAINED:
        assert re.search(re.escape(name.split(",")[0].removesuffix(" %")), source), name


def test_a_link_is_one_in_markdown_and_a_bracket_is_none() -> None:
    row = as_markdown(Table(["a", "b"], [[Link("x_y*", "x"), "[u](v) [1.0, 2.0] a_b _c_"]])).splitlines()[2]
    assert row == r"| [x_y\*](#x) | \[u\](v) [1.0, 2.0] a_b \_c\_ |"


def test_numbers_are_written_one_way() -> None:
    assert [numbers.number(x, 2) for x in (1.005, -0.001, -1.5, None)] == ["1.00", "0.00", "−1.50", "–"]
    assert numbers.number(0.5, scale=100, signed=True) == "+50.0"
    assert numbers.percent(0.123) == "12.3"
    assert numbers.grouped(12345.6) == "12,346"
    assert numbers.bounds(0.1, 0.25, 0, 100) == "[10, 25]"
    assert numbers.bounds(math.nan, 1) == "[–]"
    assert numbers.six_digits({"a": [1.23456789, "x", (2, None)]}) == {"a": [1.23457, "x", [2, None]]}


def test_a_template_escapes_and_refuses_what_it_was_not_given() -> None:
    page = render("table_page.html", title="<u>", about="&", table=TABLE, notes=["<i>"], assets="<script>")
    assert "<u>" not in page
    assert "<i>" not in page
    assert "<script>" not in page
    with pytest.raises(UndefinedError):
        render("table_page.html", title="t")


def test_claims_in_words_have_the_papers_numbers() -> None:
    """Studies say in a sentence what the paper found: the numbers in it are those of its tables."""
    dream = {k: load_table("table2").averages("dream", k) for k in (1, 2)}
    best = {k: max(x for name, (x, _) in dream[k].items() if name != "info-gain") for k in (1, 2)}
    said = f"{dream[1]['info-gain'][0]} and {dream[2]['info-gain'][0]}, against {best[1]} and {best[2]}"
    assert said in STUDIES["samplers"].claim
    for name in ("entropy", "confidence", "margin"):
        assert f"{name} {JUDGEMENT[name][0]:g} %" in STUDIES["judgement"].claim
    assert f"{JUDGEMENT['ar'][0]:g} % and {JUDGEMENT['ar'][1]:.1f} for left to right" in STUDIES["judgement"].claim
    for papers in OVERHEAD.values():
        assert all(f"{more} %" in STUDIES["overhead"].claim for more, _ in papers.values())
    assert f"{MEMORY} % more" in STUDIES["memory"].claim
