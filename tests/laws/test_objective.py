"""Laws of the objective on exact models: telescoping, Proposition 1, the chain rule, honest H̃."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas, StepEvent
from infogain.algorithm.marginals import Marginals
from infogain.algorithm.objective import immediate_cost, info_gain_objective, state_uncertainty, surprisal
from infogain.algorithm.state import Candidates, State, total
from infogain.models import Tabular, random_joint
from infogain.samplers import Sampler, make
from tests.cases import ALL, LAYOUTS, MODEL, Layout, draft_of, label


def state(model: Tabular, tokens: Tensor) -> State:
    """Canvases [R, L] of a model, as one global block each."""
    rows, width = tokens.shape
    canvas = Canvas(tokens, torch.full([rows], width), model.mask_id)
    _, logits = model.prefill(canvas, [0] * rows, width)
    draft = draft_of(tokens, canvas.masked, steps_allotted=1, block_masks=width)
    return draft.with_marginals(Marginals.of(logits, model.vocabulary))


def brute_entropy(model: Tabular, row: list[int], column: int) -> float:
    """H of one column given the known tokens of a row, summed over the table in plain Python."""
    mass: dict[int, float] = defaultdict(float)
    for sequence, weight in zip(model.sequences.tolist(), model.weights.tolist(), strict=True):
        if all(token in (model.mask_id, known) for token, known in zip(row, sequence, strict=False)):
            mass[sequence[column]] += weight
    total = sum(mass.values())
    if total == 0:
        return math.log(len(model.sequences[:, column].unique()))  # nothing fits: all the column can hold
    return -sum(m / total * math.log(m / total) for m in mass.values())


@pytest.mark.parametrize("layout", [LAYOUTS[2], LAYOUTS[4]], ids=lambda layout: layout.name)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("sampler", [s for s in ALL if s.traits.beam == s.traits.copies == 1], ids=label)
def test_h_counts_every_token_at_the_state_it_was_committed_in(sampler: Sampler, k: int, layout: Layout) -> None:
    """Bypassed, first-of-block and last-step tokens included: H̃ is recomputed from the reveal order alone."""
    model = random_joint(7, 3, seed=2, support=60)
    canvas = layout.canvas(model)
    result = infogain.decode(model, canvas, sampler, schedule=k, block=layout.block, seed=9)
    assert result.trace is not None
    rows, expected = canvas.rows(), [0.0] * len(layout.lengths)
    for step in result.trace.steps:
        for row in step.rows:
            (kept,) = (candidate for candidate in row.candidates if candidate.kept)
            known = rows[row.prompt]
            expected[row.prompt] += sum(brute_entropy(model, known, column) for column in kept.columns)
            for column, token in zip(kept.columns, kept.tokens, strict=True):
                known[column] = token
    assert rows == result.rows()
    assert result.cumulative_entropy.tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("cost_of", ["entropy", "surprisal"])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("gamma", [0.4, 1.0])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_telescoping(layout: Layout, gamma: float, power: float, cost_of: str) -> None:
    """Within a block, Σ J = S(z_start) − S(z) − Σ C, and S is 0 at the block's end.

    Σ C is H̃, or −log of the probability that the block was written with.
    """
    sampler = make("info-gain", n=4, gamma=gamma, gain_power=power, cost_of=cost_of)
    written: dict[tuple[int, int], float] = defaultdict(float)

    def observe(event: StepEvent) -> None:
        z, a = event.z, event.a[event.kept]
        for i, row in enumerate(a.parent.tolist()):
            p = z.p.logits[row].softmax(-1)[a.chosen[i], a.tokens[i, a.chosen[i]]]
            written[event.rows[row], int(z.start[row])] -= float(p.log().sum())

    canvas = layout.canvas(MODEL)
    result = infogain.decode(MODEL, canvas, sampler, schedule=2, block=layout.block, observe=observe, trace=True)
    assert result.trace is not None
    scores: dict[tuple[int, int], float] = defaultdict(float)
    first: dict[tuple[int, int], float] = {}
    spent: dict[tuple[int, int], float] = {}
    for step in result.trace.steps:
        for row in step.rows:
            key = (row.prompt, row.start)
            first.setdefault(key, sum(row.entropy) / len(row.entropy) ** power)
            chosen = next(c for c in row.candidates if c.kept)
            scores[key] += chosen.score
            cost = dict(zip(row.columns, row.entropy, strict=True))
            spent[key] = spent.get(key, 0.0) + sum(cost[column] for column in chosen.columns)
    paid = spent if cost_of == "entropy" else written
    assert set(paid) == set(scores)
    for key, score in scores.items():
        assert score == pytest.approx(first[key] - paid[key], abs=1e-9)


def expected_objective(model: Tabular, tokens: Tensor, where: tuple[int, ...], independent: bool) -> float:
    """E[J] over the tokens written at fixed positions: from the joint, or from each position's own marginal."""
    z = state(model, tokens)
    p = z.p.logits.softmax(-1)[0]
    words = [v for v in range(model.vocab_size) if v != model.mask_id]
    total = 0.0
    for choice in itertools.product(words, repeat=len(where)):
        written, chosen = tokens.clone(), torch.zeros_like(tokens, dtype=torch.bool)
        written[0, list(where)] = torch.tensor(choice)
        chosen[0, list(where)] = True
        a = Candidates(torch.zeros(1, dtype=torch.int64), chosen, written)
        if independent:
            weight = math.prod(float(p[column, token]) for column, token in zip(where, choice, strict=True))
        else:
            agree = ((tokens == model.mask_id) | (tokens == model.sequences)).all(-1) * model.weights
            fits = (model.sequences[:, list(where)] == torch.tensor(choice)).all(-1) * agree
            weight = float(fits.sum() / agree.sum())
        if weight > 0:
            total += weight * float(info_gain_objective(z, a, state(model, written)))
    return total


@pytest.mark.parametrize("seed", range(6))
def test_proposition_1_on_joint_draws(seed: int) -> None:
    """Eq. 19: for tokens drawn from the joint, E[J] ≤ 0 for every state and every set of positions."""
    model = random_joint(4, 3, seed=seed, support=[None, 20, 8][seed % 3])
    known = model.sequences[0].tolist()
    for masks in ([0, 1, 2, 3], [1, 2, 3], [0, 2]):
        tokens = torch.tensor([[model.mask_id if i in masks else t for i, t in enumerate(known)]])
        for size in range(1, len(masks) + 1):
            for where in itertools.combinations(masks, size):
                assert expected_objective(model, tokens, where, independent=False) <= 1e-12
                if size == 1:
                    assert expected_objective(model, tokens, where, independent=True) <= 1e-12


def test_proposition_1_fails_for_independent_draws() -> None:
    """The committed counter-example (ADR 0002).

    Two coins that nearly always agree decide whether twelve columns show one random letter of 64 or are
    blank. Drawn independently they disagree half the time: the blank, certain world comes up far
    more often than it should, and the expected gain exceeds the price of the two coins.
    """
    letters, copies = 64, 12
    agree = [(c, c, *[2 + letter] * copies, 100) for c in (0, 1) for letter in range(letters)]
    differ = [(c, 1 - c, *[2] * copies, 1) for c in (0, 1)]
    table = torch.tensor(agree + differ)
    model = Tabular(table[:, :-1], table[:, -1], mask_id=2 + letters)
    tokens = torch.full((1, 2 + copies), model.mask_id)
    assert expected_objective(model, tokens, (0, 1), independent=True) > 0.1
    assert expected_objective(model, tokens, (0, 1), independent=False) <= 0


BLIND = [
    make("uniform", tau_token=1.0),
    make("ar", tau_token=1.0),
    make("entropy", tau_token=1.0),
    make("margin", tau_token=1.0),
    make("klass", tau_token=1.0),
    make("confidence", of="top1", tau_token=1.0),
]


@pytest.mark.slow
@pytest.mark.parametrize("sampler", BLIND, ids=lambda sampler: sampler.name)
@pytest.mark.parametrize("block", [None, 2])
def test_chain_rule(sampler: Sampler, block: int | None) -> None:
    """K = 1, τ_token = 1, positions chosen without a look at the drawn token: the mean H̃ is the joint's entropy."""
    model = random_joint(5, 3, seed=4)
    canvas = Canvas.from_prompts([[]] * 4000, 5, model.mask_id)
    h = infogain.decode(model, canvas, sampler, block=block, seed=1, trace=False).cumulative_entropy
    standard_error = float(h.std() / math.sqrt(len(h)))
    assert abs(float(h.mean()) - model.entropy()) < 4 * standard_error
    assert standard_error < 0.01


def test_samples_of_an_exact_model_follow_its_joint() -> None:
    """Any blind order at K = 1, τ_token = 1 draws from the joint itself."""
    model = random_joint(3, 3, seed=6)
    canvas = Canvas.from_prompts([[]] * 20000, 3, model.mask_id)
    tokens = infogain.decode(model, canvas, make("entropy", tau_token=1.0), trace=False).tokens
    for sequence, weight in zip(model.sequences, model.weights, strict=True):
        p = float(weight / model.weights.sum())
        share = float((tokens == sequence).all(-1).double().mean())
        assert abs(share - p) < 4.5 * math.sqrt(p * (1 - p) / 20000)


def test_equations_by_hand() -> None:
    """Two fair coins that must agree, and a third of its own: everything is a multiple of ln 2."""
    model = Tabular(torch.tensor([[a, a, b] for a in (0, 1) for b in (0, 1)]), torch.ones(4, dtype=torch.int64), 2)
    z = state(model, torch.tensor([[2, 2, 2]]))
    chosen = torch.tensor([[True, False, False], [False, False, True]])
    a = Candidates(torch.zeros(2, dtype=torch.int64), chosen, torch.zeros(2, 3, dtype=torch.int64))
    z_next = state(model, torch.tensor([[0, 2, 2], [2, 2, 0]]))
    bit = math.log(2)
    assert immediate_cost(z, a).tolist() == pytest.approx([bit, bit])
    assert state_uncertainty(z).tolist() == pytest.approx([bit])
    assert state_uncertainty(z, 0.0).tolist() == pytest.approx([3 * bit])
    assert state_uncertainty(z_next).tolist() == pytest.approx([bit / 2, bit])
    assert info_gain_objective(z, a, z_next).tolist() == pytest.approx([-bit / 2, -bit])
    assert info_gain_objective(z, a, z_next, 0.0).tolist() == pytest.approx([bit, 0.0])
    assert state_uncertainty(state(model, torch.tensor([[0, 0, 0]]))).tolist() == [0.0]


def test_entropy_is_the_mean_surprisal() -> None:
    """Over the tokens of p, of one position and of two that are drawn independently."""
    model = random_joint(3, 3, seed=2)
    z = state(model, torch.full([1, 3], model.mask_id))
    p = z.p.logits.softmax(-1)[0]
    for where in ([1], [0, 2]):
        mean = 0.0
        for choice in itertools.product(range(3), repeat=len(where)):
            chosen, tokens = torch.zeros(1, 3, dtype=torch.bool), torch.zeros(1, 3, dtype=torch.int64)
            chosen[0, where], tokens[0, where] = True, torch.tensor(choice)
            a = Candidates(torch.zeros(1, dtype=torch.int64), chosen, tokens)
            mean += math.prod(float(p[c, x]) for c, x in zip(where, choice, strict=True)) * float(surprisal(z, a))
        assert mean == pytest.approx(float(immediate_cost(z, a)))


def test_a_token_without_probability_costs_no_infinity() -> None:
    """Its surprisal is large and a number, so that it can be weighed, with 0 too."""
    z = state(Tabular(torch.tensor([[0, 0], [0, 1]]), torch.ones(2, dtype=torch.int64), 2), torch.tensor([[2, 2]]))
    a = Candidates(torch.zeros(1, dtype=torch.int64), torch.tensor([[True, False]]), torch.tensor([[1, 0]]))
    assert 50 < float(surprisal(z, a)) < 1000


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_padding_on_the_right_never_changes_a_bit_of_a_sum(dtype: torch.dtype) -> None:
    x = torch.rand(50, 37, generator=torch.Generator().manual_seed(0), dtype=dtype)
    for padding in (1, 3, 27, 91):
        assert torch.equal(total(torch.nn.functional.pad(x, (0, padding))), total(x))
