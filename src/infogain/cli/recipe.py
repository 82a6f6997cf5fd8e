"""`infogain recipe`: the resolved recipe as TOML."""

from __future__ import annotations

import click

from infogain.cli.flags import recipe_flags
from infogain.config import dump_recipe
from infogain.recipe import Recipe


@click.command()
@recipe_flags
def recipe(recipe: Recipe) -> None:
    """Print a recipe as TOML, to save and reuse.

    \b
    Examples:
      infogain recipe --sampler info-gain --n 4 --block 16 > my-recipe.toml
      infogain recipe --recipe my-recipe.toml -k 2
      infogain recipe --sampler best-of-n --base entropy --base.tau-token 0.5
    """
    click.echo(dump_recipe(recipe), nl=False)
