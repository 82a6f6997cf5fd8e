"""A model that writes images, and how one is loaded: the denoiser, what its rows are, and the codec."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from infogain.algorithm.schedule import TokensPerStep
from infogain.errors import InputError
from infogain.images.codec import Codec
from infogain.images.codec_weights import load_codec
from infogain.images.grey_levels import Coder, GreyLevels
from infogain.images.image_layout import CODES, ClassLayout, Layout, MmadaLayout
from infogain.images.image_tokens import ImageTokens
from infogain.load import IMAGE_FILE, ZOO, as_device, as_dtype, as_written, find_checkpoint
from infogain.models.backbone.backbone import Backbone
from infogain.models.families.checkpoint import Checkpoint
from infogain.models.families.family import Config
from infogain.models.families.llada import MMADA
from infogain.models.families.weights import stored_shape
from infogain.models.guided import Guided
from infogain.options import Plain, fields
from infogain.provenance import provenance
from infogain.recipe import Recipe
from infogain.recipe_files import load_recipe
from infogain.samplers import SAMPLERS, Sampler
from infogain.text.tokenizer import read_tokenizer

CODEC = "codec"  # folder of a model's own codec, in the model's folder
MAGVIT = "showlab/magvitv2"
MMADA_SIZE = 512
CACHE = "none"  # exact, and an image is one block: little stands outside it that could be cached


def with_named_sampler(recipe: Recipe, name: str) -> Recipe:
    """The recipe with the sampler of this name, which keeps its temperature of tokens unless a preset has its own.

    So samplers of images are compared at one temperature: it changes how varied they are more than a sampler does.
    """
    if name == recipe.sampler.name:
        return recipe
    made, tau = SAMPLERS.make(name), getattr(recipe.sampler, "tau_token", None)
    return replace(recipe, sampler=made if tau is None else _at_temperature(made, tau))


def _at_temperature(sampler: Sampler, tau: float) -> Sampler:
    """A sampler at another temperature of tokens; one of several decodes passes it on to those."""
    if isinstance(base := getattr(sampler, "base", None), Sampler):
        return SAMPLERS.vary(sampler, base=_at_temperature(base, tau))
    option = fields(type(sampler)).get("tau_token")
    unset = option is not None and vars(sampler)["tau_token"] == option.default
    return SAMPLERS.vary(sampler, tau_token=tau) if unset else sampler


@dataclass(frozen=True)
class ImageModel:
    """A denoiser that predicts codes, what its rows are, and what makes pixels of codes."""

    denoiser: Backbone
    layout: Layout
    coder: Coder
    size: tuple[int, int]  # height and width of an image in pixels, where none is asked for
    recipe: Recipe  # where none is asked for
    name: str
    codec: str  # its name
    only_size: bool = False  # it knows no other
    revision: str | None = None

    @property
    def cells(self) -> int:
        """How many codes an image of the model's own size has."""
        return self.size[0] * self.size[1] // self.coder.stride**2

    @property
    def guided(self) -> Guided:
        """The denoiser, whose rows also run without their prompt."""
        return Guided(self.denoiser, self.layout.empty)

    @property
    def provenance(self) -> Plain:
        """What every output of this model carries, see `infogain.provenance`."""
        return {**provenance(self.denoiser, self.name, self.revision), "codec": self.codec}


def load_image_model(
    name: str | Path,
    codec: str | Path | None = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    cache: str | None = None,
    revision: str | None = None,
    engine: str | None = None,
    ceiling: float | None = None,
) -> ImageModel:
    """Load a model that writes images: `infogain.load_image_model("zoo:tiny-image")`.

    name      zoo:tiny-image or zoo:tiny-digits, a local folder, or a hub id such as Gen-Verse/MMaDA-8B-Base
    codec     folder or hub id of MMaDA's codec; unset: showlab/magvitv2. Models of the zoo have their own
    dtype     of the model; unset: what the file holds, for models of the zoo float32. The codec runs in float32
    cache     unset: "none", which is exact; "dual" and "prefix" read the prompt once

    device, revision, engine and ceiling are as for `infogain.load`.
    """
    folder, where = find_checkpoint(name, revision), as_device(device)
    checkpoint = Checkpoint.read(folder)
    how = (where, cache or CACHE, engine, ceiling, None)
    if (folder / IMAGE_FILE).exists():
        if codec is not None:
            raise InputError(f"{name} has a codec of its own; codec must be unset, got {codec!r}.")
        tokens = ImageTokens.read(folder)
        denoiser = checkpoint.model(as_dtype(dtype) or torch.float32, *how, predicts=(0, tokens.codes))
        return _of_zoo(folder, tokens, denoiser, as_written(name))
    if checkpoint.family is not MMADA:
        raise InputError(
            f"an image needs a model that writes images, such as zoo:tiny-image or an MMaDA checkpoint; {name} is "
            f"{checkpoint.family.name}, which writes texts."
        )
    named = MAGVIT if codec is None else as_written(codec)
    coder = load_codec(find_checkpoint(named), torch.float32, where)  # before the large weights
    layout = _mmada_layout(checkpoint)
    if coder.spec.codes != layout.codes:
        raise InputError(
            f"codec and model must have equally many codes; {named} has {coder.spec.codes}, {name} {layout.codes}."
        )
    denoiser = checkpoint.model(as_dtype(dtype), *how, predicts=(layout.first_code, layout.codes))
    size = MMADA_SIZE, MMADA_SIZE
    return ImageModel(denoiser, layout, coder, size, own_recipe(folder), as_written(name), named, revision=revision)


def writes_images(name: str | Path) -> bool:
    """Whether a model is one of classes, as those of the zoo are. Nothing is loaded or fetched."""
    is_of_package = str(name).startswith(ZOO)
    return ((find_checkpoint(name) if is_of_package else Path(name)) / IMAGE_FILE).exists()


def own_recipe(name: str | Path) -> Recipe:
    """The recipe of a model where none is asked for; models that are not of classes are MMaDA's."""
    if writes_images(name):
        return Recipe(SAMPLERS.make("uniform", tau_token=1.0), TokensPerStep(1), 0)
    return load_recipe("mmada-t2i")


def _of_zoo(folder: Path, tokens: ImageTokens, denoiser: Backbone, name: str) -> ImageModel:
    has_codec = (folder / CODEC).is_dir()
    coder: Coder = load_codec(folder / CODEC, torch.float32, denoiser.device) if has_codec else GreyLevels(tokens.codes)
    if isinstance(coder, Codec) and (coder.spec.codes, coder.channels) != (tokens.codes, tokens.channels):
        raise InputError(
            f"model and codec of {name} must have as many codes, {tokens.codes}, and channels, {tokens.channels}, as "
            f"{IMAGE_FILE} says; the codec has {coder.spec.codes} and {coder.channels}."
        )
    size = tokens.height * coder.stride, tokens.width * coder.stride
    codec = f"{name}/{CODEC}" if has_codec else f"{tokens.codes} grey levels"
    return ImageModel(denoiser, ClassLayout(tokens), coder, size, own_recipe(folder), name, codec, only_size=True)


def _mmada_layout(checkpoint: Checkpoint) -> MmadaLayout:
    family, folder = checkpoint.family, checkpoint.folder
    tokenizer = read_tokenizer(folder, checkpoint.spec.eos_ids, family.turn_ends, family.template)
    ids = stored_shape(folder, f"{family.names['embed']}.weight")[0]
    return MmadaLayout(tokenizer, Config(folder).get("codebook_size", CODES), ids)
