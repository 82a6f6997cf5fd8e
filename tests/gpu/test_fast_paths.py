"""Kernels and graphs on a CUDA device: each equals the plain path."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import infogain
from infogain import Canvas, Vocabulary
from infogain.algorithm import noise
from infogain.algorithm.marginals import Marginals
from infogain.kernels import KV, MaskedColumns, Shared, attend_shared, gate
from infogain.kernels.attention_triton import attend_candidates
from infogain.kernels.columns_triton import number_masked, statistics
from infogain.kernels.hashing_triton import noise as fused_noise
from infogain.models.backbone.backbone import Backbone, random_backbone
from infogain.models.backbone.transformer import Layer, rotary_angles
from infogain.models.families.spec import Spec
from infogain.samplers import Sampler, make
from tests.cases import marginals, vocabulary_of
from tests.fast import Compared, closest

SPEC = Spec("dream", 500, 256, 4, 8, 2, 32, 512, 1e4, 1e-6, 499, qkv_bias=True, shift=True)
SPECS = {
    "dream": SPEC,
    "llada": replace(SPEC, family="llada", kv_heads=8, shift=False, qkv_bias=False, rope_in_float32=True),
    "sdar": replace(
        SPEC, family="sdar", shift=False, qkv_bias=False, qk_norm=True, norm_scales_in_float32=True, block=4
    ),
}
SAMPLERS = [make("entropy"), make("info-gain", gamma=1.0), make("info-gain-beam", width=2, n=4)]


@pytest.mark.parametrize("words", [7, 500, 9000, 152064])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_statistics_are_those_of_the_cpu(words: int, dtype: torch.dtype) -> None:
    logits = (torch.randn(33, words, generator=torch.Generator().manual_seed(1)) * 4).to(dtype)
    logits[1] = 0
    logits[2, 3] = -torch.inf
    logits[3, 2] = 60
    expected = marginals(logits.float()[None].clone(), 5)
    numbers, argmax = statistics(logits.cuda(), 5, (33,))
    assert torch.allclose(numbers.cpu(), expected.statistics.numbers[0], atol=2e-5, rtol=1e-5)
    assert torch.equal(argmax.cpu(), expected.argmax[0])


def _view(x: torch.Tensor, device: str) -> torch.Tensor:
    """A copy on another device that is a view again: every other row of a larger tensor."""
    return torch.stack([x, ~x], 1).flatten(0, 1).to(device)[::2]


@pytest.mark.parametrize("mask_id", [5, 3000])  # outside the range, and inside
def test_a_range_of_ids_is_read_as_on_the_cpu(mask_id: int) -> None:
    part = Vocabulary(9000, mask_id, first=2500, count=4000, never=(2600, 8000))
    logits = torch.randn(3, 11, 4000, generator=torch.Generator().manual_seed(3)) * 3
    here, there = (Marginals.of(logits.clone().to(device), part) for device in ("cpu", "cuda"))
    assert torch.allclose(there.statistics.numbers.cpu(), here.statistics.numbers, atol=2e-5, rtol=1e-5)
    assert torch.equal(there.argmax.cpu(), here.argmax)
    tokens = torch.randint(0, 9000, (3, 4, 11), generator=torch.Generator().manual_seed(4))
    assert torch.allclose(there.probability(tokens.cuda()).cpu(), here.probability(tokens), atol=1e-6)
    drawn = there.draw(0.7, torch.rand(3, 50, 11, generator=torch.Generator().manual_seed(5)).cuda())
    assert (here.probability(drawn.cpu()) > 0).all()


@pytest.mark.parametrize("shape", [(5, 9), (40, 64), (1, 1)])
def test_masks_alone_are_numbered_and_read_as_on_the_cpu(shape: tuple[int, int]) -> None:
    masked = (torch.rand(2 * shape[0], shape[1], generator=torch.Generator().manual_seed(1)) < 0.6)[::2]  # a view
    masked[0, 0] = True
    count = int(masked.sum())
    columns = MaskedColumns(masked, count)
    found = number_masked(_view(masked, "cuda"), count)
    for got, expected in zip(found, (columns.logit_row, columns.flat_index), strict=True):
        assert torch.equal(got.cpu(), expected)
    logits = torch.randn(count, 9000, generator=torch.Generator().manual_seed(2))
    here, there = (
        Marginals.at(MaskedColumns(_view(masked, x), count), logits.clone().to(x), vocabulary_of(9000, 5))
        for x in ("cpu", "cuda")
    )
    assert torch.allclose(there.statistics.numbers.cpu(), here.statistics.numbers, atol=2e-5, rtol=1e-5)
    assert torch.equal(there.argmax.cpu(), here.argmax)
    tokens = torch.randint(0, 9000, (shape[0], 3, shape[1]))
    tokens[tokens == 5] = 6
    one, two = here.probability(tokens), there.probability(tokens.cuda()).cpu()
    seen = masked[:, None].expand(tokens.shape)
    assert torch.allclose(one[seen], two[seen], atol=1e-6)
    assert torch.equal(there.logits.cpu()[masked], here.logits[masked])  # the mask is struck out of both


def test_what_is_no_distribution_stays_visible() -> None:
    logits = torch.zeros(3, 20000, device="cuda")
    logits[0, 9000] = torch.nan
    logits[1] = -torch.inf
    logits[2, 7] = torch.inf
    assert not statistics(logits, 5, (3,))[0][:, 1].isfinite().any()


@pytest.mark.parametrize("words", [1, 2, 500, 8192, 8193, 20000])
@pytest.mark.parametrize("tau", [1e-30, 1e-3, 0.7, 30.0])
def test_a_drawn_word_is_the_one_whose_share_of_the_whole_holds_u(words: int, tau: float) -> None:
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(2, 3, words, generator=generator) * 4
    p = marginals(logits.cuda(), words)
    u = torch.rand(2, 6, 3, dtype=torch.float64, generator=generator)
    u[:, 0], u[:, 1] = 1e-17, 1 - 1e-16
    tokens = p.draw(tau, u.cuda()).cpu().transpose(1, 2)  # [R, W, N]
    share = ((logits.double() - logits.double().amax(-1, keepdim=True)) / tau).softmax(-1)
    after, own = (x.gather(-1, tokens).transpose(1, 2) for x in (share.cumsum(-1), share))
    assert (own > 0).all()
    assert (after - own - 2e-6 <= u).all()
    assert (u <= after + 2e-6).all()


def test_logits_may_lie_in_any_order() -> None:
    logits = torch.randn(20000, 2, 3, device="cuda").permute(1, 2, 0)
    one, two = marginals(logits.contiguous(), 5), marginals(logits, 5)
    assert torch.equal(one.entropy, two.entropy)
    assert torch.equal(one.argmax, two.argmax)
    u = torch.rand(2, 4, 3, device="cuda")
    assert torch.equal(one.draw(0.7, u), two.draw(0.7, u))


def test_the_hash_is_that_of_the_cpu() -> None:
    seed, step = torch.tensor([3, -(2**62), 5])[:, None, None], torch.arange(3)[:, None, None]
    number, column = torch.arange(8)[:, None], torch.randint(0, 99, (3, 1, 16))
    cases = [(seed, step, number, column), (seed[:, 0, 0],), (seed[:, 0, 0], step[:, 0, 0])]
    for values in cases:
        for kind, plainly in (("hash", noise.hashed), ("uniform", noise.uniform), ("gumbel", noise.gumbel)):
            got, expected = fused_noise(kind, 2, *(x.cuda() for x in values)).cpu(), plainly(values[0], 2, *values[1:])
            assert torch.equal(got, expected) if kind != "gumbel" else torch.allclose(got, expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("family", SPECS)
def test_what_lies_between_products_is_that_of_torch(family: str, dtype: torch.dtype) -> None:
    """Both round at the same points, so that half precision agrees except for the order of sums."""
    spec = SPECS[family]
    torch.manual_seed(0)
    layer = Layer(spec).to("cuda", dtype)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, 1 if parameter.ndim == 1 else 0, 0.2)
    x, more = (torch.randn(33, spec.hidden, device="cuda", dtype=dtype) for _ in range(2))
    heads = torch.randn(33, spec.heads + 2 * spec.kv_heads, spec.head_dim, device="cuda", dtype=dtype)
    both = torch.randn(33, 3000, device="cuda", dtype=dtype)
    angles = rotary_angles(torch.arange(33, device="cuda") * 7, spec, dtype)

    def every() -> list[torch.Tensor]:
        norm = layer.attn_norm
        return [*norm.after(x, more), norm.after(x, None)[1], *layer._rotated(heads.clone(), angles), gate(both)]

    plain = every()
    with torch.no_grad():
        fused = every()
    for one, two in zip(plain, fused, strict=True):
        assert torch.allclose(one, two, atol=1e-5, rtol=1e-5 if dtype == torch.float32 else 2**-7)
        if dtype != torch.float32:
            assert (one != two).float().mean() < 0.02


# rows, columns, heads, key heads, head dimension, context rows, frozen columns
SHAPES = [
    (5, 7, 4, 2, 16, 2, 150),
    (8, 17, 28, 4, 128, 1, 1024),
    (33, 16, 8, 8, 64, 16, 300),
    (3, 65, 4, 2, 16, 2, 150),
    (2, 200, 8, 8, 128, 2, 512),
    (4, 300, 8, 2, 64, 1, 400),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_attention_is_that_of_torch(shape: tuple[int, ...]) -> None:
    rows, columns, heads, kv, dim, contexts, frozen_columns = shape
    torch.manual_seed(0)
    q, k, v = (torch.randn(rows, columns, n, dim, device="cuda", dtype=torch.float64) for n in (heads, kv, kv))
    far = [torch.randn(contexts, kv, frozen_columns, dim, device="cuda", dtype=torch.float64) for _ in range(2)]
    live = torch.rand(rows, columns, device="cuda") < 0.8
    live[:, 0] = True
    row = torch.randint(0, contexts, (2 * rows,), device="cuda")[::2]  # a view
    limit = torch.randint(frozen_columns // 2, frozen_columns + 1, (contexts,), device="cuda")
    first = torch.randint(0, frozen_columns, (contexts,), device="cuda")
    own = KV(k.transpose(1, 2), v.transpose(1, 2))
    last = (first + columns).where(torch.arange(contexts, device="cuda") % 2 == 0, frozen_columns)  # or to the end
    shared = Shared([KV(*far)], first, last, limit, row, rows)
    q32, near32, far32 = q.float(), KV(k.float(), v.float()), KV(*(x.float() for x in far))
    for block in (None, 4):
        expected = attend_shared(q.transpose(1, 2), own, live[:, None], replace(shared, block=block), 0)
        got = attend_candidates(q32, near32, far32, shared.window, live, block or columns)
        assert torch.allclose(got.transpose(1, 2).double(), expected, atol=1e-5)


def canvas() -> Canvas:
    generator = torch.Generator().manual_seed(0)
    prompts = [torch.randint(0, 499, (n,), generator=generator).tolist() for n in (40, 700, 5, 64)]
    return Canvas.from_prompts(prompts, [48, 32, 64, 7], 499)


@pytest.mark.parametrize("family", SPECS)
def test_graphs_give_the_logits_of_eager_forwards(family: str) -> None:
    plain = random_backbone(SPECS[family])
    plain.transformer.cuda()
    model = Backbone(plain.transformer, engine="graphs")
    width, start = (4, [40, 700, 4, 64]) if SPECS[family].block else (16, [40, 700, 5, 64])
    with torch.inference_mode():
        row = torch.tensor([0, 0, 1, 1, 1, 2, 3], device="cuda")
        tokens = torch.randint(0, 499, (7, width), device="cuda")
        contexts = [m.prefill(canvas().to(torch.device("cuda")), start, width)[0] for m in (plain, model)]
        for _ in range(2):  # recorded, then replayed
            one, two = (m(tokens, context, row, 3) for m, context in zip((plain, model), contexts, strict=True))
            assert torch.allclose(one, two, atol=1e-4)


READS = [(family, refresh) for family in SPECS for refresh in ([None] if SPECS[family].block else [None, 3])]


@pytest.mark.parametrize(("family", "refresh"), READS)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.name)
def test_graphs_decode_as_eager_forwards_do(family: str, refresh: int | None, sampler: Sampler) -> None:
    """Every call has the same logits, and tokens agree wherever a decision has a margin."""
    transformer = random_backbone(SPECS[family]).transformer.cuda()
    plain, model = (Backbone(transformer, engine=engine, refresh=refresh) for engine in ("eager", "graphs"))
    both = Compared(plain, model, within=1e-4)
    block = None if SPECS[family].block else 16
    one, two, three = (infogain.decode(m, canvas(), sampler, block=block, seed=7) for m in (plain, model, both))
    assert both.calls > 50
    assert torch.equal(one.tokens, three.tokens)
    assert all(margin < 1e-3 for margin in closest(one, two))
    same = (one.tokens == two.tokens).all(1).cpu()
    assert torch.allclose(one.cumulative_entropy[same], two.cumulative_entropy[same], atol=1e-2)
