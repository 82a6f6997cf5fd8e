"""What images are asked for: prompts, samplers, numbers of steps and seeds, all combined, and how a grid shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

import click

from infogain.algorithm.noise import row_seeds
from infogain.cli.flags import Flag, Ids, RecipeFlags, gathered
from infogain.cli.several_samplers import check_samplers, common_part, with_sampler
from infogain.errors import InputError
from infogain.images.image_model import with_named_sampler
from infogain.images.picture_grid import GridCell, in_rows
from infogain.recipe import Recipe

T = TypeVar("T")
NO_PROMPT = "(no prompt)"


@dataclass(frozen=True)
class AskedImage:
    """One image: where it stands on each axis, by its name there, and what makes it."""

    prompt: str
    recipe: Recipe
    seed: int
    names: tuple[str, ...]  # of its prompt, sampler, steps and seed

    @property
    def title(self) -> str:
        return ", ".join(name for name in self.names if name)


@dataclass(frozen=True)
class ImageAxes:
    """Flags of which there may be several values, each of which makes images of its own."""

    count: int | None
    seeds: tuple[int, ...] | None
    samplers: str | None
    step_counts: tuple[int, ...] | None

    def check(self, settings: RecipeFlags) -> None:
        """Refuse flags that say the same thing in two ways."""
        if self.count and self.seeds:
            raise InputError(f"--count draws seeds, and --seeds names them; got {self.count} and some. Drop either.")
        if self.samplers is not None and "name" in settings.sampler:
            raise InputError("--samplers names every sampler; --sampler came too. Drop either.")
        if self.step_counts and (given := {"k", "count"} & settings.schedule.keys()):
            flag = "-k" if "k" in given else "--steps"
            raise InputError(f"--step-counts says how many steps images take; {flag} came too. Drop either.")
        if settings.recipe.get("eos_ids"):
            raise InputError("--eos-ids says which tokens end a text; an image ends nowhere. Drop it.")

    def asked(self, prompts: Sequence[str], own: Recipe, settings: RecipeFlags) -> list[AskedImage]:
        """All combinations, of recipes over a model's own. Those of one recipe stand together."""
        check_once("prompt", prompts)
        recipes = self.recipes(own, settings)
        seeds = self.seeds_of(next(iter(recipes.values())))
        named = {prompt: (prompt.strip() or NO_PROMPT) if len(set(prompts)) > 1 else "" for prompt in prompts}
        return [
            AskedImage(prompt, recipe, seed, (name, *of, by))
            for (of, recipe), (prompt, name), (by, seed) in product(recipes.items(), named.items(), seeds.items())
        ]

    def recipes(self, own: Recipe, settings: RecipeFlags) -> dict[tuple[str, str], Recipe]:
        """The recipes by the names of their samplers and steps, over a model's own; what is not asked for has none."""
        self.check(settings)
        names = [name.strip() for name in self.samplers.split(",")] if self.samplers is not None else []
        check_once("sampler", names)
        check_once("number of steps", self.step_counts or ())
        check_once("seed", self.seeds or ())
        if names:
            check_samplers(names, settings, own)
            common = common_part(settings).over(own)
            by_sampler = {name: with_sampler(common, name, settings, with_named_sampler) for name in names}
        else:
            by_sampler = {"": one_recipe(own, settings)}
        steps = {f"{n} steps": RecipeFlags(schedule={"count": n}) for n in self.step_counts or ()}
        every = product(by_sampler.items(), (steps or {"": RecipeFlags()}).items())
        return {(sampler, taking): change.over(recipe) for (sampler, recipe), (taking, change) in every}

    def seeds_of(self, recipe: Recipe) -> dict[str, int]:
        """The seeds by their names, which are empty for a single one that was not named."""
        if self.seeds:
            return {f"seed {seed}": seed for seed in self.seeds}
        made = row_seeds(recipe.seed, self.count or 1)
        return {f"image {i}": seed for i, seed in enumerate(made, 1)} if len(made) > 1 else {"": made[0]}


def check_once(what: str, values: Sequence[str] | Sequence[int]) -> None:
    """Refuse a value that is named twice: its images would be the same."""
    if twice := [value for i, value in enumerate(values) if value in values[:i]]:
        raise InputError(f"each {what} must be named once; {twice[0]!r} came twice. For more images, use --count.")


def one_recipe(own: Recipe, settings: RecipeFlags) -> Recipe:
    """The recipe of images that name one sampler or none, over a model's own."""
    flags = dict(settings.sampler)
    name = flags.pop("name", None)
    start = common_part(settings).over(own)
    return RecipeFlags(sampler=flags, base=settings.base).over(with_named_sampler(start, name) if name else start)


FLAGS: list[Flag] = [
    click.option(
        "--count",
        type=click.IntRange(min=1),
        help="images for each prompt, each from a seed of its own; unset: 1",
    ),
    click.option("--seeds", type=Ids(), metavar="SEEDS", help="seeds with commas between them; unset: see --count"),
    click.option("--samplers", help="a grid over samplers: names with commas between them; unset: --sampler alone"),
    click.option(
        "--step-counts",
        type=Ids(),
        metavar="STEPS",
        help="a grid over numbers of steps, with commas between them, such as 5,16,64; unset: --steps alone",
    ),
]
axes_flags = gathered("axes", ImageAxes, FLAGS)


def arranged(asked: Sequence[AskedImage], cells: Sequence[GridCell]) -> tuple[list[list[GridCell]], list[str]]:
    """Cells in rows, and the names of these: columns are the last axis that has several values, rows the others.

    Where only one axis has several, its cells stand in as many rows as they need, each with its own name.
    """
    last = max((axis for axis in range(4) if len({one.names[axis] for one in asked}) > 1), default=3)
    known = [list(dict.fromkeys(one.names[axis] for one in asked)) for axis in range(4)]  # in the order given
    columns, rows = known[last], list(product(*_but(known, last)))
    if len(rows) == 1:
        return in_rows([GridCell(cell.picture, one.title) for one, cell in zip(asked, cells, strict=True)]), []
    at = {(_but(one.names, last), one.names[last]): cell for one, cell in zip(asked, cells, strict=True)}
    grid = [[GridCell(at[row, name].picture, name if row == rows[0] else "") for name in columns] for row in rows]
    return grid, [", ".join(filter(None, row)) for row in rows]


def _but(names: Sequence[T], axis: int) -> tuple[T, ...]:
    return (*names[:axis], *names[axis + 1 :])
