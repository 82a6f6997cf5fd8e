"""Images that are asked for and the model that makes them: decoded under a progress bar, each as soon as it is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from infogain.cli.image_axes import AskedImage
from infogain.cli.progress import watch
from infogain.images.generate_images import GeneratedImage, ImageJob, decode_images, image_job, masks
from infogain.images.given_image import GivenImage
from infogain.images.image_model import ImageModel
from infogain.options import Plain
from infogain.recipe import Recipe


@dataclass(frozen=True)
class PlannedImages:
    """Everything that decides what the images will be."""

    model: ImageModel
    asked: Sequence[AskedImage]
    size: Sequence[int] | int | None = None
    given: GivenImage | None = None

    @cached_property
    def groups(self) -> list[tuple[Recipe, list[int], ImageJob]]:
        """The numbers of images that have a recipe in common, and their rows. What cannot be written is refused."""
        recipes = dict.fromkeys(one.recipe for one in self.asked)
        found = [(recipe, [i for i, one in enumerate(self.asked) if one.recipe == recipe]) for recipe in recipes]
        return [(recipe, numbers, self._job(numbers)) for recipe, numbers in found]

    def _job(self, numbers: Sequence[int]) -> ImageJob:
        return image_job(self.model, [self.asked[i].prompt for i in numbers], self.size, self.given)

    @property
    def work(self) -> int:
        """Codes to write, those of all attempts counted."""
        mask = self.model.denoiser.mask_id
        return sum(masks(job, mask) * recipe.sampler.traits.copies for recipe, _, job in self.groups)

    def decode(
        self, batch_size: int | None = None, trace: bool = False, title: str = "decoding"
    ) -> Iterator[tuple[int, GeneratedImage]]:
        """The images with their numbers, each as soon as it is done."""
        with watch(self.work, title) as observe:
            for recipe, numbers, job in self.groups:
                seeds = [self.asked[i].seed for i in numbers]
                for at, image in decode_images(self.model, job, recipe, seeds, batch_size, observe, trace):
                    yield numbers[at], image

    def about(self, image: GeneratedImage) -> Plain:
        """What the file of an image holds: with the files that were given, where it was written in part."""
        if self.given is None:
            return image.plain()
        mask = None if self.given.mask is None else str(self.given.mask)
        parts = {"image": str(self.given.image), "mask": mask, "extend": list(self.given.extend)}
        return {**image.plain(), "given": parts}
