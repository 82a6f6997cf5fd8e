"""The Fréchet distance between two sets of features, each taken for a Gaussian: FID's formula, in torch alone.

It depends on how many features there are: covariances of fewer than there are dimensions are singular, and the distance
of small samples is too large. Say n beside it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from infogain.errors import InputError


def moments(features: Tensor) -> tuple[Tensor, Tensor]:
    """Mean [D] and unbiased covariance [D, D] of features [N, D], in double precision."""
    if features.dim() != 2 or len(features) < 2 or not features.shape[1]:
        raise InputError(
            f"features must be [N, D] with N at least 2, for a covariance of one is undefined; got "
            f"{list(features.shape)}. Give more images."
        )
    features = features.double()
    mean = features.mean(0)
    centred = features - mean
    return mean, centred.T @ centred / (len(features) - 1)


def frechet(mean_a: Tensor, cov_a: Tensor, mean_b: Tensor, cov_b: Tensor) -> float:
    """|μ_a − μ_b|² + tr(Σ_a + Σ_b − 2 (Σ_a Σ_b)^½): the squared 2-Wasserstein distance of two Gaussians.

    Covariances may be singular. Computed on the device of `mean_a`, in double precision.
    """
    check_moments(mean_a, cov_a, mean_b, cov_b)
    mean_a, cov_a, mean_b, cov_b = (
        moment.to(mean_a.device, torch.float64) for moment in (mean_a, cov_a, mean_b, cov_b)
    )
    shift = (mean_a - mean_b).square().sum()
    return float(shift + cov_a.trace() + cov_b.trace() - 2 * trace_of_root(cov_a, cov_b))


def trace_of_root(cov_a: Tensor, cov_b: Tensor) -> Tensor:
    """Compute tr (Σ_a Σ_b)^½ as the sum of the roots of the eigenvalues of Fᵀ Σ_b F, where F Fᵀ = Σ_a.

    F has only the directions in which Σ_a is not zero: roots of what rounding makes of its zeros would add up.
    """
    values, directions = torch.linalg.eigh(cov_a)
    values = without_rounding(values)
    factor = (directions * values.sqrt())[:, values > 0]
    return without_rounding(torch.linalg.eigvalsh(factor.T @ cov_b @ factor)).sqrt().sum()


def without_rounding(eigenvalues: Tensor) -> Tensor:
    """Eigenvalues of a covariance, with 0 in place of those that rounding could have made of 0."""
    if not len(eigenvalues):
        return eigenvalues
    smallest = eigenvalues.abs().max() * len(eigenvalues) * torch.finfo(eigenvalues.dtype).eps
    return eigenvalues.where(eigenvalues > smallest, 0.0)


def check_moments(mean_a: Tensor, cov_a: Tensor, mean_b: Tensor, cov_b: Tensor) -> None:
    """Refuse moments that are not two finite means [D] and covariances [D, D] of one D."""
    size = mean_a.numel()
    shapes = [list(moment.shape) for moment in (mean_a, cov_a, mean_b, cov_b)]
    if shapes != [[size], [size, size]] * 2 or not size:
        raise InputError(
            f"means must be [D] and covariances [D, D], with one D for both sides; got {shapes}. "
            "Take both sides from one feature extractor."
        )
    if not all(moment.isfinite().all() for moment in (mean_a, cov_a, mean_b, cov_b)):
        raise InputError("means and covariances must be finite; some are not. Check the features that they are of.")
