"""Means and covariances of Inception features over a set of images: gathered batch by batch, compared, kept in a file.

A file is the .npz of pytorch-fid (`mu`, `sigma`) and of OpenAI's evaluator (`mu_s`, `sigma_s` for sFID), and says
beside these how many images it is of (`n`) and by which weights (`inception`).
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infogain.errors import InputError
from infogain.evals.images.inception import FEATURES, SPATIAL_FEATURES
from infogain.images.frechet import frechet

KEYS = {"pool": ("mu", "sigma", FEATURES), "spatial": ("mu_s", "sigma_s", SPATIAL_FEATURES)}


@dataclass(frozen=True)
class Gaussian:
    """A mean [D] and a covariance [D, D], in double precision."""

    mean: Tensor
    cov: Tensor

    def distance(self, other: Gaussian) -> float:
        """The Fréchet distance. Rounding may put that of equal sets a hair below zero, where none can lie."""
        return max(0.0, frechet(self.mean, self.cov, other.mean, other.cov))


class RunningMoments:
    """Mean and unbiased covariance of features that come in batches, with memory for their sums alone."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, features: Tensor) -> None:
        """Take in features [B, D]."""
        features = features.double()
        if not self.count:  # sums are about a point within the data, so that they lose no digits
            self.origin = features.mean(0)
            self.sum = torch.zeros_like(self.origin)
            self.outer = self.sum.new_zeros(len(self.sum), len(self.sum))
        features = features - self.origin
        self.sum += features.sum(0)
        self.outer += features.T @ features
        self.count += len(features)

    def result(self) -> Gaussian:
        if self.count < 2:
            raise InputError(f"a covariance needs at least 2 images; got {self.count}. Give more.")
        mean = self.sum / self.count
        cov = (self.outer - self.count * torch.outer(mean, mean)) / (self.count - 1)
        return Gaussian((self.origin + mean).cpu(), cov.cpu())


@dataclass(frozen=True)
class ImageStatistics:
    """What distances are computed from: the moments of a set of images, and what they rest on."""

    pool: Gaussian
    spatial: Gaussian | None  # files of pytorch-fid have none
    n: int | None  # nor do files of others say how many images they are of
    inception: str | None = None  # the fingerprint of the weights

    def save(self, path: str | Path) -> None:
        """Write an .npz that pytorch-fid and OpenAI's evaluator read too."""
        with open(path, "wb") as file:
            np.savez(file, **self.arrays())

    def arrays(self) -> dict[str, Any]:
        """Everything as arrays, by the names they have in a file."""
        found: dict[str, Any] = {}
        for part, (mean, cov, _) in KEYS.items():
            if (own := getattr(self, part)) is not None:
                found |= {mean: own.mean.numpy(), cov: own.cov.numpy()}
        if self.n is not None:
            found["n"] = np.array(self.n)
        if self.inception is not None:
            found["inception"] = np.array(self.inception)
        return found


def load_statistics(path: str | Path) -> ImageStatistics:
    """Read statistics that `save`, pytorch-fid or OpenAI's evaluator wrote. Nothing in the file is run."""
    try:
        with np.load(path, allow_pickle=False) as file:
            held = {name: file[name] for name in ("mu", "sigma", "mu_s", "sigma_s", "n", "inception") if name in file}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path} must be statistics in an .npz file; it cannot be read: {error}. Make it anew."
        ) from error
    pool, spatial = (_gaussian(path, held, part) for part in KEYS)
    if pool is None:
        raise InputError(
            f"{path} must hold mu and sigma, as pytorch-fid writes them; it holds {sorted(held) or 'neither'}."
        )
    n = int(held["n"]) if "n" in held else None
    return ImageStatistics(pool, spatial, n, str(held["inception"]) if "inception" in held else None)


def _gaussian(path: str | Path, held: dict[str, Any], part: str) -> Gaussian | None:
    mean, cov, size = KEYS[part]
    if mean not in held or cov not in held:
        return None
    shapes = [held[mean].shape, held[cov].shape]
    if shapes != [(size,), (size, size)] or not all(held[name].dtype.kind == "f" for name in (mean, cov)):
        raise InputError(
            f"{path}: {mean} and {cov} must be ({size},) and ({size}, {size}) of floating-point numbers; got {shapes}. "
            "Features of another layer or network have another distance: make statistics of Inception's last pool."
        )
    return Gaussian(*(torch.from_numpy(held[name].astype(np.float64)) for name in (mean, cov)))
