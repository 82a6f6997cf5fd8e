"""Train a codec by lookup-free quantisation: pictures come back alike, codes are sure of themselves and all in use."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from infogain.images.codec import Codec
from infogain.images.codec_spec import CodecSpec

SMALL_CODEC = CodecSpec(  # a picture of 32×32 becomes 8×8 codes of 10 bits
    channels=32,
    encoder_multipliers=(1, 2, 2),
    encoder_blocks=(1, 1, 1),
    decoder_multipliers=(1, 2, 2),
    decoder_blocks=(1, 1, 1),
    bits=10,
    image_channels=1,
    groups=8,
)
ENTROPY, COMMITMENT = 0.02, 0.05  # weights of the loss, beside that of the pixels
DECAY = 1e-4
REPORT_EVERY = 10.0  # seconds


@dataclass(frozen=True)
class CodecRun:
    """How a codec is trained."""

    minutes: float = 1.5
    steps: int = 20_000  # at most
    rows: int = 256
    rate: float = 1.5e-3
    seed: int = 0


def train_codec(spec: CodecSpec, pixels: Tensor, run: CodecRun) -> Codec:
    """A codec for pictures [N, C, H, W] from −1 to 1, trained on the device that they are on."""
    torch.manual_seed(run.seed)
    codec = Codec(spec).to(pixels.device)
    optimiser = torch.optim.AdamW(codec.parameters(), lr=run.rate, betas=(0.9, 0.95), weight_decay=DECAY)
    began = said = time.perf_counter()
    for step, some in enumerate(batches(pixels, run.rows, run.seed)):
        now = time.perf_counter()
        progress = max(step / run.steps, (now - began) / (60 * run.minutes))
        if progress >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = run.rate * min(1.0, (step + 1) / 200) * (1 - progress)
        with torch.autocast(pixels.device.type, torch.bfloat16, enabled=pixels.is_cuda):
            loss, parts = codec_loss(codec, some)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(codec.parameters(), 1.0)
        optimiser.step()
        if now - said > REPORT_EVERY:
            said = now
            print(f"codec step {step} ({progress:.0%})  " + "  ".join(f"{k} {v:.4f}" for k, v in parts.items()))
    return codec.requires_grad_(False).eval()


def batches(pixels: Tensor, rows: int, seed: int) -> Iterator[Tensor]:
    """Batches of pictures without end, in a new order whenever all have been seen."""
    generator = torch.Generator(pixels.device).manual_seed(seed)
    while True:
        order = torch.randperm(len(pixels), device=pixels.device, generator=generator)
        yield from (pixels[index] for index in torch.split(order, rows) if len(index) == rows or len(pixels) < rows)


def codec_loss(codec: Codec, images: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of some images, and its parts. Signs are passed straight through to the encoder's gradient."""
    z = codec.encoder(images).float()  # [B, bits, h, w]
    signs = torch.where(z > 0, 1.0, -1.0)
    back = codec.decoder(z + (signs - z).detach()).float()
    parts = {
        "pixels": functional.mse_loss(back, images) + functional.l1_loss(back, images),
        "codes": code_entropies(codec, z),
        "commitment": functional.mse_loss(z, signs),
    }
    loss = parts["pixels"] + ENTROPY * parts["codes"] + COMMITMENT * parts["commitment"]
    return loss, {name: part.detach() for name, part in parts.items()}


def code_entropies(codec: Codec, z: Tensor) -> Tensor:
    """Mean entropy of a position's code less the entropy of all codes together: low where codes are sure and varied.

    The chance of a code is soft here: softmax of −|z − code|² over all codes.
    """
    flat = z.permute(0, 2, 3, 1).flatten(0, 2)  # [B·h·w, bits]
    p = (2 * flat @ codec.quantize.embedding.to(flat).T).softmax(-1)
    return entropy(p).mean() - entropy(p.mean(0))


def entropy(p: Tensor) -> Tensor:
    return -(p * p.clamp(min=1e-9).log()).sum(-1)
