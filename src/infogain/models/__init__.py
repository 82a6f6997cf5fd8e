"""Models the loop can decode with: the exact oracle and its toy problems."""

from infogain.models.base import Context, Denoiser
from infogain.models.tabular import Tabular
from infogain.models.toys import Toy, judgement, load_toy, one_way, parity, random_joint

__all__ = ["Context", "Denoiser", "Tabular", "Toy", "judgement", "load_toy", "one_way", "parity", "random_joint"]
