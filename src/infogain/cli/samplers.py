"""`infogain samplers`: Table 6 of the paper, read from the registry, or one sampler in full."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from infogain.cli.layout import explained, plain_table
from infogain.cli.outline import offering
from infogain.cli.terminal import Terminal
from infogain.options import dashed, fields
from infogain.samplers import SAMPLERS, Sampler

MEANINGS = {
    "selection criteria": "what a step maximises. A: the columns it writes; ℓ: a column's number; p, H: its "
    "probabilities and their entropy; φ: its certainty; IG: what the step reveals (Eq. 4); M′, z′, 𝓗: the columns "
    "still masked after it, the text then, and the mean entropy there",
    "paper claims": "its sensitivity to temperature in the words of the paper's Table 6; nothing here was measured. "
    "`infogain study temperature` measures it",
    "greedy": "looks at the present step only: columns are chosen by their certainty now",
    "adaptive": "may write more tokens in a step than -k asks for (at its default options)",
}
NEXT = "\nOne of them with its options: infogain samplers info-gain"


@click.command()
@click.argument("name", required=False, shell_complete=offering(SAMPLERS))
def samplers(name: str | None) -> None:
    """List the samplers, or show one in full.

    \b
    Examples:
      infogain samplers
      infogain samplers info-gain
    """
    console = Terminal()
    if name is None:
        console.print(purposes(), "", explained(unified_view(), MEANINGS), NEXT, sep="\n")
    else:
        _show(console, name)


def purposes() -> Table:
    table = plain_table()
    table.add_column("sampler", no_wrap=True, style="bold")
    table.add_column("what it does, and when to use it")
    for name in SAMPLERS:
        table.add_row(name, SAMPLERS[name].purpose)
    return table


def unified_view() -> Table:
    """Table 6: what each sampler maximises, and whether it looks beyond the present step."""
    table = plain_table()
    table.add_column("sampler", no_wrap=True, style="bold")
    table.add_column("selection criteria", no_wrap=True)
    for title in ("paper claims", "greedy", "adaptive"):
        table.add_column(title, no_wrap=True)
    for name in SAMPLERS:
        table.add_row(name, *_properties(SAMPLERS.make(name)))
    return table


def _properties(sampler: Sampler) -> list[Text]:
    """The cells of a sampler in the columns that MEANINGS explains."""
    kind = [_yes(sampler.greedy), _yes(sampler.traits.adaptive)]
    return [Text(each) for each in (sampler.criteria, sampler.sensitivity, *kind)]


def _show(console: Console, name: str) -> None:
    sampler = SAMPLERS.make(name)
    console.print(Text(sampler.name, "bold"))
    console.print(sampler.purpose, "", _flowing(inspect.getdoc(sampler) or ""), "", sep="\n")
    table = plain_table()
    for title in ("property", "value", "meaning"):
        table.add_column(title, no_wrap=title != "meaning")
    for (title, meaning), value in zip(MEANINGS.items(), _properties(sampler), strict=True):
        table.add_row(title, value, Text(meaning))
    console.print(table, "", _options(type(sampler)), sep="\n")
    for preset, settings in sampler.presets.items():
        words = "  ".join(f"{dashed(option)} {value}" for option, value in settings.items()) or "the defaults"
        console.print(f"\npreset {sampler.name}:{preset}\n  {words}")


def _options(entry: type[Sampler]) -> Table:
    table = plain_table()
    table.add_column("option", no_wrap=True, style="bold")
    table.add_column("default", no_wrap=True)
    table.add_column("range", no_wrap=True)
    table.add_column("meaning")
    for field in fields(entry).values():
        table.add_row(dashed(field.name), _default(field), allowed(field), Text(field.metadata["help"]))
    return table


def _flowing(text: str) -> str:
    """Paragraphs without the line breaks of the source."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    if field.default is None:
        return "unset"
    return str(field.default)


def allowed(field: dataclasses.Field[Any]) -> str:
    """The range or the choices of an option, in as few signs as they need."""
    rules = field.metadata
    bounds = [
        f"{sign} {rules[key]:g}"
        for key, sign in (("low", "≥"), ("above", ">"), ("high", "≤"))
        if rules[key] is not None
    ]
    lines = [", ".join(bounds), *rules["choices"]]
    if rules["when"]:
        lines.append(f"if {rules['when'][0]} is\n{rules['when'][1]}")
    return "\n".join(line for line in lines if line)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
