"""The bounds that the judged suite is held to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from infogain.bench.suites import LONG
from infogain.options import Plain

AT_MOST, AT_LEAST = True, False
Runs = Mapping[str, Plain]
Value = Callable[[Runs], float]  # of the cases' numbers; KeyError where one was not run


@dataclass(frozen=True)
class Criterion:
    words: str
    wanted: float
    at_most: bool
    value: Value

    def holds(self, measured: float) -> bool:
        return measured <= self.wanted if self.at_most else measured >= self.wanted


def ratio(metric: str, above: str, below: str) -> Value:
    return lambda runs: runs[above][metric] / runs[below][metric]


def growth(runs: Runs) -> float:
    """Bytes from N = 16 to 32 over those from 8 to 16, each per candidate: 1 where memory grows by activations alone.

    With few candidates the peak is that of opening a block, which has nothing to do with N.
    """
    few, some, many = (runs[name]["peak_bytes"] for name in ("info-gain", "info-gain, n=16", "info-gain, n=32"))
    return float((many - some) / 16 / ((some - few) / 8))


def allocations(runs: Runs) -> float:
    """How often all decodes that were timed asked the device for memory; a CPU does not count that."""
    counted = [run["device_allocations"] for run in runs.values() if run["peak_bytes"] is not None]
    if not counted:
        raise KeyError("device_allocations")
    return float(sum(counted))


def in_batches(words: str, wanted: float, above: str, below: str, end: str = "") -> list[Criterion]:
    """Tokens per second, of steps alone and of whole decodes."""
    short, kept, causal = (
        ratio("tokens_per_s", f"{name}{end}, batch", f"{name}{end}") for name in ("short", "kept", "block-causal")
    )
    return [
        Criterion(f"{words}: tokens/s in steps", wanted, AT_LEAST, ratio("step_tokens_per_s", above, below)),
        Criterion("· block openings included", wanted, AT_LEAST, ratio("tokens_per_s", above, below)),
        Criterion("· included, a canvas of 128 columns", wanted, AT_LEAST, short),
        Criterion("· included, rows read every 8 blocks", wanted, AT_LEAST, kept),
        Criterion("· included, a block-causal shape", wanted, AT_LEAST, causal),
    ]


def number(metric: str, name: str) -> Value:
    return lambda runs: float(runs[name][metric])


BYPASS = "16 prompts over one, bypass of a trained model"
EACH = "reading_each_ms"  # one kernel per weight


def over_reading(metric: str, limit: str) -> Value:
    return lambda runs: float(runs["greedy"][metric] / runs["greedy"]["limits"][limit])


CRITERIA = (
    Criterion("whole step, N = 8 over greedy", 1.25, AT_MOST, ratio("ms_per_step", "info-gain", "greedy")),
    Criterion("· twice the context", 1.25, AT_MOST, ratio("ms_per_step", "info-gain, wide", "greedy, wide")),
    Criterion("forward alone, N = 8 over greedy", 1.15, AT_MOST, ratio("forward_ms", "info-gain", "greedy")),
    Criterion("· twice the context", 1.15, AT_MOST, ratio("forward_ms", "info-gain, wide", "greedy, wide")),
    Criterion("· sustained for a second", 1.15, AT_MOST, ratio("sustained_ms", "info-gain", "greedy")),
    Criterion("· and twice the context", 1.15, AT_MOST, ratio("sustained_ms", "info-gain, wide", "greedy, wide")),
    Criterion("· in the steps of a decode", 1.15, AT_MOST, ratio("loop_forward_ms", "info-gain", "greedy")),
    Criterion("· and twice the context", 1.15, AT_MOST, ratio("loop_forward_ms", "info-gain, wide", "greedy, wide")),
    Criterion("greedy step over reading each matrix once", 1.4, AT_MOST, over_reading("ms_per_step", EACH)),
    Criterion("· the forward alone", 1.4, AT_MOST, over_reading("forward_ms", EACH)),
    Criterion("· the step over as many bytes of one buffer", 1.4, AT_MOST, over_reading("ms_per_step", "reading_ms")),
    Criterion("peak memory, N = 8 over greedy", 1.05, AT_MOST, ratio("peak_bytes", "info-gain", "greedy")),
    Criterion("· reserved from the device", 1.05, AT_MOST, ratio("peak_reserved_bytes", "info-gain", "greedy")),
    Criterion("bytes of K/V, N = 8 over greedy: no more", 1, AT_MOST, ratio("kv_bytes", "info-gain", "greedy")),
    Criterion("· and no less", 1, AT_LEAST, ratio("kv_bytes", "info-gain", "greedy")),
    Criterion("memory per candidate, N 16 to 32 over 8 to 16", 1.1, AT_MOST, growth),
    Criterion("calls for memory in steady decodes, all cases", 0, AT_MOST, allocations),
    Criterion("step without a cache over cached, N = 8", 12, AT_LEAST, ratio("ms_per_step", "info-gain, canvas", LONG)),
    *in_batches("16 prompts over one, greedy", 8, "greedy, batch", "greedy"),
    *in_batches(BYPASS, 4, "info-gain, batch, bypass", "info-gain, bypass", ", bypass"),
    Criterion("16 prompts, no bypass: of the matmul rate", 0.6, AT_LEAST, number("of_matmul_rate", "info-gain, batch")),
    Criterion("CPU: share outside the model, greedy", 0.15, AT_MOST, number("outside_share", "cpu, greedy")),
    Criterion("CPU: share outside the model, N = 8", 0.15, AT_MOST, number("outside_share", "cpu, info-gain")),
    Criterion("· in a batch of 16", 0.15, AT_MOST, number("outside_share", "cpu, info-gain, batch")),
)


def verdict(runs: Runs) -> list[tuple[Criterion, float | None]]:
    """Each criterion with what was measured; None where a case is missing, or had nothing to count."""
    found: list[tuple[Criterion, float | None]] = []
    for criterion in CRITERIA:
        try:
            found.append((criterion, criterion.value(runs)))
        except (KeyError, TypeError, ZeroDivisionError):
            found.append((criterion, None))
    return found
