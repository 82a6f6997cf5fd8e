"""Each sampler's own rule, on states written down by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import reduce
from pathlib import Path

import pytest
import torch
from torch import Tensor

import infogain
from infogain import InputError, OptionError
from infogain.algorithm import noise
from infogain.algorithm.objective import immediate_cost, state_uncertainty
from infogain.algorithm.objective import select as select_index
from infogain.algorithm.state import Candidates, State
from infogain.models.toys import parity
from infogain.options import HOTTEST
from infogain.samplers import InfoGain, Sampler, Traits, Uniform, make
from infogain.samplers.actions import ordering, top
from infogain.samplers.eb import EB
from infogain.samplers.frequencies import count_frequencies, read_frequencies, write_frequencies
from infogain.samplers.pc import PC
from tests.cases import ALL, LAYOUTS, MODEL, draft_of, label, marginals


def state(
    p: list[list[float]], masked: list[bool] | None = None, step: int = 0, past: tuple[object, ...] = ()
) -> State:
    """One row whose columns hold the given distributions."""
    masked = masked or [True] * len(p)
    tokens = torch.zeros(1, len(p), dtype=torch.int64)
    draft = draft_of(tokens, torch.tensor([masked]), step=step, steps_allotted=9, block_masks=len(p))
    before = tuple(marginals(torch.tensor([q], dtype=torch.float64).log(), 99) for q in past)
    return draft.with_marginals(marginals(torch.tensor([p], dtype=torch.float64).log(), 99), before)


def chosen(sampler: Sampler, z: State, k: int = 1) -> list[int]:
    """Columns of the first candidate."""
    a = sampler.propose(z, torch.tensor([k]))
    return a.chosen[0].nonzero().flatten().tolist()


# by top-1: 2, 0, 1 — by entropy: 0, 2, 1 — by margin: 1, 0, 2
P = [[0.58, 0.42, 0.0, 0.0], [0.5, 0.17, 0.17, 0.16], [0.6, 0.4 / 3, 0.4 / 3, 0.4 / 3]]


@pytest.mark.parametrize(
    ("name", "order"),
    [("confidence", [2, 0, 1]), ("entropy", [0, 2, 1]), ("margin", [2, 1, 0]), ("ar", [0, 1, 2])],
)
def test_greedy_orders(name: str, order: list[int]) -> None:
    sampler = make(name, tau_token=0.0)
    for k in (1, 2, 3):
        assert chosen(sampler, state(P), k) == sorted(order[:k])


def test_only_masked_columns_count() -> None:
    assert chosen(make("confidence"), state(P, [True, True, False]), 1) == [0]


@pytest.mark.parametrize(("anneal", "left"), [("linear", 1 - 4 / 9), ("compound", 8 / 9 * 7 / 9 * 6 / 9 * 5 / 9)])
def test_annealed_noise_is_added_to_log_p_and_falls(anneal: str, left: float) -> None:
    """In the fourth step of nine. The last step has no noise, so that it ranks by p alone."""
    sampler, z = make("confidence", tau_token=0.0, tau_pos=2.0, anneal=anneal), state(P, step=3)
    log_p = torch.tensor(P, dtype=torch.float64).max(-1).values.log()
    best = (log_p + 2.0 * left * noise.of_blocks(noise.gumbel, noise.POSITION, z, 1)[0, 0]).argsort(descending=True)
    for k in (1, 2):
        assert chosen(sampler, z, k) == sorted(best[:k].tolist())
        assert chosen(sampler, state(P, step=8), k) == sorted([2, 0][:k])
    with pytest.raises(OptionError, match="tau_pos must be above 0"):
        make("confidence", anneal=anneal)


def test_confidence_of_the_drawn_token_differs() -> None:
    """A column whose draw came out unlikely is put off."""
    differ = 0
    for step in range(40):
        z = state([[0.5, 0.5], [0.8, 0.2]], step=step)
        differ += chosen(make("confidence", of="drawn", tau_token=1.0), z) != chosen(make("confidence"), z)
    assert 2 <= differ <= 20  # the second column draws its unlikely token one time in five


def test_position_temperature_draws_from_the_softmax() -> None:
    sampler = make("confidence", tau_pos=0.2)
    counts = torch.zeros(3)
    for step in range(3000):
        counts[chosen(sampler, state(P, step=step))[0]] += 1
    expected = (torch.tensor([0.58, 0.5, 0.6]) / 0.2).softmax(-1)
    assert torch.allclose(counts / 3000, expected, atol=0.04)


def test_klass_prefers_the_stable() -> None:
    moved = [[0.58, 0.42, 0.0, 0.0], [0.5, 0.17, 0.17, 0.16], [0.2, 0.4, 0.2, 0.2]]
    z = state(P, step=1, past=(moved,))
    assert chosen(make("klass"), z) == [0], "column 2 is more confident, but has just moved"
    assert chosen(make("klass"), state(P, step=0, past=(P,))) == [2], "the first step has no past"


def test_klass_original_takes_all_that_are_ready() -> None:
    sure = [[0.95, 0.05], [0.6, 0.4], [0.97, 0.03]]
    original = make("klass", variant="original", tau_token=0.0)
    assert chosen(original, state(sure, step=2, past=(sure, sure))) == [0, 2]
    assert chosen(original, state(sure, step=1, past=(sure, sure))) == [2], "two stable steps are needed"
    moving = [[0.95, 0.05], [0.6, 0.4], [0.5, 0.5]]
    assert chosen(original, state(sure, step=2, past=(sure, moving))) == [0]
    assert chosen(original, state(P, step=2, past=(P, P)), k=2) == [0, 2], "none is ready: the K most confident"


def test_pc_weighs_position_and_frequency(tmp_path: Path) -> None:
    flat = [[0.6, 0.4], [0.6, 0.4], [0.65, 0.35]]
    assert chosen(make("pc", lam=0.25, tau_token=0.0), state(flat)) == [0]
    assert chosen(make("pc", lam=0.0, tau_token=0.0), state(flat)) == [2]
    table = tmp_path / "table.json"
    write_frequencies(count_frequencies([[0] * 98 + [1] * 2]), table)
    rare = [[0.6, 0.4], [0.45, 0.55]]  # column 0 would write a common token, column 1 a rare one
    assert chosen(make("pc", lam=0.0, tau_token=0.0), state(rare)) == [0]
    assert chosen(make("pc", lam=0.0, tau_token=0.0, frequencies=str(table)), state(rare)) == [1]
    assert chosen(make("pc", lam=0.0, alpha=0.001, tau_token=0.0, frequencies=str(table)), state(rare)) == [0]


def test_eb_spends_its_bound() -> None:
    p = [[0.99, 0.01], [0.98, 0.02], [0.5, 0.5], [0.5, 0.5]]
    h = [-sum(q * math.log(q) for q in column) for column in p]
    assert chosen(make("eb", bound=0.0), state(p)) == [0], "one position is always free"
    assert chosen(make("eb", bound=h[0] + 1e-6), state(p)) == [0, 1]
    assert chosen(make("eb", bound=h[0] + h[1] + 1e-6), state(p)) == [0, 1, 2]
    assert chosen(make("eb", bound=9.0), state(p)) == [0, 1, 2, 3]
    assert chosen(make("eb", bound=0.0), state(p), k=3) == [0, 1, 2], "at least the schedule's K"


def test_threshold_and_factor() -> None:
    p = [[0.95, 0.05], [0.91, 0.09], [0.7, 0.3], [0.5, 0.5]]
    cold = {"tau_token": 0.0}
    assert chosen(make("threshold", **cold), state(p)) == [0, 1]
    assert chosen(make("threshold", threshold=0.99, **cold), state(p)) == [0]
    # n-th needs 1 − .3/(n+1): .85, .9, .925
    assert chosen(make("threshold", variant="factor", factor=0.3, **cold), state(p)) == [0, 1]
    assert chosen(make("threshold", variant="factor", factor=0.2, **cold), state(p)) == [0]
    assert chosen(make("threshold", **cold), state(p), k=3) == [0, 1, 2]


def test_candidate_0_is_greedy_and_the_others_vary() -> None:
    p = [[0.3, 0.4, 0.3]] * 6
    a = make("info-gain", n=16, tau_pos=2.0, gamma=1.0, tau_token=0.0, phi="top1").propose(state(p), torch.tensor([2]))
    assert a.chosen[0].nonzero().flatten().tolist() == [0, 1], "ties go to the left"
    assert len({tuple(row) for row in a.chosen.tolist()}) > 5
    assert (a.chosen.sum(-1) == 2).all()
    assert a.parent.tolist() == [0] * 16


def select(score: torch.Tensor, sizes: list[int], beam: int) -> tuple[torch.Tensor, list[int]]:
    index, places = select_index(score, sizes, beam)
    return torch.arange(len(score))[index], places


def test_select_keeps_the_best_and_ties_go_to_the_first() -> None:
    score = torch.tensor([1.0, 3.0, 3.0, 2.0, 5.0, 0.0, 0.0])
    assert select(score, [4, 1, 2], 1)[0].tolist() == [1, 4, 5]
    kept, places = select(score, [4, 1, 2], 2)
    assert kept.tolist() == [1, 2, 4, 5, 6]
    assert places == [2, 1, 2]
    assert select(score, [7], 3)[0].tolist() == [1, 2, 4]
    assert select(score, [1, 2, 4], 9)[0].tolist() == list(range(7))
    assert select(torch.tensor([-torch.inf, -torch.inf]), [2], 1)[0].tolist() == [0]


def test_frequencies_survive_the_file_and_unseen_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    write_frequencies(count_frequencies([[1, 1, 2], [1]]), path)
    assert read_frequencies(path, 4).tolist() == [0.25, 0.75, 0.25, 0.25]
    with pytest.raises(InputError, match="ids below the vocabulary of 2"):
        read_frequencies(path, 2)
    for content in ("{", json.dumps({"counts": {}}), json.dumps({"num_tokens": 1, "counts": [1]})):
        path.write_text(content)
        with pytest.raises(InputError, match="must be JSON like"):
            read_frequencies(path, 4)


def test_a_draw_is_named_by_its_step_candidate_and_canvas_column() -> None:
    """Counted from the block's start, a column would repeat its draws in every block."""
    z = state([[0.02] * 50] * 8)
    sampler = InfoGain(tau_token=1.0)
    here, other = sampler.draw(z, 2)[0]
    later = sampler.draw(z.with_line("step", z.step + 1))[0, 0]
    next_block = sampler.draw(z.with_line("start", z.start + 8))[0, 0]
    for different in (other, later, next_block):
        assert int((here == different).sum()) < 4
    assert sampler.draw(z.with_line("start", z.start + 3))[0, 0, :5].tolist() == here[3:].tolist()


def test_the_noise_of_a_block_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(seed: Tensor, stream: int, *index: Tensor | int) -> Tensor:
        made.append(stream)
        return uniform(seed, stream, *index)

    uniform = noise.uniform
    monkeypatch.setattr(noise, "uniform", counted)
    toy = parity(11)
    canvas = toy.canvas(1)
    made.clear()
    infogain.decode(toy.model, canvas, "entropy", seed=5)
    assert made == [noise.TOKEN]


def test_gamma_1_pins_nothing_not_even_the_certain() -> None:
    certain = state([[1.0, 0.0], [0.5, 0.5]])
    assert InfoGain(gamma=1.0).pinned(certain, certain.p.confidence).tolist() == [[False, False]]
    assert InfoGain(gamma=0.99).pinned(certain, certain.p.confidence).tolist() == [[True, False]]


def test_pinned_positions_come_first_the_most_confident_before_the_others() -> None:
    """However hot the positions are, and however close two of the pinned."""
    z = state([[0.5, 0.5], [0.9 - 1e-12, 0.1 + 1e-12], [0.9, 0.1], [0.5, 0.5], [0.9, 0.1]])
    hot = InfoGain(n=32, gamma=0.8, tau_pos=HOTTEST, tau_token=0.0)
    for k, columns in ((1, [2]), (2, [2, 4]), (3, [1, 2, 4])):
        chosen = hot.propose(z, torch.tensor([k])).chosen
        assert (chosen == torch.zeros(5, dtype=torch.bool).index_fill(0, torch.tensor(columns), True)).all()
    assert len(set(map(tuple, hot.propose(z, torch.tensor([4])).chosen.tolist()))) == 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_order_of_columns_is_total(dtype: torch.dtype) -> None:
    """Highest key first, ties to the left, NaN above all; what is not masked last, in any shape and width."""
    keys = torch.randint(-2, 3, [50, 4, 40], generator=torch.Generator().manual_seed(0)).to(dtype)
    keys[keys == 2], keys[keys == -2] = torch.nan, -torch.inf
    masked = torch.rand([50, 1, 40], generator=torch.Generator().manual_seed(1)) < 0.7
    count = torch.arange(50)[:, None] % 40

    def rank(key: float, is_masked: bool, column: int) -> tuple[float, int]:
        worth = key if is_masked else -math.inf
        return (-math.inf if math.isnan(worth) else -worth), column

    order, first = ordering(masked, keys), top(ordering(masked, keys), count)
    for r in range(50):
        for n in range(4):
            row = [rank(float(keys[r, n, c]), bool(masked[r, 0, c]), c) for c in range(40)]
            expected = sorted(range(40), key=row.__getitem__)
            assert order[r, n].tolist() == expected
            assert first[r, n].nonzero().flatten().tolist() == sorted(expected[: int(count[r, 0])])


def test_a_pinned_position_has_one_draw() -> None:
    a = InfoGain(n=32, gamma=0.5, tau_token=1.0).propose(state([[0.6, 0.4]] * 3), torch.tensor([3]))
    assert (a.tokens == a.tokens[0]).all()


def test_a_token_that_is_unlikely_is_not_pinned_where_the_drawn_one_counts() -> None:
    """Its likeliest token would have the position written whatever was drawn there; γ is .8."""
    z, sampler = state([[0.9, 0.1], [0.5, 0.5]]), InfoGain(bypass_of="drawn")
    for tokens, pinned in (([0, 0], [True, False]), ([1, 0], [False, False])):
        sure = sampler.sureness(z, torch.tensor([tokens]))
        assert sure[0].tolist() == pytest.approx([[0.9, 0.1][tokens[0]], 0.5])
        assert sampler.pinned(z, sure)[0].tolist() == pinned
        assert InfoGain().pinned(z, InfoGain().sureness(z, torch.tensor([tokens])))[0].tolist() == [True, False]


def test_klass_measures_the_move_from_the_past() -> None:
    """D_KL(now ‖ past) = .007 < ε for column 0; the other way round it is .014."""
    now, past = [[0.999, 0.001], [0.9999, 0.0001]], [[0.99, 0.01], [0.5, 0.5]]
    assert chosen(make("klass", epsilon=0.01), state(now, step=1, past=(past,))) == [0]
    assert chosen(make("klass", epsilon=0.01), state([past[0], now[1]], step=1, past=([now[0], past[1]],))) == [1]


def test_klass_original_compares_each_step_with_the_one_before() -> None:
    """A slow drift is stable: .003 and .004 in two steps, though .012 in all; ε is .01."""
    drift = [[[p, 1 - p], [0.98, 0.02]] for p in (0.97, 0.955, 0.935)]
    original = make("klass", variant="original", tau_token=0.0)
    assert chosen(original, state(drift[0], step=2, past=(drift[1], drift[2]))) == [0, 1]


def test_pc_caps_before_it_weighs_and_counts_from_the_block() -> None:
    z = state([[0.9, 0.1]] * 3)
    tokens = torch.zeros(1, 3, dtype=torch.int64)
    sampler = PC(lam=0.25, alpha=0.1)
    expected = [0.1 * math.exp(-0.25 * offset) for offset in range(3)]
    assert sampler.phi(z, tokens)[0].tolist() == pytest.approx(expected)
    assert sampler.phi(z.with_line("start", z.start + 8), tokens)[0].tolist() == pytest.approx(expected)


def test_eb_forgives_the_largest_entropy_wherever_it_stands() -> None:
    """A position temperature can put the most uncertain first."""
    p = [[0.99, 0.01], [0.98, 0.02], [0.5, 0.5]]
    h = [-sum(q * math.log(q) for q in column) for column in p]
    z, order, one = state(p), torch.tensor([[2, 0, 1]]), torch.tensor([1])
    assert EB(bound=h[0] + h[1] + 1e-6).count(z, -z.p.entropy, order, one).tolist() == [3]
    assert EB(bound=h[0] + 1e-6).count(z, -z.p.entropy, order, one).tolist() == [2]


def test_limits_are_inclusive() -> None:
    """Certain positions cost nothing and reach any threshold."""
    p = [[1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]
    assert chosen(make("eb", bound=0.0), state(p)) == [0, 1, 2]
    assert chosen(make("threshold", threshold=1.0), state(p)) == [0, 1]


def test_lookum_scores_by_the_mean_of_what_is_left() -> None:
    z = state(P)
    z_next = state(P, [True, False, True])
    a = Candidates(torch.tensor([0]), torch.tensor([[False, True, False]]), z.tokens)
    h = z.p.entropy[0].tolist()
    assert make("lookum").score(z, a, z_next).tolist() == pytest.approx([-(h[0] + h[2]) / 2])
    assert make("lookum", metric="top1").score(z, a, z_next).tolist() == pytest.approx([(0.58 + 0.6) / 2])


def test_a_beam_ranks_hypotheses_by_all_they_have_cost() -> None:
    """f = −(H̃ + 𝓗), up to a constant of the group."""
    other = state([[0.9, 0.1, 0.0, 0.0], [0.7, 0.1, 0.1, 0.1], [0.4, 0.3, 0.2, 0.1]])
    z = state(P).join(replace(other, cost=other.cost + 0.3))
    chosen_columns = torch.tensor([[True, False, False], [False, True, False]])
    a = Candidates(torch.arange(2), chosen_columns, z.tokens)
    z_next = z.apply(a, immediate_cost(z, a)).with_marginals(z.p)
    f = -(z_next.cost + state_uncertainty(z_next))
    score = make("info-gain-beam").score(z, a, z_next)
    assert float(score[0] - score[1]) == pytest.approx(float(f[0] - f[1]))


def test_best_of_best_of_n_makes_all_its_copies() -> None:
    sampler = make("best-of-n", n=2, base=make("best-of-n", n=3, base="entropy"))
    result = infogain.decode(MODEL, LAYOUTS[3].canvas(MODEL), sampler)
    assert result.trace is not None
    assert {row.copy for row in result.trace.steps[0].rows} == set(range(6))


def test_rows_that_join_bring_their_own_past() -> None:
    moved = [P[2], P[0], P[1]]
    joined = state(P, step=1, past=(moved,)).join(state(moved, past=(moved,)))
    (before,) = joined.before
    assert before.entropy.tolist() == [state(moved).p.entropy[0].tolist()] * 2


def test_a_beam_scores_a_group_to_the_bit_whoever_stands_beside_it() -> None:
    """One rounding more would break ties another way: a group of one hypothesis scores J itself."""
    p = torch.rand(40, 3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rows = [state((q / q.sum(-1, keepdim=True)).tolist()) for q in p]
    groups = [replace(z.with_line("attempt", z.attempt + i), cost=z.cost + i / 7) for i, z in enumerate(rows)]
    z = reduce(State.join, groups)
    a = Candidates(torch.arange(40), torch.eye(3, dtype=torch.bool)[torch.arange(40) % 3], z.tokens)
    z_next = z.apply(a, immediate_cost(z, a)).with_marginals(z.p)
    beam, single = make("info-gain-beam").score(z, a, z_next), make("info-gain").score(z, a, z_next)
    assert torch.equal(beam, single)


@pytest.mark.parametrize("base", ALL, ids=label)
def test_best_of_n_has_the_traits_of_its_base_but_for_its_copies(base: Sampler) -> None:
    ours, theirs = make("best-of-n", n=3, base=base).traits, base.traits
    assert ours.copies == 3 * theirs.copies
    assert replace(ours, copies=theirs.copies) == theirs


def test_best_of_n_changes_no_trait_that_no_sampler_of_ours_has() -> None:
    unusual = Traits(2, 3, 4, 5, adaptive=True, erases=True, draws=False, draws_positions=False)

    class Unusual(Uniform):
        traits = unusual

    assert make("best-of-n", n=2, base=Unusual()).traits == replace(unusual, copies=6)


def test_a_foreign_frequency_table_is_refused_before_any_work(tmp_path: Path) -> None:
    write_frequencies(count_frequencies([[0, 77]]), tmp_path / "f.json")
    for sampler in (
        make("pc", frequencies=str(tmp_path / "f.json")),
        make("best-of-n", base=make("pc", frequencies=str(tmp_path / "f.json"))),
    ):
        with pytest.raises(InputError, match="highest id 77") as caught:
            infogain.decode(MODEL, LAYOUTS[0].canvas(MODEL), sampler)
        assert caught.value.partial is None
