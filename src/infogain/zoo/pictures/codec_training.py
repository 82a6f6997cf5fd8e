"""Train a codec by lookup-free quantisation: pictures come back alike, codes are sure of themselves and all in use."""

from __future__ import annotations

import time

import torch
from torch import Tensor
from torch.nn import functional

from infogain.images.codec import Codec
from infogain.images.codec_spec import CodecSpec
from infogain.zoo.pictures.short_run import ShortRun

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


def train_codec(spec: CodecSpec, pixels: Tensor, run: ShortRun) -> Codec:
    """A codec for pictures [N, C, H, W] from −1 to 1, trained on the device that they are on."""
    torch.manual_seed(run.seed)
    codec, on_cuda = Codec(spec).to(pixels.device), pixels.is_cuda
    optimiser = torch.optim.AdamW(codec.parameters(), lr=run.rate, betas=(0.9, 0.95), weight_decay=DECAY)
    said = time.perf_counter()
    for step, rows in enumerate(run.batches(len(pixels), optimiser, pixels.device)):
        with torch.autocast(pixels.device.type, torch.bfloat16, enabled=on_cuda):
            loss, parts = codec_loss(codec, pixels[rows])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(codec.parameters(), 1.0)
        optimiser.step()
        if time.perf_counter() - said > REPORT_EVERY:
            said = time.perf_counter()
            print(f"codec step {step}  " + "  ".join(f"{name} {part:.4f}" for name, part in parts.items()), flush=True)
    return codec.requires_grad_(False).eval()


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
