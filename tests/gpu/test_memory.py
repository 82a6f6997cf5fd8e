"""Memory of a CUDA device: steps that are like those before ask for none."""

from __future__ import annotations

from dataclasses import replace

import torch

import infogain
from infogain import Canvas
from infogain.models.backbone import Backbone, random_backbone
from infogain.samplers import make
from infogain.statistics import Spots
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


def leave_idle(blocks: int) -> None:
    """So many of 32 MiB, which the allocator keeps."""
    torch.cuda.empty_cache()
    held = [torch.empty(32 * MIB, dtype=torch.uint8, device="cuda") for _ in range(blocks)]
    del held


def test_memory_that_is_idle_is_given_back_at_the_start_and_kept_from_then_on() -> None:
    model = on_gpu()
    leave_idle(4)
    before = calls("free")
    decoded(model, 2)
    assert calls("free") > before
    assert model.engine is not None
    recorded = len(model.engine.recorded)
    leave_idle(4)
    before = calls("free")
    decoded(model, 8)
    assert len(model.engine.recorded) > recorded
    assert calls("free") == before


def test_a_recording_makes_room_where_memory_is_short() -> None:
    model, expected = on_gpu(), decoded(on_gpu("eager"), 32)
    decoded(model, 2)
    leave_idle(16)
    before, total = calls("free"), torch.cuda.get_device_properties("cuda").total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + MIB) / total)
    try:
        assert torch.equal(decoded(model, 32), expected)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert calls("free") > before


def test_logits_ask_for_memory_when_their_number_doubles() -> None:
    model = on_gpu("eager", 2**17)
    with torch.inference_mode():
        canvas = Canvas(CANVAS.tokens.cuda(), CANVAS.length.cuda(), SPEC.mask_id)
        context, _ = model.prefill(canvas, [4, 3], 16)
        row = torch.tensor([0, 0, 0, 1, 1], device="cuda")
        tokens = torch.full((5, 16), SPEC.mask_id, device="cuda")

        def asked(masks: int) -> int:
            """Calls for memory while so many logits of 512 KiB are made."""
            before = calls("alloc")
            masked = (torch.arange(80, device="cuda") < masks).view(5, 16)
            logits = model.at_masks(tokens, Spots(masked, masks), context, row, 3)
            assert logits.shape == (masks, 2**17)
            return calls("alloc") - before

        asked(16)
        torch.cuda.empty_cache()
        assert asked(33) > 0
        assert [asked(masks) for masks in (34, 60, 64)] == [0, 0, 0]
        assert asked(65) > 0
