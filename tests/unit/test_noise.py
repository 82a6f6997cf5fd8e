from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from infogain.algorithm import noise
from infogain.kernels.hashing import mix

INT64 = st.integers(-(2**63), 2**63 - 1)


def splitmix64(x: int) -> int:
    """The finaliser in plain Python, on unsigned numbers."""
    x &= 2**64 - 1
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return x ^ (x >> 31)


@given(x=INT64)
def test_mix_is_splitmix64(x: int) -> None:
    assert int(mix(torch.tensor(x))) % 2**64 == splitmix64(x)


@given(seed=INT64, index=st.integers(0, 10**6))
def test_a_number_depends_on_its_arguments_alone(seed: int, index: int) -> None:
    one = noise.uniform(torch.tensor(seed), noise.TOKEN, index)
    many = noise.uniform(torch.tensor([7, seed, 9])[:, None], noise.TOKEN, torch.tensor([3, index]))
    assert one == many[1, 1]
    assert 0 < float(one) < 1
    assert one != noise.uniform(torch.tensor(seed), noise.POSITION, index)


def test_numbers_are_uniform_and_independent() -> None:
    u = noise.uniform(torch.arange(200)[:, None, None], 0, torch.arange(50)[:, None], torch.arange(40))
    assert abs(float(u.mean()) - 0.5) < 0.002
    assert abs(float(u.var()) - 1 / 12) < 0.001
    assert u.unique().numel() == u.numel()
    for dim in range(3):  # neighbours along any index are uncorrelated
        a, b = u.narrow(dim, 0, u.shape[dim] - 1).flatten(), u.narrow(dim, 1, u.shape[dim] - 1).flatten()
        assert abs(float(torch.corrcoef(torch.stack([a, b]))[0, 1])) < 0.01
    histogram = torch.histc(u, 64, 0, 1)
    assert float(((histogram - u.numel() / 64) ** 2).sum() / (u.numel() / 64)) < 110  # χ², 63 degrees: p ≈ 2e-4


def test_gumbel_top_k_draws_from_the_softmax() -> None:
    phi = torch.tensor([0.2, 0.5, 0.9])
    g = noise.gumbel(torch.arange(40000)[:, None], 1, torch.arange(3))
    shares = torch.nn.functional.one_hot((phi + 0.3 * g).argmax(-1), 3).double().mean(0)
    assert torch.allclose(shares, (phi.double() / 0.3).softmax(-1), atol=0.01)


def test_fork_keeps_branch_zero() -> None:
    seed = torch.tensor([1, 2, 3])
    assert torch.equal(noise.fork(seed, noise.COPY, torch.zeros(3, dtype=torch.int64)), seed)
    assert noise.fork(seed[:, None], noise.COPY, torch.arange(100)).unique().numel() == 300


def test_row_seeds_differ_between_rows_and_decodes() -> None:
    assert len({seed for decode in range(20) for seed in noise.row_seeds(decode, 50)}) == 1000
    assert noise.row_seeds(3, 5) == noise.row_seeds(3, 9)[:5]


def test_repetitions_of_different_decodes_never_share_a_seed() -> None:
    seeds = [noise.repeat_seed(seed, number) for seed in (-(2**63), *range(-20, 20), 2**63 - 1) for number in range(20)]
    assert len(set(seeds)) == len(seeds)
    assert [noise.repeat_seed(seed, 0) for seed in (-3, 0, 7)] == [-3, 0, 7]


def test_every_purpose_has_a_stream_of_its_own() -> None:
    names = ("TOKEN", "POSITION", "UNIFORM", "ORDER", "COPY", "HYPOTHESIS", "ROW", "REPEAT", "SELECT")
    streams = [getattr(noise, name) for name in names]
    assert len(set(streams)) == len(streams)


class Rows(NamedTuple):
    """What noise must know of rows in their blocks."""

    seed: Tensor
    attempt_seed: Tensor
    step: Tensor
    start: Tensor
    column: Tensor
    masked: Tensor


@pytest.mark.parametrize("kind", [noise.uniform, noise.gumbel])
@pytest.mark.parametrize("steps", [[0, 0, 0], [11, 11, 11], [60, 60, 60], [3, 4, 3]])
@pytest.mark.parametrize("width", [5, 300])
def test_noise_of_several_steps_at_once_is_that_of_each(steps: list[int], width: int, kind: noise.Kind) -> None:
    """Kept from step to step where rows go in step and a step needs few numbers; what is handed out is a copy."""
    seed, start, step = (torch.tensor(x) for x in ([9, -4, 2**62], [8, 0, 3], steps))
    column, number = start[:, None] + torch.arange(width), torch.arange(7)[:, None]
    rows = Rows(seed, seed + 1, step, start, column, torch.ones(3, width, dtype=torch.bool))
    named = {
        False: kind(seed[:, None, None], noise.POSITION, step[:, None, None], number, column[:, None]),
        True: kind(seed[:, None, None] + 1, noise.POSITION, 0, number, column[:, None]),
    }
    for fixed, expected in [*named.items()] * 2:
        found = noise.of_blocks(kind, noise.POSITION, rows, 7, fixed)
        assert torch.equal(found, expected)
        found.zero_()


def test_a_candidate_has_a_number_of_its_own_in_every_block() -> None:
    """Steps are counted anew in each block, so that a name without the block's column would come again."""
    seed, step, start = (torch.tensor(x) for x in ([9, 9, 9, -4], [2, 3, 2, 2], [0, 0, 8, 0]))
    rows = Rows(seed, seed, step, start, start[:, None], torch.ones(4, 1, dtype=torch.bool))
    found = noise.of_candidates(noise.uniform, noise.SELECT, rows, 5)
    assert found[2, 3] == noise.uniform(torch.tensor(9), noise.SELECT, 2, 3, 8)
    assert found.unique().numel() == 4 * 5
    assert torch.equal(noise.of_candidates(noise.uniform, noise.SELECT, rows, 3), found[:, :3])


@pytest.mark.parametrize("bits", [0, -1])
def test_the_extreme_hashes_stay_inside(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All bits clear, all bits set: neither 0 nor 1, where a logarithm would be infinite."""
    monkeypatch.setattr(noise, "hashed", lambda *_: torch.tensor(bits))
    assert 0 < float(noise.uniform(torch.tensor(0), noise.TOKEN)) < 1
    assert noise.gumbel(torch.tensor(0), noise.TOKEN).isfinite()
