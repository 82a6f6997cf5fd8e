"""The image codec against its equations and public names written down a second time; its files; pixels."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from infogain.errors import InputError, NumericsError
from infogain.images import pixels
from infogain.images.codec import Codec
from infogain.images.codec_spec import CodecSpec
from infogain.images.codec_weights import load_codec, save_codec
from infogain.images.quantiser import Quantiser

SMALL = CodecSpec(  # of grey images: 32×32 pixels become 8×8 codes of 10 bits
    channels=8,
    encoder_multipliers=(1, 2, 2),
    encoder_blocks=(1, 2, 1),
    decoder_multipliers=(1, 1, 2),
    decoder_blocks=(2, 1, 1),
    bits=10,
    image_channels=1,
    groups=4,
)
Shapes = Iterator[tuple[str, list[int]]]
Call = Callable[[], Any]


def random_codec(spec: CodecSpec = SMALL) -> Codec:
    """A codec in which every weight and bias is random, those of the norms too."""
    codec, generator = Codec(spec).eval(), torch.Generator().manual_seed(0)
    for parameter in codec.parameters():
        fan_in = max(1, parameter[0].numel())
        parameter.data.normal_(0, fan_in**-0.5, generator=generator)
    return codec


def random_images(*shape: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1)) * 2 - 1


def random_codes(*shape: int) -> Tensor:
    return torch.randint(SMALL.codes, shape, generator=torch.Generator().manual_seed(2))


@pytest.fixture(scope="module")
def codec() -> Codec:
    return random_codec()


# The public names and shapes, from what is known of showlab/magvitv2.


def norm_shapes(name: str, width: int) -> Shapes:
    yield f"{name}.weight", [width]
    yield f"{name}.bias", [width]


def conv_shapes(name: str, before: int, after: int, side: int = 3) -> Shapes:
    yield f"{name}.weight", [after, before, side, side]
    yield f"{name}.bias", [after]


def block_shapes(name: str, before: int, after: int) -> Shapes:
    yield from norm_shapes(f"{name}.norm1", before)
    yield from conv_shapes(f"{name}.conv1", before, after)
    yield from norm_shapes(f"{name}.norm2", after)
    yield from conv_shapes(f"{name}.conv2", after, after)
    if before != after:
        yield from conv_shapes(f"{name}.nin_shortcut", before, after, 1)


def middle_shapes(name: str, width: int) -> Shapes:
    yield from block_shapes(f"{name}.block_1", width, width)
    yield from block_shapes(f"{name}.block_2", width, width)
    yield from norm_shapes(f"{name}.attn_1.norm", width)
    for each in ("q", "k", "v", "proj_out"):
        yield from conv_shapes(f"{name}.attn_1.{each}", width, width, 1)


def public_shapes() -> Shapes:
    yield from conv_shapes("encoder.conv_in", 3, 128)
    levels = [(128, 128, 4), (128, 256, 3), (256, 256, 4), (256, 512, 3), (512, 512, 4)]
    for level, (before, after, blocks) in enumerate(levels):
        for block in range(blocks):
            yield from block_shapes(f"encoder.down.{level}.block.{block}", after if block else before, after)
        if level < 4:
            yield from conv_shapes(f"encoder.down.{level}.downsample.conv", after, after)
    yield from middle_shapes("encoder.mid", 512)
    yield from norm_shapes("encoder.norm_out", 512)
    yield from conv_shapes("encoder.conv_out", 512, 13)
    yield from conv_shapes("encoder.quant_conv", 13, 13, 1)
    yield from conv_shapes("decoder.post_quant_conv", 13, 13, 1)
    yield from conv_shapes("decoder.conv_in", 13, 512)
    yield from middle_shapes("decoder.mid", 512)
    levels = [(128, 128, 4), (256, 128, 4), (256, 256, 3), (512, 256, 4), (512, 512, 3)]
    for level, (before, after, blocks) in enumerate(levels):
        for block in range(blocks):
            yield from block_shapes(f"decoder.up.{level}.block.{block}", after if block else before, after)
        if level > 0:
            yield from conv_shapes(f"decoder.up.{level}.upsample.conv", after, after)
    yield from norm_shapes("decoder.norm_out", 128)
    yield from conv_shapes("decoder.conv_out", 128, 3)
    yield "quantize.embedding", [8192, 13]
    yield "quantize.power_vals", [13]


def test_all_tensors_have_their_public_names_and_shapes() -> None:
    with torch.device("meta"):
        codec = Codec()
    ours = {name: list(tensor.shape) for name, tensor in codec.state_dict().items()}
    assert ours == dict(public_shapes())
    assert len(ours) == 382
    counts = [sum(each.numel() for each in part.parameters()) for part in (codec.encoder, codec.decoder)]
    assert counts == [55_439_171, 39_947_833]
    assert codec.spec.stride == 16
    assert codec.spec.codes == 8192


# The equations, written a second time.


class Equations:
    """Encoder and decoder as functions of a table of weights."""

    def __init__(self, codec: Codec) -> None:
        self.weights, self.spec = codec.state_dict(), codec.spec

    def conv(self, name: str, x: Tensor, **how: int) -> Tensor:
        return functional.conv2d(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], **how)

    def norm(self, name: str, x: Tensor) -> Tensor:
        parts = x.reshape(len(x), self.spec.groups, -1)
        mean, variance = parts.mean(2, keepdim=True), parts.var(2, keepdim=True, unbiased=False)
        normed = ((parts - mean) / (variance + 1e-6).sqrt()).reshape(x.shape)
        weight, bias = (self.weights[f"{name}.{each}"][:, None, None] for each in ("weight", "bias"))
        out: Tensor = normed * weight + bias
        return out

    def activated(self, name: str, x: Tensor) -> Tensor:
        h = self.norm(name, x)
        return h * h.sigmoid()

    def block(self, name: str, x: Tensor) -> Tensor:
        h = self.conv(f"{name}.conv1", self.activated(f"{name}.norm1", x), padding=1)
        h = self.conv(f"{name}.conv2", self.activated(f"{name}.norm2", h), padding=1)
        changed = f"{name}.nin_shortcut.weight" in self.weights
        return h + (self.conv(f"{name}.nin_shortcut", x) if changed else x)

    def attention(self, name: str, x: Tensor) -> Tensor:
        h = self.norm(f"{name}.norm", x)
        q, k, v = (self.conv(f"{name}.{each}", h).flatten(2) for each in "qkv")  # [B, C, HW]
        weights = (torch.einsum("bci,bcj->bij", q, k) * x.shape[1] ** -0.5).softmax(2)
        return x + self.conv(f"{name}.proj_out", torch.einsum("bij,bcj->bci", weights, v).reshape(x.shape))

    def middle(self, name: str, x: Tensor) -> Tensor:
        return self.block(f"{name}.block_2", self.attention(f"{name}.attn_1", self.block(f"{name}.block_1", x)))

    def encoder(self, x: Tensor) -> Tensor:
        x = self.conv("encoder.conv_in", x, padding=1)
        for level, blocks in enumerate(self.spec.encoder_blocks):
            for block in range(blocks):
                x = self.block(f"encoder.down.{level}.block.{block}", x)
            if level < len(self.spec.encoder_blocks) - 1:
                beyond = functional.pad(x, (0, 1, 0, 1))
                x = self.conv(f"encoder.down.{level}.downsample.conv", beyond, stride=2)
        x = self.activated("encoder.norm_out", self.middle("encoder.mid", x))
        return self.conv("encoder.quant_conv", self.conv("encoder.conv_out", x, padding=1))

    def decoder(self, signs: Tensor) -> Tensor:
        x = self.conv("decoder.conv_in", self.conv("decoder.post_quant_conv", signs), padding=1)
        x = self.middle("decoder.mid", x)
        for level in reversed(range(len(self.spec.decoder_blocks))):
            for block in range(self.spec.decoder_blocks[level]):
                x = self.block(f"decoder.up.{level}.block.{block}", x)
            if level:
                twice = x.repeat_interleave(2, 2).repeat_interleave(2, 3)
                x = self.conv(f"decoder.up.{level}.upsample.conv", twice, padding=1)
        return self.conv("decoder.conv_out", self.activated("decoder.norm_out", x), padding=1)

    def digits(self, codes: Tensor) -> Tensor:
        """Signs of codes by Python's own binary numbers."""
        texts = [f"{code:0{self.spec.bits}b}" for code in codes.flatten().tolist()]
        signs = torch.tensor([[1.0 if digit == "1" else -1.0 for digit in text] for text in texts])
        return signs.reshape(*codes.shape, self.spec.bits).movedim(3, 1)


@pytest.mark.parametrize("spec", [SMALL, replace(SMALL, image_channels=3, encoder_multipliers=(2, 1, 4), groups=8)])
def test_encoder_and_decoder_are_their_equations(spec: CodecSpec) -> None:
    codec = random_codec(spec)
    equations, images, codes = Equations(codec), random_images(2, spec.image_channels, 16, 24), random_codes(2, 4, 6)
    z = equations.encoder(images)
    assert z.std() > 0.1
    torch.testing.assert_close(codec.encoder(images), z, atol=1e-5, rtol=1e-5)
    decoded = equations.decoder(equations.digits(codes))
    assert decoded.std() > 0.1
    torch.testing.assert_close(codec.decode(codes), decoded, atol=1e-5, rtol=1e-5)
    signs = torch.where(z > 0, 1.0, -1.0)
    assert torch.equal(equations.digits(codec.encode(images)), signs)


# Codes and bits.


@pytest.mark.parametrize("bits", [1, 10, 13])
def test_codes_become_bits_and_come_back(bits: int) -> None:
    quantiser, codes = Quantiser(bits), torch.arange(2**bits).reshape(1, 2, -1)
    signs = quantiser.signs_of(codes)
    assert signs.shape == (1, bits, *codes.shape[1:])
    assert set(signs.unique().tolist()) == {-1.0, 1.0}
    assert torch.equal(quantiser.codes_of(signs), codes)


def test_channel_0_is_the_most_significant_bit_and_zero_counts_as_minus_one() -> None:
    quantiser = Quantiser(13)
    signs = quantiser.signs_of(torch.tensor([[[0, 1, 4096]]]))[0, :, 0]  # [bits, code]
    assert signs[:, 0].tolist() == [-1.0] * 13
    assert signs[:, 1].tolist() == [-1.0] * 12 + [1.0]
    assert signs[:, 2].tolist() == [1.0] + [-1.0] * 12
    assert quantiser.codes_of(torch.zeros(1, 13, 1, 1)).item() == 0


# Sizes and memory.


@pytest.mark.parametrize(("height", "width"), [(4, 4), (32, 32), (8, 20), (64, 4)])
def test_images_of_all_sizes_that_the_stride_divides(codec: Codec, height: int, width: int) -> None:
    codes = codec.encode(random_images(2, 1, height, width))
    assert codes.dtype == torch.int64
    assert codes.shape == (2, height // 4, width // 4)
    images = codec.decode(codes.int())
    assert images.shape == (2, 1, height, width)
    assert not images.requires_grad


def test_a_low_ceiling_gives_what_all_at_once_gives(codec: Codec) -> None:
    images, low = random_images(5, 1, 16, 16), 16 * 16 * SMALL.bytes_per_pixel(4) * 2.5 / 2**30
    assert codec.images_at_a_time(16, 16) >= 5
    assert codec.images_at_a_time(16, 16, low) == 2
    assert codec.images_at_a_time(16, 16, 1e-12) == 1
    assert codec.images_at_a_time(16, 16, float("inf")) > 1000
    codes = codec.encode(images)
    assert torch.equal(codec.encode(images, low), codes)
    torch.testing.assert_close(codec.decode(codes, low), codec.decode(codes), atol=1e-6, rtol=1e-6)


def test_memory_is_estimated_by_the_widest_level() -> None:
    assert CodecSpec().bytes_per_pixel(4) == 6 * 128 * 4
    assert CodecSpec().bytes_per_pixel(2) == 6 * 128 * 2
    assert replace(SMALL, decoder_multipliers=(1, 3, 2)).bytes_per_pixel(4) == 6 * 3 * 8 * 4  # level 1, brought to 0


def test_images_come_in_any_precision(codec: Codec) -> None:
    images = random_images(1, 1, 16, 16)
    assert torch.equal(codec.encode(images.double()), codec.encode(images))


# What is refused.


def test_images_and_codes_that_do_not_fit_are_refused(codec: Codec) -> None:
    wrong: list[tuple[str, Call]] = [
        (r"multiples of 4; got 18×16.*16×16", lambda: codec.encode(torch.zeros(1, 1, 18, 16))),
        (r"multiples of 4; got 2×16.*4×16", lambda: codec.encode(torch.zeros(1, 1, 2, 16))),
        (r"\[B, 1, H, W\].*got \[1, 3, 16, 16\]", lambda: codec.encode(torch.zeros(1, 3, 16, 16))),
        (r"floating-point numbers from −1 to 1.*uint8", lambda: codec.encode(torch.zeros(1, 1, 16, 16).byte())),
        (r"at least one", lambda: codec.encode(torch.zeros(0, 1, 16, 16))),
        (r"codes must be from 0 to 1023; got 1024", lambda: codec.decode(torch.tensor([[[0, 1024]]]))),
        (r"codes must be from 0 to 1023; got -1", lambda: codec.decode(torch.tensor([[[0, -1]]]))),
        (r"\[B, h, w\].*got \[1, 64\]", lambda: codec.decode(torch.zeros(1, 64).long())),
        (r"whole numbers.*float32", lambda: codec.decode(torch.zeros(1, 4, 4))),
        (r"ceiling must be above 0 GiB; got 0", lambda: codec.encode(torch.zeros(1, 1, 16, 16), 0)),
    ]
    for said, call in wrong:
        with pytest.raises(InputError, match=said):
            call()
    with pytest.raises(NumericsError, match="not finite"):
        codec.encode(torch.full((1, 1, 16, 16), float("nan")))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"bits": 0}, r"bits of a codec must be a whole number from 1 on; got 0"),
        ({"bits": 21}, r"at most 20 bits"),
        ({"image_channels": 2}, r"1 channel \(grey\) or 3"),
        ({"channels": (8,)}, r"channels of a codec must be a whole number"),
        ({"encoder_blocks": 4}, r"encoder_blocks of a codec must be whole numbers from 1 on, one for each level"),
        ({"encoder_blocks": (1, 2.0, 1)}, r"one for each level; got \(1, 2.0, 1\)"),
        ({"decoder_blocks": ()}, r"one for each level; got \(\)"),
        ({"decoder_blocks": (1, 1)}, r"equally many levels; got 3, 3, 3, 2"),
        ({"groups": 3}, r"divisible by its 3 groups; got 8"),
    ],
)
def test_sizes_that_make_no_codec_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        replace(SMALL, **change)


# Files.


def test_a_saved_codec_is_loaded_again(codec: Codec, tmp_path: Path) -> None:
    save_codec(tmp_path / "new" / "codec", codec)
    loaded = load_codec(tmp_path / "new" / "codec")
    assert loaded.spec == SMALL
    assert not loaded.training
    assert not any(parameter.requires_grad for parameter in loaded.parameters())
    images = random_images(1, 1, 32, 32)
    codes = loaded.encode(images)
    assert torch.equal(codes, codec.encode(images))
    assert torch.equal(loaded.decode(codes), codec.decode(codes))
    halved = load_codec(tmp_path / "new" / "codec", dtype=torch.bfloat16)
    assert halved.decode(codes).dtype == torch.bfloat16


def changed_file(codec: Codec, folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    save_codec(folder, codec)
    path = folder / "pytorch_model.safetensors"
    tensors = load_file(path)
    change(tensors)
    path.unlink()
    save_file(tensors, folder / "model.safetensors")


def test_the_quantisers_tensors_are_not_needed_but_must_be_right(codec: Codec, tmp_path: Path) -> None:
    def without(tensors: dict[str, Tensor]) -> None:
        del tensors["quantize.embedding"], tensors["quantize.power_vals"]

    def turn(tensors: dict[str, Tensor]) -> None:
        tensors["quantize.power_vals"] = 2 ** torch.arange(10)

    changed_file(codec, tmp_path / "without", without)
    assert torch.equal(load_codec(tmp_path / "without").quantize.embedding, codec.quantize.embedding)
    changed_file(
        codec, tmp_path / "turned", lambda tensors: tensors["quantize.power_vals"].copy_(2 ** torch.arange(10))
    )
    with pytest.raises(InputError, match=r"quantize.power_vals must number codes.*the highest bit"):
        load_codec(tmp_path / "turned")


def test_one_error_names_all_that_is_wrong_with_weights(codec: Codec, tmp_path: Path) -> None:
    def spoil(tensors: dict[str, Tensor]) -> None:
        tensors["encoder.conv_ni.bias"] = tensors.pop("encoder.conv_in.bias")
        tensors["decoder.norm_out.weight"] = torch.zeros(9)

    changed_file(codec, tmp_path, spoil)
    said = (
        r"sizes in codec.json. Missing: encoder.conv_in.bias. Not known: encoder.conv_ni.bias. "
        r"Of another shape: decoder.norm_out.weight is \[9\], not \[8\]."
    )
    with pytest.raises(InputError, match=said):
        load_codec(tmp_path)
    (tmp_path / "codec.json").unlink()
    with pytest.raises(InputError, match=r"MAGVIT-v2's sizes. Missing: .* and \d+ more.*put the codec.json that"):
        load_codec(tmp_path)


def test_a_pickle_of_tensors_is_read_and_no_other(codec: Codec, tmp_path: Path) -> None:
    save_codec(tmp_path, codec)
    (tmp_path / "pytorch_model.safetensors").unlink()
    path = tmp_path / "pytorch_model.bin"
    torch.save(codec.state_dict(), path)
    codes = random_codes(1, 2, 2)
    assert torch.equal(load_codec(tmp_path).decode(codes), codec.decode(codes))
    torch.save({"state_dict": codec.state_dict()}, path)
    with pytest.raises(InputError, match="tensors by their names, and nothing else"):
        load_codec(tmp_path)
    torch.save(codec, path)  # would run code
    with pytest.raises(InputError, match="cannot be read as weights"):
        load_codec(tmp_path)


def test_folders_without_what_is_needed_are_refused(codec: Codec, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no folder\. Put the pytorch_model.safetensors of showlab/magvitv2"):
        load_codec(tmp_path / "absent")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"must hold pytorch_model.safetensors or model.*holds config.json"):
        load_codec(tmp_path)
    (tmp_path / "model.safetensors").write_text("no weights")
    with pytest.raises(InputError, match=r"model.safetensors cannot be read as weights"):
        load_codec(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda sizes: sizes.pop("bits"), r"must hold 'bits'"),
        (lambda sizes: sizes.update(bit=10), r"unknown size of a codec 'bit'.*Did you mean 'bits'"),
        (lambda sizes: sizes.update(bits="10"), r"bits of a codec must be a whole number"),
    ],
)
def test_a_codec_json_must_tell_all_sizes(
    codec: Codec, tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    save_codec(tmp_path, codec)
    sizes = json.loads((tmp_path / "codec.json").read_text())
    change(sizes)
    (tmp_path / "codec.json").write_text(json.dumps(sizes))
    with pytest.raises(InputError, match=said):
        load_codec(tmp_path)


# Pixels.


def test_pixels_become_numbers_from_minus_one_to_one_and_come_back() -> None:
    image = pytest.importorskip("PIL.Image")
    shades = image.frombytes("L", (16, 16), bytes(range(256)))
    numbers = pixels.to_tensor(shades, 1)
    assert numbers.shape == (1, 16, 16)
    assert (numbers[0, 0, 0].item(), numbers[0, 15, 15].item()) == (-1.0, 1.0)
    assert numbers[0, 0, 1] < numbers[0, 1, 0]  # row by row
    back = list(pixels.to_image(numbers).tobytes())
    assert all(0 <= value - found <= 1 for value, found in zip(range(256), back, strict=True))
    assert list(pixels.to_image(torch.tensor([[[-9.0, 9.0, 0.0, 0.999]]])).tobytes()) == [0, 255, 127, 254]


def test_colours_are_those_that_the_codec_has() -> None:
    image = pytest.importorskip("PIL.Image")
    red = image.new("RGB", (4, 2), (255, 0, 0))
    assert pixels.to_tensor(red, 3)[:, 0, 0].tolist() == [1.0, -1.0, -1.0]
    assert pixels.to_tensor(red, 1).shape == (1, 2, 4)
    assert pixels.to_image(pixels.to_tensor(red, 3)).getpixel((3, 1)) == (255, 0, 0)
    for mode in ("1", "LA", "P", "RGBA", "CMYK"):
        assert pixels.to_tensor(red.convert(mode), 3).shape == (3, 2, 4)
    see_through = red.convert("P")
    see_through.info["transparency"] = bytes(range(256))
    assert pixels.to_tensor(see_through, 3)[0, 0, 0] == 1
    with pytest.raises(InputError, match="8 bits per channel; got Pillow's mode I;16"):
        pixels.to_tensor(image.new("I;16", (4, 4)), 1)


@pytest.mark.parametrize(
    ("size", "target"), [((80, 20), (8, 8)), ((20, 80), (8, 8)), ((30, 30), (4, 12)), ((3, 2), (8, 8))]
)
def test_the_middle_of_an_image_is_kept(size: tuple[int, int], target: tuple[int, int], tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    picture = image.new("L", size)
    width, height = size
    picture.putdata([255 if (x < width / 2) else 0 for _ in range(height) for x in range(width)])
    picture.save(tmp_path / "half.png")
    (found,) = pixels.read_images([tmp_path / "half.png"], 1, *target)
    assert found.shape == (1, *target)
    if size != (3, 2):  # the middle column is white
        assert found[0, :, 0].min() > 0.9
        assert found[0, :, -1].max() < -0.9


def test_an_image_file_goes_through_a_codec_and_back(codec: Codec, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / "photo.jpg"
    exif = image.Exif()
    exif[0x0112] = 6  # lies on its side
    image.new("RGB", (48, 32), (200, 100, 50)).save(path, exif=exif)
    assert pixels.open_image(path).size == (32, 48)
    batch = pixels.read_images([path, str(path)], SMALL.image_channels, 32, 32)
    decoded = codec.decode(codec.encode(batch))
    pixels.write_png(tmp_path / "decoded.png", decoded[0])
    with image.open(tmp_path / "decoded.png") as written:
        assert (written.format, written.mode, written.size) == ("PNG", "L", (32, 32))


def test_files_and_tensors_that_are_no_images_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "text.png").write_text("no image")
    image.effect_noise((64, 64), 50).save(tmp_path / "cut.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "cut.png").read_bytes()[:1000])
    for name in ("absent.png", "text.png", "cut.png"):
        with pytest.raises(InputError, match=rf"{name} must be an image that Pillow reads"):
            pixels.open_image(tmp_path / name)
    wrong: list[tuple[str, Call]] = [
        (r"at least one image", lambda: pixels.read_images([], 3, 8, 8)),
        (r"at least 1; got 0×8", lambda: pixels.cover(image.new("L", (8, 8)), 0, 8)),
        (r"1 channel \(grey\) or 3 \(RGB\); got 2", lambda: pixels.to_image(torch.zeros(2, 8, 8))),
        (r"\[C, H, W\].*got \[1, 3, 8, 8\].*one image of a batch", lambda: pixels.to_image(torch.zeros(1, 3, 8, 8))),
    ]
    for said, call in wrong:
        with pytest.raises(InputError, match=said):
            call()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InputError, match=r"needs Pillow: pip install 'infogain\[images\]'"):
        pixels.open_image(tmp_path / "text.png")


def test_the_examples_of_the_docs_run(codec: Codec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one on a small codec in place of MAGVIT-v2, and on the CPU."""
    image = pytest.importorskip("PIL.Image")
    page = (Path(__file__).parents[2] / "docs" / "images.md").read_text(encoding="utf-8")
    begin, again, whole, small = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    exec(begin, names)
    exec(again, names)  # the image that the first one saved
    exec(small, names)
    assert names["codec"].encode(random_images(1, 1, 32, 32)).shape == (1, 8, 8)
    assert names["small"].codes == 1024
    save_codec("magvitv2", random_codec(replace(SMALL, image_channels=3)))
    image.new("RGB", (60, 40)).save("cat.jpg")
    exec(whole.replace("512", "32").replace("cuda", "cpu"), names)
    with image.open("again.png") as decoded:
        assert decoded.size == (32, 32)
