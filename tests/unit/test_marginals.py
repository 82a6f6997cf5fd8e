from __future__ import annotations

import pytest
import torch
from torch.distributions import Categorical, kl_divergence

from infogain.algorithm import noise
from infogain.algorithm.marginals import Marginals
from infogain.options import HOTTEST
from tests.cases import marginals


def logits_of(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 2


def masked(logits: torch.Tensor, mask_id: int) -> torch.Tensor:
    logits = logits.clone()
    logits[..., mask_id] = -torch.inf
    return logits


def test_statistics_against_torch_distributions() -> None:
    logits = logits_of(3, 4, 9)
    m = marginals(logits.clone(), mask_id=8)
    reference = Categorical(logits=logits[..., :8])
    top = reference.probs.topk(2)
    assert torch.allclose(m.entropy, reference.entropy())
    assert torch.allclose(m.confidence, top.values[..., 0])
    assert torch.allclose(m.margin, top.values[..., 0] - top.values[..., 1])
    assert torch.equal(m.argmax, top.indices[..., 0])
    tokens = torch.tensor([[[1, 2, 3, 4], [0, 0, 7, 7]]] * 3)
    assert torch.allclose(m.probability(tokens)[:, 1], reference.probs.gather(-1, tokens[:, 1, :, None])[..., 0])


def test_kl_against_torch_distributions() -> None:
    a, b = logits_of(2, 3, 6), logits_of(2, 3, 6, seed=1)
    ours = marginals(a.clone(), 9).kl(marginals(b.clone(), 9))
    assert torch.allclose(ours, kl_divergence(Categorical(logits=a), Categorical(logits=b)))
    impossible = masked(b, 0)
    assert torch.isinf(marginals(a.clone(), 9).kl(marginals(impossible, 9))).all()
    assert torch.isfinite(marginals(impossible.clone(), 9).kl(marginals(a.clone(), 9))).all()


def test_half_precision_statistics_are_computed_wide() -> None:
    logits = logits_of(1, 2, 5000).bfloat16()
    m = marginals(logits.clone(), 4999)
    assert m.entropy.dtype == torch.float32
    exact = Categorical(logits=masked(logits.double(), 4999)[..., :4999]).entropy()
    assert torch.allclose(m.entropy.double(), exact, rtol=1e-5)


def test_one_word_is_certain() -> None:
    m = marginals(torch.zeros(1, 2, 1), mask_id=5)
    assert m.entropy.tolist() == [[0.0, 0.0]]
    assert m.margin.tolist() == [[1.0, 1.0]]


def draws(m: Marginals, tau: float, n: int = 20000, **cut: float) -> torch.Tensor:
    u = noise.uniform(torch.tensor([[[5]]]), noise.TOKEN, torch.arange(n)[None, :, None], torch.arange(2))
    tokens = m.draw(tau, u, **cut)  # type: ignore[arg-type]
    return torch.nn.functional.one_hot(tokens[0], m.logits.shape[-1]).double().mean(0)  # [W, V]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_the_hottest_temperature_draws_are_uniform_and_never_the_mask(dtype: torch.dtype) -> None:
    logits = torch.tensor([[[9.0, -9.0, 0.0, 3.0, 50.0]] * 2], dtype=dtype)
    shares = draws(marginals(logits, 4), HOTTEST)[0]
    assert torch.allclose(shares, torch.tensor([0.25, 0.25, 0.25, 0.25, 0.0]).double(), atol=0.012)


@pytest.mark.parametrize("tau", [0.3, 1.0, 1.7])
def test_draws_follow_the_tempered_distribution(tau: float) -> None:
    logits = logits_of(1, 2, 7)
    expected = (masked(logits, 6) / tau).softmax(-1)[0]
    assert torch.allclose(draws(marginals(logits.clone(), 6), tau), expected, atol=0.012)


def test_cold_draws_are_the_argmax() -> None:
    m = marginals(logits_of(2, 3, 7), 6)
    assert torch.equal(m.draw(0.0, torch.rand(2, 4, 3)), m.argmax[:, None].expand(2, 4, 3))


def test_top_k_and_top_p() -> None:
    logits = torch.tensor([[[0.4, 0.3, 0.2, 0.1]] * 2]).log()
    m = marginals(logits, 9)
    assert draws(m, 1.0, top_k=2)[0].tolist() == pytest.approx([4 / 7, 3 / 7, 0, 0], abs=0.012)
    assert draws(m, 1.0, top_p=0.65)[0].tolist() == pytest.approx([4 / 7, 3 / 7, 0, 0], abs=0.012)
    assert draws(m, 1.0, top_p=0.75)[0].tolist() == pytest.approx([4 / 9, 3 / 9, 2 / 9, 0], abs=0.012)
    assert draws(m, 1.0, top_p=1e-9)[0].tolist() == [1, 0, 0, 0], "at least one token is left"
    assert draws(m, 1.0, top_k=3, top_p=0.5)[0].tolist() == pytest.approx([4 / 7, 3 / 7, 0, 0], abs=0.012)
    assert draws(m, 1.0, top_k=99)[0].tolist() == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.012)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_largest_and_smallest_u_stay_on_possible_tokens(dtype: torch.dtype) -> None:
    """Rounding at either end must not reach a token of probability 0, the mask above all."""
    logits = torch.full((1, 1, 6), -torch.inf, dtype=dtype)
    logits[..., 2:4] = torch.tensor([0.1, 0.7], dtype=dtype)
    m = marginals(logits, 5)
    u = torch.tensor([2.0**-53, 1 - 2.0**-53], dtype=torch.float64)[None, :, None]
    assert m.draw(1.0, u).flatten().tolist() == [2, 3]


def test_top_p_takes_no_token_past_its_share() -> None:
    """A quarter each, exactly: two tokens hold one half, and the third is not needed."""
    m = marginals(torch.zeros(1, 2, 4), 9)
    assert draws(m, 1.0, top_p=0.5)[0].tolist() == pytest.approx([0.5, 0.5, 0, 0], abs=0.012)


def test_top_p_is_a_share_of_what_top_k_leaves() -> None:
    m = marginals(torch.tensor([[[0.4, 0.3, 0.2, 0.1]] * 2]).log(), 9)
    assert draws(m, 1.0, top_k=2, top_p=0.5)[0].tolist() == [1, 0, 0, 0], "the first holds 4/7 of the two"


def test_half_precision_draws_reach_the_whole_vocabulary() -> None:
    """A cumulative sum in bfloat16 stands still long before its end."""
    m = marginals(torch.zeros(1, 1, 5000).bfloat16(), 5000)
    u = torch.tensor([0.1, 0.5, 0.999], dtype=torch.float64)[None, :, None]
    assert m.draw(1.0, u).flatten().tolist() == pytest.approx([500, 2500, 4995], abs=1)


def test_kl_is_never_negative() -> None:
    logits = torch.randn(50, 20, 7, generator=torch.Generator().manual_seed(0))
    near = logits + 1e-7 * torch.randn(50, 20, 7, generator=torch.Generator().manual_seed(1))
    assert (marginals(logits, 9).kl(marginals(near, 9)) >= 0).all()


def test_of_equal_tokens_the_first_is_the_argmax() -> None:
    for size in (4, 10, 50, 100, 1000):
        assert marginals(torch.zeros(1, 1, size), size).argmax.tolist() == [[0]]


def test_a_tiny_temperature_is_a_cold_one() -> None:
    m = marginals(logits_of(2, 3, 7), 6)
    assert torch.equal(m.draw(1e-310, torch.full((2, 1, 3), 0.9)), m.argmax[:, None])


def test_probabilities_stay_below_one() -> None:
    """KLASS tells a ready position by φ > 1."""
    m = marginals(torch.tensor([[[30.0, 0.0, -3.0]] * 50]) + torch.rand(1, 50, 1), 9)
    assert float(m.probability(m.argmax[:, None]).max()) <= 1
