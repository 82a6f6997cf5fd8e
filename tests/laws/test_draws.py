"""Laws of `draws` and `tau_select`: whose random number draws a token, and by which a candidate is selected."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

import infogain
from infogain import Canvas, OptionError, Result, StepEvent
from infogain.loop.trace import tell
from infogain.models import FullCanvas, random_joint
from infogain.samplers import BestOfN, Drawing, LookAhead, Sampler, make
from tests.cases import ALL, DRAWS, LAYOUTS, MODEL, label, rows, vocabulary_of
from tests.laws.test_objective import BLIND

MODES = ("fresh", "shared", "fixed")


def varied(sampler: Sampler, **options: Any) -> Sampler:
    """The sampler with other options; those of best-of-n are its base's."""
    if isinstance(sampler, BestOfN):
        return replace(sampler, base=varied(sampler.base, **options))
    assert isinstance(sampler, Drawing)
    return replace(sampler, **options)


def same(a: Result, b: Result) -> bool:
    names = ("tokens", "revealed", "cumulative_entropy", "forwards")
    return all(torch.equal(getattr(a, name), getattr(b, name)) for name in names)


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_shared_is_fresh_where_there_is_one_candidate(sampler: Sampler) -> None:
    base = sampler.base if isinstance(sampler, BestOfN) else sampler
    sampler = varied(sampler, n=1) if isinstance(base, LookAhead) else sampler
    for k in (1, 2):
        for layout in LAYOUTS[3:]:
            canvas = layout.canvas(MODEL)
            both = (varied(sampler, draws=draws) for draws in ("fresh", "shared"))
            assert same(*(infogain.decode(MODEL, canvas, each, k=k, block=layout.block, seed=2) for each in both))


@pytest.mark.parametrize("draws", MODES)
@pytest.mark.parametrize("options", [{"gamma": 1.0}, {"gamma": 0.4, "tau_pos": 0.4}], ids=str)
@pytest.mark.parametrize("name", ["info-gain", "lookum", "info-gain-beam"])
def test_candidates_of_a_shared_step_write_one_token_in_a_column(name: str, options: Any, draws: str) -> None:
    """Where a beam keeps several hypotheses, the candidates of one of them."""
    result = infogain.decode(MODEL, LAYOUTS[2].canvas(MODEL), make(name, draws=draws, **options), k=2, block=4)
    assert result.trace is not None
    found = []
    for step in result.trace.steps:
        for row in step.rows:
            tokens: dict[int, set[int]] = defaultdict(set)
            for candidate in row.candidates:
                for column, token in zip(candidate.columns, candidate.tokens, strict=True):
                    tokens[column].add(token)
            found += [len(each) for each in tokens.values()]
    assert (max(found) > 1) is (draws == "fresh")


def independent_columns(columns: int, words: int, seed: int) -> FullCanvas:
    """A network that says the same of a column whatever is written elsewhere."""
    logits = torch.randn(columns, words, dtype=torch.float64, generator=torch.manual_seed(seed))

    def network(tokens: Tensor, inside: Tensor) -> Tensor:
        return logits[: tokens.shape[1]].expand(len(tokens), -1, -1).clone()

    return FullCanvas(network, vocabulary_of(words, words - 1))


@pytest.mark.parametrize("sampler", [s for s in ALL if getattr(s, "tau_token", 1)], ids=label)
def test_fixed_numbers_write_one_text_where_columns_are_independent(sampler: Sampler) -> None:
    """Every sampler, K, block, order of blocks, beam width and number of candidates, from one seed."""
    model = independent_columns(9, 6, seed=3)
    canvas = Canvas.infill([[0, 1, *[5] * 7], [5] * 9, [5, 5, 2, 5, 5]], 5)
    asked = varied(sampler, draws="fixed", tau_token=1.0, top_k=None, top_p=None)
    expected = infogain.decode(model, canvas, make("ar", draws="fixed", tau_token=1.0), seed=7).tokens
    for k, block, order in ((1, None, "sequence"), (2, 4, "sequence"), (3, 2, "random"), (9, None, "sequence")):
        found = infogain.decode(model, canvas, asked, k=k, block=block, order=order, seed=7).tokens
        assert torch.equal(found, expected), (k, block, order)
    assert not torch.equal(infogain.decode(model, canvas, asked, seed=8).tokens, expected)


def distance_from_the_joint(sampler: Sampler, block: int | None = None) -> float:
    """χ² between texts of an exact model and its joint, K = 1, with fixed numbers. It has 26 degrees of freedom."""
    model = random_joint(3, 3, seed=6)
    canvas = Canvas.from_prompts([[]] * 6000, 3, model.mask_id)
    tokens = infogain.decode(model, canvas, varied(sampler, draws="fixed"), block=block, seed=3, trace=False).tokens
    counts = Counter(map(tuple, tokens.tolist()))
    means: list[float] = (model.weights / model.weights.sum() * len(tokens)).tolist()
    return sum((counts[tuple(x)] - mean) ** 2 / mean for x, mean in zip(model.sequences.tolist(), means, strict=True))


ONE_IN_TEN_THOUSAND = 61.7  # χ² of 26 degrees of freedom


@pytest.mark.slow
@pytest.mark.parametrize("block", [None, 2])
@pytest.mark.parametrize("sampler", BLIND, ids=lambda sampler: sampler.name)
def test_fixed_numbers_sample_the_joint_where_positions_do_not_look_at_them(sampler: Sampler, block: int) -> None:
    """K = 1, τ_token = 1, as in the chain rule: each number is used once, and what is written tells nothing of it."""
    assert distance_from_the_joint(sampler, block) < ONE_IN_TEN_THOUSAND


@pytest.mark.parametrize("name", ["confidence", "info-gain"])
def test_fixed_numbers_do_not_where_a_sampler_looks_at_drawn_tokens(name: str) -> None:
    sampler = make(name, tau_token=1.0, **({"of": "drawn"} if name == "confidence" else {"gamma": 1.0}))
    assert distance_from_the_joint(sampler) > 2 * ONE_IN_TEN_THOUSAND


@pytest.mark.parametrize("sampler", DRAWS, ids=label)
def test_a_row_comes_out_as_it_would_alone(sampler: Sampler) -> None:
    canvas, block = LAYOUTS[4].canvas(MODEL), LAYOUTS[4].block
    together = infogain.decode(MODEL, canvas, sampler, k=1, block=block, seed=5)
    for i, length in enumerate(canvas.length.tolist()):
        alone = infogain.decode(MODEL, rows(canvas, [i]), sampler, k=1, block=block, seeds=[together.seeds[i]])
        assert torch.equal(alone.tokens[0], together.tokens[i, :length])
        assert torch.equal(alone.cumulative_entropy[0], together.cumulative_entropy[i])


SEEDED = [
    *((name, {"draws": draws}) for name in ("uniform", "entropy", "info-gain") for draws in MODES),
    *(("info-gain", {"n": 4, "tau_token": 0.0, "tau_pos": 0.0, "draws": draws, "tau_select": 9.0}) for draws in MODES),
    *(("info-gain", {"n": 4, "tau_pos": 0.0, "draws": draws, "tau_select": 9.0}) for draws in MODES),
    ("info-gain", {"n": 1, "tau_token": 0.0, "tau_select": 9.0}),
    ("entropy", {"tau_token": 0.0, "draws": "fixed"}),
    ("lookum", {"tau_token": 0.0, "tau_select": 0.1}),
]


@pytest.mark.parametrize(("name", "options"), SEEDED, ids=str)
def test_texts_vary_with_the_seed_where_a_sampler_says_so_and_only_there(name: str, options: Any) -> None:
    sampler = make(name, **options)
    canvas = Canvas.infill([[MODEL.mask_id] * 7] * 64, MODEL.mask_id)
    texts = {tuple(row) for row in infogain.decode(MODEL, canvas, sampler, trace=False).rows()}
    assert (len(texts) > 1) is sampler.traits.draws


def first_choices(tau: float, draws: int, model: Any = MODEL) -> tuple[Counter[int], dict[int, float]]:
    """Which column each of many rows writes first, and the score of each; all rows have the same candidates.

    Without a token temperature a candidate is a column, and 60 candidates are all of them, some more often than others.
    """
    canvas = Canvas.infill([[model.mask_id] * 3] * draws, model.mask_id)
    events: list[StepEvent] = []
    sampler = make("info-gain", n=60, tau_token=0.0, tau_pos=0.2, gamma=1.0, gain_power=0.0, tau_select=tau)
    infogain.decode(model, canvas, sampler, observe=events.append, trace=False)
    first = events[0]
    columns = first.a.chosen.long().argmax(-1)
    assert len(columns) == 3 * draws, "every row has all three candidates, each of them once"
    scores = dict(zip(columns[:3].tolist(), first.score[:3].tolist(), strict=True))
    return Counter(columns[first.kept].tolist()), scores


@pytest.mark.slow
@pytest.mark.parametrize("tau", [0.2, 1.0, 1e9])
def test_a_candidate_is_selected_by_the_softmax_of_its_score(tau: float) -> None:
    """A candidate that was proposed many times counts once; at a high temperature all are equally likely."""
    counts, scores = first_choices(tau, 3000, random_joint(3, 4, seed=8))
    chance = torch.tensor([scores[column] / tau for column in range(3)], dtype=torch.float64).softmax(-1)
    assert tau > 1 or chance.max() > 1.15 * chance.min(), "the scores tell the candidates apart"
    for column, p in enumerate(chance.tolist()):
        assert abs(counts[column] - 3000 * p) < 4.5 * math.sqrt(3000 * p * (1 - p))


@pytest.mark.parametrize("name", ["info-gain", "lookum"])
def test_as_the_temperature_falls_the_best_is_selected(name: str) -> None:
    for layout in LAYOUTS:
        canvas = layout.canvas(MODEL)
        samplers = make(name), make(name, tau_select=1e-12)
        assert same(*(infogain.decode(MODEL, canvas, each, block=layout.block) for each in samplers))


def test_a_trace_marks_what_was_taken_and_scores_what_it_is_worth() -> None:
    canvas = Canvas.infill([[MODEL.mask_id] * 7] * 8, MODEL.mask_id)
    result = infogain.decode(MODEL, canvas, make("info-gain", gamma=1.0, tau_select=1e9))
    assert result.trace is not None
    taken = [candidates for step in result.trace.steps for row in step.rows if len(candidates := row.candidates) > 1]
    best = [max(candidates, key=lambda candidate: candidate.score).kept for candidates in taken]
    assert all(sum(candidate.kept for candidate in candidates) == 1 for candidates in taken)
    assert 0 < sum(best) < len(best)
    story = tell(result.trace, "the trace")
    assert [story.best(i).tokens for i in range(8)] == result.rows()


def test_a_beam_refuses_a_temperature_of_selection() -> None:
    with pytest.raises(OptionError, match=r"tau_select must be 0 where several hypotheses are kept.*got 0\.5"):
        make("info-gain-beam", tau_select=0.5)


def test_a_beam_of_one_selects_as_info_gain_does() -> None:
    canvas = LAYOUTS[4].canvas(MODEL)
    samplers = make("info-gain", tau_select=0.5), make("info-gain-beam", tau_select=0.5, width=1)
    assert same(*(infogain.decode(MODEL, canvas, sampler, seed=1) for sampler in samplers))
