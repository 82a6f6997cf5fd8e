"""Models of the zoo that write pictures: their data, codec, classifier, scores, and the program that trains them."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

import infogain
from infogain import InputError
from infogain.images.codec import Codec
from infogain.images.generate_images import image_recipe
from infogain.images.grey_levels import GreyLevels
from infogain.images.image_model import CODEC, load_image_model
from infogain.images.many_images import write_many
from infogain.load import find_checkpoint
from infogain.zoo.pictures.classifier import Classifier, moved, train_classifier
from infogain.zoo.pictures.codec_training import SMALL_CODEC, code_entropies, codec_loss, train_codec
from infogain.zoo.pictures.picture_scores import Reference, score_pictures
from infogain.zoo.pictures.picture_sets import BORDER, FASHION, Pictures, PictureSet, fashion, read_idx
from infogain.zoo.pictures.short_run import ShortRun, shuffled
from infogain.zoo.pictures.train_pictures import COPIES, HELD_OUT, PictureSettings, main, pool
from infogain.zoo.pictures.train_pictures import held_out as held_out_of

TINY_CODEC = replace(SMALL_CODEC, channels=8, bits=4)
CPU = torch.device("cpu")
BRIEF = ShortRun(minutes=5, rate=5e-3, steps=80, warm_up=5)
SETTINGS = PictureSettings(pictures="digits", layers=1, width=16, heads=2, intermediate=16)


def squares(count: int, size: int = 8) -> Pictures:
    """Two classes that are easy to tell apart: the left half is white, or the upper one, in shades."""
    pixels, labels = torch.full((count, 1, size, size), -1.0), torch.arange(count) % 2
    shade = torch.linspace(0.2, 1, count)[:, None, None]
    pixels[labels == 0, 0, :, : size // 2] = shade[labels == 0]
    pixels[labels == 1, 0, : size // 2] = shade[labels == 1]
    return Pictures(pixels, labels)


def write_idx(path: Path, values: Tensor) -> None:
    sizes = b"".join(size.to_bytes(4, "big") for size in values.shape)
    head = bytes([0, 0, 8, values.dim()])
    path.write_bytes(gzip.compress(head + sizes + bytes(values.flatten().tolist())))


def write_fashion(folder: Path, count: int = 40) -> Path:
    """Files of Fashion-MNIST's names and format, with a few pictures of noise."""
    generator = torch.Generator().manual_seed(0)
    for name in ("train", "t10k"):
        pixels = torch.randint(256, (count, 28, 28), generator=generator)
        write_idx(folder / f"{name}-images-idx3-ubyte.gz", pixels)
        write_idx(folder / f"{name}-labels-idx1-ubyte.gz", torch.arange(count) % 10)
    return folder


def test_fashion_is_read_as_published_in_a_black_border(tmp_path: Path) -> None:
    write_fashion(tmp_path)
    found = fashion(tmp_path)
    raw = read_idx(tmp_path / "train-images-idx3-ubyte.gz")
    assert raw.shape == (40, 28, 28)
    assert found.train.pixels.shape == (40, 1, 32, 32)
    inner = found.train.pixels[:, 0, BORDER:-BORDER, BORDER:-BORDER]
    assert torch.allclose(inner, raw / 127.5 - 1)
    assert (found.train.pixels[:, :, :BORDER] == -1).all()
    assert (found.train.pixels[..., -BORDER:] == -1).all()
    assert found.test.labels.tolist() == [i % 10 for i in range(40)]
    assert len(found.classes) == 10


def test_files_that_are_missing_or_broken_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train-images-idx3-ubyte\.gz must be one of Fashion-MNIST's four files"):
        fashion(tmp_path)
    write_fashion(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(b"no gzip")
    with pytest.raises(InputError, match="t10k-labels"):
        fashion(tmp_path)


def test_batches_hold_every_picture_once_before_any_comes_again() -> None:
    found = shuffled(12, 4, 1, CPU)
    rounds = [torch.cat([next(found) for _ in range(3)]).tolist() for _ in range(3)]
    assert all(sorted(each) == list(range(12)) for each in rounds)
    assert rounds[0] != rounds[1]
    assert len(next(shuffled(3, 4, 1, CPU))) == 3  # fewer than a batch


def test_entropies_of_codes_are_low_where_codes_are_sure_and_varied() -> None:
    codec = Codec(TINY_CODEC)
    every = codec.quantize.embedding.T[None, :, None, :]  # all 16 codes once: [1, 4, 1, 16]
    sure_and_varied, unsure = code_entropies(codec, 9 * every), code_entropies(codec, 0 * every)
    one_code = code_entropies(codec, 9 * every[..., :1].expand(-1, -1, -1, 16))
    assert float(sure_and_varied) == pytest.approx(-torch.tensor(16.0).log().item(), abs=1e-3)
    assert float(unsure) == pytest.approx(0, abs=1e-3)
    assert float(one_code) == pytest.approx(0, abs=1e-3)


def test_gradients_pass_the_signs_to_the_encoder() -> None:
    codec = Codec(TINY_CODEC)
    loss, parts = codec_loss(codec, squares(4).pixels)
    loss.backward()
    gradient = codec.encoder.conv_in.weight.grad
    assert gradient is not None
    assert float(gradient.abs().max()) > 0
    assert set(parts) == {"pixels", "codes", "commitment"}


def test_a_codec_learns_to_return_pictures() -> None:
    pixels = squares(32).pixels
    before, after = (train_codec(TINY_CODEC, pixels, replace(BRIEF, steps=steps, rows=16)) for steps in (1, 120))
    lost = [float((codec.decode(codec.encode(pixels)) - pixels).square().mean()) for codec in (before, after)]
    assert lost[1] < lost[0] / 3


def test_a_classifier_learns_and_loads_as_it_was_saved(tmp_path: Path) -> None:
    pictures = squares(64)
    model = train_classifier(pictures, 2, 4, BRIEF)
    assert float((model.read(pictures.pixels)[1] == pictures.labels).float().mean()) > 0.95
    model.save(tmp_path)
    again = Classifier.load(tmp_path)
    features, classes = again.read(pictures.pixels)
    assert torch.allclose(features, model.read(pictures.pixels)[0], atol=2e-2)
    assert torch.equal(classes, model.read(pictures.pixels)[1])


def test_pictures_are_moved_by_a_sixteenth_of_their_height() -> None:
    torch.manual_seed(0)
    dot = torch.full((1, 1, 32, 32), -1.0)
    dot[0, 0, 16, 16] = 1.0
    places = {tuple(torch.nonzero(moved(dot)[0, 0] == 1)[0].tolist()) for _ in range(300)}
    assert places == {(16 + a, 16 + b) for a in range(-2, 3) for b in range(-2, 3)}
    assert torch.equal(moved(dot[:, :, 12:20, 12:20]), dot[:, :, 12:20, 12:20])


def test_scores_tell_copies_noise_and_the_data_apart() -> None:
    pictures = squares(64)
    model = train_classifier(pictures, 2, 4, BRIEF)
    reference = Reference.of(model.read(pictures.pixels)[0], pictures.labels)
    same = score_pictures(model, reference, *pictures)
    assert same.frechet == pytest.approx(0, abs=1e-6)
    assert same.spread == pytest.approx(1)
    assert same.distinct == 1
    first = Pictures(pictures.pixels[:2].repeat(32, 1, 1, 1), pictures.labels)
    copies = score_pictures(model, reference, *first)
    assert copies.distinct == 2 / 64
    assert copies.spread == pytest.approx(0, abs=1e-3)
    assert copies.frechet > 10 * abs(same.frechet)
    swapped = score_pictures(model, reference, pictures.pixels, 1 - pictures.labels)
    assert swapped.accuracy == pytest.approx(1 - same.accuracy)


def test_one_copy_of_each_picture_in_ten_is_without_its_class() -> None:
    pictures = squares(41)
    every = PictureSet(("left", "upper"), pictures, pictures, "squares")
    rows = pool(SETTINGS, every, GreyLevels(17))
    held = held_out_of(SETTINGS, every, GreyLevels(17))
    assert len(held.tokens) == len(range(0, 41, HELD_OUT))
    learnt = 41 - len(held.tokens)
    assert rows.tokens.shape == (COPIES * learnt, 65)
    without = (rows.tokens[:, 0] == SETTINGS.tokens.no_class).view(COPIES, learnt)
    assert without.sum(0).tolist() == [1] * learnt
    assert not rows.holes[:, 0].any()
    assert rows.holes[:, 1:].all()
    assert not (held.tokens[:, 0] == SETTINGS.tokens.no_class).any()


def test_the_program_leaves_a_folder_that_writes_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of it in small: classifier, codec, model, card. Run again, it goes on without training what is there."""
    data, out = tmp_path / "data", tmp_path / "made"
    data.mkdir()
    write_fashion(data)
    sizes = ["--layers", "1", "--width", "16", "--heads", "2", "--intermediate", "16", "--rows", "8", "--steps", "3"]
    short = ["--codec-minutes", "0.01", "--classifier-minutes", "0.01", "--images", "20", "--device", "cpu"]
    main(["--out", str(out), "--data", str(data), *sizes, *short])
    codec = (out / CODEC / "pytorch_model.safetensors").read_bytes()
    main(["--out", str(out), "--data", str(data), *sizes, *short])
    assert "going on at step 3" in capsys.readouterr().out
    assert (out / CODEC / "pytorch_model.safetensors").read_bytes() == codec
    card = json.loads((out / "card.json").read_text())
    assert [(score["steps"], score["n"]) for score in card["scores"]] == [(64, 20), (16, 20), (5, 20)]
    assert "| uniform | 64 | 20 |" in (out / "README.md").read_text()
    (one,) = infogain.generate_images(load_image_model(out), "ankle boot", steps=2)
    assert one.pixels.shape == (1, 32, 32)


def test_digits_come_from_scikit_learn_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--data must be unset"):
        main(["--out", str(tmp_path), "--pictures", "digits", "--data", str(tmp_path)])


def test_too_few_images_for_a_score_are_refused_before_training(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--images must be at least 20, two of each class; got 10"):
        main(["--out", str(tmp_path / "none"), "--images", "10"])
    assert not (tmp_path / "none").exists()


# What comes with the package


@pytest.mark.parametrize("name", ["tiny-image", "tiny-digits"])
def test_what_ships_is_what_its_card_says(name: str) -> None:
    folder = find_checkpoint(f"zoo:{name}")
    card = json.loads((folder / "card.json").read_text())
    settings = PictureSettings(**card["settings"])
    model = load_image_model(f"zoo:{name}")
    assert model.denoiser.transformer.spec.parameters == settings.spec.parameters == card["parameters"]
    assert (folder / "README.md").read_text().startswith(f"# {name}\n")
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= 12.5 * 2**20


def test_tiny_image_is_little_further_from_the_data_than_its_codec() -> None:
    card = json.loads((find_checkpoint("zoo:tiny-image") / "card.json").read_text())
    (whole,) = [score for score in card["scores"] if score["steps"] == 64]
    assert whole["n"] == card["codec"]["coded"]["n"] == 10_000
    assert whole["frechet"] <= 2 * card["codec"]["coded"]["frechet"] + 0.5
    assert card["codec"]["codes in use"] == 1024


def test_tiny_image_writes_what_it_is_asked_for() -> None:
    """Twenty pictures of two classes: the shipped classifier knows most of them, and all are different."""
    model = load_image_model("zoo:tiny-image")
    prompts = ["trouser", "ankle boot"] * 10
    recipe = image_recipe(model, None, {"steps": 8, "shape": "cosine"})
    codes = write_many(model, prompts, recipe, rows=7).codes
    found = Classifier.load(find_checkpoint("zoo:tiny-image")).read(model.coder.decode(codes))[1]
    wanted = torch.tensor([FASHION.index(prompt) for prompt in prompts])
    assert float((found == wanted).float().mean()) >= 0.8
    assert len(torch.unique(codes.flatten(1), dim=0)) == 20


def test_many_images_are_those_that_generate_images_writes() -> None:
    model = load_image_model("zoo:tiny-digits")
    prompts = ["three", "", "nine"]
    recipe = image_recipe(model, "info-gain", {"steps": 4, "guidance": 1.0, "seed": 5})
    many = write_many(model, prompts, recipe, rows=2)
    for i, one in enumerate(infogain.generate_images(model, prompts, recipe)):
        assert torch.equal(many.codes[i], one.codes)
        assert float(many.entropy[i]) == pytest.approx(one.cumulative_entropy)
        assert int(many.token_forwards[i]) == one.token_forwards
