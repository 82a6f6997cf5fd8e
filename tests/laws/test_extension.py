"""The promise to those who bring their own sampler or model: a page of code, and the loop checks the contract."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas, ContractError, Result
from infogain.algorithm.state import Candidates, State
from infogain.options import option
from infogain.samplers import SAMPLERS, Greedy, InfoGain, LookAhead, Sampler, make
from tests.cases import LAYOUTS, MODEL, Counting


def toy_sampler() -> type[Sampler]:
    """Middle-out: the column nearest the block's middle first, in fewer than 40 lines."""

    @dataclass(frozen=True)
    class MiddleOut(Greedy):
        """φ = −|ℓ − middle|."""

        lean: float = option(0.0, "shift of the middle, in columns")

        def phi(self, z: State, tokens: Tensor) -> Tensor:
            offset = torch.arange(z.tokens.shape[1], device=tokens.device)
            middle = (z.block_masks[:, None] - 1) / 2 + self.lean
            return -(offset - middle).abs()

    return MiddleOut


def test_a_sampler_is_a_page_and_touches_nothing_else() -> None:
    assert len(inspect.getsource(toy_sampler).splitlines()) < 40
    middle_out = toy_sampler()
    SAMPLERS.register("middle-out")(middle_out)
    try:
        sampler = infogain.samplers.make("middle-out", lean=0.1)
        result = infogain.decode(MODEL, LAYOUTS[2].canvas(MODEL), sampler)
        recipe = infogain.Recipe.of(result.recipe)
        assert recipe.sampler == sampler, "options, recipes and the registry come for free"
        revealed = [row.candidates[0].columns[0] for step in result.trace.steps for row in step.rows]  # type: ignore[union-attr]
        assert revealed == [3, 4, 2, 5, 1, 6, 0]
    finally:
        del SAMPLERS.entries["middle-out"]


def test_a_look_ahead_sampler_is_one_method() -> None:
    @dataclass(frozen=True)
    class Hoarder(LookAhead):
        """Keeps the future as uncertain as it can."""

        def score(self, z: State, a: Candidates, z_next: State) -> Tensor:
            return (z_next.p.entropy * z_next.masked).sum(-1)

    def mean(sampler: Sampler) -> float:
        canvas = infogain.Canvas.from_prompts([[]] * 30, 7, MODEL.mask_id)
        return float(infogain.decode(MODEL, canvas, sampler).cumulative_entropy.mean())

    assert mean(Hoarder(gamma=1.0)) > mean(infogain.samplers.make("lookum", gamma=1.0))


class Broken(Greedy):
    """Breaks one promise, by its name."""

    fault = ""

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        return z.p.confidence

    def propose(self, z: State, budget: Tensor) -> Candidates:
        a = super().propose(z, budget)
        tokens, chosen = a.tokens.clone(), a.chosen.clone()
        if self.fault == "outside":
            chosen[:, 0] = True
        if self.fault == "mask":
            tokens[:] = MODEL.mask_id
        if self.fault == "foreign":
            tokens[:] = 99
        if self.fault == "kind":
            return Candidates(a.parent, chosen, tokens.double())
        if self.fault == "form":
            return Candidates(a.parent, chosen, tokens[0])
        if self.fault == "tuple":
            return a.parent, chosen, tokens  # type: ignore[return-value]
        if self.fault == "unsorted":
            return Candidates(torch.tensor([0, 1, 0]), chosen[[0, 1, 0]], tokens[[0, 1, 0]])
        if self.fault == "left out":
            return Candidates(a.parent[:1], chosen[:1], tokens[:1])
        if self.fault == "nothing" and int(z.step.max()) == 2:
            chosen[:] = False
        if self.fault == "uneven":
            more = Candidates(a.parent, z.masked, tokens)
            parent = torch.cat([a.parent, more.parent])
            order = parent.argsort(stable=True)
            return Candidates(
                parent[order], torch.cat([chosen, more.chosen])[order], torch.cat([tokens, more.tokens])[order]
            )
        return Candidates(a.parent, chosen, tokens)

    def score(self, z: State, a: Candidates, z_next: State) -> Tensor:
        scores = super().score(z, a, z_next)
        return scores[:, None] if self.fault == "shape" else scores


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("outside", "masked columns"),
        ("mask", "never the mask"),
        ("foreign", "tokens of the vocabulary"),
        ("kind", r"the sampler gave int64 \[2\], bool \[2, 5\], float64 \[2, 5\]"),
        ("form", r"tokens in int64 \[M, 5\]; the sampler gave .* int64 \[5\]"),
        ("tuple", "propose must return Candidates; the sampler gave tuple"),
        ("unsorted", "every hypothesis must get candidates, in order"),
        ("left out", "every hypothesis must get candidates, in order"),
        ("nothing", "at least one token"),
        ("uneven", "equally many"),
        ("shape", "one number per candidate"),
    ],
)
def test_a_broken_sampler_is_told_what_it_broke_and_work_is_kept(fault: str, text: str) -> None:
    sampler = type("Faulty", (Broken,), {"fault": fault})()
    canvas = Canvas.from_prompts([[0, 1], [1, 2]], 5, MODEL.mask_id)
    with pytest.raises(ContractError, match=text) as caught:
        infogain.decode(MODEL, canvas, sampler)
    assert caught.value.partial is not None
    (partial,) = caught.value.partial
    assert isinstance(partial, Result)
    assert partial.tokens.shape == canvas.tokens.shape
    if fault == "nothing":
        assert partial.committed.tolist() == [2, 2]
        assert (partial.tokens == MODEL.mask_id).sum() == 6


class Sick(Counting):
    """Returns NaN for one row after a while."""

    value = float("nan")

    def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
        logits: Tensor = super().__call__(tokens, context, row, max_per_row)
        if len(self.evaluations) == 3:
            logits[-1, :, 0] = self.value
        return logits


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", list(SAMPLERS))
def test_nan_logits_are_an_error_that_keeps_what_was_done(name: str, value: float) -> None:
    model = Sick(MODEL)
    model.value = value
    canvas = infogain.Canvas.from_prompts([[], [0, 1]], [7, 5], MODEL.mask_id)
    sampler = infogain.samplers.make(name, **({"gamma": 1.0} if "gain" in name or name == "lookum" else {}))
    with pytest.raises(infogain.NumericsError, match=r"row \d, block at column") as caught:
        infogain.decode(model, canvas, sampler, block=3)
    assert caught.value.partial is not None
    (partial,) = caught.value.partial
    assert int(partial.committed.sum()) > 0
    assert partial.trace is not None
    assert len(partial.trace.steps) > 1


def test_a_model_of_the_wrong_shape_is_told() -> None:
    class Narrow(Counting):
        def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
            logits: Tensor = super().__call__(tokens, context, row, max_per_row)
            return logits[:, :-1]

    with pytest.raises(ContractError, match="logits \\[rows, width, vocabulary\\]"):
        infogain.decode(Narrow(MODEL), LAYOUTS[0].canvas(MODEL), "entropy")


def test_what_a_model_says_of_known_columns_does_not_matter() -> None:
    """Only the masked columns must hold a distribution."""

    class Careless(Counting):
        def prefill(self, canvas: Canvas, start: Sequence[int], width: int, end: Any = None) -> Any:
            context, logits = self.inner.prefill(canvas, start, width, end)
            _, masked = canvas.view(torch.tensor(start), width)
            return context, logits.masked_fill(~masked[..., None], torch.nan)

        def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Tensor:
            logits: Tensor = self.inner(tokens, context, row, max_per_row)
            return logits.masked_fill((tokens != MODEL.mask_id)[..., None], torch.nan)

    canvas = LAYOUTS[2].canvas(MODEL)
    for sampler in (make("entropy"), make("info-gain", n=3), make("lookum", n=3), make("info-gain-beam", n=3)):
        careless, plain = (infogain.decode(m, canvas, sampler, schedule=2) for m in (Careless(MODEL), MODEL))
        assert torch.equal(careless.tokens, plain.tokens)
        assert torch.equal(careless.cumulative_entropy, plain.cumulative_entropy)


def test_an_unregistered_sampler_does_not_pass_for_its_parent() -> None:
    @dataclass(frozen=True)
    class Hidden(InfoGain):
        pass

    result = infogain.decode(MODEL, LAYOUTS[0].canvas(MODEL), Hidden())
    assert result.recipe["sampler"]["name"].endswith("Hidden")
    with pytest.raises(infogain.UnknownName, match="Hidden"):
        infogain.Recipe.of(result.recipe)


def test_the_last_step_of_a_block_can_be_scored_by_any_sampler() -> None:
    """Nothing is evaluated there, yet the marginals a sampler sees have the whole vocabulary."""

    @dataclass(frozen=True)
    class Curious(LookAhead):
        def score(self, z: State, a: Candidates, z_next: State) -> Tensor:
            return z_next.p.probability(z_next.tokens[:, None].clamp(max=2))[:, 0].sum(-1)

    assert infogain.decode(MODEL, LAYOUTS[4].canvas(MODEL), Curious(), block=3).committed.tolist() == [6, 2, 7, 4]


@pytest.mark.parametrize("value", [torch.nan])
def test_a_sampler_that_says_nan_is_told(value: float) -> None:
    @dataclass(frozen=True)
    class Lost(Greedy):
        def phi(self, z: State, tokens: Tensor) -> Tensor:
            return torch.full_like(z.p.entropy, value)

    @dataclass(frozen=True)
    class Adrift(LookAhead):
        def score(self, z: State, a: Candidates, z_next: State) -> Tensor:
            return torch.full_like(z_next.cost, value)

    canvas = LAYOUTS[2].canvas(MODEL)
    with pytest.raises(ContractError, match="at least one token"):
        infogain.decode(MODEL, canvas, Lost())
    with pytest.raises(ContractError, match="score must be a number"):
        infogain.decode(MODEL, canvas, Adrift())


@pytest.mark.parametrize("name", ["entropy", "info-gain", "info-gain-beam"])
def test_who_writes_into_what_they_are_given_spoils_their_own_decode_alone(name: str) -> None:
    """What the loop keeps from decode to decode is never handed out."""

    @dataclass(frozen=True)
    class Scribbler(type(make(name))):  # type: ignore[misc]
        def propose(self, z: State, budget: Tensor) -> Candidates:
            a: Candidates = super().propose(z, budget)
            given = Candidates(a.parent.clone(), a.chosen.clone(), a.tokens.clone())
            a.parent.add_(1)
            return given

    def scribble(event: infogain.StepEvent) -> None:
        for x in (event.kept, event.a.parent, event.a.tokens, event.score):
            x.add_(1)

    canvas = Canvas.from_prompts([[0], [1, 2], [2]], 5, MODEL.mask_id)
    before = infogain.decode(MODEL, canvas, make(name), seed=3)
    infogain.decode(MODEL, canvas, Scribbler(), observe=scribble, trace=False)
    after = infogain.decode(MODEL, canvas, make(name), seed=3)
    assert torch.equal(before.tokens, after.tokens)
    assert before.trace is not None
    assert after.trace is not None
    assert before.trace.steps == after.trace.steps


@dataclass(frozen=True)
class Picky(Greedy):
    """Never wants token 0, unless nothing else is left; φ may be of any kind."""

    kind = torch.float32

    def phi(self, z: State, tokens: Tensor) -> Tensor:
        if self.kind == torch.int64:
            return -z.column
        return z.p.confidence.to(self.kind).masked_fill(tokens == 0, -torch.inf)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize("k", [1, 2])
def test_a_wish_of_minus_infinity_is_the_last_one_and_still_one(kind: torch.dtype, k: int) -> None:
    sampler = type("Picky", (Picky,), {"kind": kind})(tau_token=1.0)
    for seed in range(4):
        result = infogain.decode(
            MODEL, LAYOUTS[2].canvas(MODEL), sampler, schedule=infogain.TokensPerStep(k), seed=seed
        )
        assert not (result.tokens == MODEL.mask_id).any()


def test_a_phi_of_the_wrong_shape_or_none_at_all_is_told() -> None:
    @dataclass(frozen=True)
    class Flat(Greedy):
        def phi(self, z: State, tokens: Tensor) -> Tensor:
            return z.cost

    @dataclass(frozen=True)
    class Idle(Greedy):
        pass

    with pytest.raises(ContractError, match="Flat gave"):
        infogain.decode(MODEL, LAYOUTS[2].canvas(MODEL), Flat())
    with pytest.raises(NotImplementedError, match="Idle must say what φ is"):
        infogain.decode(MODEL, LAYOUTS[2].canvas(MODEL), Idle())


def test_common_mistakes_are_named() -> None:
    canvas = LAYOUTS[0].canvas(MODEL)
    with pytest.raises(infogain.InputError, match=r"Linear lacks mask_id.*FullCanvas"):
        infogain.decode(torch.nn.Linear(2, 2), canvas)  # type: ignore[arg-type]
    with pytest.raises(infogain.InputError, match=r"Canvas.from_prompts or .infill"):
        infogain.decode(MODEL, canvas.tokens)  # type: ignore[arg-type]
    with pytest.raises(infogain.InputError, match="lanes of a Canvas and a Recipe"):
        infogain.decode_lanes(MODEL, [(canvas, "entropy")])  # type: ignore[list-item]
    with pytest.raises(infogain.OptionError, match=r"not a class; got InfoGain. Use InfoGain\(\)"):
        infogain.decode(MODEL, canvas, InfoGain)  # type: ignore[arg-type]
    assert infogain.Recipe("ar", 2) == infogain.Recipe("ar", infogain.TokensPerStep(2))  # type: ignore[arg-type]

    class Tupled(Counting):
        def __call__(self, tokens: Tensor, context: Any, row: Tensor, max_per_row: int) -> Any:
            return (super().__call__(tokens, context, row, max_per_row),)

    class Stateless(Counting):
        def prefill(self, canvas: Canvas, start: Sequence[int], width: int, end: Any = None) -> Any:
            return {}, super().prefill(canvas, start, width, end)[1]

    with pytest.raises(ContractError, match="it returned tuple"):
        infogain.decode(Tupled(MODEL), canvas)
    with pytest.raises(ContractError, match="dict lacks take"):
        infogain.decode(Stateless(MODEL), canvas)


def test_full_canvas_makes_a_model_of_a_network() -> None:
    """The exact oracle behind a network's face decodes as the oracle itself, ragged rows and all."""

    def network(tokens: Tensor, inside: Tensor) -> Tensor:
        canvas = Canvas(tokens, inside.sum(-1), MODEL.mask_id)
        return MODEL.prefill(canvas, [0] * len(tokens), tokens.shape[1])[1]

    model = infogain.models.FullCanvas(network, MODEL.vocabulary)
    for layout in LAYOUTS:
        for sampler in (make("info-gain", n=4), make("best-of-n", n=2), make("info-gain-beam", n=3)):
            canvas = layout.canvas(MODEL, infill=True)  # rows that end their blocks apart
            ours, exact = (infogain.decode(m, canvas, sampler, block=layout.block) for m in (model, MODEL))
            assert torch.equal(ours.tokens, exact.tokens)
            assert torch.equal(ours.token_forwards, exact.token_forwards)
