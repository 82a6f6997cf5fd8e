"""Images from prompts: MMaDA's layout, classes, guidance, images that are given in part, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import Tensor

import infogain
from infogain import InputError, NumericsError, OptionError, UnknownName
from infogain.errors import ContextError
from infogain.images.generate_images import image_job, image_recipe
from infogain.images.given_image import GivenImage
from infogain.images.grey_levels import GreyLevels
from infogain.images.image_layout import LONGEST, MmadaLayout
from infogain.images.image_model import ImageModel, load_image_model
from infogain.images.image_tokens import ImageTokens
from infogain.samplers import Sampler, make
from infogain.text.tokenizer import HubTokenizer
from tests.cases import ALL, label
from tests.image_models import CLASSES, CODES, SPEC, STRIDE, write_classes, write_codec, write_mmada

pytest.importorskip("transformers")
image = pytest.importorskip("PIL.Image")

STEPS: dict[str, Any] = {"steps": 4, "shape": "cosine"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    write_mmada(path / "mmada")
    write_codec(path / "magvit")
    write_classes(path / "classes")
    write_classes(path / "coded", replace(CLASSES, codes=CODES, height=2, width=2, channels=3), codec=True)
    return path


@pytest.fixture(scope="module")
def mmada(folder: Path) -> ImageModel:
    return load_image_model(folder / "mmada", folder / "magvit")


@pytest.fixture(scope="module")
def classes(folder: Path) -> ImageModel:
    return load_image_model(folder / "classes")


def own(model: ImageModel) -> MmadaLayout:
    assert isinstance(model.layout, MmadaLayout)
    return model.layout


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_text_becomes_codes_and_codes_become_pixels(mmada: ImageModel, sampler: Sampler) -> None:
    """Guided, with every sampler: each code is written once, and pixels are the codec's of these codes."""
    prompts = ["the cat sat", "", "hello to twelve dogs"]
    images = infogain.generate_images(mmada, prompts, sampler, size=(8, 16), guidance=1.5, **STEPS)
    for prompt, one in zip(prompts, images, strict=True):
        assert (one.prompt, one.committed, tuple(one.codes.shape)) == (prompt, 8, (2, 4))
        assert 0 <= int(one.codes.min()) <= int(one.codes.max()) < CODES
        assert int(one.revealed.min()) == 0
        assert torch.equal(one.pixels, mmada.coder.decode(one.codes[None])[0])
        assert one.image.size == (16, 8)
        assert one.recipe["guidance"] == 1.5
        assert one.provenance["codec"].endswith("magvit")
        json.dumps(one.plain())


def test_guidance_is_that_of_mmadas_own_rows(mmada: ImageModel) -> None:
    """Its program's rows: prompts padded on the left to 513 tokens, the pads hidden; both kinds combined by hand."""
    layout, backbone, prompts = own(mmada), mmada.denoiser, ["the cat sat on the mat", "hello"]
    generator = torch.Generator().manual_seed(3)
    codes = torch.randint(CODES, (2, 12), generator=generator)
    hidden = torch.rand(2, 12, generator=generator) < 0.5
    image_ids = torch.where(hidden, backbone.mask_id, layout.first_code + codes)

    def logits(prompt: list[int], row: Tensor) -> Tensor:
        pads = LONGEST + 1 - len(prompt)
        tokens = torch.tensor([*[0] * pads, *prompt, *row.tolist(), *layout.after])[None]
        column = torch.arange(tokens.shape[1])[None]
        with torch.no_grad():
            x = backbone.transformer(tokens, column, (column >= pads)[:, None])
            every = backbone.transformer.logits(x)
        assert tokens.shape[1] == 514 + 12 + 1
        return every[0, 514:-1, layout.first_code : layout.first_code + CODES]

    rows = [
        [*layout.prompt(prompt), *row.tolist(), *layout.after] for prompt, row in zip(prompts, image_ids, strict=True)
    ]
    starts = [len(layout.prompt(prompt)) for prompt in prompts]
    canvas = infogain.Canvas.infill(rows, backbone.mask_id, starts).with_guidance([3.5, 1.0])
    _, ours = mmada.guided.prefill(canvas, starts, 12)
    for i, g in enumerate([3.5, 1.0]):
        theirs = (1 + g) * logits(layout.prompt(prompts[i]), image_ids[i]) - g * logits(layout.empty, image_ids[i])
        assert torch.allclose(ours[i], theirs, atol=2e-4, rtol=1e-5)


def test_a_prompt_has_mmadas_layout(mmada: ImageModel) -> None:
    layout = own(mmada)
    known = layout.tokenizer.tokenizer.get_vocab()
    soi, eoi, t2i = (known[f"<|reserved_token_{i}|>"] for i in (0, 1, 4))
    bos, eos = known["<|startoftext|>"], known["<|endoftext|>"]
    words = layout.tokenizer.encode("the cat")
    assert layout.prompt("the cat") == [t2i, bos, *words, eos, soi]
    assert layout.prompt("<|startoftext|>the cat") == [t2i, bos, *words, eos, soi]
    assert layout.empty == [t2i, bos, eos, soi]
    assert layout.after == [eoi]
    assert layout.first_code == len(known)
    long = layout.prompt("cat " * 2000)
    assert (len(long), long[-2:]) == (LONGEST + 1, [eos, soi])
    assert layout.word(words[0]) == layout.tokenizer.word(words[0])


class Fake:
    """A tokenizer of transformers, as far as a layout asks."""

    def __init__(self, tokens: dict[str, int], size: int, bos: int | None = None) -> None:
        self.tokens, self.size, self.bos_token_id, self.eos_token_id = tokens, size, bos, 1

    def get_vocab(self) -> dict[str, int]:
        return self.tokens

    def __len__(self) -> int:
        return self.size


def layout_of(tokens: dict[str, int], size: int, bos: int | None = 0, ids: int = 200_000) -> MmadaLayout:
    tokenizer: Any = HubTokenizer.__new__(HubTokenizer)
    tokenizer.tokenizer = Fake(tokens, size, bos)
    tokenizer.encode = lambda text: [7] * len(text)
    return MmadaLayout(tokenizer, 8192, ids)


def test_special_tokens_are_found_by_name_by_reserved_name_or_as_published() -> None:
    assert layout_of({"<|eoi|>": 3, "<|soi|>": 4, "<|t2i|>": 5}, 100).prompt("ab") == [5, 0, 7, 7, 1, 4]
    published = layout_of({}, 126349)
    assert (published.prompt("a"), published.after) == ([126088, 0, 7, 1, 126084], [126085])
    assert (published.first_code, published.first_code + published.codes - 1) == (126349, 134540)
    with pytest.raises(InputError, match=r"needs the token <\|eoi\|>"):
        layout_of({}, 100)
    with pytest.raises(InputError, match="tokenizer with a bos_token"):
        layout_of({"<|reserved_token_1|>": 3}, 100, bos=None).prompt("a")
    with pytest.raises(InputError, match="must stand behind the tokenizer's 100 tokens"):
        layout_of({"<|eoi|>": 3}, 100, ids=8000)


@pytest.mark.parametrize(("size", "cells"), [(512, (128, 128)), ((8, 24), (2, 6)), (4, (1, 1)), (None, (128, 128))])
def test_columns_come_from_the_size(mmada: ImageModel, size: Any, cells: tuple[int, int]) -> None:
    """The config of the tests says nothing of it, and MMaDA's own `num_vq_tokens` is not looked at."""
    job = image_job(mmada, ["the cat"], size)
    assert (job.height, job.width) == cells
    prompt = mmada.layout.prompt("the cat")
    assert job.rows == [[*prompt, *[mmada.denoiser.mask_id] * job.cells, *mmada.layout.after]]
    if cells[0] == 128:
        with pytest.raises(ContextError, match="128 columns"):
            infogain.generate_images(mmada, "the cat", size=size)


def test_only_codes_have_logits(mmada: ImageModel) -> None:
    vocabulary = mmada.denoiser.vocabulary
    assert (vocabulary.first, vocabulary.count) == (own(mmada).first_code, CODES)
    canvas = infogain.Canvas.infill([[1, mmada.denoiser.mask_id]], mmada.denoiser.mask_id)
    assert mmada.denoiser.prefill(canvas, [1], 1)[1].shape == (1, 1, CODES)


def test_the_models_own_recipe_holds_where_nothing_else_is_said(mmada: ImageModel, classes: ImageModel) -> None:
    (one,) = infogain.generate_images(mmada, "the cat", size=16)
    assert one.recipe["guidance"] == 3.5
    assert one.recipe["schedule"] == {"name": "steps", "count": 15, "shape": "cosine", "rounding": "down"}
    assert (one.recipe["sampler"]["name"], one.recipe["sampler"]["anneal"]) == ("confidence", "compound")
    (two,) = infogain.generate_images(mmada, "the cat", "info-gain", size=16, n=2)
    assert two.recipe["schedule"] == one.recipe["schedule"]
    assert (two.recipe["sampler"]["n"], two.recipe["guidance"]) == (2, 3.5)
    (three,) = infogain.generate_images(classes, "trouser")
    assert three.recipe["sampler"]["name"] == "uniform"
    assert (three.forwards, three.recipe["block"]) == (12, 0)
    (four,) = infogain.generate_images(classes, "trouser", "info-gain-images-5-steps")
    assert (int(four.revealed.max()), four.recipe["guidance"]) == (4, 3.5)


def test_rows_of_different_guidance_share_a_batch(classes: ImageModel) -> None:
    """A canvas may give each row its weight; every one comes out as it does alone."""
    layout, mask = classes.layout, classes.denoiser.mask_id
    rows = [layout.row(layout.prompt(name), [None] * 12, mask) for name in CLASSES.classes]
    canvas = infogain.Canvas.infill(rows, mask, [1, 1, 1]).with_guidance([0.0, 1.0, 4.0])
    together = infogain.decode(classes.guided, canvas, "info-gain", tau_token=1.0, k=3, seeds=[5, 6, 7])
    for i, g in enumerate([0.0, 1.0, 4.0]):
        (alone,) = infogain.generate_images(classes, CLASSES.classes[i], "info-gain", k=3, guidance=g, seeds=[5 + i])
        assert together.tokens[i, 1:].tolist() == alone.codes.flatten().tolist()
        assert alone.token_forwards * (1 if g else 2) == int(together.token_forwards[i])


def test_an_image_does_not_depend_on_its_batch(classes: ImageModel) -> None:
    prompts, seeds = ["trouser", "", "Ankle-Boot", "t-shirt", "ankle  boot"], [3, 1, 4, 1, 4]
    several = infogain.generate_images(classes, prompts, "info-gain", k=2, guidance=1.0, seeds=seeds, batch_size=2)
    for prompt, seed, one in zip(prompts, seeds, several, strict=True):
        (alone,) = infogain.generate_images(classes, prompt, "info-gain", k=2, guidance=1.0, seeds=[seed])
        assert torch.equal(one.codes, alone.codes)
        assert one.prompt == prompt
    assert torch.equal(several[2].codes, several[4].codes)  # one class, however it is written


def test_a_trace_is_kept_on_demand(classes: ImageModel) -> None:
    (one,) = infogain.generate_images(classes, "trouser", "entropy", k=3, trace=True)
    assert one.trace is not None
    assert len(one.trace.steps) == 4


# Images that are given in part


def picture(height: int, width: int, mode: str = "L", value: int = 255) -> Any:
    return image.new(mode, (width, height), value if mode in "1L" else (value,) * len(mode))


def test_what_is_given_stays(classes: ImageModel, tmp_path: Path) -> None:
    shown = picture(4, 3, value=64)  # the second of five levels
    mask = picture(4, 3, value=0)
    mask.paste(255, (0, 0, 2, 2))
    for one in (GivenImage(shown, mask), saved(tmp_path, shown, mask)):
        (made,) = infogain.generate_images(classes, "trouser", "info-gain", given=one, k=2)
        assert made.committed == 4
        new = torch.zeros(4, 3, dtype=torch.bool)
        new[:2, :2] = True
        assert (made.codes[~new] == 1).all()
        assert torch.equal(made.revealed >= 0, new)


def saved(folder: Path, shown: Any, mask: Any) -> GivenImage:
    shown.save(folder / "image.png")
    mask.convert("1").save(folder / "mask.png")
    return GivenImage(folder / "image.png", str(folder / "mask.png"))


def test_a_code_is_written_where_any_of_its_pixels_is_white(mmada: ImageModel) -> None:
    shown, mask = picture(8, 12, "RGB", 90), picture(8, 12, value=0)
    mask.putpixel((7, 3), 128)  # of the second code
    mask.putpixel((8, 7), 127)
    codes = GivenImage(shown, mask).codes(mmada.coder)
    whole = mmada.coder.encode(torch.full((1, 3, 8, 12), 90 / 255 * 2 - 1))[0].tolist()
    assert codes == [[whole[0][0], None, whole[0][2]], whole[1]]


def test_an_image_grows_on_each_side(mmada: ImageModel) -> None:
    shown = picture(8, 8, "RGB", 30)
    given = GivenImage(shown, extend=(4, 0, 8, 4))
    kept = mmada.coder.encode(torch.full((1, 3, 8, 8), 30 / 255 * 2 - 1))[0]
    (made,) = infogain.generate_images(mmada, "the cat", given=given, **STEPS)
    assert tuple(made.codes.shape) == (3, 5)
    assert torch.equal(made.codes[:2, 1:3], kept)
    assert (made.revealed[:2, 1:3] == -1).all()
    assert made.committed == 15 - 4
    assert made.image.size == (20, 12)


# What is refused


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (GivenImage(picture(4, 3)), "something must be left to write"),
        (GivenImage(picture(4, 3), picture(4, 3, value=0)), "something must be left to write"),
        (GivenImage(picture(4, 3), picture(3, 4)), "as large as its image, 4×3; got 3×4"),
        (GivenImage(picture(4, 3), picture(4, 3, "RGB")), "black and white"),
        (GivenImage(picture(4, 3, "RGB"), picture(4, 3)), "mode L, as the model's are; got RGB"),
        (GivenImage(picture(4, 3, "RGBA"), picture(4, 3)), "got RGBA"),
        (GivenImage(picture(5, 3), picture(5, 3)), "images of 4×3 pixels only; got 5×3"),
        (GivenImage(picture(4, 2), extend=(0, 0, 2, 0)), "images of 4×3 pixels only; got 4×4"),
        (GivenImage(picture(4, 3), extend=(1, 2, 3)), "extend must be four"),
        (GivenImage(picture(4, 3), extend=(0, 0, -1, 0)), "extend must be four"),
        (GivenImage("no-such.png"), "no-such.png must be an image"),
    ],
)
def test_images_and_masks_that_do_not_fit_are_refused(classes: ImageModel, given: GivenImage, said: str) -> None:
    with pytest.raises(InputError, match=said):
        infogain.generate_images(classes, "trouser", given=given)


def test_sizes_that_do_not_fit_are_refused(mmada: ImageModel, classes: ImageModel) -> None:
    for size in (10, (8, 9), (8,), (8, 8, 8), 0.5, -4, 0):
        with pytest.raises(InputError, match="multiples of 4 pixels"):
            infogain.generate_images(mmada, "the cat", size=size)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="knows images of 4×3 pixels only; got 8×8"):
        infogain.generate_images(classes, "trouser", size=8)
    with pytest.raises(InputError, match=r"height and width of images must be multiples of 4; got 6×8"):
        infogain.generate_images(mmada, "the cat", given=GivenImage(picture(6, 8, "RGB"), picture(6, 8)))
    given = GivenImage(picture(8, 8, "RGB"), extend=(4, 0, 0, 0))
    with pytest.raises(InputError, match="must have the size asked for, 16×16 with what is added to it; got 8×12"):
        infogain.generate_images(mmada, "the cat", size=16, given=given)


Call = Callable[[Any], Any]


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda m: infogain.generate_images(m, "trousers"), UnknownName, "trouser"),
        (lambda m: infogain.generate_images(m, "trouser", steps=0), OptionError, "at least 1; got 0"),
        (lambda m: infogain.generate_images(m, "trouser", "unifrom"), UnknownName, "uniform"),
        (lambda m: infogain.generate_images(m, "trouser", guidance=-1), OptionError, "guidance"),
        (lambda m: infogain.generate_images(m, "trouser", eos_ids=(3,)), InputError, "eos_ids must be unset"),
        (lambda m: infogain.generate_images(m, []), InputError, "at least one"),
        (lambda m: infogain.generate_images(m, cast("Any", [3])), InputError, "must be texts"),
        (lambda m: infogain.generate_images(m, "trouser", seeds=[1, 2]), InputError, "one per prompt"),
        (lambda m: infogain.generate_images(m, "trouser", batch_size=0), InputError, "at least 1"),
        (lambda m: m.coder.decode(torch.tensor([[[5]]])), InputError, "from 0 to 4; got 5"),
        (lambda m: m.coder.decode(torch.tensor([[[-1]]])), InputError, "from 0 to 4; got -1"),
    ],
)
def test_what_cannot_be_written_is_refused(classes: ImageModel, call: Call, kind: type, said: str) -> None:
    with pytest.raises(kind, match=said):
        call(classes)


def test_models_that_do_not_fit_are_refused(folder: Path, tmp_path: Path) -> None:
    from tests.parity.checkpoints import write_checkpoint

    with pytest.raises(InputError, match="is LLaDA, which writes texts"):
        load_image_model(write_checkpoint(tmp_path / "llada", "llada"))
    (tmp_path / "nothing").mkdir()
    with pytest.raises(InputError, match=r"codec's folder must hold pytorch_model\.safetensors"):
        load_image_model(folder / "mmada", tmp_path / "nothing")
    other = write_codec(tmp_path / "other", replace(SPEC, bits=4))
    with pytest.raises(InputError, match="equally many codes"):
        load_image_model(folder / "mmada", other)
    with pytest.raises(InputError, match="codec of its own"):
        load_image_model(folder / "classes", folder / "magvit")
    with pytest.raises(InputError, match=r"writes images\. Use infogain\.load_image_model"):
        infogain.load(folder / "classes")


def test_what_was_finished_is_kept_when_decoding_breaks_off(classes: ImageModel) -> None:
    broken = replace(classes, denoiser=Breaking(classes.denoiser, after=13))  # type: ignore[arg-type]
    with pytest.raises(NumericsError) as error:
        infogain.generate_images(broken, ["trouser", "T-shirt"], batch_size=1)
    assert error.value.finished is not None
    assert list(error.value.finished) == [0]


class Breaking(infogain.models.Wrapper):
    """Gives no numbers after so many calls."""

    def __init__(self, inner: Any, after: int) -> None:
        super().__init__(inner)
        self.left = after

    def at_masks(self, *given: Any) -> Any:
        self.left -= 1
        logits = self.inner.at_masks(*given)
        assert isinstance(logits, Tensor)
        return logits if self.left > 0 else logits * torch.nan


def test_grey_levels_are_their_own_codes() -> None:
    coder, codes = GreyLevels(17), torch.arange(17)[None, None]
    assert torch.equal(coder.encode(coder.decode(codes)), codes)
    assert [float(end) for end in coder.decode(codes).aminmax()] == [-1, 1]
    assert (coder.stride, coder.channels) == (1, 1)


def test_tokens_of_classes_are_read_back(tmp_path: Path) -> None:
    CLASSES.save(tmp_path)
    assert ImageTokens.read(tmp_path) == CLASSES
    assert (CLASSES.no_class, CLASSES.mask_id, CLASSES.columns) == (8, 9, 13)
    rows = CLASSES.rows(torch.zeros(2, 4, 3, dtype=torch.int64), torch.tensor([0, 2]))
    assert rows[:, 0].tolist() == [5, 7]
    assert torch.equal(CLASSES.grids(rows), torch.zeros(2, 4, 3))


def test_a_model_with_a_codec_of_its_own(folder: Path) -> None:
    model = load_image_model(folder / "coded")
    assert model.size == (2 * STRIDE, 2 * STRIDE)
    (one,) = infogain.generate_images(model, "", "entropy", k=2, guidance=1.0)
    assert one.pixels.shape == (3, 8, 8)
    assert model.layout.word(model.layout.empty[0]) == "no class"
    assert model.layout.word(model.layout.prompt("T-shirt")[0]) == "T-shirt"


def test_a_sampler_that_is_named_keeps_the_temperature_of_the_recipe(mmada: ImageModel, classes: ImageModel) -> None:
    """So samplers are compared at one temperature. Presets, options and samplers made by hand have their own."""
    for model in (mmada, classes):
        for name in ("entropy", "info-gain", "confidence", "uniform"):
            assert image_recipe(model, name).plain()["sampler"]["tau_token"] == 1.0
        several = image_recipe(model, "best-of-n").plain()["sampler"]
        assert several["base"]["tau_token"] == 1.0
        assert image_recipe(model, "info-gain", {"tau_token": 0.4}).plain()["sampler"]["tau_token"] == 0.4
        assert image_recipe(model, make("info-gain")).plain()["sampler"]["tau_token"] == 0.7
        assert image_recipe(model, "info-gain-images").plain()["sampler"]["tau_token"] == 0.4


def test_a_sampler_may_be_a_table_over_the_models_own_recipe(mmada: ImageModel) -> None:
    named, table = image_recipe(mmada, "info-gain", {"n": 2}), image_recipe(mmada, {"name": "info-gain", "n": 2})
    assert named == table
    with pytest.raises(InputError, match="a sampler is named once"):
        image_recipe(mmada, "uniform", {"sampler": "entropy"})


def test_a_codec_of_other_codes_is_refused(tmp_path: Path) -> None:
    write_classes(tmp_path / "odd", replace(CLASSES, codes=5, height=2, width=2, channels=3), codec=True)
    with pytest.raises(InputError, match="must have as many codes, 5, and channels, 3"):
        load_image_model(tmp_path / "odd")
