"""FID's Inception with random weights, for tests, as tensors and as the file that users have."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch

from infogain.evals.images.inception import InceptionV3


@cache
def random_inception() -> InceptionV3:
    """Weights that keep activations of ordinary size through all layers, and norms that do something."""
    torch.manual_seed(0)
    network = InceptionV3()
    for name, tensor in network.state_dict().items():
        if name.endswith("conv.weight"):
            tensor.normal_(0, (2 / tensor[0].numel()) ** 0.5)
        elif name.endswith(("bn.weight", "running_var")):
            tensor.uniform_(0.5, 1.5)
        else:
            tensor.normal_(0, 0.1)
    return network.requires_grad_(False).eval()


def write_inception(path: Path) -> Path:
    """Write the random weights as pytorch-fid's file has them, with counters of training."""
    tensors = dict(random_inception().state_dict())
    norms = [name.removesuffix("running_mean") for name in tensors if name.endswith("running_mean")]
    torch.save({**tensors, **{f"{norm}num_batches_tracked": torch.tensor(0) for norm in norms}}, path)
    return path
