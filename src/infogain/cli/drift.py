"""`infogain drift`: how far a cache's logits stray from exact ones, and how often the choice changes."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.table import Table

from infogain.cli.flags import RecipeFlags, settings_flags
from infogain.cli.generate import CHAT, LENGTH, SYSTEM
from infogain.cli.layout import explained, plain_table
from infogain.cli.model import Source, model_flags, recipe_for
from infogain.cli.output_files import OVERWRITE, make_folder
from infogain.cli.progress import watch
from infogain.cli.prompt_input import FILE, read_prompts
from infogain.cli.sections import SectionedCommand
from infogain.cli.terminal import Terminal
from infogain.cli.text_output import masks
from infogain.drift import Drift, measure
from infogain.generate import writes_whole
from infogain.recipe import Recipe
from infogain.text.prompts import completions

MEANINGS = {
    "written": "tokens written since the block opened and its cache was filled",
    "canvases": "unfinished texts that were evaluated with the cache and without",
    "mean |Δlogit|": "distance of cached logits from exact ones, on average",
    "max |Δlogit|": "the same, at most",
    "KL": "mean KL(exact ‖ cached) of a column's distribution, in nats",
    "token changed": "masked columns that the cache gives another likeliest token",
    "choice changed": "canvases whose surest column, or its token, the cache changes",
}


@click.command(cls=SectionedCommand)
@click.argument("prompts", nargs=-1, metavar="[PROMPT]...")
@model_flags
@FILE
@LENGTH
@CHAT
@SYSTEM
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="folder for drift.json and drift.png")
@OVERWRITE
@settings_flags
def drift(
    prompts: tuple[str, ...],
    source: Source,
    file: Path | None,
    length: int | None,
    chat: bool | None,
    system: str | None,
    out: Path | None,
    overwrite: bool,
    settings: RecipeFlags,
) -> None:
    """Report how far cached logits drift from exact ones.

    Every canvas of a decode is evaluated with the cache and without, by the number of tokens written since its block
    opened; then the prompts are decoded again without a cache, from the same seeds. Where --cache is unset, a model
    that has none by itself is given a dual one.

    \b
    Examples:
      infogain drift "C93,3,63=33:" --length 22
      infogain drift "Why is the sky blue?" --model ./llada --length 128
      infogain drift "Why is the sky blue?" --model ./llada --length 128 --refresh 4
      infogain drift --file prompts.txt --model ./dream --cache prefix --block 32 --out report
    """
    settings.over(Recipe())
    asked = read_prompts(prompts, file, fields=("length",))
    make_folder(out, ("drift.json", "drift.png"), overwrite)
    model = source.cached.load()
    lengths = [length if one.length is None else one.length for one in asked]
    job = completions(model, [one.prompt for one in asked], lengths, chat, system)
    recipe = recipe_for(model, settings, whole=writes_whole(model))
    with watch(2 * masks(job, model) * recipe.sampler.traits.copies, "decoding twice") as observe:
        report = measure(model, job, recipe, observe=observe)
    console = Terminal()
    console.print(explained(table(report), MEANINGS), "", sep="\n")
    console.print(summary(report), soft_wrap=True)
    if out:
        for path in save(report, out):
            console.print(f"→ {path}", soft_wrap=True)


def table(report: Drift) -> Table:
    titles = ("written", "canvases", "mean |Δlogit|", "max |Δlogit|", "KL", "token changed", "choice changed")
    grid = plain_table()
    for title in titles:
        grid.add_column(title, justify="right")
    for age, row in report.by_age.items():
        shares = (f"{100 * row[name]:.1f} %" for name in ("tokens_changed", "choices_changed"))
        numbers = (f"{row['mean_gap']:.3f}", f"{row['widest_gap']:.2f}", f"{row['mean_kl']:.4f}")
        grid.add_row(str(age), str(row["canvases"]), *numbers, *shares)
    return grid


def summary(report: Drift) -> str:
    read = f" (rows read every {report.refresh} blocks)" if report.refresh > 1 else ""
    return (
        f"Against no cache, {report.cache}{read} changed {report.texts_changed} of {report.texts} texts and "
        f"{report.tokens_changed} of {report.tokens} tokens (same seeds)."
    )


def save(report: Drift, folder: Path) -> list[Path]:
    paths = [folder / "drift.json"]
    paths[0].write_text(json.dumps(report.plain(), indent=1) + "\n", encoding="utf-8")
    try:
        draw(report, folder / "drift.png")
    except ModuleNotFoundError:
        return paths  # matplotlib is an extra
    return [*paths, folder / "drift.png"]


def draw(report: Drift, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    ages = list(report.by_age)
    for name, label, colour, style in (
        ("tokens_changed", "likeliest token of a column", "#0072B2", "-"),
        ("choices_changed", "surest column, or its token", "#D55E00", "--"),
    ):
        shares = [100 * report.by_age[age][name] for age in ages]
        left.plot(ages, shares, style, color=colour, marker="o", markersize=4, label=label)
    left.set(ylabel="changed by the cache, %", xlabel="tokens written since the block opened")
    left.legend(frameon=False)
    right.plot(ages, [report.by_age[age]["mean_kl"] for age in ages], "-", color="#009E73", marker="o", markersize=4)
    right.set(ylabel="mean KL(exact ‖ cached), nats", xlabel="tokens written since the block opened")
    for axes in (left, right):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
