"""FID's Inception: public names and shapes, its equations written out, TensorFlow's way to scale an image."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from infogain.errors import InputError
from infogain.evals.images.inception import SPATIAL_FEATURES, InceptionV3, resize
from infogain.evals.images.inception_weights import fingerprint_of, load_inception
from tests.inceptions import random_inception, write_inception

# Public files, block by block: a convolution's name, channels in and out, height and width of its kernel.
STEM = """Conv2d_1a_3x3 3 32 3 3; Conv2d_2a_3x3 32 32 3 3; Conv2d_2b_3x3 32 64 3 3; Conv2d_3b_1x1 64 80 1 1;
Conv2d_4a_3x3 80 192 3 3"""
A = """branch1x1 {x} 64 1 1; branch5x5_1 {x} 48 1 1; branch5x5_2 48 64 5 5; branch3x3dbl_1 {x} 64 1 1;
branch3x3dbl_2 64 96 3 3; branch3x3dbl_3 96 96 3 3; branch_pool {x} {c} 1 1"""
B = "branch3x3 288 384 3 3; branch3x3dbl_1 288 64 1 1; branch3x3dbl_2 64 96 3 3; branch3x3dbl_3 96 96 3 3"
C = """branch1x1 768 192 1 1; branch7x7_1 768 {c} 1 1; branch7x7_2 {c} {c} 1 7; branch7x7_3 {c} 192 7 1;
branch7x7dbl_1 768 {c} 1 1; branch7x7dbl_2 {c} {c} 7 1; branch7x7dbl_3 {c} {c} 1 7; branch7x7dbl_4 {c} {c} 7 1;
branch7x7dbl_5 {c} 192 1 7; branch_pool 768 192 1 1"""
D = """branch3x3_1 768 192 1 1; branch3x3_2 192 320 3 3; branch7x7x3_1 768 192 1 1; branch7x7x3_2 192 192 1 7;
branch7x7x3_3 192 192 7 1; branch7x7x3_4 192 192 3 3"""
E = """branch1x1 {x} 320 1 1; branch3x3_1 {x} 384 1 1; branch3x3_2a 384 384 1 3; branch3x3_2b 384 384 3 1;
branch3x3dbl_1 {x} 448 1 1; branch3x3dbl_2 448 384 3 3; branch3x3dbl_3a 384 384 1 3; branch3x3dbl_3b 384 384 3 1;
branch_pool {x} 192 1 1"""
BLOCKS = {
    "": STEM,
    "Mixed_5b.": A.format(x=192, c=32),
    "Mixed_5c.": A.format(x=256, c=64),
    "Mixed_5d.": A.format(x=288, c=64),
    "Mixed_6a.": B,
    "Mixed_6b.": C.format(c=128),
    "Mixed_6c.": C.format(c=160),
    "Mixed_6d.": C.format(c=160),
    "Mixed_6e.": C.format(c=192),
    "Mixed_7a.": D,
    "Mixed_7b.": E.format(x=1280),
    "Mixed_7c.": E.format(x=2048),
}


def public_shapes() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {"fc.weight": [1008, 2048], "fc.bias": [1008]}
    for block, layers in BLOCKS.items():
        for layer in layers.split(";"):
            name, channels, out, height, width = layer.split()
            found[f"{block}{name}.conv.weight"] = [int(out), int(channels), int(height), int(width)]
            for part in ("weight", "bias", "running_mean", "running_var"):
                found[f"{block}{name}.bn.{part}"] = [int(out)]
    return found


def test_tensors_have_their_public_names_and_shapes() -> None:
    found = {name: list(tensor.shape) for name, tensor in InceptionV3().state_dict().items()}
    assert found == public_shapes()
    assert len(found) == 472
    trained = sum(parameter.numel() for parameter in InceptionV3().parameters())
    assert trained == 23_834_568 + 8 * 2049  # torchvision's without the auxiliary head, and 8 classes more


class Written:
    """The network's equations, one after the other, on the tensors of a file."""

    def __init__(self, tensors: dict[str, Tensor]) -> None:
        self.w = tensors

    def c(self, x: Tensor, name: str, stride: int = 1, padding: tuple[int, int] = (0, 0)) -> Tensor:
        y = functional.conv2d(x, self.w[f"{name}.conv.weight"], stride=stride, padding=padding)
        scale, shift, mean, var = (
            self.w[f"{name}.bn.{part}"][:, None, None] for part in ("weight", "bias", "running_mean", "running_var")
        )
        return ((y - mean) / (var + 0.001).sqrt() * scale + shift).clamp(min=0)

    def average(self, x: Tensor) -> Tensor:
        ones = torch.ones_like(x[:1, :1])
        window = torch.ones(1, 1, 3, 3)
        summed = functional.conv2d(x.flatten(0, 1)[:, None], window, padding=1).view_as(x)
        return summed / functional.conv2d(ones, window, padding=1)  # corners have four neighbours, not nine

    def a(self, x: Tensor, n: str) -> Tensor:
        five = self.c(self.c(x, f"{n}.branch5x5_1"), f"{n}.branch5x5_2", padding=(2, 2))
        three = self.c(self.c(x, f"{n}.branch3x3dbl_1"), f"{n}.branch3x3dbl_2", padding=(1, 1))
        three = self.c(three, f"{n}.branch3x3dbl_3", padding=(1, 1))
        return torch.cat([self.c(x, f"{n}.branch1x1"), five, three, self.c(self.average(x), f"{n}.branch_pool")], 1)

    def b(self, x: Tensor, n: str) -> Tensor:
        three = self.c(self.c(x, f"{n}.branch3x3dbl_1"), f"{n}.branch3x3dbl_2", padding=(1, 1))
        three = self.c(three, f"{n}.branch3x3dbl_3", stride=2)
        return torch.cat([self.c(x, f"{n}.branch3x3", stride=2), three, functional.max_pool2d(x, 3, 2)], 1)

    def chain(self, x: Tensor, names: list[str], paddings: list[tuple[int, int]]) -> Tensor:
        for name, padding in zip(names, paddings, strict=True):
            x = self.c(x, name, padding=padding)
        return x

    def seven(self, x: Tensor, n: str) -> Tensor:
        one = self.chain(x, [f"{n}.branch7x7_{i}" for i in (1, 2, 3)], [(0, 0), (0, 3), (3, 0)])
        paddings = [(0, 0), (3, 0), (0, 3), (3, 0), (0, 3)]
        two = self.chain(x, [f"{n}.branch7x7dbl_{i}" for i in (1, 2, 3, 4, 5)], paddings)
        return torch.cat([self.c(x, f"{n}.branch1x1"), one, two, self.c(self.average(x), f"{n}.branch_pool")], 1)

    def d(self, x: Tensor, n: str) -> Tensor:
        three = self.c(self.c(x, f"{n}.branch3x3_1"), f"{n}.branch3x3_2", stride=2)
        seven = self.chain(x, [f"{n}.branch7x7x3_{i}" for i in (1, 2, 3)], [(0, 0), (0, 3), (3, 0)])
        seven = self.c(seven, f"{n}.branch7x7x3_4", stride=2)
        return torch.cat([three, seven, functional.max_pool2d(x, 3, 2)], 1)

    def e(self, x: Tensor, n: str, pooled: Tensor) -> Tensor:
        three = self.c(x, f"{n}.branch3x3_1")
        twice = self.c(self.c(x, f"{n}.branch3x3dbl_1"), f"{n}.branch3x3dbl_2", padding=(1, 1))
        forks = [(three, "branch3x3_2"), (twice, "branch3x3dbl_3")]
        parts = [self.c(y, f"{n}.{m}{s}", padding=p) for y, m in forks for s, p in (("a", (0, 1)), ("b", (1, 0)))]
        return torch.cat([self.c(x, f"{n}.branch1x1"), *parts, self.c(pooled, f"{n}.branch_pool")], 1)

    def run(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = (x - 128) / 128
        x = self.c(self.c(self.c(x, "Conv2d_1a_3x3", 2), "Conv2d_2a_3x3"), "Conv2d_2b_3x3", padding=(1, 1))
        x = self.c(self.c(functional.max_pool2d(x, 3, 2), "Conv2d_3b_1x1"), "Conv2d_4a_3x3")
        x = functional.max_pool2d(x, 3, 2)
        for name in ("Mixed_5b", "Mixed_5c", "Mixed_5d"):
            x = self.a(x, name)
        x = self.seven(self.seven(self.b(x, "Mixed_6a"), "Mixed_6b"), "Mixed_6c")
        spatial = self.c(x, "Mixed_6d.branch1x1")[:, :7]
        x = self.d(self.seven(self.seven(x, "Mixed_6d"), "Mixed_6e"), "Mixed_7a")
        x = self.e(x, "Mixed_7b", self.average(x))
        x = self.e(x, "Mixed_7c", functional.max_pool2d(x, 3, 1, padding=1))
        pool = functional.adaptive_avg_pool2d(x, 1).flatten(1)
        return pool, spatial, pool @ self.w["fc.weight"].T


def test_the_network_is_its_equations() -> None:
    images = torch.randint(0, 256, (2, 3, 299, 299), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)
    found = random_inception()(images)
    pool, spatial, logits = Written(random_inception().state_dict()).run(images.float())
    assert 0.1 < float(pool.std()) < 100
    assert torch.allclose(found.pool, pool, rtol=1e-3, atol=1e-4)
    assert torch.allclose(found.logits, logits, rtol=1e-3, atol=1e-3)
    assert found.spatial.shape == (2, SPATIAL_FEATURES)
    by_position = found.spatial.view(2, 17, 17, 7)  # as TensorFlow lays it out, and so do files of sFID
    assert torch.allclose(by_position, spatial.permute(0, 2, 3, 1), rtol=1e-3, atol=1e-4)


def test_an_image_has_its_features_in_any_company() -> None:
    """In training mode too, where batch norms usually look at the whole batch."""
    images = torch.randint(0, 256, (2, 3, 30, 40), generator=torch.Generator().manual_seed(2), dtype=torch.uint8)
    network = random_inception().train()
    try:
        assert torch.allclose(network(images).pool[:1], network(images[:1]).pool, rtol=1e-4, atol=1e-5)
    finally:
        network.eval()


def test_images_are_scaled_as_tensorflow_does() -> None:
    """The first pixel stays where it is: 0, ½, 1 and then the edge."""
    row = torch.tensor([0.0, 1.0]).view(1, 1, 1, 2)
    assert resize(row, 4)[0, 0, 0].tolist() == [0, 0.5, 1, 1]
    image = torch.rand(1, 2, 5, 7, generator=torch.Generator().manual_seed(0))
    assert torch.equal(resize(image, 3)[0, 1, 0, :1], image[0, 1, 0, :1])
    large = resize(image, 11)
    for y, x in ((0, 0), (4, 9), (10, 10), (7, 3)):
        v, u = y * 5 / 11, x * 7 / 11
        top, left = int(v), int(u)
        low, right = min(top + 1, 4), min(left + 1, 6)
        dy, dx = v - top, u - left
        upper = image[0, 0, top, left] * (1 - dx) + image[0, 0, top, right] * dx
        lower = image[0, 0, low, left] * (1 - dx) + image[0, 0, low, right] * dx
        assert float(large[0, 0, y, x]) == pytest.approx(float(upper * (1 - dy) + lower * dy), abs=1e-5)
    assert not torch.allclose(large, functional.interpolate(image, (11, 11), mode="bilinear"), atol=1e-2)


def test_an_image_of_its_size_is_left_alone() -> None:
    image = torch.rand(1, 3, 299, 299)
    assert torch.equal(resize(image), image)


@pytest.mark.parametrize("images", [torch.zeros(1, 3, 8, 8), torch.zeros(3, 8, 8, dtype=torch.uint8)])
def test_other_images_are_refused(images: Tensor) -> None:
    with pytest.raises(InputError, match=r"\[B, 3, H, W\] of uint8"):
        random_inception()(images)


def test_weights_come_from_a_pickle_or_safetensors(tmp_path: Path) -> None:
    network = load_inception(write_inception(tmp_path / "weights.pth"))
    save_file(random_inception().state_dict(), tmp_path / "weights.safetensors")
    for one in (network, load_inception(tmp_path / "weights.safetensors")):
        assert fingerprint_of(one) == fingerprint_of(random_inception())
        assert not one.training
    image = torch.zeros(1, 3, 9, 9, dtype=torch.uint8)
    assert torch.equal(network(image).pool, random_inception()(image).pool)


def test_other_weights_are_refused(tmp_path: Path) -> None:
    tensors = dict(random_inception().state_dict())
    tensors["fc.weight"], tensors["AuxLogits.fc.weight"] = torch.zeros(1000, 2048), torch.zeros(1000, 768)
    del tensors["fc.bias"]
    torch.save(tensors, tmp_path / "torchvision.pth")
    with pytest.raises(
        InputError, match=r"Missing: fc\.bias\. Not known: AuxLogits\.fc\.weight\. Of another shape: fc"
    ):
        load_inception(tmp_path / "torchvision.pth")
    with pytest.raises(InputError, match="is none"):
        load_inception(tmp_path / "absent.pth")


def test_a_pickle_that_would_run_something_is_refused(tmp_path: Path) -> None:
    torch.save({"fc.weight": Path("anything")}, tmp_path / "weights.pth")
    with pytest.raises(InputError, match="cannot be read as weights"):
        load_inception(tmp_path / "weights.pth")
