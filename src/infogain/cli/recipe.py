"""`infogain recipe`: the recipe that flags make, as TOML, and those that come with the package."""

from __future__ import annotations

import click

from infogain.cli.flags import recipe_flags
from infogain.cli.layout import plain_table
from infogain.cli.sections import SectionedCommand
from infogain.cli.terminal import Terminal
from infogain.recipe import Recipe
from infogain.recipe_files import about_recipe, recipe_names
from infogain.recipe_writer import dump_recipe


def list_recipes(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    table = plain_table()
    table.add_column("recipe", no_wrap=True)
    table.add_column("what it holds", overflow="fold")
    for name in recipe_names():
        table.add_row(name, about_recipe(name))
    Terminal().print(table)
    context.exit()


@click.command(cls=SectionedCommand)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=list_recipes,
    help="list the recipes that come with the package",
)
@recipe_flags
def recipe(recipe: Recipe) -> None:
    """Print a recipe as TOML, to save and reuse.

    What is not asked for has its default in the file; draws and tau_select stand there only if they differ from it. The
    block and the ids that end a text stay out of it unless they are given: --recipe FILE then decodes as the same flags
    do, whatever the model.

    \b
    Examples:
      infogain recipe --list
      infogain recipe --recipe info-gain-reasoning -k 2
      infogain recipe --sampler info-gain --n 4 --block 16 > my-recipe.toml
      infogain recipe --sampler best-of-n --base entropy --base.tau-token 0.5
    """
    click.echo(dump_recipe(recipe), nl=False)
