"""Memory of a CUDA device: steps that are like those before ask for none."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

import infogain
from infogain import Canvas
from infogain.kernels import MaskedColumns
from infogain.models.backbone.backbone import Backbone, random_backbone
from infogain.models.backbone.graphs import Recording
from infogain.samplers import make
from tests.gpu.test_fast_paths import SPEC

CANVAS = Canvas.from_prompts([[1, 2, 3, 4], [5, 6, 7]], 16, SPEC.mask_id)
MIB = 2**20


def on_gpu(engine: str = "graphs", words: int = SPEC.vocab_size) -> Backbone:
    plain = random_backbone(replace(SPEC, vocab_size=words), cache="dual")
    return Backbone(plain.transformer.cuda(), "dual", engine)


def decoded(model: Backbone, n: int) -> torch.Tensor:
    return infogain.decode(model, CANVAS, make("info-gain", n=n, gamma=1.0), block=8).tokens


def calls(name: str) -> int:
    return int(torch.cuda.memory_stats()[f"num_device_{name}"])


def start_empty() -> None:
    """Let go of what other tests left: models that are to be collected, and the workspaces of cuBLAS.

    A workspace may be cut from a large block that was idle. It then keeps the whole block from being given back, and
    what a test allocates finds room there without a call.
    """
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()


def leave_idle(blocks: int) -> None:
    """Leave so many idle blocks of 32 MiB with the allocator."""
    start_empty()
    held = [torch.empty(32 * MIB, dtype=torch.uint8, device="cuda") for _ in range(blocks)]
    del held


def test_memory_that_is_idle_is_given_back_at_the_start_and_kept_from_then_on() -> None:
    model = on_gpu()
    leave_idle(4)
    before = calls("free")
    decoded(model, 2)
    assert calls("free") > before
    assert model.graphs is not None
    recorded = len(model.graphs.recorded)
    leave_idle(4)
    before = calls("free")
    decoded(model, 8)
    assert len(model.graphs.recorded) > recorded
    assert calls("free") == before


class Trouble:
    """A forward that does not come through its first capture."""

    def __init__(self, trouble: Callable[[], object]) -> None:
        self.trouble, self.tries = trouble, 0

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        if torch.cuda.is_current_stream_capturing():
            self.tries += 1
            if self.tries == 1:
                self.trouble()
        return y


def test_a_capture_that_finds_no_memory_is_tried_again_with_what_was_idle() -> None:
    forward = Trouble(lambda: torch.empty(2**50, dtype=torch.uint8, device="cuda"))
    x = torch.arange(4.0, device="cuda")
    leave_idle(4)
    before = calls("free")
    assert torch.equal(Recording(forward, torch.zeros_like(x))([], x), x + 1)
    assert forward.tries == 2
    assert calls("free") >= before + 4


def test_what_is_recorded_after_a_capture_that_failed_shares_its_memory() -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    x = torch.arange(4.0, device="cuda")
    every = [Recording(Trouble(fail), torch.zeros_like(x)), Recording(torch.neg, torch.zeros_like(x))]
    with pytest.raises(KeyboardInterrupt):
        every[0](every, x)
    assert every[0].graph is None
    assert torch.equal(every[0](every, x), x + 1)
    assert torch.equal(every[1](every, x), -x)
    first, second = (each.graph for each in every)
    assert first is not None
    assert second is not None
    assert first.pool() == second.pool()


def test_logits_ask_for_memory_at_few_numbers_of_them() -> None:
    model = on_gpu("eager", 2**17)
    with torch.inference_mode():
        canvas = Canvas(CANVAS.tokens.cuda(), CANVAS.length.cuda(), SPEC.mask_id)
        context, _ = model.prefill(canvas, [4, 3], 16)
        row = torch.tensor([0, 0, 0, 1, 1], device="cuda")
        tokens = torch.full((5, 16), SPEC.mask_id, device="cuda")

        def asked(masks: int) -> int:
            """How often memory is asked for while `masks` rows of logits, 512 KiB each, are made."""
            before = calls("alloc")
            masked = (torch.arange(80, device="cuda") < masks).view(5, 16)
            logits = model.at_masks(tokens, MaskedColumns(masked, masks), context, row, 3)
            assert logits.shape == (masks, 2**17)
            return calls("alloc") - before

        asked(16)
        start_empty()
        assert asked(33) > 0
        assert [asked(masks) for masks in (34, 60, 64)] == [0, 0, 0]
        assert asked(65) > 0
