"""The Fréchet distance, on Gaussians whose distance is known."""

import math

import pytest
import torch

from infogain.errors import InputError
from infogain.images.frechet import frechet, moments


def normal(rows: int, columns: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rotation(size: int) -> torch.Tensor:
    turned: torch.Tensor = torch.linalg.qr(normal(size, size, seed=9))[0]
    return turned


def test_moments_are_mean_and_unbiased_covariance() -> None:
    features = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 11.0]])
    mean, cov = moments(features)
    assert mean.tolist() == [2, 5]
    assert cov.tolist() == [[4, 10], [10, 28]]
    assert mean.dtype == cov.dtype == torch.float64


def test_one_dimension_has_a_closed_form() -> None:
    """(μ − ν)² + (σ − τ)²: here 3² + (5 − 2)²."""
    found = frechet(*(torch.tensor(m) for m in ([1.0], [[25.0]], [4.0], [[4.0]])))
    assert found == pytest.approx(18)


def test_covariances_that_commute_have_a_closed_form() -> None:
    """Two diagonals in one rotated basis: the sum over directions of (σ − τ)²."""
    q, sigma, tau = rotation(6), torch.arange(1.0, 7).double(), torch.tensor([3.0, 0, 1, 0, 2, 8]).double()
    cov_a, cov_b = (q * sigma.square()) @ q.T, (q * tau.square()) @ q.T
    shift = torch.arange(6.0).double()
    expected = float(shift.square().sum() + (sigma - tau).square().sum())
    assert frechet(shift, cov_a, torch.zeros(6), cov_b) == pytest.approx(expected)


def test_covariances_that_do_not_commute() -> None:
    """In two dimensions tr (AB)^½ = √(tr AB + 2 √det AB)."""
    a, b = torch.tensor([[2.0, 1], [1, 3]]).double(), torch.tensor([[5.0, -2], [-2, 1]]).double()
    root = math.sqrt(float((a @ b).trace()) + 2 * math.sqrt(float((a @ b).det())))
    found = frechet(torch.zeros(2), a, torch.zeros(2), b)
    assert found == pytest.approx(float(a.trace() + b.trace()) - 2 * root)
    assert found == pytest.approx(frechet(torch.zeros(2), b, torch.zeros(2), a))


@pytest.mark.parametrize("count", [5, 63, 64, 65, 500])
def test_a_set_is_at_distance_zero_from_itself(count: int) -> None:
    """There may be fewer features than dimensions: most eigenvalues are zero, and rounding makes them something."""
    mean, cov = moments(normal(count, 64) * torch.linspace(0.01, 3, 64).double())
    assert abs(frechet(mean, cov, mean, cov)) < 1e-9 * float(cov.trace())


def test_two_singular_covariances_in_separate_directions() -> None:
    """Nothing in common: the traces add up."""
    a, b = torch.diag(torch.tensor([2.0, 0, 0])), torch.diag(torch.tensor([0, 0, 3.0]))
    assert frechet(torch.zeros(3), a, torch.zeros(3), b) == pytest.approx(5)


def test_a_point_has_no_spread() -> None:
    mean, zero = torch.zeros(2), torch.zeros(2, 2)
    assert frechet(mean, zero, mean + 1, zero) == pytest.approx(2)
    assert frechet(mean, zero, mean, torch.eye(2)) == frechet(mean, torch.eye(2), mean, zero) == pytest.approx(2)


def test_large_samples_come_near_the_distance_of_what_they_were_drawn_from() -> None:
    a, b = normal(40_000, 4), normal(40_000, 4, seed=1) * 2 + 1
    assert frechet(*moments(a), *moments(b)) == pytest.approx(4 + 4, rel=0.05)


def test_a_nearly_singular_direction_still_counts() -> None:
    """What is small is not rounding: a variance of 1e-6 of the largest one adds its own root."""
    a, b = torch.diag(torch.tensor([1.0, 1e-6]).double()), torch.diag(torch.tensor([1.0, 4e-6]).double())
    found = frechet(torch.zeros(2), a, torch.zeros(2), b)
    assert found == pytest.approx((2e-3 - 1e-3) ** 2, rel=1e-3)


@pytest.mark.parametrize("features", [torch.zeros(1, 4), torch.zeros(4), torch.zeros(3, 0)])
def test_features_that_have_no_covariance_are_refused(features: torch.Tensor) -> None:
    with pytest.raises(InputError, match="N at least 2"):
        moments(features)


def test_moments_that_do_not_fit_are_refused() -> None:
    three, two = (torch.zeros(3), torch.eye(3)), (torch.zeros(2), torch.eye(2))
    with pytest.raises(InputError, match=r"one D for both sides; got \[\[3\], \[3, 3\], \[2\], \[2, 2\]\]"):
        frechet(*three, *two)
    with pytest.raises(InputError, match="must be finite"):
        frechet(torch.tensor([0.0, torch.nan]), torch.eye(2), *two)
