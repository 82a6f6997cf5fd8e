"""Laws that tie samplers to each other: different names for the same choice."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
import torch

import infogain
from infogain import OptionError, Result
from infogain.models import judgement, one_way
from infogain.samplers import Sampler, make
from tests.cases import LAYOUTS, MODEL, SETTINGS, Layout

BASES = [make(name, **options) for name, settings in SETTINGS.items() if name != "best-of-n" for options in settings]


def decode(sampler: Sampler, layout: Layout, k: int, seed: int) -> Result:
    return infogain.decode(MODEL, layout.canvas(MODEL), sampler, schedule=k, block=layout.block, seed=seed)


def assert_same(a: Sampler, b: Sampler, ties: bool = True) -> None:
    """Both give equal tokens and H̃ on every layout, and on toys whose exact ties show any difference in rounding."""
    for layout in LAYOUTS:
        for k, seed in ((1, 0), (2, 1), (3, 2)):
            ours, theirs = decode(a, layout, k, seed), decode(b, layout, k, seed)
            assert torch.equal(ours.tokens, theirs.tokens)
            assert torch.equal(ours.cumulative_entropy, theirs.cumulative_entropy)
    for toy in (one_way(7), judgement((2, 3))) if ties else ():
        canvas = toy.canvas(5)
        ours, theirs = (infogain.decode(toy.model, canvas, sampler, schedule=2) for sampler in (a, b))
        assert torch.equal(ours.tokens, theirs.tokens)


@pytest.mark.parametrize("options", SETTINGS["info-gain"], ids=str)
def test_a_beam_of_one_is_info_gain(options: dict[str, Any]) -> None:
    assert_same(make("info-gain-beam", width=1, **options), make("info-gain", **options))


@pytest.mark.slow
@pytest.mark.parametrize("base", BASES, ids=repr)
def test_best_of_one_is_the_base(base: Sampler) -> None:
    assert_same(make("best-of-n", n=1, base=base), base)


@pytest.mark.parametrize("options", [{"gamma": 1.0}, {"gamma": 0.5}, {"n": 3, "phi": "entropy"}], ids=str)
def test_lookum_is_info_gain_without_the_cost(options: dict[str, Any]) -> None:
    """Up to rounding: 𝓗(z) − x can make a tie of two x that differ in the last bit."""
    a, b = make("info-gain", cost_weight=0.0, **options), make("lookum", **options)
    for layout in LAYOUTS:
        for k in (1, 2, 3):
            for seed in range(3):
                ours, theirs = decode(a, layout, k, seed), decode(b, layout, k, seed)
                assert torch.equal(ours.tokens, theirs.tokens)


@pytest.mark.parametrize("name", ["info-gain", "lookum", "info-gain-beam"])
@pytest.mark.parametrize("gamma", [0.4, 0.6])
def test_where_the_likeliest_token_is_drawn_both_bypasses_are_one(name: str, gamma: float) -> None:
    options = {"gamma": gamma, "tau_token": 0.0}
    assert_same(make(name, bypass_of="drawn", **options), make(name, **options))


def test_a_beam_ranks_by_entropy_alone() -> None:
    with pytest.raises(OptionError, match=r"cost_of must be entropy .* got surprisal\. Use .* info-gain"):
        make("info-gain-beam", cost_of="surprisal")
    assert_same(make("info-gain-beam", width=1, cost_of="surprisal"), make("info-gain", cost_of="surprisal"))


@pytest.mark.parametrize("name", ["info-gain", "lookum"])
def test_where_nothing_is_needed_one_candidate_is_tried(name: str) -> None:
    """No action costs a millionth of such a need, so each step tries the greedy action alone."""
    assert_same(make(name, need=1e6), make(name, n=1))


@pytest.mark.parametrize("name", ["info-gain", "lookum", "info-gain-beam"])
def test_a_need_that_every_action_exceeds_changes_nothing(name: str) -> None:
    """A toy's certain positions cost nothing, so these are compared where nothing is certain."""
    assert_same(make(name, need=1e-9), make(name), ties=False)


@pytest.mark.parametrize("phi", ["drawn", "entropy"])
def test_candidates_are_as_many_as_the_greedy_action_needs(phi: str) -> None:
    """1 + (n − 1) · C/need of them, C the cost of candidate 0; of equal ones one is left."""
    need, n = 2.0, 6
    sampler = make("info-gain", n=n, need=need, gamma=1.0, tau_pos=3.0, phi=phi)
    seen = []
    infogain.decode(MODEL, LAYOUTS[2].canvas(MODEL), sampler, observe=lambda event: seen.append(event))
    counts = set()
    for event in seen:
        every = make("info-gain", n=n, gamma=1.0, tau_pos=3.0, phi=phi).propose(event.z, event.a.chosen.sum(-1)[:1])
        for row in range(len(event.z.cost)):
            own = event.a.parent == row
            cost = float(event.z.p.entropy[row][every.chosen[every.parent == row][0]].sum())
            tried = 1 + int((n - 1) * min(1.0, cost / need))
            actions = zip(every.chosen[every.parent == row][:tried], every.tokens[every.parent == row], strict=False)
            distinct = {(tuple(c.tolist()), tuple(t[c].tolist())) for c, t in actions}
            counts.add(int(own.sum()))
            assert int(own.sum()) == (len(distinct) if int(event.z.left[row]) > 1 else 1)
    assert len(counts) > 2, "steps need different numbers of candidates"


@pytest.mark.parametrize(
    ("phi", "greedy"),
    [
        ("drawn", make("confidence", of="drawn")),
        ("top1", make("confidence", of="top1")),
        ("entropy", make("entropy")),
        ("margin", make("margin")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_candidate_is_the_greedy_sampler(phi: str, greedy: Sampler) -> None:
    assert_same(make("info-gain", n=1, gamma=1.0, phi=phi), greedy)


def test_adaptive_samplers_at_their_strictest_are_their_greedy_kin() -> None:
    """Strictest is not never: a toy's certain positions still pass, so these are compared where nothing is certain."""
    drawn = make("confidence", of="drawn")
    assert_same(make("threshold", threshold=1.0), drawn, ties=False)
    assert_same(make("threshold", variant="factor", factor=0.0), drawn, ties=False)
    assert_same(make("pc", lam=0.0, alpha=1e9), drawn, ties=False)


def test_best_of_n_returns_its_best_decode() -> None:
    """Each copy is the base decoded with a seed of its own; the least H̃ is returned."""
    base = make("entropy")
    best = decode(make("best-of-n", n=6, base=base), LAYOUTS[4], 2, seed=4)
    assert best.trace is not None
    ends: dict[int, list[float]] = {}
    last: dict[tuple[int, int], float] = {}
    for step in best.trace.steps:
        for row in step.rows:
            last[row.prompt, row.copy] = next(c.cost for c in row.candidates if c.kept)
    for (prompt, _), cost in last.items():
        ends.setdefault(prompt, []).append(cost)
    assert all(len(costs) == 6 for costs in ends.values())
    assert best.cumulative_entropy.tolist() == [min(ends[prompt]) for prompt in range(4)]
    first = decode(base, LAYOUTS[4], 2, seed=4)
    assert [costs[0] for _, costs in sorted(ends.items())] == first.cumulative_entropy.tolist()


def test_a_wider_beam_holds_distinct_hypotheses() -> None:
    result = decode(make("info-gain-beam", width=4, n=6, gamma=1.0), LAYOUTS[2], 1, seed=0)
    assert result.trace is not None
    widths = [len(step.rows) for step in result.trace.steps]
    assert widths[0] == 1, "the first step starts from one hypothesis"
    assert max(widths) == 4
    for step in result.trace.steps:
        assert sum(c.kept for row in step.rows for c in row.candidates) <= 4


def test_copies_of_best_of_n_go_their_own_ways() -> None:
    """Other tokens, and in random order other blocks."""
    canvas = LAYOUTS[2].canvas(MODEL)
    trace = infogain.decode(MODEL, canvas, make("best-of-n", n=8, base="ar"), block=2, order="random", seed=1).trace
    assert trace is not None
    starts: dict[int, list[int]] = defaultdict(list)
    tokens: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for step in trace.steps:
        for row in step.rows:
            starts[row.copy].append(row.start)
            tokens[row.copy] += [*zip(row.candidates[0].columns, row.candidates[0].tokens, strict=True)]
    assert len({tuple(visits) for visits in starts.values()}) > 3
    assert len({tuple(sorted(text)) for text in tokens.values()}) > 3


def test_copies_and_places_share_no_noise() -> None:
    seeds: list[list[int]] = []
    sampler = make("best-of-n", n=3, base=make("info-gain-beam", width=3, n=6, gamma=1.0))
    infogain.decode(MODEL, LAYOUTS[2].canvas(MODEL), sampler, observe=lambda event: seeds.append(event.z.seed.tolist()))
    assert max(map(len, seeds)) == 9
    assert all(len(set(step)) == len(step) for step in seeds)
