"""Commands that run several samplers: the flags that each of them takes, and a table of what each cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from rich.table import Table

from infogain.cli.flags import RecipeFlags
from infogain.cli.layout import COST_OF_A_TEXT, plain_table
from infogain.errors import InputError
from infogain.options import dashed, fields
from infogain.recipe import Recipe
from infogain.samplers import SAMPLERS

ROOMY = 70  # columns that hold every title of the table of costs on one line
COSTS = {**COST_OF_A_TEXT, "seconds": "of the decode, the model being warm"}


class Costly(Protocol):
    """A text or an image, with what it cost."""

    @property
    def cumulative_entropy(self) -> float: ...
    @property
    def forwards(self) -> int: ...
    @property
    def token_forwards(self) -> int: ...


def check_samplers(names: list[str], settings: RecipeFlags, own: Recipe) -> None:
    """Find mistakes now, not after the model is loaded."""
    common = common_part(settings).over(own)
    known = {option for name in names for option in fields(type(with_sampler(common, name, settings).sampler))}
    given = [*settings.sampler, *(["base"] if settings.base else [])]
    if strange := [flag for flag in given if flag not in known]:
        raise InputError(f"none of {', '.join(names)} takes {dashed(strange[0])}. Drop it, or add a sampler that does.")


def with_sampler(
    recipe: Recipe, name: str, settings: RecipeFlags, chosen: Callable[[Recipe, str], Recipe] | None = None
) -> Recipe:
    """The recipe with the sampler of this name, and of the flags those that it takes.

    `chosen` puts a sampler of a name into a recipe; unset: `resolve.vary` does.
    """
    takes = fields(SAMPLERS[name])
    own = {key: value for key, value in settings.sampler.items() if key in takes}
    named, start = ({}, chosen(recipe, name)) if chosen else ({"name": name}, recipe)
    return RecipeFlags(sampler={**named, **own}, base=settings.base if "base" in takes else {}).over(start)


def common_part(settings: RecipeFlags) -> RecipeFlags:
    """The flags that hold for every sampler."""
    return replace(settings, sampler={}, base={})


def cost_table(titles: Sequence[str], rows: Iterable[tuple[Sequence[Any], Costly, float]], width: int) -> Table:
    """What each sampler cost. Its name and what `titles` say come first, then the costs and the seconds it took.

    No number is cut: where it is narrow, columns move together, a title breaks and long names of samplers fold.
    """
    table, forwards = plain_table(), "token-forwards"
    if width < ROOMY:
        table.padding, forwards = (0, 0, 0, 0), "token-\nforwards"
    table.add_column("sampler", overflow="fold")
    for title in (*titles, "H̃", "forwards", forwards, "seconds"):
        table.add_column(title, justify="right", no_wrap=True)
    for first, made, seconds in rows:
        numbers = (f"{made.cumulative_entropy:.2f}", str(made.forwards), str(made.token_forwards), f"{seconds:.1f}")
        table.add_row(*map(str, first), *numbers)
    return table
