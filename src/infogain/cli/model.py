"""The model flags that commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from infogain.cli.flags import Flag, RecipeFlags, gathered
from infogain.cli.sections import model_option
from infogain.cli.terminal import busy, say
from infogain.errors import InputError
from infogain.generate import settle
from infogain.images.image_model import ImageModel, load_image_model
from infogain.load import DTYPES, is_of_zoo, load, shipped_models
from infogain.models.backbone.backbone import CACHES
from infogain.models.backbone.graphs import ENGINES
from infogain.recipe import Recipe
from infogain.text.text_model import TextModel

CACHE_HELP = (
    "columns outside the block that steps do not compute again: dual, those on both sides; prefix, those before it; "
    "unset: dual, for zoo models none; block-causal models and masked LMs take none of these"
)
REFRESH_HELP = "blocks that are decoded before the whole row is read again, with a --cache; unset: 1, the most exact"
REVISION_HELP = "branch, tag or commit of a hub id; unset: its main branch"
DEFAULT = "zoo:tiny-reason"
ANY_MODEL = f"folder, hub id, or a model that comes with the package: {', '.join(shipped_models(images=False))}"
CHAT_MODEL = "folder or hub id of a checkpoint with a chat template  [required]"
CACHE = model_option("--cache", metavar=f"[{'|'.join(CACHES)}]", help=CACHE_HELP)
REFRESH = model_option("--refresh", type=int, metavar="BLOCKS", help=REFRESH_HELP)
FLAGS = [
    model_option(
        "--dtype", metavar=f"[{'|'.join(DTYPES)}]", help="number type of the weights; unset: what the files hold"
    ),
    model_option("--device", help="cpu, cuda, cuda:1 …; unset: the GPU where there is one"),
    CACHE,
    REFRESH,
    model_option(
        "--engine",
        metavar=f"[{'|'.join(ENGINES)}]",
        help="how forwards run: one operation after the other, or as recorded CUDA graphs; unset: graphs on a GPU",
    ),
    model_option(
        "--ceiling",
        type=float,
        metavar="GIB",
        help="memory a forward's activations and logits may take; unset: all they need",
    ),
    model_option("--revision", help=REVISION_HELP),
]


IMAGE_DEFAULT = "zoo:tiny-image"
ANY_IMAGE_MODEL = (
    f"{' or '.join(shipped_models(images=True))}, which come with the package; a folder; or a hub id such as "
    "Gen-Verse/MMaDA-8B-Base"
)
IMAGE_CACHE_HELP = "what is read once and kept: dual or prefix, the prompt of each image; unset: none, which is exact"
CODEC = model_option(
    "--codec", help="folder or hub id of MMaDA's codec; unset: showlab/magvitv2; models of the zoo have their own"
)
IMAGE_FLAGS = [
    CODEC,
    *(each for each in FLAGS if each not in (CACHE, REFRESH)),
    model_option("--cache", metavar=f"[{'|'.join(CACHES)}]", help=IMAGE_CACHE_HELP),
]


@dataclass(frozen=True)
class ImageSource:
    """Where a model of images comes from, and how it is to be loaded."""

    name: str | None
    codec: str | None
    dtype: str | None
    device: str | None
    cache: str | None
    revision: str | None
    engine: str | None
    ceiling: float | None

    @property
    def model(self) -> str:
        return IMAGE_DEFAULT if self.name is None else self.name

    def load(self) -> ImageModel:
        if self.name is None:
            say(f"model: {IMAGE_DEFAULT}, which comes with the package; --model names another", err=True)
        with busy(f"loading {self.model}"):
            return load_image_model(self.model, **{key: value for key, value in vars(self).items() if key != "name"})


@dataclass(frozen=True)
class Source:
    """Where a model comes from, and how it is to be loaded."""

    name: str | None
    dtype: str | None
    device: str | None
    cache: str | None
    revision: str | None
    engine: str | None = None
    ceiling: float | None = None
    refresh: int | None = None

    @property
    def cached(self) -> Source:
        """This source with the paper's dual cache, which a model of the zoo has only where it is asked for."""
        return replace(self, cache="dual") if self.cache is None and is_of_zoo(self.name or DEFAULT) else self

    def of_images(self, codec: str | None) -> ImageSource:
        """This source, of a model that writes images."""
        return ImageSource(codec=codec, **{key: value for key, value in vars(self).items() if key != "refresh"})

    def load(self) -> TextModel:
        if self.name is None:
            say(f"model: {DEFAULT}, which comes with the package; --model names another", err=True)
        name = DEFAULT if self.name is None else self.name
        with busy(f"loading {name}"):
            return load(name, **{key: value for key, value in vars(self).items() if key != "name"})


def model_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the model flags; it is called with the `source` they name."""
    return _name(ANY_MODEL, DEFAULT)(_sourced(command))


def image_model_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the flags of a model that writes images; it is called with the `source` they name."""
    return _name(ANY_IMAGE_MODEL, IMAGE_DEFAULT)(gathered("source", ImageSource, IMAGE_FLAGS)(command))


def chat_model_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the model flags without a default model: those of the package have no chat template."""
    return _name(CHAT_MODEL, None)(_sourced(command))


def serve_model_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the model flags; without a name it serves all models of the package that write texts."""
    return _name(f"{ANY_MODEL}; unset: these", None)(_sourced(command))


def _name(text: str, default: str | None) -> Flag:
    shown = default or False
    return model_option(
        "--model", "-m", "name", show_default=shown, envvar="INFOGAIN_MODEL", show_envvar=True, help=text
    )


def _sourced(command: Callable[..., Any]) -> Callable[..., Any]:
    return gathered("source", Source, FLAGS)(command)


def recipe_for(model: TextModel, settings: RecipeFlags, stop_at_eos: bool = True, whole: bool = False) -> Recipe:
    """The flags, and what suits the model; says so where blocks are not those it was trained with."""
    if not stop_at_eos and "eos_ids" in settings.recipe:
        raise InputError("--eos-ids says which tokens end a text; here none does (--ignore-eos, or infill). Drop it.")
    recipe = settle(settings.over(Recipe()), model, stop_at_eos, whole)
    own = model.denoiser.attention_block
    if own and recipe.block != own:
        say(f"note: blocks of {recipe.block} columns; the checkpoint was trained with {own}.", err=True)
    return recipe
