"""Lookup-free quantisation: a code is a whole number whose binary digits are the signs of the encoder's channels."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Quantiser(nn.Module):
    """Codes and the vectors of −1 and 1 that stand for them. Channel 0 is the most significant bit.

    `embedding` has the vector of each code, `power_vals` what each channel counts. Public files hold both.
    """

    embedding: Tensor
    power_vals: Tensor

    def __init__(self, bits: int) -> None:
        super().__init__()
        with torch.device("cpu"):  # on the meta device, arithmetic would first import half of torch
            power_vals = 2 ** torch.arange(bits - 1, -1, -1)
            is_set = (torch.arange(2**bits)[:, None] & power_vals) > 0
        device = torch.get_default_device()
        self.register_buffer("power_vals", power_vals.to(device))  # [bits]
        self.register_buffer("embedding", (is_set.float() * 2 - 1).to(device))  # [2^bits, bits]

    def codes_of(self, z: Tensor) -> Tensor:
        """The code at each position of [B, bits, h, w], as [B, h, w]. A zero counts as −1."""
        return ((z > 0) * self.power_vals[:, None, None]).sum(1)

    def signs_of(self, codes: Tensor) -> Tensor:
        """The vector of each code of [B, h, w], as [B, bits, h, w]."""
        return functional.embedding(codes, self.embedding).permute(0, 3, 1, 2)
