"""The loop against the page of plain Python that stands beside the paper: the same tokens, and H̃ to rounding."""

from __future__ import annotations

import doctest
import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas, Vocabulary
from infogain.algorithm import reference
from infogain.algorithm.reference import MASK_ID, Hyperparameters, exact_model, ig_beam, info_gain_sampler
from infogain.models import FullCanvas, Tabular, random_joint
from infogain.samplers import InfoGain, InfoGainBeam, Sampler, make

Row = list[int]
DRAWS = ("fresh", "shared", "fixed")


def random_case(rng: random.Random) -> dict[str, Any]:
    options = {
        "width": rng.choice([1, 2, 3]),
        "n": rng.choice([3, 5]),
        "gamma": rng.choice([1.0, 0.6]),
        "bypass_of": rng.choice(["top1", "drawn"]),
        "phi": rng.choice(["drawn", "top1", "entropy", "margin"]),
        "tau_pos": rng.choice([0.1, 0.5]),
        "gain_power": rng.choice([0.0, 0.5, 1.0]),
        "tau_token": rng.choice([0.7, 1.0]),
        "draws": rng.choice(DRAWS),
    }
    return {
        "options": options,
        "k": rng.choice([1, 1, 2]),
        "block": rng.choice([3, 6]),
        "eos_ids": rng.choice([None, 1]),
    }


def random_problem(rng: random.Random, number: int) -> tuple[Tabular, Row]:
    """An exact model, over all sequences or few, and a row with masks anywhere."""
    model = random_joint(6, 3, seed=number, support=rng.choice([None, 40]))
    row = [model.mask_id if rng.random() < 0.8 else rng.randrange(3) for _ in range(6)]
    row[rng.randrange(6)] = model.mask_id
    return model, row


def blackboard(model: Tabular) -> reference.Model:
    sequences = map(tuple, model.sequences.tolist())
    return exact_model(dict(zip(sequences, model.weights.tolist(), strict=True)))


def masked(row: Row, mask_id: int) -> Row:
    return [MASK_ID if token == mask_id else token for token in row]


def decoded(model: Any, row: Row, sampler: Sampler, h: Hyperparameters) -> tuple[Row, Any]:
    """What the loop makes of a row, to be compared: H̃ to rounding."""
    canvas, eos_ids = Canvas.infill([row], model.mask_id), h.eos_id
    result = infogain.decode(model, canvas, sampler, schedule=h.k, block=h.block, eos_ids=eos_ids, seeds=[h.seed])
    return result.tokens[0].tolist(), pytest.approx(float(result.cumulative_entropy), abs=1e-9)


def test_the_page_runs_by_itself() -> None:
    found = doctest.testmod(reference)
    assert (found.attempted, found.failed) == (7, 0)


@pytest.mark.parametrize("number", range(60))
def test_the_loop_is_the_blackboard(number: int) -> None:
    """Listing 2, over widths, temperatures, K, γ, blocks, ends and rows with masks anywhere."""
    rng = random.Random(number)
    model, row = random_problem(rng, number)
    case, seed = random_case(rng), rng.randrange(10**6)
    sampler, width = InfoGainBeam(**case["options"]), case["options"].pop("width")
    h = Hyperparameters(**case["options"], k=case["k"], block=case["block"], eos_id=case["eos_ids"], seed=seed)
    assert ig_beam(blackboard(model), masked(row, model.mask_id), h, width) == decoded(model, row, sampler, h)


@pytest.mark.parametrize("number", range(60))
def test_the_sampler_is_listing_1(number: int) -> None:
    """Temperatures of 0 and a single candidate among the rest; a beam of one is the same."""
    rng = random.Random(number)
    model, row = random_problem(rng, number)
    options: dict[str, Any] = {
        "n": rng.choice([1, 4, 8]),
        "gamma": rng.choice([1.0, 1.0, 0.8, 0.5]),
        "phi": rng.choice(list(reference.CERTAINTY)),
        "tau_pos": rng.choice([0.0, 0.3, 1.0]),
        "tau_token": rng.choice([0.0, 0.7, 1.5]),
        "gain_power": rng.choice([0.0, 1.0]),
    }
    eos_id, block, k = rng.choice([None, 2]), rng.choice([None, None, 1, 4]), rng.choice([1, 1, 2, 3])
    h = Hyperparameters(**options, k=k, block=block, eos_id=eos_id, seed=rng.randrange(10**6))
    h = replace(h, draws=rng.choice(DRAWS), bypass_of=rng.choice(["top1", "drawn"]))
    page, z = blackboard(model), masked(row, model.mask_id)
    found = info_gain_sampler(page, z, h)
    sampler = InfoGain(**options, draws=h.draws, bypass_of=h.bypass_of)
    assert found == decoded(model, row, sampler, h)
    assert found[0] == ig_beam(page, z, h, beam_size=1)[0]
    for change in ({"tau_select": 0.3}, {"cost_of": "surprisal"}):
        assert info_gain_sampler(page, z, replace(h, **change)) == decoded(model, row, replace(sampler, **change), h)


GREEDY: dict[str, tuple[str, dict[str, Any]]] = {
    "drawn": ("confidence", {"of": "drawn"}),
    "top1": ("confidence", {"of": "top1"}),
    "entropy": ("entropy", {}),
    "margin": ("margin", {}),
}


@pytest.mark.parametrize("phi", GREEDY)
@pytest.mark.parametrize("k", [1, 2])
def test_greedy_samplers_are_listing_1_with_one_candidate(phi: str, k: int) -> None:
    name, options = GREEDY[phi]
    for number in range(5):
        model, row = random_problem(random.Random(number), number)
        h = Hyperparameters(n=1, gamma=1.0, phi=phi, k=k, block=4, seed=number)
        sampler = make(name, **options, tau_token=h.tau_token)
        found = info_gain_sampler(blackboard(model), masked(row, model.mask_id), h)
        assert found == decoded(model, row, sampler, h)


def test_defaults_are_those_of_the_sampler() -> None:
    sampler = make("info-gain")
    shared = {name: value for name, value in vars(Hyperparameters()).items() if hasattr(sampler, name)}
    assert shared == {name: getattr(sampler, name) for name in shared}
    assert len(shared) == 10


@pytest.mark.parametrize("seed", range(8))
def test_a_network_is_decoded_as_on_the_blackboard(seed: int) -> None:
    """Logits of a network that looks at the whole canvas, in place of an exact model."""
    words, columns, mask_id = 7, 10, 3  # the mask lies in the middle of the vocabulary
    weight = torch.randn(columns, words, columns, words, dtype=torch.float64, generator=torch.manual_seed(seed))

    def network(tokens: Tensor, inside: Tensor) -> Tensor:
        return torch.einsum("blv,lvcw->bcw", torch.nn.functional.one_hot(tokens, words).double(), weight)

    def p(z: Row) -> list[list[float]]:
        tokens = torch.tensor([[mask_id if token == MASK_ID else token for token in z]])
        logits = network(tokens, tokens)[0]
        logits[:, mask_id] = -torch.inf
        found: list[list[float]] = logits.softmax(-1).tolist()
        return found

    row = [5, 0, *[mask_id] * 5, 1, *[mask_id] * 2]
    h = Hyperparameters(n=4, k=1 + seed % 2, gamma=0.7, tau_pos=0.3, tau_token=1.0, block=4, seed=seed)
    options = {"n": h.n, "gamma": h.gamma, "tau_pos": h.tau_pos, "tau_token": h.tau_token}
    model = FullCanvas(network, Vocabulary(words, mask_id))
    found = info_gain_sampler(p, masked(row, mask_id), h), ig_beam(p, masked(row, mask_id), h, beam_size=3)
    assert found[0] == decoded(model, row, make("info-gain", **options), h)
    assert found[1] == decoded(model, row, make("info-gain-beam", **options, width=3), h)
