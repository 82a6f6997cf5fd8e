"""Every column that does not explain itself is explained where it is printed, within 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len

import infogain
from tests.e2e.test_cli import ok

ZOO = Path(infogain.__file__).parent / "zoo" / "weights" / "tiny-reason"
PROMPT = ("C93,3,63=33:", "--length", "22")
COST = ("H̃", "forwards", "token-forwards")
EXPLAINED = {
    ("samplers",): ("selection criteria", "paper claims", "greedy", "adaptive"),
    ("toy",): ("a problem",),
    ("toy", "parity", "-k", "2"): COST,
    ("eval",): ("shots", "length"),
    ("inspect", str(ZOO)): ("dtype", "weights", "cache", "work", "CPU?"),
    ("compare", *PROMPT): ("tokens", "end", *COST, "seconds"),
    ("drift", *PROMPT): ("written", "canvases", "mean |Δlogit|", "max |Δlogit|", "KL", "token changed"),
}


@pytest.mark.parametrize("command", EXPLAINED, ids=" ".join)
def test_a_printed_column_is_explained_below_its_table(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)  # `inspect` names the device
    assert_explained(ok(*command), EXPLAINED[command])


def test_columns_of_runs_are_explained(tmp_path: Path) -> None:
    runs = ("--runs", tmp_path)
    text = ok("eval", "zoo:oneway", "--limit", "1", "--seeds", "1", "--sampler", "entropy", *runs)
    asked, cost = ("run", "task", "model", "K", "block", "cache"), ("H̃", "forwards", "token-fw", "bypass", "tok/s")
    assert_explained(laid_out(text), ("task", "pass@1", "95 %", "texts", *cost))
    assert_explained(ok("results", *runs), (*asked, "pass@1", "95 %", "texts", *cost))


def test_columns_of_a_bench_are_explained() -> None:
    flags = ("--sampler", "entropy", "--length", "16", "--context", "16", "--device", "cpu", "--decodes", "1")
    titles = ("case", "ms/step", "forward", "opening", "tokens/s", "× reading", "% matmul", "token-forwards")
    assert_explained(laid_out(ok("bench", *flags)), titles)


def assert_explained(text: str, titles: Sequence[str]) -> None:
    lines = text.splitlines()
    assert all(cell_len(line) <= 80 for line in lines)
    tables = [i for i, line in enumerate(lines) if line.startswith("──")]
    for title in titles:
        below = [line for line in lines[(tables or [0])[-1] :] if line.startswith(f"{title}  ")]
        assert below, f"{title} is not explained"
        assert len(below[-1].removeprefix(title).strip()) > 10


def laid_out(text: str) -> str:
    """The output less the lines that are not laid out: paths, the machine, and warnings about it."""
    return "\n".join(line for line in text.splitlines() if cell_len(line) <= 80)
