"""What `--help` says: whole summaries, and for every option what holds where it is not given."""

from __future__ import annotations

import re

import click
import pytest

from infogain.cli import main
from infogain.options import fields
from infogain.samplers import SAMPLERS
from tests.e2e.test_cli import ok, run


@pytest.mark.parametrize("columns", [50, 60, 80, 120])
def test_no_summary_is_cut(columns: int) -> None:
    text = ok("--help", env={"COLUMNS": str(columns)}).split("Commands:")[1]
    assert "..." not in text
    for command in main.commands.values():
        first = " ".join((command.help or "").split()).split(". ")[0]
        assert first in " ".join(text.split())


def test_at_80_columns_every_command_has_one_line() -> None:
    lines = ok("--help").split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in lines] == sorted(main.commands)


@pytest.mark.parametrize("name", main.commands)
def test_every_option_says_what_holds_without_it(name: str) -> None:
    """Options that name files or may be given many times are exempt: what holds without them is plain."""
    command = main.commands[name]
    context = click.Context(command, info_name=name)
    for option in command.params:
        if not isinstance(option, click.Option) or option.hidden or option.is_flag or option.multiple:
            continue
        _, words = option.get_help_record(context) or ("", "")
        said = any(word in words for word in ("default:", "unset:", "required"))
        assert said or isinstance(option.type, click.Path), f"{option.opts[0]}: {words}"


def test_infill_offers_nothing_that_it_refuses() -> None:
    shown = ok("infill", "--help")
    assert "--eos-ids" not in shown
    assert "messages" not in shown
    assert "--eos-ids" in ok("generate", "--help")
    assert '"prompt" or "messages"' in " ".join(ok("generate", "--help").split())


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_a_samplers_defaults_are_those_it_has(name: str) -> None:
    text = " ".join(ok("generate", "--help").split()).replace("- ", "-")
    for field in fields(SAMPLERS[name]).values():
        if "unset" not in field.metadata["help"]:
            assert f"{field.metadata['help']}; unset: {field.default}".replace("- ", "-") in text


@pytest.mark.parametrize(("theirs", "ours"), [("--temperature", "--tau-token"), ("--max-new-tokens", "--length")])
def test_options_are_suggested_by_what_other_libraries_call_them(theirs: str, ours: str) -> None:
    result = run("generate", "C1,2,3=6:", theirs, "1")
    assert result.exit_code == 2
    assert f"Did you mean {ours}?" in result.stderr


@pytest.mark.parametrize("name", ["generate", "chat", "infill", "compare", "drift", "eval"])
def test_flags_of_the_model_and_of_the_recipe_stand_under_headings_of_their_own(name: str) -> None:
    own, model, recipe = re.split(r"\n(?:Model|Sampler and recipe):\n", ok(name, "--help").split("\nOptions:\n")[1])
    assert "--help" in own
    assert all(line.startswith("  -") for line in (own + model + recipe).splitlines() if re.match(r"  \S", line))
    for flag in ("--model", "--dtype", "--cache"):
        assert flag in model
        assert f"  {flag} " not in own + recipe
    for flag in ("--recipe", "--tau-token", "--tokens-per-step", "--seed"):
        assert flag in recipe
        assert f"  {flag} " not in own + model
