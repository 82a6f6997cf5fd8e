"""The command line. One short file per command; `flags` makes the recipe flags from the registries."""

from __future__ import annotations

import click

from infogain import __version__
from infogain.cli import (
    bench,
    chat,
    compare,
    demo,
    drift,
    frequencies,
    generate,
    infill,
    inspect,
    recipe,
    replay,
    reproduce,
    results,
    samplers,
    study,
    toy,
    view,
)
from infogain.cli.eval import eval_
from infogain.cli.group import CleanGroup


@click.group(cls=CleanGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="infogain")
def main() -> None:
    """Decode masked diffusion models with the Info-Gain Sampler and every baseline.

    \b
    Examples:
      infogain demo
      infogain generate "C24,13,6=31:" --length 18
      infogain generate "Why is the sky blue?" --model GSAI-ML/LLaDA-8B-Instruct
      infogain chat --model ./dream --sampler info-gain -k 2
      infogain samplers info-gain
      infogain toy one-way --sampler info-gain -k 2
      infogain recipe --sampler info-gain --block 16 > my-recipe.toml
    """


for command in (
    demo.demo,
    generate.generate,
    chat.chat,
    infill.infill,
    compare.compare,
    inspect.inspect,
    drift.drift,
    toy.toy,
    study.study,
    bench.bench,
    eval_,
    results.results,
    reproduce.reproduce,
    samplers.samplers,
    recipe.recipe,
    replay.replay,
    view.view,
    frequencies.frequencies,
):
    main.add_command(command)

__all__ = ["main"]
