"""The command line. One short file per command, imported when it runs; `flags` makes the recipe flags."""

from __future__ import annotations

import click

from infogain.cli.group import CleanGroup
from infogain.cli.outline import Commands
from infogain.version import __version__

COMMANDS = Commands(
    *("demo", "generate", "chat", "infill", "image", "compare", "inspect", "drift", "toy", "study"),
    *("bench", "eval", "results", "judge", "reproduce", "samplers", "recipe", "replay", "view", "frequencies"),
    *("serve", "molecules", "image-scores", "geneval"),
)


@click.group(cls=CleanGroup, commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="infogain")
def main() -> None:
    """Decode masked diffusion models with the Info-Gain Sampler and every baseline.

    \b
    Examples:
      infogain demo
      infogain generate "C93,3,63=33:" --length 22
      infogain generate "Why is the sky blue?" --model GSAI-ML/LLaDA-8B-Instruct
      infogain chat --model ./dream --sampler info-gain -k 2
      infogain image "ankle boot" --count 8
      infogain samplers info-gain
      infogain toy one-way --sampler info-gain -k 2
      infogain recipe --sampler info-gain --block 16 > my-recipe.toml
    """


__all__ = ["main"]
