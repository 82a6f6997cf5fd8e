"""Which ids can be predicted, and that whatever is read out of logits speaks of ids of the whole vocabulary."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from infogain import InputError, Vocabulary
from infogain.algorithm.marginals import LazyLogits, Marginals, exclude_by_lane
from infogain.kernels import MaskedColumns
from infogain.samplers.frequencies import write_frequencies
from infogain.samplers.pc import PC
from tests.cases import draft_of

SIZE, FIRST, COUNT = 12, 4, 6
MASKED = torch.tensor([[True, False, True, True], [True, True, False, True]])
PARTS = [
    Vocabulary(SIZE, 11, FIRST, COUNT),
    Vocabulary(SIZE, 6, FIRST, COUNT),
    Vocabulary(SIZE, 0, FIRST, COUNT, (5, 9, 1)),
]


def logits_of(seed: int = 0) -> Tensor:
    return torch.randn(2, 4, COUNT, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2


def pair(part: Vocabulary, seed: int = 0) -> tuple[Marginals, Marginals]:
    """A range of ids, and all ids where the others cannot be."""
    logits = logits_of(seed)
    everywhere = torch.full((2, 4, SIZE), -torch.inf, dtype=torch.float64)
    everywhere[..., FIRST : FIRST + COUNT] = logits
    return Marginals.of(logits, part), Marginals.of(everywhere, Vocabulary(SIZE, part.mask_id, never=part.never))


def at_masks(part: Vocabulary, lazy: bool) -> Marginals:
    rows = logits_of()[MASKED]
    given = LazyLogits((rows,), lambda x: x.clone(), COUNT, 2) if lazy else rows
    return Marginals.at(MaskedColumns(MASKED, int(MASKED.sum())), given, part)


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_what_is_read_out_of_a_range_is_what_all_ids_would_give(part: Vocabulary) -> None:
    one, two = pair(part)
    for name in ("log_z", "entropy", "confidence", "margin"):
        assert torch.allclose(getattr(one, name), getattr(two, name), atol=1e-12), name
    assert torch.equal(one.argmax, two.argmax)
    tokens = torch.arange(SIZE)[None, :, None].expand(2, SIZE, 4)
    assert torch.allclose(one.probability(tokens), two.probability(tokens), atol=1e-12)
    assert torch.allclose(one.probability(tokens).sum(1), torch.ones(2, 4, dtype=torch.float64))
    (other, others) = pair(part, seed=1)
    assert torch.allclose(one.kl(other), two.kl(others), atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"top_k": 2}, {"top_p": 0.7}, {"top_k": 3, "top_p": 0.6}], ids=str)
@pytest.mark.parametrize("tau", [0.0, 0.7, 1.5])
@pytest.mark.parametrize("part", PARTS, ids=str)
def test_draws_are_ids_of_the_whole_vocabulary(part: Vocabulary, tau: float, options: dict[str, Any]) -> None:
    u = torch.rand(2, 50, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    one, two = (p.draw(tau, u, **options) for p in pair(part))
    assert torch.equal(one, two)
    assert set(one.flatten().tolist()) <= set(range(FIRST, FIRST + COUNT)) - {part.mask_id, *part.never}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("part", PARTS, ids=str)
def test_masked_columns_alone_are_read_in_ids_too(part: Vocabulary, lazy: bool) -> None:
    whole, some = pair(part)[0], at_masks(part, lazy)
    assert torch.equal(some.argmax[MASKED], whole.argmax[MASKED])
    assert torch.allclose(some.statistics.numbers[MASKED], whole.statistics.numbers[MASKED], atol=1e-12)
    u = torch.rand(2, 9, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    index = torch.tensor([1, 0, 1])
    for one, two, rows in (
        (some, whole, [0, 1]),
        (some[index], whole[index], [1, 0, 1]),
        (some[1:], whole[1:], [1]),
        (some.join(some), whole.join(whole), [0, 1, 0, 1]),
    ):
        drawn, expected = (p.draw(0.9, u[rows]).transpose(1, 2)[MASKED[rows]] for p in (one, two))
        assert torch.equal(drawn, expected)


def test_pc_weighs_tokens_by_their_own_frequency(tmp_path: Path) -> None:
    write_frequencies(Counter({token: 3**token for token in range(SIZE)}), tmp_path / "f.json")
    sampler = PC(frequencies=str(tmp_path / "f.json"), alpha=100.0)
    tokens = torch.full((2, 4), 11)
    draft = draft_of(tokens, MASKED)
    one, two = (sampler.phi(draft.with_marginals(p), p.argmax) for p in pair(PARTS[0]))
    assert torch.allclose(one, two, atol=1e-12)
    flat = replace(sampler, frequencies=None)
    assert not torch.allclose(flat.phi(draft.with_marginals(pair(PARTS[0])[0]), pair(PARTS[0])[0].argmax), one)


@pytest.mark.parametrize("lazy", [False, True])
def test_every_lane_excludes_its_own(lazy: bool) -> None:
    """Two lanes of one vocabulary whose recipes end texts with different ids."""
    base = Vocabulary(SIZE, 11, FIRST, COUNT, (5, 9))
    lanes = [(base.allowing([5]), 2), (base.allowing(None), 3), (base.allowing([9, 7]), 1)]
    logits = logits_of()[MASKED]
    given = LazyLogits((logits.clone(),), lambda x: x.clone(), COUNT, 4) if lazy else logits.clone()
    masked_columns = MaskedColumns(MASKED, 6)
    found = Marginals.at(masked_columns, *exclude_by_lane(given, lanes)).statistics.numbers[MASKED]
    at = 0
    for vocabulary, count in lanes:
        alone = Marginals.of(logits[None, at : at + count].clone(), vocabulary)
        assert torch.allclose(found[at : at + count], alone.statistics.numbers[0], atol=1e-12)
        at += count


def test_lanes_that_agree_keep_logits_that_are_too_many_to_hold() -> None:
    base = Vocabulary(SIZE, 11, FIRST, COUNT, (5, 9))
    lazy = LazyLogits((logits_of()[MASKED],), lambda x: x, COUNT, 4)
    assert exclude_by_lane(lazy, [(base, 2), (base.allowing([7]), 4)]) == (lazy, base)


def test_what_may_end_a_text_is_predicted_there() -> None:
    base = Vocabulary(SIZE, 11, never=(3, 1, 1))
    assert base.never == (1, 3)
    assert base.allowing((3, 7)).never == (1,)
    assert base.allowing(()) is base.allowing(None) is base.allowing([7]) is base
    assert Vocabulary(SIZE, 3) == Vocabulary(SIZE, 3, 0, SIZE)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"mask_id": 12}, "mask id must lie in the vocabulary of 12; got 12"),
        ({"mask_id": -1}, "mask id must lie in the vocabulary of 12; got -1"),
        ({"first": 12}, "range of ids .* got 0 ids from 12 on"),
        ({"first": -1}, "range of ids .* from -1 on"),
        ({"first": 8, "count": 5}, "range of ids .* got 5 ids from 8 on"),
        ({"never": (3, 12)}, "never predicted must lie in the vocabulary of 12; got 3 to 12"),
        ({"never": (-2,)}, "never predicted must lie"),
        ({"first": 4, "count": 1, "mask_id": 4}, "at least one id to predict"),
        ({"never": tuple(range(11))}, "at least one id to predict"),
        ({"size": 24.5}, "size of a vocabulary must be a whole number; got 24.5"),
        ({"size": True}, "size of a vocabulary must be a whole number; got True"),
        ({"size": None}, "size of a vocabulary must be a whole number; got None"),
        ({"mask_id": "11"}, "mask_id of a vocabulary must be a whole number; got '11'"),
        ({"mask_id": torch.tensor(11.0)}, "mask_id of a vocabulary must be a whole number"),
        ({"first": 1.0}, "first of a vocabulary must be a whole number; got 1.0"),
        ({"count": False}, "count of a vocabulary must be a whole number; got False"),
        ({"never": (1.5,)}, "never of a vocabulary must hold ids, whole numbers; got 1.5"),
        ({"never": (True,)}, "never of a vocabulary must hold ids, whole numbers; got True"),
        ({"never": "12"}, "never of a vocabulary must hold ids, whole numbers; got '1'"),
        ({"never": 3}, r"never of a vocabulary must hold ids, such as \(0, 100\); got 3"),
        ({"never": torch.tensor(3)}, "never of a vocabulary must hold ids, such as"),
    ],
    ids=str,
)
def test_a_vocabulary_that_cannot_be_is_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        Vocabulary(**{"size": SIZE, "mask_id": 11, **wrong})


def test_whole_numbers_of_other_libraries_become_plain_ones() -> None:
    size, token = np.int64(SIZE), torch.tensor(3)
    made = Vocabulary(size, torch.tensor(11), np.int32(1), np.uint8(8), [token, np.int16(2)])  # type: ignore[arg-type]
    plain = Vocabulary(SIZE, 11, 1, 8, (2, 3))
    assert made == plain
    assert {type(number) for number in (made.size, made.mask_id, made.first, made.count, *made.never)} == {int}
