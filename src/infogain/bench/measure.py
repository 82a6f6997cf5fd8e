"""Measures a case: the loop decodes with a model that times its forwards, and an observer times the steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.vocabulary import Vocabulary
from infogain.bench import device_memory
from infogain.bench.cases import CANVAS, ENGINE, Case
from infogain.bench.clock import synchronize
from infogain.bench.forward_alone import forward_alone
from infogain.bench.limits import measure_limits
from infogain.bench.shapes import make_transformer
from infogain.bench.summarize import summarize
from infogain.bench.timed import Log, Timed
from infogain.bench.uncached import whole_canvas
from infogain.decode import decode
from infogain.errors import InfoGainError, InputError, OptionError
from infogain.load import as_device, is_of_zoo, load_tokenizer
from infogain.loop.step import StepEvent
from infogain.models.backbone.backbone import Backbone
from infogain.models.backbone.graphs import engine_for
from infogain.models.backbone.transformer import Transformer
from infogain.models.guided import Guided
from infogain.options import Plain
from infogain.provenance import provenance

Say = Callable[[str], None]


class Enough(InfoGainError):
    """Ends a decode after as many steps as the case asked for; what was decoded so far comes with it."""


def build(case: Case, transformer: Transformer) -> Timed:
    """The model a case decodes with."""
    if case.cache == CANVAS:
        return Timed(whole_canvas(transformer))
    device = transformer.norm.weight.device
    engine = engine_for(device) if case.engine == ENGINE else case.engine
    cache = case.cache or ("none" if is_of_zoo(case.shape) else None)  # as `load` has it
    backbone = Backbone(transformer, cache, engine, refresh=case.refresh, vocabulary=predicted(case, transformer))
    return Timed(backbone if case.guidance is None else Guided(backbone))


def predicted(case: Case, transformer: Transformer) -> Vocabulary:
    """The ids that a case's model predicts: all, or the last ones."""
    spec = transformer.spec
    return Vocabulary(spec.vocab_size, spec.mask_id, 0 if case.codes is None else spec.vocab_size - case.codes)


class Bench:
    """Runs cases. One model lies on the device at a time, with its limits."""

    def __init__(self, device: str | torch.device | None = None, decodes: int = 2) -> None:
        self.device, self.decodes = as_device(device), decodes
        self._shape: tuple[str, torch.device] | None = None
        self._transformer: Transformer | None = None
        self._limits: Plain = {}

    def run(self, case: Case, say: Say = lambda _: None) -> Plain:
        """All that is measured of a case."""
        try:
            return self._run(case, say)
        except RuntimeError as error:
            if not device_memory.is_lack(error):
                raise
            raise InputError(
                f"a case must fit the memory; {case.label} does not. Use a smaller batch, context or N."
            ) from error

    def _run(self, case: Case, say: Say) -> Plain:
        transformer = self._hold(case, say)
        model, canvas = build(case, transformer), make_canvas(case, transformer)
        say("warming up")
        first = play(model, canvas, case)
        device_memory.reset(model.device)
        play(model, canvas, case)  # with an empty pool: the peak is its own, and later ones ask for no memory
        used = device_memory.read(model.device)
        say("decoding")
        logs = [play_steadily(model, canvas, case, seed) for seed in range(1, 1 + self.decodes)]
        say("the forward alone")
        forward = forward_alone(model, make_canvas(replace(case, ragged=None), transformer), case)
        live = model.columns(case.prompt + case.length, case.prompt, case.block)[1]
        return {
            "label": case.label,
            **summarize(case, transformer.spec, logs, forward, live, self._limits),
            **used,
            "device_allocations": sum(log.allocations for log in logs),
            "start_up_s": max(0.0, first.seconds - logs[0].seconds),
            "limits": self._limits,
            "case": case.plain(),
            "provenance": provenance(model.inner, case.shape),
        }

    def profile(self, case: Case, path: Path, steps: int = 6) -> None:
        """A trace of a few steps, for chrome://tracing or perfetto."""
        transformer = self._hold(case, lambda _: None)
        short = replace(case, steps=steps)
        model, canvas = build(short, transformer), make_canvas(short, transformer)
        play(model, canvas, short)
        with torch.profiler.profile() as profiler:
            play(model, canvas, short)
        profiler.export_chrome_trace(str(path))

    def _hold(self, case: Case, say: Say) -> Transformer:
        device = self.device if case.device is None else as_device(case.device)
        engine_for(device, None if case.engine == ENGINE else case.engine)  # a recording without CUDA is none
        if self._transformer is None or self._shape != (case.shape, device):
            self._transformer = self._shape = None
            device_memory.clear(self.device)
            say("making the model")
            self._transformer = make_transformer(case.shape, device)
            say("measuring the limits")
            self._limits = measure_limits(self._transformer)
            self._shape = (case.shape, device)
        return self._transformer


def make_canvas(case: Case, transformer: Transformer) -> Canvas:
    """Prompts: the case's text, or random tokens, each but the mask."""
    spec = transformer.spec
    if spec.context is not None and case.context + case.block > spec.context:
        raise OptionError(
            f"context and block must fit the {spec.context} columns of {case.shape}; "
            f"got {case.context} + {case.block}. Use a context of {spec.context - case.block} or less."
        )
    if case.text is not None:
        words = load_tokenizer(case.shape).encode(case.text)
        if len(words) != case.prompt:
            raise OptionError(f"the text must have the {case.prompt} tokens of the prompt; it has {len(words)}.")
        return Canvas.from_prompts([words] * case.batch, case.length, spec.mask_id, spec.context)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, spec.vocab_size - 1, (case.batch, case.prompt), generator=generator)
    ids += (ids >= spec.mask_id).long()
    prompts = [row[: case.prompt - i % ((case.ragged or 0) + 1)] for i, row in enumerate(ids.tolist())]
    canvas = Canvas.from_prompts(prompts, case.length, spec.mask_id, spec.context)
    return canvas.with_guidance(case.guidance or 0.0)


def play(model: Timed, canvas: Canvas, case: Case, seed: int = 0) -> Log:
    """One decode, and what it took. With a seed of its own it finds no noise that is kept from another."""
    model.log = log = Log()
    recipe, asked = case.recipe, device_memory.calls(model.device)

    def observe(event: StepEvent) -> None:
        log.step(event)
        if case.steps is not None and len(log.steps) >= case.steps:
            stop()
            raise Enough

    def stop() -> None:
        synchronize(model.device)
        log.seconds = time.perf_counter() - log.begun
        log.allocations = device_memory.calls(model.device) - asked

    synchronize(model.device)
    log.begin()
    try:
        log.result = decode(model, canvas, replace(recipe, seed=seed), observe=observe, trace=False)
        stop()
    except Enough as enough:
        log.result = (enough.partial or [None])[0]
    return log


def play_steadily(model: Timed, canvas: Canvas, case: Case, seed: int) -> Log:
    """One decode in which nothing is recorded: a bypass may bring a number of candidates that no other seed had."""
    known = recordings(model)
    log = play(model, canvas, case, seed)
    return log if recordings(model) == known else play(model, canvas, case, seed)


def recordings(model: Timed) -> int:
    graphs = model.inner.graphs if isinstance(model.inner, Backbone) else None
    return graphs.times_recorded if graphs else 0
