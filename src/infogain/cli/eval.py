"""`infogain eval`: benchmarks, scored, in runs that go on where they stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from infogain.cli.flags import RecipeFlags, settings_flags
from infogain.cli.interrupt import resumable
from infogain.cli.layout import explained, in_terminal, legend_of, plain_table
from infogain.cli.model import Source, model_flags, recipe_for
from infogain.cli.progress import watch
from infogain.cli.sections import SectionedCommand
from infogain.cli.terminal import Terminal
from infogain.cli.text_output import masks
from infogain.errors import InputError, UnsupportedTask
from infogain.evals.evaluate import Plan, check, evaluate, is_whole, prepare
from infogain.evals.fingerprint import describe
from infogain.evals.listing import listing
from infogain.evals.protocol import STYLES
from infogain.evals.runs import Run
from infogain.evals.task import EvalTask
from infogain.evals.tasks import TASKS, load_task
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.text.text_model import TextModel

COUNT = click.IntRange(min=1)
MEANINGS = {
    "shots": "worked examples before each problem, unless --shots says so",
    "length": "tokens to write, unless --length says so; holes: as the problem has",
}


@click.command("eval", cls=SectionedCommand)
@click.argument("names", nargs=-1, metavar="[TASK]...")
@model_flags
@click.option("--data", type=click.Path(exists=True, path_type=Path), help="folder with the benchmarks' own files")
@click.option(
    "--runs",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="folder of the runs",
)
@click.option("--shots", type=click.IntRange(min=0), help="worked examples before each problem; unset: the task's own")
@click.option(
    "--style", metavar=f"[{'|'.join(STYLES)}]", help="how problems are posed; unset: what suits task and checkpoint"
)
@click.option("--length", type=COUNT, help="tokens to write; unset: the task's own")
@click.option("--seeds", type=COUNT, help="times each problem is decoded; unset: 5, for writing 1")
@click.option("--limit", type=COUNT, help="decode the first so many problems; unset: all, for writing 200")
@click.option("--batch-size", type=COUNT, default=16, show_default=True, help="texts decoded together")
@click.option("--traces", is_flag=True, help="keep a trace of each text for the viewer")
@click.option("--allow-unsafe", is_flag=True, help="where the sandbox is refused, run programs with all your rights")
@settings_flags
def eval_(
    names: tuple[str, ...],
    source: Source,
    data: Path | None,
    runs: Path,
    batch_size: int,
    traces: bool,
    allow_unsafe: bool,
    settings: RecipeFlags,
    **asked: str | int | None,
) -> None:
    """Run benchmarks on a model and score its answers. Without a TASK, list them.

    What is finished is kept in RUNS/NAME/items.jsonl, line by line. The same command goes on where it was
    interrupted; another recipe, model or way of posing is another run; more seeds or a higher limit extend one.

    \b
    Examples:
      infogain eval
      infogain eval zoo:countdown zoo:sudoku --seeds 1 --limit 50
      infogain eval gsm8k math500 --model ./dream --recipe info-gain-reasoning
      infogain eval sudoku countdown --model ./dream --recipe info-gain-planning --data ./benchmarks
      infogain eval writing --model ./sdar --data alpaca_eval.json --tau-token 1
      infogain eval humaneval --model ./sdar --length 512 --sampler entropy -k 2
    """
    console = Terminal()
    if not names:
        console.print(explained(overview(), MEANINGS))
        return
    settings.over(Recipe())  # a mistake is found now, not after the model is loaded
    tasks = [load_task(name, allow_unsafe) for name in dict.fromkeys(names)]
    if data and not any(task.files for task in tasks):
        raise InputError(f"--data is for tasks that are read from files; {', '.join(names)} are drawn. Drop it.")
    check(tasks, data)
    model = source.load()
    described = describe(model)
    plans, refused = list[Plan](), list[str]()
    for task in tasks:
        try:
            plans.append(plan_for(task, model, described, settings, data, asked))
        except UnsupportedTask as error:
            refused.append(str(error))
    if not plans:
        raise InputError(" ".join(refused))
    with resumable(lambda: saved_so_far(plans, runs)):
        finished = [carry_out(plan, runs, batch_size, traces) for plan in plans]
    made = listing(finished, asked=["task"])
    console.print(in_terminal(made), "", legend_of(made), "", sep="\n")
    for line in [*remarks(plans), *written(finished), *(f"skipped: {why}" for why in refused)]:
        console.print(line, soft_wrap=True)


def plan_for(
    task: EvalTask, model: TextModel, described: Plain, settings: RecipeFlags, data: Path | None, asked: Plain
) -> Plan:
    protocol = task.protocol(model.tokenizer, **asked)
    stops = protocol.style != "infill"
    recipe = recipe_for(model, settings, stops, is_whole(task, protocol))
    return prepare(task, model, described, protocol, recipe, data if task.files else None)


def carry_out(plan: Plan, runs: Path, batch_size: int, traces: bool) -> Run:
    run = plan.run(runs)
    tokens = sum(masks(plan.rows_of(texts), plan.model) for texts in plan.jobs(batch_size, run.done()))
    with watch(tokens * plan.recipe.sampler.traits.copies, plan.task.name) as observe:
        for _ in evaluate(plan, runs, batch_size, traces, observe):
            pass
    return run


def remarks(plans: Sequence[Plan]) -> list[str]:
    """What the tasks have to say of their numbers."""
    return [said for plan in plans for said in plan.task.remarks(plan.protocol, plan.about["data"]["items"])]


def written(runs: Sequence[Run]) -> list[str]:
    return [f"{run.about['task']} → {run.folder}" for run in runs]


def saved_so_far(plans: Sequence[Plan], runs: Path) -> str:
    """How many of the texts asked for are on disk."""
    done = sum(len(plan.keys & plan.run(runs).done()) for plan in plans)
    return f"{done} of {sum(len(plan.keys) for plan in plans)} texts in {runs}"


def overview() -> Table:
    table = plain_table()
    for title in ("task", "shots", "length", "what it asks"):
        table.add_column(title, overflow="fold")
    for task in TASKS.values():
        length = "holes" if task.styles[0] == "infill" else str(task.length)
        table.add_row(task.name, str(task.shots), length, task.about)
    return table
