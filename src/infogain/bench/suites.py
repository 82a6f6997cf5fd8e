"""Named sets of cases, and the criteria that one of them is held against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from infogain.bench.bypass import ForcedBypass
from infogain.bench.cases import CANVAS, ENGINE, Case
from infogain.bench.shapes import SHAPES
from infogain.errors import UnknownName
from infogain.options import Plain
from infogain.samplers import Entropy, InfoGain

# Steps that γ = .8 decides on zoo:tiny-reason, mean of its five tasks by K (`infogain study samplers --size full`).
TRAINED_BYPASS = {1: 0.779, 2: 0.707}
Cases = dict[str, Case]
AT_MOST, AT_LEAST = True, False
GREEDY, EVERY = Entropy(), InfoGain(gamma=1.0)  # the second never bypasses
LONG = "info-gain, long"
COUNTDOWN = "C24,13,6=31:"  # a problem that the small model knows
SOME = ForcedBypass(rate=TRAINED_BYPASS[1])


def judged(shape: str = "dream-7b", context: int = 512) -> Cases:
    """Look-ahead against greedy decoding, against no cache, in batches; and the loop's own time on a CPU."""
    one = Case(shape, GREEDY, context=context)
    wide = replace(one, context=2 * context)
    long = replace(one, sampler=EVERY, length=context, steps=40)  # as many generated columns as context
    small = Case("zoo:tiny-reason", GREEDY, cache="none", block=18, context=12, length=18, device="cpu", text=COUNTDOWN)
    kept = replace(one, length=128, refresh=8)  # the row is read once: all openings but the first are nearly steps
    causal = Case("sdar-8b", GREEDY, context=context, length=128)  # and so are all of these, by themselves
    return {
        "greedy": one,
        "info-gain": replace(one, sampler=EVERY),
        "greedy, wide": wide,
        "info-gain, wide": replace(wide, sampler=EVERY),
        "info-gain, n=16": replace(one, sampler=replace(EVERY, n=16)),
        "info-gain, n=32": replace(one, sampler=replace(EVERY, n=32)),
        "info-gain, bypass": replace(one, sampler=SOME),
        LONG: long,
        "info-gain, uncached": replace(long, cache="none", steps=8),
        "info-gain, canvas": replace(long, cache=CANVAS, steps=8),
        "greedy, batch": replace(one, batch=16),
        "info-gain, batch, bypass": replace(one, batch=16, sampler=SOME),
        "info-gain, batch": replace(one, batch=16, sampler=EVERY),
        **one_and_many("kept", kept),
        "cpu, greedy": small,
        "cpu, info-gain": replace(small, sampler=InfoGain()),
        "cpu, info-gain, batch": replace(small, sampler=InfoGain(), batch=16),
        **one_and_many("block-causal", causal),
    }


def one_and_many(name: str, case: Case) -> Cases:
    """One prompt and sixteen, greedy and at the bypass rate of a trained model."""
    one = {name: case, f"{name}, bypass": replace(case, sampler=SOME)}
    return one | {f"{title}, batch": replace(each, batch=16) for title, each in one.items()}


def shapes() -> Cases:
    """Every published shape, greedy and with look-ahead."""
    large = [name for name in SHAPES if name != "tiny"]
    both = {"greedy": GREEDY, "info-gain": EVERY}
    return {f"{shape}, {name}": Case(shape, sampler) for shape in large for name, sampler in both.items()}


def quick() -> Cases:
    """A small shape that any machine decodes in seconds."""
    one = Case("tiny", GREEDY, context=64, length=32)
    return {
        "greedy": one,
        "info-gain": replace(one, sampler=EVERY),
        "info-gain, bypass": replace(one, sampler=SOME),
        "info-gain, uncached": replace(one, sampler=EVERY, cache="none", steps=8),
        "greedy, batch": replace(one, batch=4),
        "info-gain, batch": replace(one, batch=4, sampler=EVERY),
    }


JUDGED = "judged"
SUITES: dict[str, Callable[[], Cases]] = {"quick": quick, JUDGED: judged, "shapes": shapes}


def load_suite(name: str, engine: str = ENGINE) -> Cases:
    """The engine is that of cases which run on the backbone, on the bench's own device."""
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    return {
        title: case if case.device or case.cache == CANVAS else replace(case, engine=engine)
        for title, case in SUITES[name]().items()
    }


@dataclass(frozen=True)
class Criterion:
    words: str
    wanted: float
    at_most: bool
    value: Callable[[Mapping[str, Plain]], float]  # of the cases' numbers; KeyError where one was not run

    def holds(self, measured: float) -> bool:
        return measured <= self.wanted if self.at_most else measured >= self.wanted


def ratio(metric: str, above: str, below: str) -> Callable[[Mapping[str, Plain]], float]:
    return lambda runs: runs[above][metric] / runs[below][metric]


def growth(runs: Mapping[str, Plain]) -> float:
    """Bytes from N = 16 to 32 over those from 8 to 16, each per candidate: 1 where memory grows by activations alone.

    With few candidates the peak is that of opening a block, which has nothing to do with N.
    """
    few, some, many = (runs[name]["peak_bytes"] for name in ("info-gain", "info-gain, n=16", "info-gain, n=32"))
    return float((many - some) / 16 / ((some - few) / 8))


def in_batches(words: str, wanted: float, above: str, below: str, end: str = "") -> list[Criterion]:
    """Tokens per second, of steps alone and of whole decodes."""
    kept, causal = (ratio("tokens_per_s", f"{name}{end}, batch", f"{name}{end}") for name in ("kept", "block-causal"))
    return [
        Criterion(f"{words}: tokens/s in steps", wanted, AT_LEAST, ratio("step_tokens_per_s", above, below)),
        Criterion("· block openings included", wanted, AT_LEAST, ratio("tokens_per_s", above, below)),
        Criterion("· included, rows read every 8 blocks", wanted, AT_LEAST, kept),
        Criterion("· included, a block-causal shape", wanted, AT_LEAST, causal),
    ]


def number(metric: str, name: str) -> Callable[[Mapping[str, Plain]], float]:
    return lambda runs: float(runs[name][metric])


BYPASS = "16 prompts over one, bypass of a trained model"
EACH = "reading_each_ms"  # one kernel per weight


def over_reading(metric: str, limit: str) -> Callable[[Mapping[str, Plain]], float]:
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
    Criterion("step without a cache over cached, N = 8", 12, AT_LEAST, ratio("ms_per_step", "info-gain, canvas", LONG)),
    *in_batches("16 prompts over one, greedy", 8, "greedy, batch", "greedy"),
    *in_batches(BYPASS, 4, "info-gain, batch, bypass", "info-gain, bypass", ", bypass"),
    Criterion("16 prompts, no bypass: of the matmul rate", 0.6, AT_LEAST, number("of_matmul_rate", "info-gain, batch")),
    Criterion("CPU: share outside the model, greedy", 0.15, AT_MOST, number("outside_share", "cpu, greedy")),
    Criterion("CPU: share outside the model, N = 8", 0.15, AT_MOST, number("outside_share", "cpu, info-gain")),
    Criterion("· in a batch of 16", 0.15, AT_MOST, number("outside_share", "cpu, info-gain, batch")),
)


def verdict(runs: Mapping[str, Plain]) -> list[tuple[Criterion, float | None]]:
    """Each criterion with what was measured; None where a case is missing, or had nothing to count."""
    found: list[tuple[Criterion, float | None]] = []
    for criterion in CRITERIA:
        try:
            found.append((criterion, criterion.value(runs)))
        except (KeyError, TypeError, ZeroDivisionError):
            found.append((criterion, None))
    return found
