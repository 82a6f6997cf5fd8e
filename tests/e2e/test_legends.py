"""Every column that does not explain itself is explained where it is printed, within 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

import infogain
from tests.e2e.test_cli import ok

ZOO = Path(infogain.__file__).parent / "zoo" / "weights" / "tiny-reason"
PROMPT = ("C24,13,6=31:", "--length", "18")
COST = ("H̃", "forwards", "token-forwards")
EXPLAINED = {
    ("samplers",): ("selection criteria", "sensitivity", "greedy", "adaptive"),
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
    lines = ok(*command).splitlines()
    assert max(map(cell_len, lines)) <= 80
    tables = [i for i, line in enumerate(lines) if line.startswith("──")]
    for title in EXPLAINED[command]:
        below = [line for line in lines[(tables or [0])[-1] :] if line.startswith(f"{title}  ")]
        assert below, f"{title} is not explained"
        assert len(below[-1].removeprefix(title).strip()) > 10
