"""The studies of speed on numbers made by hand: what they conclude from a GPU's."""

from __future__ import annotations

from typing import Any

import pytest

from infogain.evals import means
from infogain.studies import STUDIES
from infogain.studies.cell import CellResult
from infogain.studies.overhead import AT_RATE, BYPASS, GREEDY_PART, OFF, SWEEP, bypass_rate
from infogain.studies.speed import timed

GIB = 2**30
CELL = timed("sdar-8b", STUDIES["memory"].points("small")[0].cell.recipe.sampler)


def row(labels: dict[str, Any], **found: Any) -> CellResult:
    return CellResult(labels, CELL, found)


def memory_rows(each: int, beam: int) -> list[CellResult]:
    """15 GiB of weights, `each` byte more per candidate, `beam` per hypothesis."""
    made = []
    for point in STUDIES["memory"].points("full"):
        n, width = point.labels["N"], point.labels["width"]
        peak = 15 * GIB + each * (n - 1) + beam * (width - 1)
        counts = {"weight_bytes": 15 * GIB, "kv_bytes": width * 1000, "logits_bytes": n * width * 10}
        made.append(row(point.labels, peak_bytes=peak, **counts))
    return made


def test_memory_by_activations_alone_reproduces() -> None:
    study, rows = STUDIES["memory"], memory_rows(GIB // 100, GIB)
    assert [check.holds for check in study.checks(rows)] == [True] * 5
    assert "0.5 % above greedy's; in the paper 24 %" in study.summary(rows)[1]
    assert study.tables(rows)[0].rows[4][-1] == "0.5"


def test_memory_that_grows_with_copies_does_not() -> None:
    copied = [check.claim for check in STUDIES["memory"].checks(memory_rows(GIB, 0)) if not check.holds]
    assert copied == [
        "N = 8 needs no more than the paper's 24 %",
        "A candidate costs activations, less than 1 % of the weights",
        "A beam of 8 grows memory more than the sampler",
    ]


def overhead_rows(each: float, at_rate: float) -> list[CellResult]:
    """Steps of 10 ms and `each` more per further candidate, as ms per token too; `at_rate` ms with a bypass.

    There an opening waits 32 ms, which is none of the sampler's doing.
    """
    made = [row({"part": BYPASS, "K": k}, bypassed=share) for share in (0.9, 0.7) for k in (1, 2)]
    for part, ms in ((GREEDY_PART, 10.0), (AT_RATE, at_rate), (OFF, 10 + 7 * each)):
        for k in (1, 2):
            wait = 32.0 if part == AT_RATE else 0.0
            times = {"ms_per_step": ms, "forward_ms": ms, "ms_per_token": ms + wait / 16, "opening_ms": 20 + wait}
            times["candidates_per_row"] = 1.0
            made.append(row({"part": part, "shape": "dream-7b", "K": k}, **times))
    for n in (1, 2, 8):
        made.append(row({"part": SWEEP, "shape": "dream-7b", "K": 1, "N": n}, ms_per_step=10 + (n - 1) * each))
    return made


def test_time_is_held_against_the_paper() -> None:
    study, rows = STUDIES["overhead"], overhead_rows(0.5, 12.5)
    assert bypass_rate(rows, 1) == 0.8
    assert [(check.holds, check.evidence) for check in study.checks(rows)] == [
        (True, "5.0 % of it at N = 8"),
        (False, "+25.0 %"),  # of 15 ± 9 at K = 1
        (True, "+25.0 %"),  # of 64 ± 26 at K = 2
    ]
    assert not study.checks(overhead_rows(2.0, 12.5))[0].holds
    assert "no bypass +35.0 %" in study.summary(rows)[0]


def test_the_cost_model_is_fitted() -> None:
    table = STUDIES["overhead"].tables(overhead_rows(0.5, 12.5))[1]
    assert table.columns[3] == "Eq. 27: 10.00 + (N − 1) · 0.500"
    assert table.rows[-1][:4] == ["8", "13.50", "80.00", "13.50"]


def test_what_follows_is_timed_at_the_rate_that_was_found() -> None:
    timed_at_rate = overhead_rows(0.5, 12.5)
    assert STUDIES["overhead"].follow("small", timed_at_rate) == []  # nothing is left to ask
    rows = [r for r in timed_at_rate if r.labels["part"] != AT_RATE]
    then = STUDIES["overhead"].follow("small", rows)
    assert [point.labels["rate"] for point in then] == [0.8, 0.8]
    assert then[0].cell.recipe.plain()["sampler"]["rate"] == 0.8
    assert STUDIES["overhead"].follow("small", [r for r in rows if r.labels["part"] != BYPASS]) == []


def test_a_line_is_fitted_by_least_squares() -> None:
    assert means.line([0, 1, 2], [1, 3, 5]) == (1, 2)
    assert means.line([0, 0, 1, 1], [0, 2, 4, 6]) == pytest.approx((1, 4))
