"""Laws of the contract with a model: what it leaves out is done for it, and what wraps it changes only what it says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas, InputError, Lane, Recipe, Result, TokensPerStep, Vocabulary
from infogain.decode import decode_lanes
from infogain.models import Backbone, Denoiser, FullCanvas, Past, Tabular, Wrapper, adapt, random_joint
from infogain.samplers import Sampler, make
from tests.cases import ALL, LAYOUTS, LENGTH, MODEL, Counting, label
from tests.laws.test_backbone import CASES, canvas_of, model_of

CAUSAL = Tabular(MODEL.sequences, MODEL.weights.long(), MODEL.mask_id, attention_block=3)
FEW = [make("entropy"), make("info-gain", n=3, gamma=0.4), make("info-gain-beam", n=3), make("best-of-n", n=2)]


class Duck:
    """The members a model must have, and no base class."""

    def __init__(self, model: Denoiser) -> None:
        self._model = model
        self.mask_id, self.vocab_size = model.mask_id, model.vocab_size
        self.attention_block, self.device = model.attention_block, model.device

    def columns(self, length: int, start: int, width: int) -> tuple[int, int]:
        return length, length

    def prefill(self, canvas: Canvas, start: Sequence[int], width: int, end: Any = None) -> Any:
        return self._model.prefill(canvas, start, width, end)

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
        return self._model(tokens, context, row, max_per_row)


def same(one: Result, two: Result) -> None:
    """To the last bit."""
    for name in ("tokens", "revealed", "cumulative_entropy", "forwards", "token_forwards"):
        assert torch.equal(getattr(one, name), getattr(two, name)), name
    assert one.trace == two.trace
    assert one.calls == two.calls


@pytest.mark.parametrize(
    "model",
    [MODEL, CAUSAL, model_of("sdar", None), model_of("dream", "none")],
    ids=["tabular", "causal", "sdar", "dream"],
)
@pytest.mark.parametrize("sampler", FEW, ids=label)
def test_a_model_of_no_base_class_is_given_the_defaults(sampler: Sampler, model: Denoiser) -> None:
    """Block-causal ones too: without `append` of its own, the row is read as a whole when a block opens."""
    canvas = canvas_of() if isinstance(model, Backbone) else LAYOUTS[4].canvas(MODEL, infill=True)
    duck: Any = Duck(model)
    one, two = (infogain.decode(m, canvas, sampler, schedule=2, block=3, seed=4) for m in (duck, model))
    assert torch.equal(one.tokens, two.tokens)
    assert torch.equal(one.forwards, two.forwards)
    assert torch.allclose(one.cumulative_entropy, two.cumulative_entropy, atol=1e-9)
    assert one.provenance is not None
    assert (one.provenance["model"], one.provenance["family"]) == ("Duck", "Duck")


def test_what_a_model_of_no_base_class_has_more_is_used() -> None:
    asked: list[str] = []

    class More(Duck):
        refresh, family, context = 1, "waterfowl", 12

        def columns(self, length: int, start: int, width: int, kept: int | None = None) -> tuple[int, int]:
            return (length if kept is None else length - kept), length

        def append(self, canvas: Canvas, start: Sequence[int], width: int, past: Past) -> Any:
            asked.append("append")
            return self._model.append(canvas, start, width, past)

        def at_masks(self, *given: Any) -> Any:
            asked.append("at_masks")
            return self._model.at_masks(*given)

    duck: Any = More(CAUSAL)
    result = infogain.decode(duck, LAYOUTS[1].canvas(MODEL), "entropy")
    assert set(asked) == {"append", "at_masks"}
    assert torch.equal(
        result.token_forwards, infogain.decode(CAUSAL, LAYOUTS[1].canvas(MODEL), "entropy").token_forwards
    )
    adapted = adapt(duck)
    assert (adapted.family, adapted.context, adapted.cache) == ("waterfowl", 12, "none")
    assert adapt(MODEL) is MODEL


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_vocabulary_of_its_own_is_taken(wrapped: bool) -> None:
    """A vocabulary may exclude ids or be a range; a model that has one needs no `mask_id` beside it."""

    class Words(Duck):
        def __init__(self, model: Denoiser, vocabulary: Vocabulary) -> None:
            super().__init__(model)
            self.vocabulary = vocabulary

    class Part(Words):
        def prefill(self, *given: Any) -> Any:
            context, logits = super().prefill(*given)
            return context, logits[..., 1:3]

        def __call__(self, *given: Any) -> Tensor:
            return super().__call__(*given)[..., 1:3]

    canvas, joint = LAYOUTS[4].canvas(MODEL, infill=True), random_joint(LENGTH, 3, seed=1)  # every text is possible
    words: Any = Words(joint, Vocabulary(4, 3, never=(0,)))
    result = infogain.decode(Wrapper(words) if wrapped else words, canvas, "entropy")
    written = result.tokens[result.generated].tolist()
    assert 0 not in written
    assert 0 in infogain.decode(joint, canvas, "entropy").tokens[result.generated].tolist()
    part: Any = Part(joint, Vocabulary(4, 3, first=1, count=2))
    one = infogain.decode(Wrapper(part) if wrapped else part, canvas, "entropy")
    assert torch.equal(one.tokens, result.tokens)
    del words.mask_id, words.vocab_size
    assert infogain.decode(words, canvas, "entropy").tokens.tolist() == result.tokens.tolist()
    words.mask_id = 2
    with pytest.raises(InputError, match="mask_id must be its vocabulary's, 3; Words has 2"):
        infogain.decode(words, canvas)
    del words.mask_id
    words.vocabulary = ["a", "b", "c"]
    with pytest.raises(InputError, match="Words lacks mask_id, vocab_size"):
        infogain.decode(words, canvas)


def test_a_model_that_lacks_members_is_refused() -> None:
    class Silent:
        mask_id, vocab_size, attention_block, device = 3, 4, None, MODEL.device
        columns = prefill = Duck.columns

    silent: Any = Silent()
    with pytest.raises(InputError, match=r"prefill and __call__; Silent lacks __call__. Wrap"):
        infogain.decode(silent, LAYOUTS[0].canvas(MODEL))
    duck: Any = Duck(MODEL)
    del duck.device, duck.vocab_size
    with pytest.raises(InputError, match=r"a model needs mask_id, .* Duck lacks vocab_size, device. Wrap .*FullCanvas"):
        infogain.decode(duck, LAYOUTS[0].canvas(MODEL))
    with pytest.raises(TypeError, match="abstract"):
        Denoiser()  # type: ignore[abstract]

    class Bare(Tabular):
        def __init__(self) -> None:
            self.vocabulary = MODEL.vocabulary

    with pytest.raises(InputError, match="must set vocabulary and device; Bare lacks device"):
        infogain.decode(Bare(), LAYOUTS[0].canvas(MODEL))


@pytest.mark.parametrize("sampler", FEW, ids=label)
def test_a_model_that_keeps_nothing_may_be_asked_to_go_on(sampler: Sampler) -> None:
    """A model with `refresh` above 1 and no `append` reads rows as a whole whenever a block opens."""

    def network(tokens: Tensor, inside: Tensor) -> Tensor:
        return MODEL.prefill(Canvas(tokens, inside.sum(-1), MODEL.mask_id), [0] * len(tokens), tokens.shape[1])[1]

    often, seldom = (FullCanvas(network, MODEL.vocabulary) for _ in range(2))
    seldom.refresh = 3
    canvas = LAYOUTS[4].canvas(MODEL, infill=True)
    one, two = (infogain.decode(model, canvas, sampler, block=2, seed=1) for model in (often, seldom))
    assert torch.equal(one.tokens, two.tokens)
    assert torch.equal(one.token_forwards, two.token_forwards)


@pytest.mark.parametrize("engine", ["eager", "graphs"])
@pytest.mark.parametrize(("family", "cache"), CASES)
def test_a_wrapper_that_changes_nothing_changes_no_bit(family: str, cache: str | None, engine: str) -> None:
    """Rows wait for each other here, and every sampler has its turn with some families and caches."""
    refresh = 2 if cache in ("dual", "prefix") else None
    plain, inner = (Backbone(model_of(family, cache).transformer, cache, engine, refresh=refresh) for _ in range(2))
    lanes = [
        Lane(canvas_of(), Recipe(sampler, TokensPerStep(1 + i % 2), 4, seed=i), max_in_flight=3)
        for i, sampler in enumerate(ALL[CASES.index((family, cache)) :: 10 if engine == "eager" else 20])
    ]
    for one, two in zip(decode_lanes(plain, lanes), decode_lanes(Wrapper(inner), lanes), strict=True):
        same(one, two)
        assert one.provenance is not None
        assert two.provenance == {**one.provenance, "model": "Wrapper(Backbone)"}


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_a_wrapped_table_decodes_as_the_table(sampler: Sampler) -> None:
    for model, layout in ((MODEL, LAYOUTS[3]), (CAUSAL, LAYOUTS[4])):
        canvas = layout.canvas(MODEL, infill=True)
        one, two = (
            infogain.decode(m, canvas, sampler, schedule=2, block=layout.block) for m in (model, Wrapper(model))
        )
        same(one, two)


def test_no_call_goes_past_what_a_wrapper_changes() -> None:
    """`Counting` changes `prefill` and `__call__` alone, yet sees every block that opens and every evaluation."""
    canvas = LAYOUTS[2].canvas(MODEL)
    counting = Counting(CAUSAL)
    result = infogain.decode(counting, canvas, "entropy")
    assert result.calls == counting.calls
    assert counting.prefills == 3
    assert int(result.token_forwards.sum()) == counting.columns_read
    appends = infogain.decode(CAUSAL, canvas, "entropy")
    assert torch.equal(appends.tokens, result.tokens)
    assert int(appends.token_forwards.sum()) < counting.columns_read, "the model itself would have gone on"


def test_a_change_of_a_change_is_not_gone_past_either() -> None:
    class Louder(Counting):
        def at_masks(self, *given: Any) -> Any:
            return self.inner.at_masks(*given)

    class Loudest(Louder):
        def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
            self.evaluations.append(tokens)
            return super().__call__(tokens, context, row, max_per_row)

    for kind, seen in ((Louder, 0), (Loudest, 4)):
        model = kind(MODEL)
        infogain.decode(model, LAYOUTS[2].canvas(MODEL), "entropy", block=3)
        assert len(model.evaluations) == seen


class Prompted(Wrapper):
    """Notes the prompt of every row that opens a block, by the row's first token."""

    def __init__(self, inner: Denoiser) -> None:
        super().__init__(inner)
        self.seen = set[tuple[int, int]]()
        self.opened = 0

    def prefill(self, canvas: Canvas, start: Sequence[int], width: int, end: Any = None) -> Any:
        self.seen |= set(zip(canvas.tokens[:, 0].tolist(), canvas.prompt.tolist(), strict=True))
        self.opened += len(start)
        return self.inner.prefill(canvas, start, width, end)


@pytest.mark.parametrize("model", [model_of("llada", "dual"), model_of("sdar", None)], ids=repr)
@pytest.mark.parametrize("sampler", FEW, ids=label)
def test_a_model_is_shown_where_each_prompt_ends(sampler: Sampler, model: Backbone) -> None:
    """In every block of every row, however rows come and go."""
    prompts = {1: 2, 4: 0, 5: 5, 12: 1}  # by the row's first token
    rows, around = canvas_of().rows(), Prompted(model)
    canvas = Canvas.infill(rows * 2, model.mask_id, [prompts[row[0]] for row in rows] * 2)
    lane = Lane(canvas, Recipe(sampler, TokensPerStep(2), block=4), max_in_flight=3)
    decode_lanes(around, [lane, Lane(Canvas.from_prompts([[7] * 6], 5, model.mask_id), Recipe(make("ar"), block=4))])
    assert around.seen == {*prompts.items(), (7, 6)}
    assert around.opened > 12
