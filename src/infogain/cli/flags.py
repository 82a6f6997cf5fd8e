"""The recipe flags that commands share, made from the options' own metadata: no name or range is written twice."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from infogain.algorithm.schedule import SCHEDULES, Steps, TokensPerStep
from infogain.cli.outline import offering
from infogain.cli.sections import recipe_option
from infogain.generate import BLOCK
from infogain.options import Plain, accepted, dashed, fields
from infogain.recipe import DEFAULT_SAMPLER, Recipe
from infogain.recipe_files import load_recipe
from infogain.resolve import change
from infogain.samplers import SAMPLERS, BestOfN


class Ids(click.ParamType[tuple[int, ...]]):
    """Whole numbers with commas between them."""

    name = "ids"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        try:
            return tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"whole numbers with commas between them, such as 2,5; got {value!r}", param, ctx)


TYPES: dict[Any, click.ParamType[Any]] = {
    int: click.INT,
    float: click.FLOAT,
    bool: click.BOOL,
    str: click.STRING,
    tuple[int, ...]: Ids(),
}
RECIPE_FIELDS = ("block", "order", "eos_ids", "guidance", "guidance_shape", "seed")
RECIPE_HELP = (
    "recipe to start from: a TOML file, or a name of `infogain recipe --list`; flags override it; "
    "unset: the defaults below"
)
NAMES = (
    f"one of {', '.join(SAMPLERS)}; with a preset: info-gain:validated; `infogain samplers` says when to use which; "
    f"unset: {DEFAULT_SAMPLER}"
)
SAMPLER: Flag = recipe_option(
    "--sampler",
    "sampler__name",
    metavar="NAME",
    help=NAMES,
    shell_complete=offering(SAMPLERS),
)
TEXT_EOS = "stop after a block that holds one of these tokens; unset: those that end the tokenizer's texts"
TEXT_BLOCK = (
    f"columns decoded together; 0: all of them; unset: {BLOCK}, or the width a block-causal model was trained with"
)
STEPS_HELP = "steps in all, in place of -k; unset: as many as -k takes"
OWN = "unset: as in the model's own recipe"
IMAGE_SAMPLER = f"{NAMES.rpartition('; unset: ')[0]}; {OWN}"
IMAGE_MEANINGS = {
    "recipe": "recipe to start from: a TOML file, or a name of `infogain recipe --list`; flags override it; unset: "
    "the model's own, for models of the zoo uniform, a code at a time, for MMaDA mmada-t2i",
    "k": f"codes committed per step; {OWN}",
    "count": f"steps an image takes, in place of -k; {OWN}",
    "block": "codes decoded together, row by row; 0 or unset: all of an image",
    "guidance": "weight g of guidance: (1 + g) · logits with the prompt − g · logits without it; 0 is none; " + OWN,
}
Flag = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclasses.dataclass
class RecipeFlags:
    """The values of the recipe flags that were given, by what they belong to."""

    file: Plain = dataclasses.field(default_factory=dict)
    sampler: Plain = dataclasses.field(default_factory=dict)
    base: Plain = dataclasses.field(default_factory=dict)
    schedule: Plain = dataclasses.field(default_factory=dict)
    recipe: Plain = dataclasses.field(default_factory=dict)

    def over(self, start: Recipe) -> Recipe:
        """Flags over the recipe that --recipe names, or over this one where it names none."""
        sampler = {**self.sampler, "base": self.base} if self.base else self.sampler
        return change(load_recipe(self.file["name"]) if self.file else start, sampler, self.schedule, self.recipe)


def recipe_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command every recipe flag; it is called with the `recipe` they resolve to."""
    flags = [SAMPLER, *_flags()]
    return _flagged(lambda settings, **rest: command(recipe=settings.over(Recipe()), **rest), command, flags)


def settings_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command every recipe flag; it is called with the `settings` as given, and knows its own defaults."""
    return _flagged(command, command, [SAMPLER, *_flags({"block": TEXT_BLOCK, "eos_ids": TEXT_EOS})])


def filling_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command whose texts have no ends the recipe flags but --eos-ids, which it refuses with a reason."""
    return _flagged(command, command, [SAMPLER, *_flags({"block": TEXT_BLOCK}, hidden=("eos_ids",))])


def shared_settings_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command that runs several samplers the flags that hold for all of them, as `settings`."""
    return _flagged(command, command, _flags({"block": TEXT_BLOCK, "eos_ids": TEXT_EOS}))


def image_settings_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the recipe flags over the recipe of a model of images, as `settings`; its images have no ends."""
    sampler = recipe_option(
        "--sampler", "sampler__name", metavar="NAME", help=IMAGE_SAMPLER, shell_complete=offering(SAMPLERS)
    )
    return _flagged(command, command, [sampler, *_flags(IMAGE_MEANINGS, hidden=("eos_ids",))])


def gathered(name: str, kind: type, flags: Iterable[Flag]) -> Flag:
    """Gives a command these flags; it is called with one dataclass of that kind, whose fields they are."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_kind(**given: Any) -> Any:
            own = {field.name: given.pop(field.name) for field in dataclasses.fields(kind)}
            return command(**{name: kind(**own)}, **given)

        flagged: Callable[..., Any] = with_kind
        for flag in reversed(list(flags)):
            flagged = flag(flagged)
        return flagged

    return decorate


def _flagged(command: Callable[..., Any], documented: Callable[..., Any], flags: list[Flag]) -> Callable[..., Any]:
    @functools.wraps(documented)
    def sorted_out(**given: Any) -> Any:
        settings, rest = RecipeFlags(), {}
        for name, value in given.items():
            group, _, option = name.partition("__")
            if not option:
                rest[name] = value
            elif value is not None:
                getattr(settings, group)[option] = value
        return command(settings=settings, **rest)

    flagged: Callable[..., Any] = sorted_out
    for flag in reversed(flags):
        flagged = flag(flagged)
    return flagged


def _flags(meanings: Mapping[str, str] = {}, hidden: Iterable[str] = ()) -> list[Flag]:
    """`meanings` of recipe fields, where they are not what a bare recipe says; `hidden` ones are not in the help."""
    return [
        recipe_option("--recipe", "file__name", metavar="NAME|FILE", help=meanings.get("recipe", RECIPE_HELP)),
        *(_sampler_flag(field) for field in _sampler_fields()),
        recipe_option(
            "--base",
            "base__name",
            metavar="NAME",
            help=f"{_meaning(BestOfN, 'base')} (best-of-n); its own options are written --base.tau-token 0.7 and so on",
            shell_complete=offering(SAMPLERS),
        ),
        *(_base_flag(field) for field in _sampler_fields()),
        _option(TokensPerStep, "k", "-k", "--tokens-per-step", "schedule__k", meaning=meanings.get("k")),
        _option(Steps, "count", "--steps", "schedule__count", meaning=meanings.get("count", STEPS_HELP)),
        _option(Steps, "shape", "--shape", "schedule__shape", note=" (with --steps)"),
        _option(Steps, "rounding", "--rounding", "schedule__rounding", note=" (with --steps)"),
        *(
            _option(
                Recipe, field, dashed(field), f"recipe__{field}", meaning=meanings.get(field), hidden=field in hidden
            )
            for field in RECIPE_FIELDS
        ),
    ]


def flag_type(kind: type, field: str) -> click.ParamType[Any] | None:
    """The type of value that a flag for this field takes; None for a sampler, which has a flag of its own."""
    return next((TYPES[part] for part in accepted(kind, field) if part in TYPES), None)


def _option(
    kind: type, field: str, *names: str, note: str = "", meaning: str | None = None, hidden: bool = False
) -> Flag:
    shown, text = _metavar([kind], field), (meaning or _meaning(kind, field)) + note
    return recipe_option(*names, type=flag_type(kind, field), metavar=shown, help=text, hidden=hidden)


def _sampler_fields() -> dict[str, list[str]]:
    """Every plain option of any sampler, and the samplers that take it."""
    takers: dict[str, list[str]] = {}
    for name in SAMPLERS:
        for field in fields(SAMPLERS[name]):
            if flag_type(SAMPLERS[name], field):
                takers.setdefault(field, []).append(name)
    return takers


def _sampler_flag(field: str) -> Flag:
    takers = _sampler_fields()[field]
    meanings: dict[str, list[str]] = {}
    for name in takers:
        meanings.setdefault(_meaning(SAMPLERS[name], field), []).append(name)
    text = "; ".join(f"{meaning} ({_listed(names)})" for meaning, names in meanings.items())
    default = Recipe().sampler
    if hasattr(default, field) and (own := getattr(default, field)) != fields(type(default))[field].default:
        text += f"; {own} in {DEFAULT_SAMPLER}"
    kinds = [SAMPLERS[name] for name in takers]
    shown = _metavar(kinds, field)
    return recipe_option(dashed(field), f"sampler__{field}", type=flag_type(kinds[0], field), metavar=shown, help=text)


def _base_flag(field: str) -> Flag:
    name = dashed(field).replace("--", "--base.", 1)
    kind = SAMPLERS[_sampler_fields()[field][0]]
    return recipe_option(name, f"base__{field}", type=flag_type(kind, field), hidden=True)


def _metavar(kinds: Iterable[type], field: str) -> str | None:
    """The choices a flag shows. They are checked by the options themselves, which know the nearest."""
    choices = {choice: None for kind in kinds for choice in fields(kind)[field].metadata["choices"]}
    return f"[{'|'.join(choices)}]" if choices else None


def _meaning(kind: type, field: str) -> str:
    """The meaning of an option, with its default where the option's help does not say it."""
    default, meaning = fields(kind)[field].default, str(fields(kind)[field].metadata["help"])
    return meaning if default is dataclasses.MISSING or "unset" in meaning else f"{meaning}; unset: {default}"


def _listed(names: Iterable[str]) -> str:
    """The samplers by name, or the few that are missing where that is shorter."""
    names = list(names)
    missing = [name for name in SAMPLERS if name not in names]
    if len(missing) >= len(names):
        return ", ".join(names)
    return f"all but {', '.join(missing)}" if missing else "all"


assert set(SCHEDULES) == {TokensPerStep.name, Steps.name}, "a new schedule needs flags here"
