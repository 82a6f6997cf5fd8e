"""Every fast path equals the plain one: graphs and their buffers, the head for masks alone, a ceiling on memory."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas, Lane, OptionError, Recipe, UnknownName
from infogain.algorithm.marginals import LazyLogits, Marginals
from infogain.kernels import MaskedColumns
from infogain.models.backbone.backbone import Backbone, _few_sizes, random_backbone
from infogain.models.backbone.buffers import Buffers
from infogain.models.backbone.context import BackboneContext
from infogain.models.backbone.graphs import ROWS
from infogain.models.backbone.transformer import Transformer
from infogain.models.denoiser import Past
from infogain.samplers import Sampler, make
from tests.cases import marginals, vocabulary_of
from tests.fast import Compared, closest
from tests.laws.test_backbone import BASE, CASES, FROZEN, SPECS, canvas_of, model_of

SAMPLERS = [make("entropy"), make("klass"), make("info-gain", gamma=1.0), make("info-gain-beam", width=2, n=3)]
CACHED = [case for case in CASES if case[1] != "none"]
WIDTH = 4


def fast(model: Backbone, ceiling: float | None = None) -> Backbone:
    cache = None if model.attention_block else model.cache
    refresh = model.refresh if model.refresh > 1 else None
    return Backbone(model.transformer, cache, "graphs", ceiling, refresh)


def opened(model: Backbone, canvas: Canvas, start: Sequence[int]) -> tuple[BackboneContext, Tensor, Tensor]:
    """A context, and candidates that differ in the block's first mask."""
    context, _ = model.prefill(canvas, list(start), WIDTH)
    row = torch.tensor([2, 0, 1, 0, 3, 2, 2])
    tokens, masked = canvas.view(torch.tensor(start), WIDTH)
    tokens = tokens[row].clone()
    first = masked[row].long().argmax(-1)
    tokens[torch.arange(len(row)), first] = torch.arange(len(row)) + 1
    return context, tokens, row


def starts(family: str) -> list[int]:
    return [0, 4, 8, 0] if SPECS[family].block else [3, 2, 6, 1]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "cache"), CASES)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.name)
def test_recorded_forwards_decode_as_plain_ones(family: str, cache: str | None, sampler: Sampler) -> None:
    plain = model_of(family, cache)
    recorded = fast(plain)
    for block in [None] if plain.attention_block or sampler.name == "klass" else [3]:
        one, two = (infogain.decode(model, canvas_of(), sampler, block=block, seed=5) for model in (plain, recorded))
        assert torch.equal(one.tokens, two.tokens)
        assert torch.allclose(one.cumulative_entropy, two.cumulative_entropy, atol=1e-9)
        assert torch.equal(one.token_forwards, two.token_forwards)


@pytest.mark.parametrize(("family", "cache"), CASES)
def test_every_call_of_a_decode_has_the_logits_of_the_plain_path(family: str, cache: str | None) -> None:
    plain = model_of(family, cache)
    both = Compared(plain, fast(plain), within=1e-9)
    block = None if plain.attention_block else 3
    one, two = (infogain.decode(model, canvas_of(), SAMPLERS[-1], block=block, seed=5) for model in (plain, both))
    assert both.calls > 5
    assert closest(one, two) == []


@pytest.mark.slow
@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.name)
@pytest.mark.parametrize(("family", "cache"), FROZEN)
def test_rows_go_on_in_the_buffers_as_they_do_outside(family: str, cache: str, sampler: Sampler) -> None:
    plain = model_of(family, cache, refresh=3)
    recorded = fast(plain)
    assert recorded.graphs is not None
    for canvas in (canvas_of(), Canvas.from_prompts([[1, 2, 3], [4, 5, 6]], 14, BASE.mask_id)):
        both = Compared(plain, recorded, within=1e-9)
        one, two = (infogain.decode(model, canvas, sampler, block=2, seed=5) for model in (plain, both))
        assert closest(one, two) == []
    assert any(key[0] == "append" for key in recorded.graphs.recorded) == (sampler.traits.beam == 1)


@pytest.mark.parametrize(("cache", "most"), [("dual", 1), ("prefix", 4)])
def test_rows_that_go_on_need_few_recordings(cache: str, most: int) -> None:
    """Canvases of any length run whole blocks; with a prefix cache, their number falls from block to block."""
    model = fast(model_of("llada", cache, refresh=9))
    for length in range(9, 17):
        infogain.decode(model, Canvas.from_prompts([[1, 2, 3]], length, BASE.mask_id), "entropy", block=4)
    assert model.graphs is not None
    assert len([key for key in model.graphs.recorded if key[0] == "append"]) <= most


def test_rows_too_many_to_be_recorded_go_on_in_the_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infogain.models.backbone.graphs.MOST_TOKENS", 8)
    plain = model_of("dream", "dual", refresh=3)
    model = fast(plain)
    canvas = Canvas.from_prompts([[1, 2], [3]], 12, BASE.mask_id)
    both = Compared(plain, model, within=1e-9)
    one, two = (infogain.decode(each, canvas, "entropy", block=3, seed=5) for each in (plain, both))
    assert torch.equal(one.tokens, two.tokens)
    assert model.graphs is not None
    assert not any(key[0] == "append" for key in model.graphs.recorded)


@pytest.mark.parametrize(("family", "cache"), CACHED)
def test_a_buffer_is_wider_than_what_it_holds_and_nothing_shows(family: str, cache: str | None) -> None:
    plain = model_of(family, cache)
    model = fast(plain)
    start = starts(family)
    context, tokens, row = opened(plain, canvas_of(), start)
    same, _, _ = opened(model, canvas_of(), start)
    assert torch.allclose(plain(tokens, context, row, 3), model(tokens, same, row, 3), atol=1e-9)
    assert model.graphs is not None
    assert model.graphs.buffers.context is not None
    assert model.graphs.buffers.context.columns > same.columns
    rows = next(size for size in ROWS if size >= len(row))
    most = 3 + rows - len(row)  # candidates that fill up may all be of one row
    assert list(model.graphs.recorded) == [("candidates", rows, WIDTH, same.width + same.width % 2, most)]


@pytest.mark.parametrize(("family", "cache"), [case for case in CACHED if not SPECS[case[0]].block])
def test_a_canvas_is_read_into_the_buffers_where_nobody_else_is_inside(family: str, cache: str | None) -> None:
    plain = model_of(family, cache)
    model, start = fast(plain), starts(family)
    assert model.graphs is not None
    buffers = model.graphs.buffers

    def inside(context: BackboneContext) -> bool:
        assert buffers.context is not None
        return context.layers[0].k.data_ptr() == buffers.context.layers[0].k.data_ptr()

    wide = Canvas.from_prompts([[1] * 90], 4, BASE.mask_id)  # leaves something behind in columns the next has not
    context, _ = model.prefill(wide, [90], WIDTH)
    assert buffers.context is None  # nothing is known of the model yet
    model(torch.full((1, WIDTH), BASE.mask_id), context, torch.tensor([0]), 1)
    assert inside(context)
    del context
    small = canvas_of().take(torch.tensor([0]))
    for _ in range(2):  # recorded, then replayed
        mine, logits = model.prefill(small, start[:1], WIDTH)
        assert inside(mine)
        assert mine.columns == small.tokens.shape[1]
        other, expected = plain.prefill(small, start[:1], WIDTH)
        assert torch.allclose(logits, expected, atol=1e-9)
        tokens, row = small.tokens[:, start[0] : start[0] + WIDTH], torch.tensor([0])
        assert torch.allclose(model(tokens, mine, row, 1), plain(tokens, other, row, 1), atol=1e-9)
        beside, _ = model.prefill(small, start[:1], WIDTH)
        assert not inside(beside)
        del mine, beside


@pytest.mark.parametrize(("family", "cache"), CACHED)
def test_contexts_that_take_turns_keep_their_values(family: str, cache: str | None) -> None:
    plain = model_of(family, cache)
    model = fast(plain)
    other_canvas = Canvas.infill([[9, 8, 7, 6, *[BASE.mask_id] * 12]] * 4, BASE.mask_id)
    start = starts(family)
    pairs = [(opened(plain, canvas, start), opened(model, canvas, start)) for canvas in (canvas_of(), other_canvas)]
    for _ in range(2):
        for (expected, tokens, row), (context, _, _) in pairs:
            assert torch.allclose(plain(tokens, expected, row, 3), model(tokens, context, row, 3), atol=1e-9)


@pytest.mark.parametrize("most_tokens", [1152, 8])
def test_blocks_that_follow_one_another_are_stored_in_place_and_others_apart(
    most_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two texts that go on from the same context: the second must leave the first's keys alone."""
    monkeypatch.setattr("infogain.models.backbone.graphs.MOST_TOKENS", most_tokens)
    plain, width = model_of("sdar", None), SPECS["sdar"].block or 0
    model = fast(plain)
    canvas = Canvas.infill([[*range(1, 9), *[BASE.mask_id] * 12], [*range(9, 17), *[BASE.mask_id] * 8]], BASE.mask_id)
    row = torch.tensor([0, 1])
    tokens = torch.full((2, width), BASE.mask_id)

    def go_on(model: Backbone, context: BackboneContext, word: int) -> tuple[BackboneContext, Tensor]:
        written = Canvas(canvas.tokens.clone(), canvas.length, canvas.mask_id)
        written.tokens[:, 8 : 8 + width] = word
        return model.append(written, [8 + width] * 2, width, Past(context, row, [8, 8], [0, 1]))

    pairs = []
    for each in (plain, model):
        context, _ = each.prefill(canvas, [8, 8], width)
        each(tokens, context, row, 1)
        first, opened = go_on(each, context, 3)
        shared = first.layers[0].k.data_ptr() == context.layers[0].k.data_ptr()
        assert shared == (each is model)  # recorded or not
        second, other = go_on(each, context, 5)
        pairs.append([opened, other, *(each(tokens, x, row, 1) for x in (first, second, context, first))])
    for expected, got in zip(*pairs, strict=True):
        assert torch.allclose(expected, got, atol=1e-9)


@pytest.mark.parametrize("family", ["dream", "sdar"])
def test_a_row_that_overflows_leaves_nothing_behind_in_the_buffers(family: str) -> None:
    """Neither its K/V nor its tokens, which columns past the end of the next canvas would hold."""
    model = fast(random_backbone(SPECS[family]))
    model.transformer.embed.weight[7] = torch.nan
    mask, block = BASE.mask_id, None if model.attention_block else 3
    healthy = Canvas.infill([[1, 2, 3, 4, *[mask] * 4]], mask)
    sick = Canvas.infill([[1, 2, 3, 4, mask, mask, 1, 1, 7, 7, 7, 7, mask, mask]], mask)
    before = infogain.decode(model, healthy, "entropy", block=block, seed=1)
    with pytest.raises(infogain.NumericsError):
        infogain.decode(model, sick, "entropy", block=block, seed=1)
    assert torch.equal(before.tokens, infogain.decode(model, healthy, "entropy", block=block, seed=1).tokens)


def test_weights_that_move_make_what_was_recorded_void() -> None:
    model = fast(random_backbone(SPECS["dream"]))
    infogain.decode(model, canvas_of(), "entropy", block=3)
    assert model.graphs is not None
    old = list(model.graphs.recorded.values())
    assert old
    model.transformer.double().float()
    infogain.decode(model, canvas_of(), "entropy", block=3)
    assert not {id(x) for x in old} & {id(x) for x in model.graphs.recorded.values()}


def test_a_move_into_the_buffers_that_breaks_off_changes_no_other_context(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = model_of("dream", "dual")
    model, start = fast(plain), starts("dream")
    first, tokens, row = opened(model, canvas_of(), start)
    expected = plain(tokens, opened(plain, canvas_of(), start)[0], row, 3)
    model(tokens, first, row, 3)
    other = Canvas.infill([[9, 8, 7, 6, *[BASE.mask_id] * 12]] * 4, BASE.mask_id)
    second, _, _ = opened(model, other, start)
    move_in = Buffers._move_in

    def breaks_off(self: Buffers, context: BackboneContext) -> None:
        move_in(self, context)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Buffers, "_move_in", breaks_off)
        with pytest.raises(KeyboardInterrupt):
            model(tokens, second, row, 3)
    assert torch.allclose(model(tokens, first, row, 3), expected, atol=1e-9)


@pytest.mark.parametrize("family", ["dream", "sdar"])
def test_a_model_may_change_its_precision_between_two_decodes(family: str) -> None:
    model = fast(random_backbone(SPECS[family]))
    infogain.decode(model, canvas_of(), "entropy", seed=1)
    model.transformer.double()
    plain = Backbone(model.transformer, None if model.attention_block else "dual")
    one, two = (infogain.decode(each, canvas_of(), "entropy", seed=1) for each in (plain, model))
    assert torch.equal(one.tokens, two.tokens)
    assert not any(x.requires_grad for x in copy.deepcopy(model.transformer).parameters())


def test_buffers_have_room_for_all_that_took_turns_in_them() -> None:
    model = fast(model_of("dream", "dual"))
    wide = opened(model, canvas_of(), starts("dream"))
    long = Canvas.infill([[1, 2, 3, *[BASE.mask_id] * 600]], BASE.mask_id)
    context, _ = model.prefill(long, [3], WIDTH)
    tokens, row = torch.full((1, WIDTH), BASE.mask_id), torch.tensor([0])
    assert model.graphs is not None
    for turn in range(3):
        model(wide[1], wide[0], wide[2], 3)
        model(tokens, context, row, 1)
        if turn == 0:
            buffers = model.graphs.buffers.context
    assert model.graphs.buffers.context is buffers


@pytest.mark.parametrize("family", ["dream", "sdar"])
def test_a_model_goes_when_its_last_user_does(family: str) -> None:
    """Weights and buffers are gigabytes: they must not wait for the garbage collector."""
    model = fast(random_backbone(SPECS[family]))
    infogain.decode(model, canvas_of(), "entropy", seed=1)
    gone = weakref.ref(model.transformer)
    gc.disable()
    try:
        del model
        assert gone() is None
    finally:
        gc.enable()


def test_a_held_context_has_one_copy_of_its_keys() -> None:
    model = fast(model_of("dream", "dual"))
    context, tokens, row = opened(model, canvas_of(), starts("dream"))
    model(tokens, context, row, 3)
    assert model.graphs is not None
    assert model.graphs.buffers.context is not None
    for mine, theirs in zip(model.graphs.buffers.context.layers, context.layers, strict=True):
        assert mine.k.untyped_storage().data_ptr() == theirs.k.untyped_storage().data_ptr()


@pytest.mark.parametrize(("family", "cache"), CASES)
def test_masks_alone_through_the_head_have_the_logits_they_have_among_all(family: str, cache: str | None) -> None:
    model = model_of(family, cache)
    context, tokens, row = opened(model, canvas_of(), starts(family))
    masked = tokens == BASE.mask_id
    every = model(tokens, context, row, 3)
    alone = model.at_masks(tokens, MaskedColumns(masked, int(masked.sum())), context, row, 3)
    assert isinstance(alone, Tensor)
    assert torch.allclose(alone, every[masked], atol=1e-9)


def test_room_for_logits_has_few_sizes_and_stays_below_the_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = model_of("dream", "dual")
    tight = Backbone(plain.transformer, "dual", ceiling=2 * 8 * 3 * BASE.vocab_size / 2**30)
    context, tokens, row = opened(plain, canvas_of(), starts("dream"))
    rooms: list[int] = []

    def logits(_: Transformer, x: Tensor, room: int, words: slice | None = None) -> Tensor:
        rooms.append(room)
        return x

    monkeypatch.setattr(Transformer, "logits", logits)
    for masks, model in ((1, plain), (3, plain), (5, plain), (3, tight)):
        masked = (torch.arange(tokens.numel()) < masks).view(tokens.shape)
        model.at_masks(tokens, MaskedColumns(masked, masks), context, row, 3)
    assert rooms == [1, 4, 8, 3]
    assert [_few_sizes(rows) for rows in (0, 64, 65, 513, 1025, 2049)] == [0, 64, 128, 1024, 1536, 2560]


def test_a_ceiling_changes_nothing_but_how_much_is_held() -> None:
    plain = model_of("dream", "dual")
    size = 8  # bytes of a number
    low = Backbone(plain.transformer, "dual", ceiling=2 * size * 5 * SPECS["dream"].widest / 2**30)
    assert low.transformer.most_tokens == 5
    context, tokens, row = opened(low, canvas_of(), starts("dream"))
    masked = tokens == BASE.mask_id
    tight = Backbone(plain.transformer, "dual", ceiling=2 * size * 3 * BASE.vocab_size / 2**30)
    deferred = tight.at_masks(tokens, MaskedColumns(masked, int(masked.sum())), context, row, 3)
    assert isinstance(deferred, LazyLogits)
    assert max(len(part) for part in deferred.parts()) == 3
    one, two = (
        infogain.decode(model, canvas_of(), make("info-gain", gamma=1.0), block=4, seed=2) for model in (plain, tight)
    )
    plain.transformer.most_tokens = None
    three = infogain.decode(plain, canvas_of(), make("info-gain", gamma=1.0), block=4, seed=2)
    assert torch.equal(one.tokens, two.tokens)
    assert torch.equal(one.tokens, three.tokens)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: sampler.name)
def test_under_a_ceiling_rows_may_join_others_at_any_step(sampler: Sampler) -> None:
    """The second row is in the middle of its block when the third takes the place of the first."""
    plain = model_of("dream", "dual")
    lane = Lane(Canvas.from_prompts([[1, 2], [3], [4, 5]], [2, 9, 4], BASE.mask_id), Recipe(sampler), max_in_flight=2)
    for ceiling in (1e-12, 2 * 8 * 3 * BASE.vocab_size / 2**30):
        tight = Backbone(plain.transformer, "dual", ceiling=ceiling)
        came = [[result.tokens for _, _, result in infogain.decode_stream(m, [lane])] for m in (tight, plain)]
        assert all(torch.equal(one, two) for one, two in zip(*came, strict=True))


def test_candidates_that_fill_up_a_recorded_size_take_no_place_from_others() -> None:
    plain = model_of("dream", "dual")
    model = fast(plain)
    expected, tokens, _ = opened(plain, canvas_of(), starts("dream"))
    context, _, _ = opened(model, canvas_of(), starts("dream"))
    for row in ([3, 2, 1, 0, 0], [0, 0, 1, 1, 2], [1, 1, 1, 1, 1, 3, 3], [3, 3, 3, 2, 2], [0]):
        most = max(row.count(c) for c in row)
        cut, which = tokens[: len(row)], torch.tensor(row)
        one, two = plain(cut, expected, which, most), model(cut, context, which, most)
        assert torch.allclose(one, two, atol=1e-9)


def test_marginals_of_masks_alone_are_those_of_all_columns() -> None:
    masked = torch.tensor([[True, False, True], [False, False, True], [True, True, True]])
    logits = torch.randn(3, 3, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    dense, compact = (
        marginals(logits.clone(), 6),
        Marginals.at(MaskedColumns(masked, int(masked.sum())), logits[masked].clone(), vocabulary_of(7, 6)),
    )
    for name in ("log_z", "entropy", "confidence", "margin", "argmax"):
        assert torch.equal(getattr(dense, name)[masked], getattr(compact, name)[masked]), name
    assert (compact.entropy[~masked] == 0).all()
    assert (compact.confidence[~masked] == 1).all()
    for index in (torch.tensor([2, 0]), slice(1, 3)):
        assert torch.equal(dense[index].logits[masked[index]], compact[index].logits[masked[index]])
    both = compact[slice(0, 1)].join(compact[torch.tensor([2])])
    assert torch.equal(both.logits[masked[[0, 2]]], dense.logits[[0, 2]][masked[[0, 2]]])


def test_an_engine_or_ceiling_that_cannot_be_says_so() -> None:
    transformer = model_of("dream", "dual").transformer
    with pytest.raises(UnknownName, match=r"engine 'graph'. Did you mean 'graphs'"):
        Backbone(transformer, engine="graph")
    for ceiling in (0, -1, float("nan"), float("inf")):
        with pytest.raises(OptionError, match="ceiling must be above 0 GiB, or unset"):
            Backbone(transformer, ceiling=ceiling)
