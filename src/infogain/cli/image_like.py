"""An image that `infogain image` wrote, to be made again: what its file says stands where flags say nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from infogain.cli.flags import RecipeFlags
from infogain.cli.image_axes import ImageAxes
from infogain.cli.model import ImageSource
from infogain.errors import InputError
from infogain.images.image_model import own_recipe, writes_images
from infogain.images.png_recipe import read_png
from infogain.options import Plain
from infogain.recipe import Recipe

NEEDED = ("prompt", "seed", "recipe", "provenance", "size")


@dataclass(frozen=True)
class Like:
    """A file that is to be made again, or none."""

    path: Path | None

    @cached_property
    def about(self) -> Plain:
        """What the file says; nothing where there is none."""
        about = read_png(self.path) if self.path else {}
        if "images" in about:
            raise InputError(
                f"--like takes the file of one image; {self.path} holds several. Save single ones with --folder."
            )
        if self.path and (missing := [name for name in NEEDED if name not in about]):
            raise InputError(
                f"--like takes a file that infogain image wrote; {self.path} says nothing of {missing[0]}. "
                "Use the file as it was written."
            )
        return about

    def prompts(self, given: tuple[str, ...]) -> tuple[str, ...]:
        if not given and not self.about:
            raise InputError('there must be a prompt, such as "ankle boot"; an empty one ("") is no prompt.')
        return given or (self.about["prompt"],)

    def recipe(self, source: ImageSource) -> Recipe:
        """The recipe that flags lie over: the file's, or the model's own."""
        return Recipe.of(self.about["recipe"]) if self.about else own_recipe(source.model)

    def axes(self, given: ImageAxes, settings: RecipeFlags) -> ImageAxes:
        """The axes with the file's seed, unless seeds are asked for."""
        is_asked = given.count or given.seeds or "seed" in settings.recipe
        return given if is_asked or not self.about else replace(given, seeds=(self.about["seed"],))

    def source(self, given: ImageSource) -> ImageSource:
        """The file's model and codec, unless a model is named, and how it was loaded, where flags do not say."""
        if given.name is not None or not self.about:
            return given
        made_by = self.about["provenance"]
        has_codec = writes_images(made_by["model"]) or given.codec is not None
        codec = given.codec if has_codec else made_by["codec"]
        loaded = {name: getattr(given, name) or made_by.get(name) for name in ("dtype", "cache", "revision")}
        return replace(given, name=made_by["model"], codec=codec, **loaded)

    def size(self, given: tuple[int, ...] | None, image: Path | None) -> tuple[int, ...] | None:
        """The file's size, unless one or an image is given. An image that was given in part must be given again."""
        if image is None and any(step < 0 for line in self.about.get("revealed", []) for step in line):
            given_in = self.about.get("given", {}).get("image", "which it does not name")
            raise InputError(
                f"{self.path} was written into an image, {given_in}; name it again with --image, "
                "and what was written with --mask or --extend."
            )
        return given if given or image or not self.about else tuple(self.about["size"])
