"""Whole decodes by the GPU's kernels, without a GPU: Triton can interpret them on the CPU.

`TRITON_INTERPRET=1 pytest -o addopts="-q" tests/interpreted`, where Triton and a numpy that it knows are installed.
Minutes, for every number is worked out in Python; elsewhere these tests are skipped.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import replace

import pytest
import torch

import infogain
from infogain import Canvas, Vocabulary
from infogain.kernels import choice
from infogain.models.backbone.backbone import Backbone, random_backbone
from infogain.models.families.spec import Spec
from infogain.samplers import Sampler, make

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("TRITON_INTERPRET") != "1" or importlib.util.find_spec("triton") is None,
        reason="needs Triton and TRITON_INTERPRET=1",
    ),
    pytest.mark.filterwarnings("ignore"),  # the interpreter's own, of numpy
]

DREAM = Spec("dream", 60, 32, 2, 4, 2, 16, 48, 1e4, 1e-6, 59, qkv_bias=True, shift=True)
SPECS = {
    "dream": DREAM,
    "llada": replace(DREAM, family="llada", kv_heads=4, shift=False, qkv_bias=False, rope_in_float32=True),
    "sdar": replace(
        DREAM, family="sdar", shift=False, qkv_bias=False, qk_norm=True, norm_scales_in_float32=True, block=4
    ),
}
SAMPLERS = [make("info-gain", gamma=1.0, n=3), make("info-gain", gamma=0.3, n=4), make("info-gain-beam", width=2, n=2)]


EVERYWHERE = frozenset(("cpu", kind) for kind in choice.DTYPES)


@pytest.mark.parametrize("engine", ["eager", "graphs"])
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: f"{sampler.name}-{sampler.gamma}")
@pytest.mark.parametrize("family", SPECS)
def test_the_kernels_decode_as_torch_does(
    family: str, sampler: Sampler, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights so sharp that some steps are bypassed: candidates that coincide are views of the others."""
    plain = random_backbone(SPECS[family])
    assert plain.transformer.head is not None
    plain.transformer.head.weight.mul_(4)
    generator = torch.Generator().manual_seed(0)
    prompts = [torch.randint(0, 58, (n,), generator=generator).tolist() for n in (5, 9, 3)]
    canvas, block = Canvas.from_prompts(prompts, [12, 8, 10], 59), None if SPECS[family].block else 4
    expected = infogain.decode(plain, canvas, sampler, block=block, seed=3, trace=False)
    monkeypatch.setattr(choice, "FUSED", EVERYWHERE)
    model = Backbone(plain.transformer, engine=engine)
    found = infogain.decode(model, canvas, sampler, block=block, seed=3, trace=False)
    assert torch.equal(found.tokens, expected.tokens)
    assert torch.allclose(found.cumulative_entropy, expected.cumulative_entropy, atol=1e-4)


RANGES = [Vocabulary(60, 59, 10, 30, never=(12, 50)), Vocabulary(60, 59, 20, never=(30,))]  # the mask outside, inside


@pytest.mark.parametrize("vocabulary", RANGES, ids=str)
@pytest.mark.parametrize("sampler", [make("entropy"), make("info-gain-beam", width=2, n=2)], ids=lambda s: s.name)
def test_the_kernels_read_a_range_of_ids_as_torch_does(
    sampler: Sampler, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Backbone(random_backbone(SPECS["dream"]).transformer, vocabulary=vocabulary)
    canvas = Canvas.from_prompts([[1, 2, 3], [58]], [6, 5], 59)
    expected = infogain.decode(model, canvas, sampler, block=4, seed=3, trace=False)
    monkeypatch.setattr(choice, "FUSED", EVERYWHERE)
    found = infogain.decode(model, canvas, sampler, block=4, seed=3, trace=False)
    assert torch.equal(found.tokens, expected.tokens)
    assert torch.allclose(found.cumulative_entropy, expected.cumulative_entropy, atol=1e-4)
    assert set(found.tokens[found.generated].tolist()) <= {t for t in range(59) if t in vocabulary} - {
        *vocabulary.never
    }
