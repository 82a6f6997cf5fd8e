"""Laws of the caches, for every family: cached K/V equal what would be computed anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import infogain
from infogain import Canvas, OptionError, UnknownName
from infogain.algorithm.schedule import TokensPerStep
from infogain.kernels import attend_shared
from infogain.models.backbone.backbone import CACHES, Backbone, random_backbone
from infogain.models.backbone.transformer import Layer
from infogain.models.denoiser import Past
from infogain.models.families.spec import Spec
from infogain.models.wrapper import Wrapper
from infogain.samplers import Sampler, make
from tests.cases import ALL, label, rows, same_tokens

BASE = Spec(
    "base", 24, 32, 2, heads=4, kv_heads=4, head_dim=8, intermediate=48, rope_theta=1e4, norm_eps=1e-5, mask_id=23
)
SPECS = {
    "llada": replace(BASE, family="llada", rope_in_float32=True),
    "dream": replace(BASE, family="dream", kv_heads=2, qkv_bias=True, shift=True),
    "sdar": replace(BASE, family="sdar", kv_heads=2, head_dim=12, qk_norm=True, norm_scales_in_float32=True, block=4),
    "tied": replace(BASE, family="tied", tied=True, kv_heads=1),
}
CASES = [(family, cache) for family in SPECS for cache in ([None] if SPECS[family].block else CACHES)]
FROZEN = [(family, cache) for family, cache in CASES if cache in ("prefix", "dual")]
WIDTH = 4


def model_of(
    family: str, cache: str | None, dtype: torch.dtype = torch.float64, refresh: int | None = None, layers: int = 2
) -> Backbone:
    model = random_backbone(replace(SPECS[family], layers=layers), cache=cache)
    model.transformer.to(dtype)
    return Backbone(model.transformer, cache, refresh=refresh)


def canvas_of(mask: int = BASE.mask_id) -> Canvas:
    """Ragged rows, one with text after its masks. None is all masks: nothing would tell its columns apart."""
    return Canvas.infill(
        [[1, 2, 3, *[mask] * 9], [4, *[mask] * 6], [5, 6, 7, 8, 9, *[mask] * 5, 10, 11], [12, mask, mask]], BASE.mask_id
    )


@pytest.mark.parametrize(("family", "cache"), CASES)
def test_cached_logits_are_the_uncached_ones_of_the_canvas_that_was_read(family: str, cache: str | None) -> None:
    model, canvas = model_of(family, cache), canvas_of()
    start = [0, 4, 8, 0] if SPECS[family].block else [3, 2, 6, 1]
    context, opened = model.prefill(canvas, start, WIDTH)
    block, masked = canvas.view(torch.tensor(start), WIDTH)
    row = torch.tensor([2, 0, 1, 0, 3, 2, 2])
    logits = model(block[row], context, row, max_per_row=3)
    assert torch.allclose(logits[masked[row]], opened[row][masked[row]], atol=1e-9)


@pytest.mark.parametrize("engine", ["eager", "graphs"])
@pytest.mark.parametrize(("family", "cache"), FROZEN)
def test_the_window_narrows_when_the_wide_row_leaves_and_widens_when_it_comes_back(
    family: str, cache: str, engine: str
) -> None:
    model, canvas = Backbone(model_of(family, cache).transformer, cache, engine), canvas_of()
    start, end = torch.tensor([3, 6, 6, 1]), torch.tensor([7, 7, 8, 3])
    context, _ = model.prefill(canvas, start.tolist(), WIDTH, end.tolist())
    narrow, wide = context.take([1, 2]), context.take([0, 3])
    columns = {"dual": 2, "prefix": 12 - 6}[cache] + (1 if SPECS[family].shift else 0)
    assert narrow.width == columns < context.width == wide.width == narrow.join(wide).width

    row = torch.tensor([1, 2, 2])
    candidates = canvas.view(start, WIDTH)[0][row]
    candidates[:, 0] = torch.tensor([1, 2, 3])
    inside = torch.arange(WIDTH) < (end - start)[row, None]
    expected = model(candidates, context, row, max_per_row=2)[inside].clone()
    for each in (narrow, narrow.join(wide)):
        assert torch.allclose(model(candidates, each, row - 1, max_per_row=2)[inside], expected, atol=1e-9)


@pytest.mark.parametrize(("family", "cache"), [case for case in CASES if case[1] in (None, "none")])
def test_exact_policies_stay_exact_after_edits(family: str, cache: str | None) -> None:
    """Without a cache, and with the block-causal one, a candidate's logits are those of its own canvas."""
    model, canvas = model_of(family, cache), canvas_of()
    start = torch.tensor([0, 4, 8, 0] if SPECS[family].block else [3, 2, 6, 1])
    context, _ = model.prefill(canvas, start.tolist(), WIDTH)
    block, masked = canvas.view(start, WIDTH)
    row = torch.tensor([0, 0, 1, 2, 3])
    edited = torch.where(masked[row] & (torch.rand(5, WIDTH) < 0.5), torch.randint(0, 20, (5, WIDTH)), block[row])
    logits = model(edited, context, row, max_per_row=2)
    for m, r in enumerate(row.tolist()):
        own = canvas.take(row[m : m + 1]).write(start[r : r + 1], edited[m : m + 1])
        own = Canvas(own.tokens[:, : int(own.length)], own.length, own.mask_id)
        _, exact = model.prefill(own, [int(start[r])], WIDTH)
        inside = int(start[r]) + torch.arange(WIDTH) < int(own.length)
        assert torch.allclose(logits[m][inside], exact[0][inside], atol=1e-9)


@pytest.mark.parametrize(("family", "cache"), CASES)
@pytest.mark.parametrize("sampler", ALL[::4], ids=label)
def test_rows_of_a_batch_are_rows_alone(sampler: Sampler, family: str, cache: str | None) -> None:
    """Ragged rows at different blocks, under every policy, in float64."""
    model, canvas = model_of(family, cache), canvas_of()
    together = infogain.decode(model, canvas, sampler, schedule=2, block=WIDTH, seed=2)
    assert together.committed.tolist() == canvas.masked.sum(-1).tolist()
    for i, seed in enumerate(together.seeds):
        alone = infogain.decode(model, rows(canvas, [i]), sampler, schedule=2, block=WIDTH, seeds=[seed])
        assert same_tokens(alone.tokens[0], together.tokens[i])
        assert alone.token_forwards[0] == together.token_forwards[i]


class Forgetful(Wrapper):
    """A block-causal model without a cache: it reads every row anew when a block opens."""

    def __init__(self, model: Backbone) -> None:
        super().__init__(model)
        self.opened: list[list[int]] = []

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> Any:
        _, logits = self.inner.append(canvas, start, width, past)
        context, anew = self.inner.prefill(canvas, start, width)
        inside = torch.tensor(start)[:, None] + torch.arange(width) < canvas.length[:, None]
        assert torch.allclose(logits[inside], anew[inside], atol=1e-9)
        self.opened.append(list(past.previous_start))
        return context, anew


class Largest(TorchDispatchMode):
    """Notes the most keys (or values) that any operation made at once: outputs of [..., columns, head_dim]."""

    def __init__(self, columns: int, head_dim: int) -> None:
        super().__init__()
        self.shape, self.numbers = {columns, head_dim}, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if isinstance(out, Tensor) and set(out.shape[-2:]) == self.shape:
            self.numbers = max(self.numbers, out.numel())
        return out


@pytest.mark.parametrize(("family", "cache"), [case for case in CASES if case[1] != "none"])
def test_look_ahead_keeps_one_cache_however_many_candidates(family: str, cache: str | None) -> None:
    """K/V of N = 8 are those of N = 1, by counting: no operation makes more keys than the context holds."""
    model, spec = model_of(family, cache), SPECS[family]
    canvas = Canvas.from_prompts([[1, 2, 3], [4, 5]], [61, 60], BASE.mask_id)
    context, _ = model.prefill(canvas, [56, 52], WIDTH)
    kept = context.layers[0].k.numel()
    columns = context.layers[0].k.shape[2]
    assert columns == (56 if spec.block else 64)
    assert context.bytes == 2 * spec.layers * kept * 8
    block, _ = canvas.view(torch.tensor([56, 52]), WIDTH)
    for n in (1, 8):
        row = torch.arange(2).repeat_interleave(n)
        with Largest(columns, spec.head_dim) as seen:
            model(block[row], context, row, max_per_row=n)
        assert 0 < seen.numbers <= kept


def test_the_count_of_keys_sees_a_copy_per_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law above can fail: what public code does, done here, is seen."""
    model = model_of("llada", "dual")
    canvas = Canvas.from_prompts([[1, 2, 3]], 61, BASE.mask_id)
    context, _ = model.prefill(canvas, [56], WIDTH)
    row = torch.zeros(8, dtype=torch.int64)

    def copying(q: Tensor, own: Any, visible: Tensor, shared: Any, index: int) -> Tensor:
        copied: Tensor = shared.layers[index].k[row]
        return attend_shared(q, own, visible, shared, index) + 0 * copied.sum()

    monkeypatch.setattr("infogain.models.backbone.transformer.attend_shared", copying)
    with Largest(64, 8) as seen:
        model(canvas.view(torch.tensor([56]), WIDTH)[0][row], context, row, max_per_row=8)
    assert seen.numbers == 8 * context.layers[0].k.numel()


@pytest.mark.parametrize("sampler", [make("entropy"), make("info-gain-beam", width=2, n=3)], ids=label)
def test_a_block_causal_cache_grows_with_the_row_and_not_with_its_company(sampler: Sampler) -> None:
    """Rows whose prompts end at different places in a block finish their blocks at different steps."""
    model = model_of("sdar", None)
    widest: list[int] = []

    class Watched(Forgetful):
        def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> Any:
            context, logits = self.inner.append(canvas, start, width, past)
            widest.append(context.layers[0].k.shape[2])
            assert context.layers[0].k.shape[2] == max(start)
            return context, logits

    canvas = Canvas.from_prompts([[1] * n for n in range(1, 7)], 24, BASE.mask_id)
    infogain.decode(Watched(model), canvas, sampler)
    assert max(widest) <= canvas.tokens.shape[1]


@pytest.mark.parametrize("cache", ["dual", "prefix", "none"])
@pytest.mark.parametrize("family", ["llada", "dream"])
def test_a_short_hole_is_filled_alike_beside_a_long_one(family: str, cache: str) -> None:
    """What is live around a hole depends on its own row, and on its own lane: text after it stays frozen."""
    model, mask = model_of(family, cache), BASE.mask_id
    short, long = [1, 2, mask, *range(3, 15)], [1, *[mask] * 9, 2, 3]
    alone = infogain.decode(model, Canvas.infill([short], mask), "info-gain", block=8, seeds=[5])
    beside = infogain.decode(model, Canvas.infill([short, long], mask), "info-gain", block=8, seeds=[5, 6])
    other = infogain.decode_lanes(
        model,
        [
            infogain.Lane(Canvas.infill([short], mask), infogain.Recipe(make("info-gain"), block=8), [5]),
            infogain.Lane(Canvas.infill([long], mask), infogain.Recipe(make("entropy")), [6]),
        ],
    )[0]
    for result in (beside, other):
        assert same_tokens(result.tokens[0], alone.tokens[0])
        assert result.cumulative_entropy[0] == pytest.approx(float(alone.cumulative_entropy[0]), abs=1e-9)
        assert result.token_forwards[0] == alone.token_forwards[0]


def test_the_shifted_family_reads_the_column_before_the_block() -> None:
    """Dream: the block's first logits change with the token before it, and that column is live in the cache."""
    model = model_of("dream", "dual")
    one, two = ([[a, 2, 3, *[23] * 6]] for a in (1, 9))
    start = [3]
    logits = [model.prefill(Canvas.infill(rows, 23), start, WIDTH)[1] for rows in (one, two)]
    assert not torch.allclose(logits[0], logits[1])
    context, _ = model.prefill(Canvas.infill(one, 23), start, WIDTH)
    assert context.first.tolist() == [2]
    assert model.columns(9, 3, WIDTH) == (9, 5)


@pytest.mark.parametrize(("family", "cache"), FROZEN)
def test_with_one_layer_a_cache_is_exact_after_edits(family: str, cache: str) -> None:
    """A key hangs on its own token alone there, so what is frozen is as it would be read anew."""
    frozen, plain = (model_of(family, policy, layers=1) for policy in (cache, "none"))
    canvas, start, row = canvas_of(), [3, 1, 6, 1], torch.tensor([0, 1, 2, 3, 0])
    block, masked = canvas.view(torch.tensor(start), WIDTH)
    edited = torch.where(masked[row] & (torch.rand(5, WIDTH) < 0.5), torch.randint(0, 20, (5, WIDTH)), block[row])
    one, two = (model(edited, model.prefill(canvas, start, WIDTH)[0], row, 2) for model in (frozen, plain))
    inside = torch.tensor(start)[row, None] + torch.arange(WIDTH) < canvas.length[row, None]
    assert torch.allclose(one[inside], two[inside], atol=1e-9)


def test_costs_are_counted_by_policy() -> None:
    for cache, live in (("none", 20), ("prefix", 12), ("dual", 4)):
        assert model_of("llada", cache).columns(20, 8, WIDTH) == (20, live)
    assert model_of("sdar", None).columns(20, 8, WIDTH) == (12, 4)


@pytest.mark.parametrize(("family", "cache"), CASES)
def test_after_the_last_attention_only_what_the_head_reads_is_run(
    family: str, cache: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, canvas = model_of(family, cache), canvas_of()
    ran: list[int] = []
    finish = Layer.finish

    def noted(layer: Layer, x: Tensor, mixed: Tensor) -> tuple[Tensor, Tensor]:
        ran.append(len(x))
        return finish(layer, x, mixed)

    monkeypatch.setattr(Layer, "finish", noted)
    start = [0, 4, 8, 0] if SPECS[family].block else [3, 2, 6, 1]
    context, _ = model.prefill(canvas, start, WIDTH)
    row = torch.tensor([2, 0, 1, 0, 3])
    model(canvas.view(torch.tensor(start), WIDTH)[0][row], context, row, max_per_row=2)
    assert ran == [4 * 12, 4 * WIDTH, 5 * context.width, 5 * WIDTH]


def test_a_block_causal_prefill_runs_what_it_counts() -> None:
    """Columns after the block are neither run nor cached."""
    model, canvas = model_of("sdar", None), canvas_of()
    context, _ = model.prefill(canvas, [4, 0, 0, 0], WIDTH)
    assert {keys.k.shape[2] for keys in context.layers} == {4}
    assert model.columns(12, 4, WIDTH) == (8, 4)


@pytest.mark.parametrize("sampler", ALL[::3], ids=label)
def test_finished_blocks_are_appended_exactly(sampler: Sampler) -> None:
    """Storing a block while the next one opens gives what reading the whole row again gives; gaps and beams too."""
    model, mask = model_of("sdar", None), BASE.mask_id
    gap = [[1, 2, *[mask] * 5, *range(3, 12), mask, mask], [5, *[mask] * 11]]
    forgetful = Forgetful(model)
    for canvas in (canvas_of(), Canvas.infill(gap, mask)):
        kept = infogain.decode(model, canvas, sampler, schedule=2, seed=3)
        anew = infogain.decode(forgetful, canvas, sampler, schedule=2, seed=3)
        assert torch.equal(kept.tokens, anew.tokens)
    assert forgetful.opened, "no row ever opened a second block"


def test_appending_runs_the_finished_block_and_the_next_one() -> None:
    model = model_of("sdar", None)
    canvas = Canvas.from_prompts([[1, 2, 3, 4, 5]], 9, BASE.mask_id)  # blocks at 4, 8 and 12
    result = infogain.decode(model, canvas, "ar", schedule=4)
    assert result.forwards.tolist() == [3]
    assert result.token_forwards.tolist() == [8 + 8 + 6], "the prompt with the first block, then two blocks at a time"


@pytest.mark.parametrize(("family", "cache"), FROZEN)
def test_going_on_reads_what_a_prefill_reads_where_nothing_has_changed(family: str, cache: str) -> None:
    """The finished block stood there when the row was read, so all cached K/V are as they would be read anew."""
    model = model_of(family, cache)
    canvas = Canvas.infill([[1, 2, 3, 4, 5, 6, *[23] * 5, 7], [8, 9, 10, 11, 12, *[23] * 5]], BASE.mask_id)
    before, start, width = [2, 1], [6, 5], 4
    context, _ = model.prefill(canvas, before, width)
    after, logits = model.append(canvas, start, width, Past(context, torch.tensor([0, 1]), before))
    anew, expected = model.prefill(canvas, start, width)
    assert torch.allclose(logits, expected, atol=1e-9)
    row = torch.tensor([1, 0, 0])
    tokens = torch.randint(0, 20, (3, width))
    assert torch.allclose(model(tokens, after, row, 2), model(tokens, anew, row, 2), atol=1e-9)
    assert model.columns(12, 6, width, previous_start=2)[0] == (10 if cache == "prefix" else 8)


@pytest.mark.parametrize(("family", "cache"), FROZEN)
@pytest.mark.parametrize("sampler", ALL[::4], ids=label)
def test_with_one_layer_nothing_goes_stale(sampler: Sampler, family: str, cache: str) -> None:
    """A key hangs on its own token alone there: a finished block that is stored rightly is all that has changed."""
    once, always = (model_of(family, cache, refresh=refresh, layers=1) for refresh in (9, 1))
    for block in (2, 3):
        one, two = (infogain.decode(model, canvas_of(), sampler, block=block, seed=4) for model in (once, always))
        assert same_tokens(one.tokens, two.tokens)
        assert torch.allclose(one.cumulative_entropy, two.cumulative_entropy, atol=1e-9)
        assert (one.token_forwards <= two.token_forwards).all()
        assert one.token_forwards.sum() < two.token_forwards.sum()


@pytest.mark.slow
@pytest.mark.parametrize("refresh", [2, 9])
@pytest.mark.parametrize(("family", "cache"), FROZEN)
@pytest.mark.parametrize("sampler", ALL[::4], ids=label)
def test_a_row_that_goes_on_does_so_as_it_would_alone(sampler: Sampler, family: str, cache: str, refresh: int) -> None:
    """Beside rows that are read anew, rows of other lanes with wider blocks, and rows that wait for a place."""
    model, canvas = model_of(family, cache, refresh=refresh), canvas_of()
    lane = infogain.Lane(canvas, infogain.Recipe(sampler, TokensPerStep(2), 3), range(4), max_in_flight=3)
    wider = infogain.Lane(rows(canvas, [2, 0]), infogain.Recipe(make("ar"), block=5))
    together = infogain.decode_lanes(model, [lane, wider])[0]
    for i in range(4):
        alone = infogain.decode(model, rows(canvas, [i]), sampler, schedule=2, block=3, seeds=[i])
        assert same_tokens(alone.tokens[0], together.tokens[i])
        assert alone.token_forwards[0] == together.token_forwards[i]


class Openings(Wrapper):
    """Notes how rows open their blocks: those that are read as a whole, and those that go on."""

    def __init__(self, model: Backbone) -> None:
        super().__init__(model)
        self.read, self.went_on = list[int](), list[int]()

    def prefill(self, canvas: Canvas, start: Sequence[int], width: int, end: Sequence[int] | None = None) -> Any:
        self.read += start
        return self.inner.prefill(canvas, start, width, end)

    def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> Any:
        self.went_on += start
        return self.inner.append(canvas, start, width, past)


def test_every_so_many_blocks_and_after_gaps_the_row_is_read_anew() -> None:
    canvas = Canvas.from_prompts([[1, 2, 3]], 12, BASE.mask_id)
    for refresh, read in ((None, [3, 5, 7, 9, 11, 13]), (2, [3, 7, 11]), (4, [3, 11]), (9, [3])):
        model = Openings(model_of("llada", "dual", refresh=refresh))
        result = infogain.decode(model, canvas, "entropy", block=2)
        assert model.read == read
        assert sorted(model.read + model.went_on) == [3, 5, 7, 9, 11, 13]
        assert result.token_forwards[0] == 15 * len(read) + 4 * (6 - len(read)) + 6 * 2  # openings, and a step each
    holes = Openings(model_of("llada", "dual", refresh=9))
    infogain.decode(holes, Canvas.infill([[1, 23, 23, 2, 3, 4, 23, 23, 23, 23, 5]], 23), "entropy", block=2)
    assert (holes.read, holes.went_on) == ([1, 5], [7, 9])  # blocks begin at the first mask
    shuffled = Openings(model_of("llada", "dual", refresh=9))
    infogain.decode(shuffled, canvas, "entropy", block=2, order="random", seed=1)
    assert shuffled.read[0] != 3
    assert sorted(shuffled.read + shuffled.went_on) == [3, 5, 7, 9, 11, 13]
    assert all(start - 2 in shuffled.read + shuffled.went_on for start in shuffled.went_on)


def test_policies_that_do_not_fit_are_refused() -> None:
    with pytest.raises(OptionError, match="block-causal and its cache is exact"):
        random_backbone(SPECS["sdar"], cache="dual")
    with pytest.raises(UnknownName, match="Did you mean 'prefix'"):
        random_backbone(SPECS["llada"], cache="prefx")
    for family, cache, refresh, why in (
        ("sdar", None, 2, "never reads a row again"),
        ("llada", "none", 2, "Use cache='dual'"),
        ("llada", "none", 0, "at least 1"),
        ("llada", "dual", 0, "at least 1"),
        ("llada", "dual", True, "at least 1"),
    ):
        with pytest.raises(OptionError, match=why):
            model_of(family, cache, refresh=refresh)
    assert model_of("llada", "none", refresh=1).refresh == model_of("sdar", None, refresh=1).refresh == 1
    assert "cache dual, refresh 2" in repr(model_of("dream", "dual", refresh=2))
    assert "its own cache" in repr(model_of("sdar", None))
