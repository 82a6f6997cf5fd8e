"""Help in sections: a command's own flags first, then those of the model, then those of sampler and recipe."""

from __future__ import annotations

from functools import partial

import click


class ModelOption(click.Option):
    section = "Model"


class RecipeOption(click.Option):
    section = "Sampler and recipe"


class SectionedCommand(click.Command):
    """A command whose --help lists its many flags under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        for option in options:
            if record := option.get_help_record(ctx):  # None: it is hidden
                sections.setdefault(getattr(option, "section", "Options"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


model_option = partial(click.option, cls=ModelOption)
recipe_option = partial(click.option, cls=RecipeOption)
