"""Named sets of cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from infogain.bench.bypass import ForcedBypass
from infogain.bench.cases import CANVAS, ENGINE, Case
from infogain.bench.shapes import SHAPES
from infogain.errors import UnknownName
from infogain.samplers import Entropy, InfoGain

# Steps that γ = .8 decides, by K: the mean of five tasks that the first edition of zoo:tiny-reason knew. The committed
# measurements are at these rates; docs/results/first-edition/samplers.json.gz has them.
TRAINED_BYPASS = {1: 0.779, 2: 0.707}
Cases = dict[str, Case]
GREEDY, EVERY = Entropy(), InfoGain(gamma=1.0)  # the second never bypasses
LONG = "info-gain, long"
MMADA = "mmada-8b"
COUNTDOWN, ANSWER = "C93,3,63=33:", 22  # a problem that the small model knows, and the columns it leaves
SOME = ForcedBypass(rate=TRAINED_BYPASS[1])


def judged(shape: str = "dream-7b", context: int = 512) -> Cases:
    """Look-ahead against greedy decoding, against no cache, in batches; and the loop's own time on a CPU."""
    one = Case(shape, GREEDY, context=context)
    wide = replace(one, context=2 * context)
    long = replace(one, sampler=EVERY, length=context, steps=40)  # as many generated columns as context
    small = Case("zoo:tiny-reason", GREEDY, cache="none", device="cpu", text=COUNTDOWN)
    small = replace(small, block=ANSWER, context=len(COUNTDOWN), length=ANSWER)
    short = replace(one, context=112, length=64)  # as many columns as a short question and its answer take
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
        **one_and_many("short", short),
        **one_and_many("kept", kept),
        "cpu, greedy": small,
        "cpu, info-gain": replace(small, sampler=InfoGain()),
        "cpu, info-gain, batch": replace(small, sampler=InfoGain(), batch=16),
        **one_and_many("block-causal", causal),
        "block-causal, ragged, batch": replace(causal, batch=16, ragged=15),  # first blocks of 1 to 16 masks
    }


def one_and_many(name: str, case: Case) -> Cases:
    """One prompt and sixteen, greedy and at the bypass rate of a trained model."""
    one = {name: case, f"{name}, bypass": replace(case, sampler=SOME)}
    return one | {f"{title}, batch": replace(each, batch=16) for title, each in one.items()}


def shapes() -> Cases:
    """Every published shape, greedy and with look-ahead."""
    large = [name for name in SHAPES if name not in ("tiny", MMADA)]  # MMaDA's layers are LLaDA's
    both = {"greedy": GREEDY, "info-gain": EVERY}
    return {f"{shape}, {name}": Case(shape, sampler) for shape in large for name, sampler in both.items()}


def images(shape: str = MMADA, codes: int = 8192, cells: int = 1024) -> Cases:
    """One image of 512×512 pixels in the paper's 50 steps, guided; and steps that tell what its parts cost."""
    prompt = 24  # tokens, about: a short sentence with what stands around it
    one = Case(shape, GREEDY, block=cells, context=prompt, length=cells, cache="none", guidance=3.5)
    one = replace(one, codes=codes, count=50)
    ahead = replace(one, sampler=EVERY)
    few = replace(ahead, steps=6)
    return {
        "greedy": one,
        "info-gain": ahead,
        "info-gain, without guidance": replace(few, guidance=None),
        "info-gain, prompt cached": replace(few, cache="dual"),
        "info-gain, all ids": replace(few, codes=None),
        "greedy, all ids": replace(one, steps=6, codes=None),
        "greedy, four images": replace(one, steps=6, batch=4),
    }


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
SUITES: dict[str, Callable[[], Cases]] = {"quick": quick, JUDGED: judged, "shapes": shapes, "images": images}


def load_suite(name: str, engine: str = ENGINE) -> Cases:
    """The engine is that of cases which run on the backbone, on the bench's own device."""
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    return {
        title: case if case.device or case.cache == CANVAS else replace(case, engine=engine)
        for title, case in SUITES[name]().items()
    }
