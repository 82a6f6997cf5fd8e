"""Suites and what they are held against: a verdict and a comparison follow from the numbers alone."""

from __future__ import annotations

from typing import Any

import pytest

from infogain import InputError
from infogain.bench import SUITES, load_suite, records
from infogain.bench.cases import CANVAS
from infogain.bench.criteria import CRITERIA, allocations, verdict


def hand_made(**changed: dict[str, Any]) -> dict[str, Any]:
    """Numbers of the judged suite with which every criterion holds."""
    one: dict[str, Any] = {
        "ms_per_step": 5.0,
        "forward_ms": 4.0,
        "sustained_ms": 4.1,
        "loop_forward_ms": 4.2,
        "peak_bytes": 1000,
        "kv_bytes": 64,
        "device_allocations": 0,
    }
    one |= {"peak_reserved_bytes": 1200, "limits": {"reading_each_ms": 4.0, "reading_ms": 3.8}}
    one |= {"step_tokens_per_s": 200.0, "tokens_per_s": 180.0, "of_matmul_rate": 0.7, "outside_share": 0.1}
    runs = {name: dict(one) for name in load_suite("judged")}
    for n, name in ((8, "info-gain"), (16, "info-gain, n=16"), (32, "info-gain, n=32")):
        runs[name]["peak_bytes"] = 1000 + 5 * n
    runs["info-gain, canvas"]["ms_per_step"] = 70.0
    for name in (*(name for name in runs if name.endswith(", batch")), "info-gain, batch, bypass"):
        runs[name] |= {"step_tokens_per_s": 2000.0, "tokens_per_s": 1800.0}
    for name, numbers in changed.items():
        runs[name] |= numbers
    return runs


def test_the_verdict_follows_from_the_numbers() -> None:
    assert {row[-1] for row in records.criteria(hand_made()).rows} == {"yes"}
    assert len(CRITERIA) == len(records.criteria({}).rows)
    assert {row[-1] for row in records.criteria({}).rows} == {"–"}
    worse: dict[str, dict[str, Any]] = {
        "info-gain": {"ms_per_step": 6.3},
        "info-gain, n=32": {"peak_bytes": 1180},
        "short": {"device_allocations": 2},
    }
    slow = verdict(hand_made(**worse))
    failed = [criterion.words for criterion, measured in slow if measured is not None and not criterion.holds(measured)]
    assert failed == [
        "whole step, N = 8 over greedy",
        "memory per candidate, N 16 to 32 over 8 to 16",
        "calls for memory in steady decodes, all cases",
    ]
    assert slow[0][1] == pytest.approx(1.26)
    no_gpu = verdict(hand_made(greedy={"peak_bytes": None}))
    assert [criterion.words for criterion, measured in no_gpu if measured is None] == ["peak memory, N = 8 over greedy"]
    with pytest.raises(KeyError):  # a CPU's decodes ask for memory too, and nobody counts how often
        allocations({"cpu": {"peak_bytes": None, "device_allocations": 0}})


def test_a_comparison_marks_what_changed() -> None:
    old = {"cases": {"a": {"ms_per_step": 10.0, "tokens_per_s": 100.0, "kv_bytes": None}, "gone": {}}}
    new = {"cases": {"a": {"ms_per_step": 12.0, "tokens_per_s": 104.0, "kv_bytes": 5}}}
    assert records.compare(old, new).rows == [
        ["a", "ms per step", "10", "12", "1.200", "worse"],
        ["a", "tokens per s", "100", "104", "1.040", ""],
    ]
    assert records.compare(new, old).rows[0][-1] == "better"
    with pytest.raises(InputError, match="no case in common"):
        records.compare(old, {"cases": {}})
    counted = {"kind": "cpu", "cases": {"a": {"ms_per_step": 10.0, "calls": 32}}}
    rows = records.compare(counted, {"kind": "cpu", "cases": {"a": {"ms_per_step": 12.0, "calls": 33}}}).rows
    assert [row[-1] for row in rows] == ["worse", ""]  # a count has no noise, times on a CPU have much


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_runs_with_the_engine_asked_for(name: str) -> None:
    cases = load_suite(name, "graphs")
    own = {case.engine for case in cases.values() if case.device is None and case.cache != CANVAS}
    assert own == {"graphs"}
    assert all(case.engine == "default" for case in cases.values() if case.device or case.cache == CANVAS)
