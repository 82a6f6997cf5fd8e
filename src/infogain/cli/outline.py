"""The command line in outline: what `infogain --help` and completion in a shell need to know of the commands.

Commands make their flags from the registries, so importing one imports torch, which takes seconds: each is imported
when it runs. Until then `commands.json` tells of it, which `make docs` writes and a test holds to the commands.
"""

from __future__ import annotations

import functools
import json
import sys
from collections import UserDict
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from infogain.options import Plain

FILE = Path(__file__).with_name("commands.json")
Offers = Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]


class Commands(UserDict[str, click.Command]):
    """Commands by name, each imported from the module of its name when it is asked for: image-scores, image_scores."""

    def __init__(self, *names: str) -> None:
        super().__init__({name: click.Command(name) for name in names})

    def __getitem__(self, name: str) -> click.Command:
        if name not in self:
            raise KeyError(name)
        python = name.replace("-", "_")
        module = vars(import_module(f"infogain.cli.{python}"))
        command: click.Command = module.get(python) or module[f"{python}_"]  # eval_, for eval is Python's
        return command


def offering(names: Iterable[str]) -> Offers:
    """Complete a word to each of the names that begin with it."""
    return lambda ctx, parameter, word: [CompletionItem(name) for name in names if name.startswith(word)]


def outline(command: click.Command) -> Plain:
    """Tell of a command what `stand_in` needs: its summary, and what each parameter takes and offers."""
    context = click.Context(command)
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    return {"summary": command.get_short_help_str(sys.maxsize), "parameters": [_tell(one, context) for one in shown]}


def _tell(parameter: click.Parameter, context: click.Context) -> Plain:
    offers = parameter.shell_complete(context, "")
    told = {
        "names": [*parameter.opts, *parameter.secondary_opts],
        "flag": getattr(parameter, "is_flag", False),
        "multiple": parameter.multiple,
        "nargs": 0 if parameter.nargs == 1 else parameter.nargs,
        "path": next((item.type for item in offers if item.type != "plain"), ""),
        "offers": [item.value for item in offers if item.type == "plain"],
    }
    return {key: value for key, value in told.items() if value}


@functools.cache
def _told() -> Mapping[str, Plain]:
    told: Mapping[str, Plain] = json.loads(FILE.read_text(encoding="utf-8"))
    return told


@functools.cache
def stand_in(name: str) -> click.Command:
    """Make a command that cannot run, with the summary of the one of this name, and completed as that is."""
    told = _told()[name]
    return click.Command(name, params=[_parameter(**one) for one in told["parameters"]], short_help=told["summary"])


def _parameter(names: list[str], **told: Any) -> click.Parameter:
    def complete(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem[str]]:
        if "path" in told:
            return [CompletionItem(word, type=told["path"])]
        return offering(told.get("offers", ()))(context, parameter, word)

    how: Plain = {"nargs": told.get("nargs", 1), "shell_complete": complete}
    if not names[0].startswith("-"):
        return click.Argument(names, required=False, **how)
    return click.Option(names, is_flag=told.get("flag"), multiple=told.get("multiple", False), **how)
