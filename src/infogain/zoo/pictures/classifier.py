"""A small classifier of pictures: its classes tell whether a picture is what was asked for, its features how alike."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from infogain.images.codec_blocks import convolution, group_norm
from infogain.zoo.pictures.picture_sets import Pictures
from infogain.zoo.pictures.short_run import ShortRun

FEATURES = 64
GROUPS = 4
FILE, SIZES = "classifier.safetensors", "classifier.json"
SHIFT = 16  # a picture is moved by at most this part of its height while it is learnt
AT_A_TIME = 2048
DECAY, SMOOTHING = 0.05, 0.05


class Classifier(nn.Module):
    """Four convolutions, the mean over all positions, and two linear layers. Pictures are [N, 1, H, W], −1 to 1."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        widths = [1, width, 2 * width, 4 * width, 4 * width]
        self.width, self.classes = width, classes
        self.convolutions = nn.ModuleList(convolution(widths[i], widths[i + 1]) for i in range(4))
        self.norms = nn.ModuleList(group_norm(GROUPS, each) for each in widths[1:])
        self.project = nn.Linear(4 * width, FEATURES)
        self.head = nn.Linear(FEATURES, classes)

    def features(self, pixels: Tensor) -> Tensor:
        """What the last layer but one says of each picture. [N, 64]"""
        x = pixels
        for i, (conv, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            x = functional.silu(norm(conv(x)))
            x = functional.max_pool2d(x, 2) if i < 3 else x
        return functional.silu(self.project(x.mean((2, 3))))

    def forward(self, pixels: Tensor) -> Tensor:
        """Logits of the classes. [N, classes]"""
        out: Tensor = self.head(self.features(pixels))
        return out

    @torch.no_grad()
    def read(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """Features [N, 64] and the most likely classes [N] of many pictures, a few at a time, on their device."""
        parts = [self.features(part.float()) for part in torch.split(pixels, AT_A_TIME)]
        features = torch.cat(parts)
        return features, self.head(features).argmax(-1)

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file

        save_file({name: x.detach().cpu().half() for name, x in self.state_dict().items()}, folder / FILE)
        (folder / SIZES).write_text(json.dumps({"width": self.width, "classes": self.classes}) + "\n")

    @classmethod
    def load(cls, folder: Path, device: str | torch.device = "cpu") -> Classifier:
        from safetensors.torch import load_file

        model = cls(**json.loads((folder / SIZES).read_text()))
        model.load_state_dict({name: x.float() for name, x in load_file(folder / FILE).items()})
        return model.to(device).requires_grad_(False).eval()


def train_classifier(pictures: Pictures, classes: int, width: int, run: ShortRun) -> Classifier:
    """A classifier of pictures, trained on the device that they are on. Each picture is moved a little every time."""
    torch.manual_seed(run.seed)
    model, device = Classifier(width, classes).to(pictures.pixels.device), pictures.pixels.device
    optimiser = torch.optim.AdamW(model.parameters(), lr=run.rate, weight_decay=DECAY)
    for rows in run.batches(len(pictures.labels), optimiser, device):
        logits, labels = model(moved(pictures.pixels[rows])), pictures.labels[rows]
        loss = functional.cross_entropy(logits, labels, label_smoothing=SMOOTHING)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return model.requires_grad_(False).eval()


def moved(pixels: Tensor) -> Tensor:
    """Pictures, all moved by the same few pixels; black comes in at the edges."""
    height, width = pixels.shape[2:]
    most = height // SHIFT
    down, across = (int(torch.randint(2 * most + 1, ())) for _ in range(2))
    return functional.pad(pixels, [most] * 4, value=-1.0)[:, :, down : down + height, across : across + width]
