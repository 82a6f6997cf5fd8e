"""Laws of a wrapper: whatever its classes inherit, every change takes part in every call that it is about, once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest
import torch

import infogain
from infogain import Canvas, ContractError, InputError, Result
from infogain.kernels import MaskedColumns
from infogain.models import Denoiser, Wrapper, random_joint
from infogain.provenance import provenance
from infogain.text.alphabet import Alphabet
from infogain.text.text_model import TextModel
from tests.laws.test_backbone import canvas_of, model_of
from tests.laws.test_contract import Duck

JOINT = random_joint(5, 5, seed=3)
CALLS = [("__call__",), ("at_masks",), ("__call__", "at_masks")]
OPENINGS = [("prefill",), ("append",), ("prefill", "append")]
Ways = Sequence[str]


def adds(amount: int, ways: Ways, *bases: type) -> Any:
    """A class that adds so much to all logits of candidates, where it is asked in these ways."""

    def change(name: str) -> Callable[..., Any]:
        return lambda self, *given: getattr(super(made, self), name)(*given) + amount

    made: Any = type(f"Adds{amount}", bases, {name: change(name) for name in ways})
    return made


def added(kind: Any) -> float:
    """How much such a class adds to its model's logits, in both ways of asking for them."""
    canvas = Canvas.infill([[5, 1, 5, 5, 0], [5, 5, 5, 2, 5]], JOINT.mask_id)
    context, _ = JOINT.prefill(canvas, [0, 0], 5)
    row, masked_columns = torch.tensor([1, 0]), MaskedColumns(canvas.tokens[[1, 0]] == 5, 7)
    plain, model = JOINT(canvas.tokens[[1, 0]], context, row, 1), kind(JOINT)
    more = model(canvas.tokens[[1, 0]], context, row, 1) - plain
    masked = model.at_masks(canvas.tokens[[1, 0]], masked_columns, context, row, 1)
    masked = masked - plain.flatten(0, 1)[masked_columns.flat_index]
    amount = float(more[0, 0, 0])
    for change in (more, masked):
        finite = change[change.isfinite()]  # the mask, and what a written column does not hold, have no logit
        assert len(finite) > 0
        assert torch.allclose(finite, torch.full_like(finite, amount))
    return round(amount, 6)


@pytest.mark.parametrize("ways", list(product(CALLS, repeat=3)), ids=str)
def test_changes_of_parents_and_of_siblings_all_count_once(ways: Sequence[Ways]) -> None:
    one, two, three = ways
    assert added(adds(4, three, adds(2, two, adds(1, one, Wrapper)))) == 7
    siblings = [adds(amount, way, Wrapper) for amount, way in zip((1, 2, 4), ways, strict=True)]
    assert added(type("Together", tuple(siblings), {})) == 7
    assert added(adds(8, one, *siblings)) == 15


@pytest.mark.parametrize("ways", list(product(CALLS, repeat=2)), ids=str)
def test_so_do_those_that_are_mixed_in_or_the_class_is_refused(ways: Sequence[Ways]) -> None:
    """A class that is no Wrapper is given nothing, so it must write what the class writes that it is mixed into."""
    own, mixed = ways
    assert added(type("Mixed", (adds(1, mixed), Wrapper), {})) == 1
    assert added(adds(2, own, type("Mixed", (adds(1, mixed), Wrapper), {}))) == 3
    if own == mixed:
        assert added(adds(4, own, adds(1, mixed), Wrapper)) == 5
        assert added(type("Both", (adds(1, mixed), adds(4, own), Wrapper), {})) == 5
    else:
        for inherit in (
            lambda: adds(4, own, adds(1, mixed), Wrapper),
            lambda: type("Both", (adds(4, own), adds(1, mixed), Wrapper), {}),
            lambda: type("Between", (adds(4, own, Wrapper), adds(1, mixed), adds(2, own, Wrapper)), {}),
        ):
            with pytest.raises(ContractError, match=r"the same of __call__ and at_masks .* Let Adds1 inherit Wrapper"):
                inherit()


def test_what_is_mixed_in_behind_a_wrapper_that_is_made_already_is_refused() -> None:
    """Nothing can be derived there any more: siblings would be asked past it."""
    made = type("Made", (Wrapper,), {})
    with pytest.raises(ContractError, match=r"in Between, Adds1 writes __call__\. Let Adds1 inherit Wrapper"):
        type("Between", (made, adds(1, ["__call__"]), adds(2, ["at_masks"], Wrapper)), {})


def opens(ways: Ways, *bases: type) -> Any:
    """A class that notes where the blocks start in whose opening it takes part."""

    def change(name: str) -> Callable[..., Any]:
        def noted(self: Any, canvas: Canvas, start: Sequence[int], *given: Any) -> Any:
            self.__dict__.setdefault("noted", defaultdict(list))[made].extend(start)
            return getattr(super(made, self), name)(canvas, start, *given)

        return noted

    made: Any = type("Opens", bases, {name: change(name) for name in ways})
    return made


def openings(model: Denoiser, kind: Any) -> tuple[dict[type, list[int]], Result]:
    """The blocks that each class around a model opens, and what came of it."""
    around = kind(model)
    result = infogain.decode(around, canvas_of(), "entropy", block=4)
    return {made: sorted(starts) for made, starts in around.noted.items()}, result


@pytest.mark.parametrize("model", [model_of("llada", "dual", refresh=2), model_of("sdar", None)], ids=repr)
@pytest.mark.parametrize("ways", list(product(OPENINGS, repeat=2)), ids=str)
def test_no_block_opens_past_a_change(ways: Sequence[Ways], model: Denoiser) -> None:
    """Who writes `prefill` takes part in every opening, above others, beside them, and mixed in."""
    near, far = ways
    both = opens(("prefill", "append"), Wrapper)
    every, appended = openings(model, both)
    parent, sibling, mixed = opens(far, Wrapper), opens(near, Wrapper), opens(far)
    child, lone = opens(near, parent), type("Lone", (mixed, Wrapper), {})
    for kind in (child, type("Together", (sibling, parent), {}), lone):
        seen, result = openings(model, kind)
        for made, written in ((child, near), (sibling, near), (parent, far), (mixed, far)):
            if made in kind.__mro__ and "prefill" in written:
                assert seen[made] == every[both]
        whole = far if kind is lone else near
        assert bool((result.token_forwards > appended.token_forwards).any()) == (whole == ("prefill",))
    if near != far:
        with pytest.raises(ContractError, match="the same of prefill and append"):
            opens(near, mixed, Wrapper)


def test_a_changed_model_goes_by_a_name_of_its_own() -> None:
    class Bias(Wrapper):
        pass

    model = model_of("llada", "dual", refresh=2)
    assert Bias(model).name == "Bias(Backbone)"
    assert Bias(Bias(infogain.models.load_toy("parity").model)).name == "Bias(Bias(toy:parity))"
    named = Bias(model)
    named.name = "tiny, biased"
    assert provenance(named) == {**provenance(model), "model": "tiny, biased"}


def test_rows_that_are_read_as_a_whole_are_said_to_be() -> None:
    model = model_of("llada", "dual", refresh=2)
    assert provenance(Wrapper(model))["refresh"] == 2
    assert provenance(opens(["prefill"], Wrapper)(model))["refresh"] == 1
    assert provenance(opens(["prefill", "append"], Wrapper)(model))["refresh"] == 2


def test_what_is_wrapped_is_adapted() -> None:
    class Around(Wrapper):
        pass

    duck: Any = Duck(JOINT)
    canvas = Canvas.from_prompts([[4]], 4, JOINT.mask_id)
    one, two = (infogain.decode(model, canvas, "info-gain", n=3) for model in (Around(duck), JOINT))
    assert torch.equal(one.tokens, two.tokens)
    assert one.provenance is not None
    assert one.provenance["model"] == "Around(Duck)"
    words: Any = Alphabet("abcd~_")
    pair: Any = TextModel(JOINT, words)
    with pytest.raises(InputError, match=r"TextModel lacks .*\. Pass its \.denoiser\.$"):
        Around(pair)
