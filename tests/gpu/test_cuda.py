"""The laws on a CUDA device. `make test-gpu` runs these; they need nothing but torch and pytest."""

from __future__ import annotations

import pytest
import torch

import infogain
from infogain import Lane, Recipe, TokensPerStep
from infogain.algorithm.state import CandidateFacts
from infogain.loop import batch
from infogain.loop.step import Proposal, read_back
from infogain.models import Denoiser, Guided, Tabular
from infogain.samplers import Sampler, make
from tests.cases import ALL, DRAWS, LAYOUTS, MODEL, Layout, label, rows, same_tokens
from tests.laws.test_backbone import CASES, canvas_of, model_of
from tests.laws.test_guidance import CASES as GUIDED_CASES
from tests.laws.test_guidance import canvas_of as guided_canvas_of

CUDA = torch.device("cuda")
ON_GPU = Tabular(MODEL.sequences.to(CUDA), MODEL.weights.long().to(CUDA), MODEL.mask_id)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("sampler", [*ALL, *DRAWS], ids=label)
def test_the_same_tokens_as_on_the_cpu(sampler: Sampler, layout: Layout) -> None:
    """Noise is integer arithmetic, so it is the same; on this joint no decision hangs on the last bit."""
    canvas = layout.canvas(MODEL)
    for k in (1, 2):
        there = infogain.decode(ON_GPU, canvas, sampler, schedule=k, block=layout.block, seed=3)
        here = infogain.decode(MODEL, canvas, sampler, schedule=k, block=layout.block, seed=3)
        assert torch.equal(there.tokens.cpu(), here.tokens)
        assert torch.allclose(there.cumulative_entropy.cpu(), here.cumulative_entropy)
        assert torch.equal(there.token_forwards, here.token_forwards)


@pytest.mark.parametrize("sampler", [*ALL, *DRAWS], ids=label)
def test_a_row_alone_is_the_row_in_a_batch(sampler: Sampler) -> None:
    canvas = LAYOUTS[4].canvas(MODEL)
    together = infogain.decode(ON_GPU, canvas, sampler, schedule=2, block=3, seed=1)
    for i, seed in enumerate(together.seeds):
        alone = infogain.decode(ON_GPU, rows(canvas, [i]), sampler, schedule=2, block=3, seeds=[seed])
        assert same_tokens(alone.tokens[0], together.tokens[i])


def steps_and_waits(model: Denoiser, lanes: list[Lane], monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """CUDA itself reports every synchronisation as an error, except those that `read_back` is allowed."""
    waits = 0
    original = read_back

    def counted(proposals: dict[int, Proposal]) -> dict[int, list[CandidateFacts]]:
        nonlocal waits
        waits += 1
        torch.cuda.set_sync_debug_mode("default")
        verdicts = original(proposals)
        torch.cuda.set_sync_debug_mode("error")
        return verdicts

    with torch.inference_mode():
        infogain.decode_lanes(model, lanes)  # first use: tables that samplers keep are uploaded
        monkeypatch.setattr(batch, "read_back", counted)
        flight = batch.Batch(model, trace=True)
        for lane in lanes:
            flight.open(lane)
        torch.cuda.synchronize()
        steps = 0
        torch.cuda.set_sync_debug_mode("error")
        try:
            while flight.live:
                flight.step()
                steps += 1
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert flight.results()[0].trace.steps  # type: ignore[union-attr]
    return steps, waits


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.parametrize("eos_ids", [(), (1, 2)])
@pytest.mark.parametrize("sampler", [*ALL, *DRAWS], ids=label)
def test_the_host_waits_once_per_step(
    sampler: Sampler, eos_ids: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    lanes = [
        Lane(LAYOUTS[4].canvas(MODEL), Recipe(sampler, TokensPerStep(1), block=3, eos_ids=eos_ids)),
        Lane(LAYOUTS[3].canvas(MODEL), Recipe(sampler, TokensPerStep(2), block=2), max_in_flight=2),
    ]
    steps, waits = steps_and_waits(ON_GPU, lanes, monkeypatch)
    assert steps == waits > 0


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.parametrize(("family", "cache", "refresh"), [(*case, None) for case in CASES] + [("dream", "dual", 2)])
def test_a_backbone_adds_no_wait(
    family: str, cache: str | None, refresh: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(family, cache, torch.float32, refresh)
    model.transformer.to(CUDA)
    lanes = [Lane(canvas_of(), Recipe(make("info-gain", n=4), TokensPerStep(1), block=4), max_in_flight=3)]
    steps, waits = steps_and_waits(model, lanes, monkeypatch)
    assert steps == waits > 0


@pytest.mark.parametrize(("family", "cache"), CASES)
def test_a_backbone_decodes_as_on_the_cpu(family: str, cache: str | None) -> None:
    here, there = model_of(family, cache), model_of(family, cache)
    there.transformer.to(CUDA)
    for sampler in ("entropy", "info-gain", "info-gain-beam"):
        a, b = (infogain.decode(model, canvas_of(), sampler, block=4, seed=2) for model in (here, there))
        assert torch.equal(a.tokens, b.tokens.cpu())


@pytest.mark.parametrize(("family", "cache"), GUIDED_CASES)
def test_guided_rows_decode_as_on_the_cpu(family: str, cache: str | None) -> None:
    here, there = model_of(family, cache), model_of(family, cache)
    there.transformer.to(CUDA)
    for sampler in ("entropy", "info-gain", "info-gain-beam"):
        a, b = (
            infogain.decode(Guided(model), guided_canvas_of("rising"), sampler, block=4, seed=2)
            for model in (here, there)
        )
        assert torch.equal(a.tokens, b.tokens.cpu())


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.parametrize(("family", "cache"), GUIDED_CASES)
def test_guidance_adds_no_wait(family: str, cache: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(family, cache, torch.float32)
    model.transformer.to(CUDA)
    lanes = [Lane(guided_canvas_of(), Recipe(make("info-gain", n=4), TokensPerStep(1), block=4), max_in_flight=3)]
    steps, waits = steps_and_waits(Guided(model), lanes, monkeypatch)
    assert steps == waits > 0
