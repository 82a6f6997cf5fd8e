"""What needs no model starts without torch, and `import infogain` offers every name whatever is imported first."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import click
import pytest
from click.shell_completion import ShellComplete
from tools.commands import table

import infogain
from infogain.cli import main
from infogain.cli.outline import FILE
from infogain.samplers import SAMPLERS

PROBE = """
import sys
from infogain.cli import main
sys.argv = ["infogain", *sys.argv[1:]]
try:
    main()
finally:
    print("torch" in sys.modules, file=sys.stderr)
"""


def start(*words: str, **variables: str) -> tuple[str, str, bool]:
    """What a command prints, what it says on the error stream, and whether torch was imported."""
    command, environment = [sys.executable, "-c", PROBE, *words], os.environ | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    *said, imported = done.stderr.splitlines()
    return done.stdout, "\n".join(said), imported == "True"


def complete(*words: str) -> tuple[list[str], bool]:
    """What bash is offered for the last word, and whether torch was imported."""
    variables = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    printed, _, imported = start(_INFOGAIN_COMPLETE="bash_complete", **variables)
    return [line.partition(",")[2] for line in printed.splitlines()], imported


def test_help_and_version_do_without_torch() -> None:
    printed, _, imported = start("--help")
    assert not imported
    assert all(f"  {name} " in printed for name in main.commands)
    assert start("--version") == (f"infogain, version {infogain.__version__}\n", "", False)
    assert start("samplers")[2], "a command that needs torch must show it, or nothing is tested here"


def test_an_unknown_command_is_told_the_nearest_without_torch() -> None:
    printed, said, imported = start("genrate")
    assert not imported
    assert printed == ""
    assert said.endswith("Error: No such command 'genrate'. Did you mean 'generate'?")


def test_a_shell_completes_commands_options_and_names_without_torch() -> None:
    assert complete("infogain", "s") == (["samplers", "serve", "study"], False)
    assert complete("infogain", "generate", "--tau") == (["--tau-token", "--tau-pos", "--tau-select"], False)
    assert complete("infogain", "generate", "--sampler", "info") == (["info-gain", "info-gain-beam"], False)
    assert complete("infogain", "nonsense", "--tau") == ([""], False)


def test_the_outline_is_that_of_the_commands() -> None:
    assert FILE.read_text(encoding="utf-8") == table(), "the commands have changed: write it anew with `make docs`"


def completions(group: click.Group, *words: str) -> list[tuple[str, str]]:
    """What a shell is offered, less --help: a command keeps the names of that from its first context."""
    *before, last = words
    found = ShellComplete(group, {}, "infogain", "").get_completions(before, last)
    return [(item.value, item.type) for item in found if item.value not in ("-h", "--help")]


@pytest.mark.parametrize("name", main.commands)
def test_a_line_is_completed_as_the_command_itself_would_complete_it(name: str) -> None:
    whole = click.Group(commands=dict(main.commands))
    lines: list[Sequence[str]] = [(name[:2],), (name, "-"), (name, "--"), (name, "")]
    for parameter in main.commands[name].params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            lines += [(name, option, last) for option in parameter.opts for last in ("", "c", "--")]
    for line in lines:
        assert completions(main, *line) == completions(whole, *line), line


def test_sampler_names_are_those_of_the_registry() -> None:
    for line in (["generate", "--sampler"], ["generate", "--base"], ["samplers"]):
        assert [value for value, _ in completions(main, *line, "")] == list(SAMPLERS)


IMPORTS = (
    "import infogain",
    "import infogain.decode",
    "import infogain.generate, infogain.load",
    "from infogain.decode import decode_lanes",
    "from infogain.load import load; import infogain.decode",
    "from infogain import *",
    "from infogain import samplers, models",
    "from infogain import decode, Canvas",
    "import infogain.loop.batch",
    "import infogain.samplers.info_gain, infogain.cli.generate",
    "import infogain.public",
)
NAMES = """
import os, sys, types
import torch  # once, for all children

def check():
    import infogain
    for verb in ("decode", "generate", "load"):
        assert isinstance(getattr(infogain, verb), types.FunctionType), verb
    assert infogain.models.one_way and infogain.samplers.SAMPLERS
    assert {*infogain.__all__} <= {*dir(infogain)}
    for name in infogain.__all__:
        assert getattr(infogain, name) is getattr(sys.modules["infogain.public"], name), name

for line in sys.argv[1:]:
    if (child := os.fork()) == 0:
        exec(line)
        check()
        import infogain.decode, infogain.generate, infogain.load
        check()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), line)
"""


def test_every_public_name_is_there_in_any_order_of_imports() -> None:
    """The functions decode, generate and load above all, each of which has the name of its module."""
    command = [sys.executable, "-c", NAMES, *IMPORTS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("".join(f"0 {line}\n" for line in IMPORTS), "")


def test_submodules_are_there_without_an_import_of_their_own() -> None:
    code = "import sys, infogain; print(infogain.errors.InfoGainError.__name__, 'torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "InfoGainError False\n"


@pytest.mark.parametrize("name", ["nonsense", "_private", "__wrapped__"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=f"^module 'infogain' has no attribute '{name}'$"):
        getattr(infogain, name)
