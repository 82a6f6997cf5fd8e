"""Laws of cost: look-ahead takes no second forward, the last step of a block none, and every column is counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import infogain
from infogain import Result
from infogain.algorithm.state import CandidateFacts
from infogain.loop import batch
from infogain.loop.step import Proposal, read_back
from infogain.samplers import Sampler
from tests.cases import ALL, LAYOUTS, MODEL, Counting, Layout, label


def steps_per_prompt(result: Result) -> Counter[int]:
    """Steps each prompt took; independent copies run side by side, so the slowest counts."""
    assert result.trace is not None
    steps: Counter[tuple[int, int]] = Counter()
    for step in result.trace.steps:
        steps.update({(row.prompt, row.copy) for row in step.rows})
    slowest: Counter[int] = Counter()
    for (prompt, _), count in steps.items():
        slowest[prompt] = max(slowest[prompt], count)
    return slowest


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_one_forward_per_step_and_none_for_the_last_of_a_block(sampler: Sampler, layout: Layout, k: int) -> None:
    """A block of s steps takes 1 prefill + (s − 1) evaluations, greedy and look-ahead alike."""
    model = Counting(MODEL)
    result = infogain.decode(model, layout.canvas(MODEL), sampler, schedule=k, block=layout.block)
    assert result.calls == model.calls
    steps = steps_per_prompt(result)
    apart = sampler.traits.adaptive and sampler.traits.copies > 1  # such copies no longer share their calls
    if not apart:
        assert result.forwards.tolist() == [steps[prompt] for prompt in range(len(layout.lengths))]
    if len(layout.lengths) == 1 and not apart:
        assert model.calls == steps[0]
        assert model.prefills == len({row.start for step in result.trace.steps for row in step.rows})  # type: ignore[union-attr]
    elif layout.block is None:  # one prefill for all, then the slowest row sets the number
        assert model.prefills == 1
        assert model.calls == max(steps.values())


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_token_forwards_count_every_column_of_every_candidate(sampler: Sampler, layout: Layout) -> None:
    """The exact model reads whole rows, so each prefilled or evaluated hypothesis costs its row's length."""
    model = Counting(MODEL)
    result = infogain.decode(model, layout.canvas(MODEL), sampler, schedule=2, block=layout.block)
    assert int(result.token_forwards.sum()) == model.columns_read
    lengths = [prompt + length for prompt, length in zip(layout.prompts, layout.lengths, strict=True)]
    single = [int(n) * length for n, length in zip(result.forwards, lengths, strict=True)]
    if sampler.greedy and sampler.traits.copies == 1:
        assert result.token_forwards.tolist() == single
    elif getattr(sampler, "gamma", 0) == 1:  # several candidates are seen to cost what they cost
        assert sum(result.token_forwards.tolist()) > sum(single) or not model.evaluations


class NoReadBack(TorchDispatchMode):
    """Raises on operations that make the host wait for the device."""

    WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "item")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.split(".")[0]
        if name in self.WAITING:
            raise AssertionError(f"{name} reads back to the host")
        if name in ("index", "index_put_", "index_put"):
            assert not any(i is not None and i.dtype == torch.bool for i in args[1]), "a boolean index reads back"
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("eos_ids", [(), (1, 2)])
@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_one_read_back_per_step(sampler: Sampler, eos_ids: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """One small tensor per step: at most one number per candidate, and nothing else ever."""
    layout = LAYOUTS[-1]
    sizes: list[int] = []
    original = read_back

    def counted(proposals: dict[int, Proposal]) -> dict[int, list[CandidateFacts]]:
        sizes.append(sum(len(proposal.unread) for proposal in proposals.values()))
        return original(proposals)

    monkeypatch.setattr(batch, "read_back", counted)
    lanes = batch.Batch(MODEL, trace=True)
    lanes.open(infogain.Lane(layout.canvas(MODEL), infogain.Recipe(sampler, block=3, eos_ids=eos_ids), max_in_flight=2))
    steps = 0
    with torch.inference_mode(), NoReadBack():
        while lanes.live:
            assert len(lanes.step()) == 1
            steps += 1
    assert len(sizes) == steps > 0
    traits = sampler.traits
    assert max(sizes) <= len(layout.lengths) * traits.copies * traits.beam * traits.candidates
    assert lanes.results()[0].committed.sum() > 0


class Cached(Counting):
    """A model that reads the row once and then the block alone."""

    def columns(self, length: int, start: int, width: int, kept: int | None = None) -> tuple[int, int]:
        return length, width

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
        logits: Tensor = self.inner(tokens, context, row, max_per_row)
        self.columns_read += tokens.numel()
        return logits


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_a_cached_forward_costs_the_block_alone(sampler: Sampler) -> None:
    model = Cached(MODEL)
    result = infogain.decode(model, LAYOUTS[4].canvas(MODEL), sampler, schedule=2, block=3)
    assert int(result.token_forwards.sum()) == model.columns_read
