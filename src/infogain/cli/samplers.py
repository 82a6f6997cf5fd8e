"""`infogain samplers`: Table 6 of the paper, read from the registry, or one sampler in full."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from infogain.cli.flags import dashed
from infogain.cli.layout import plain_table
from infogain.cli.terminal import Terminal
from infogain.options import fields
from infogain.samplers import SAMPLERS, Sampler

EXPLAINED = """
sensitivity  to temperature, where the paper says
greedy       chooses positions by immediate certainty alone
adaptive     may commit more tokens than scheduled (at its default options)

One in full: infogain samplers info-gain"""


@click.command()
@click.argument("name", required=False)
def samplers(name: str | None) -> None:
    """List the samplers, or show one in full.

    \b
    Examples:
      infogain samplers
      infogain samplers info-gain
    """
    console = Terminal()
    if name is None:
        console.print(purposes(), "", unified_view(), sep="\n")
        console.print(EXPLAINED)
    else:
        _show(console, name)


def purposes() -> Table:
    table = plain_table()
    table.add_column("sampler", no_wrap=True, style="bold")
    table.add_column("for")
    for name in SAMPLERS:
        table.add_row(name, SAMPLERS[name].purpose)
    return table


def unified_view() -> Table:
    """Table 6: what each sampler maximises, and whether it looks beyond the present step."""
    table = plain_table()
    table.add_column("sampler", no_wrap=True, style="bold")
    table.add_column("selection criteria", no_wrap=True)
    for title in ("sensitivity", "greedy", "adaptive"):
        table.add_column(title, no_wrap=True)
    for name in SAMPLERS:
        sampler = SAMPLERS.make(name)
        kind = _yes(sampler.greedy), _yes(sampler.traits.adaptive)
        table.add_row(name, Text(sampler.criteria), sampler.sensitivity, *kind)
    return table


def _show(console: Console, name: str) -> None:
    sampler = SAMPLERS.make(name)
    console.print(Text(sampler.name, "bold"))
    console.print(_flowing(inspect.getdoc(sampler) or ""))
    console.print(f"\nfor          {sampler.purpose}")
    console.print(f"maximises    {sampler.criteria}")
    console.print(f"sensitivity  {sampler.sensitivity} (to temperature)")
    console.print(f"greedy       {_yes(sampler.greedy)}")
    console.print(f"adaptive     {_yes(sampler.traits.adaptive)}\n")
    console.print(_options(type(sampler)))
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
