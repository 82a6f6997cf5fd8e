"""Each sampler's own rule, on states written down by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from infogain import InputError
from infogain.marginals import Marginals
from infogain.run import select as select_index
from infogain.samplers import Sampler, make
from infogain.samplers.frequencies import count_frequencies, read_frequencies, write_frequencies
from infogain.state import Draft, State


def state(
    p: list[list[float]], masked: list[bool] | None = None, step: int = 0, past: tuple[object, ...] = ()
) -> State:
    """One row whose columns hold the given distributions."""
    masked = masked or [True] * len(p)
    zero = torch.zeros(1, dtype=torch.int64)
    tokens = torch.zeros(1, len(p), dtype=torch.int64)
    draft = Draft(
        zero, zero, zero, zero + step, zero + 9, zero + len(p), zero.double(), zero, tokens, torch.tensor([masked])
    )
    before = tuple(Marginals.of(torch.tensor([q], dtype=torch.float64).log(), 99) for q in past)
    return draft.seen(Marginals.of(torch.tensor([p], dtype=torch.float64).log(), 99), before)


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
