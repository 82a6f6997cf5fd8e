"""`infogain reproduce`: a table of the paper, made again, and set beside the paper's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.progress import BarColumn, TaskProgressColumn, TimeRemainingColumn

from infogain.cli.eval import COUNT, saved_so_far
from infogain.cli.interrupt import resumable
from infogain.cli.judge_flags import JudgeFlags, flags_in_words, judge_flags
from infogain.cli.model import CODEC, DEFAULT, Source, model_flags
from infogain.cli.output_files import OVERWRITE, check_record, make_folder
from infogain.cli.progress import Label, bar
from infogain.cli.reproduce_images import ImageTableFlags, reproduce_images
from infogain.cli.sections import SectionedCommand
from infogain.cli.table_output import print_and_write
from infogain.cli.terminal import say
from infogain.cli.text_output import masks
from infogain.errors import InputError
from infogain.evals.evaluate import Plan, check, evaluate
from infogain.evals.fingerprint import describe
from infogain.evals.judging import win_rate_table
from infogain.evals.judging.asking import unanswered
from infogain.evals.judging.judge_client import JudgeModel
from infogain.evals.reproduce import PlannedCell, Setting, plan_table, record
from infogain.evals.reproduced_table import notes, table_of
from infogain.evals.tasks import load_task
from infogain.load import ZOO
from infogain.loop.batch import Observer
from infogain.loop.step import StepEvent
from infogain.options import Plain
from infogain.report.paper import PaperTable, load_table
from infogain.report.tables import Table
from infogain.samplers import PC, LookAhead
from infogain.text.alphabet import Alphabet
from infogain.text.text_model import TextModel

FOLDER = click.Path(file_okay=False, path_type=Path)
WIN_RATE = "win rate"  # what a table measures that needs a judge
OF_IMAGES = "images"  # what a table measures that is of images
TOGETHER = 32  # texts that are decoded together


@click.command(cls=SectionedCommand)
@click.argument("title", metavar="TABLE")
@model_flags
@click.option(
    "--only", multiple=True, metavar="ROW", help="row, sampler or task: k1-info-gain, k2-*, entropy, gsm8k; unset: all"
)
@click.option("--beside", metavar="NAME", help="whose numbers to compare with; unset: told by the model's name")
@click.option("--data", type=click.Path(exists=True, path_type=Path), help="folder with the benchmarks' own files")
@click.option("--runs", type=FOLDER, default=Path("runs"), show_default=True, help="folder of the evaluations")
@click.option("--out", type=FOLDER, default=Path("reproduced"), show_default=True, help="folder of the tables")
@click.option(
    "--seeds",
    type=COUNT,
    help="times each problem is decoded; unset: 5; table5 and zoo: 1; table4: 4, zoo: 3",
)
@click.option(
    "--limit",
    type=COUNT,
    help="decode the first so many problems of each task; unset: all; table5: 200; table4 on zoo: 100",
)
@click.option("--batch-size", type=COUNT, help="texts decoded together; unset: 32; images: 4")
@CODEC
@click.option("--frequencies", help="pc's table (`infogain frequencies`); unset: the zoo model's own, or none")
@click.option("--allow-unsafe", is_flag=True, help="where the sandbox is refused, run programs with all your rights")
@judge_flags(required=False)
@OVERWRITE
def reproduce(
    title: str,
    source: Source,
    only: tuple[str, ...],
    beside: str | None,
    data: Path | None,
    runs: Path,
    out: Path,
    seeds: int | None,
    limit: int | None,
    batch_size: int | None,
    codec: str | None,
    frequencies: str | None,
    allow_unsafe: bool,
    judging: JudgeFlags,
    overwrite: bool,
) -> None:
    """Reproduce a table of the paper.

    TABLE is table2 (Dream), table3 (SDAR, TraDo), table4 (MMaDA, images) or table5 (SDAR, writing).

    Each cell is a run of the evaluation kit: the same command goes on where it was interrupted. Our numbers are set
    beside the paper's and written as TABLE.md, .json, .tex and .html. A model of the zoo is asked the zoo's own tasks,
    with the paper's dual cache. The win rates of table5 need a judge; without one, its command names what to ask.
    Images of table4 are judged by GenEval's own program, or for models of the zoo by their classifier.

    \b
    Examples:
      infogain reproduce table2 --limit 20
      infogain reproduce table2 --model ./dream --data ./benchmarks
      infogain reproduce table2 --model ./dream --only info-gain --only entropy --only gsm8k --limit 100
      infogain reproduce table3 --model ./trado --seeds 1
      infogain reproduce table4
      infogain reproduce table4 --model ./MMaDA-8B-Base --codec ./magvitv2 --data evaluation_metadata.jsonl
      infogain reproduce table5 --model ./sdar --data alpaca_eval.json --only "t1.5-*"
    """
    table = load_table(title).select(only)
    check_judge(table, judging)
    if table.measure == OF_IMAGES:
        check_texts_only(table, frequencies=frequencies, allow_unsafe=allow_unsafe or None)
        images = ImageTableFlags(beside, data, runs, out, seeds, limit, batch_size, codec, overwrite)
        reproduce_images(table, source, images)
        return
    if codec is not None:
        raise InputError(f"--codec is for models that write images, in table4; {table.name} is of texts. Drop it.")
    texts = TextTableFlags(beside, data, runs, out, seeds, limit, batch_size or TOGETHER, frequencies, allow_unsafe)
    reproduce_texts(table, source, texts, judging, overwrite)


@dataclass(frozen=True)
class TextTableFlags:
    """The flags of `reproduce` that a table of texts takes."""

    beside: str | None
    data: Path | None
    runs: Path
    out: Path
    seeds: int | None
    limit: int | None
    batch_size: int
    frequencies: str | None
    unsafe: bool


def reproduce_texts(
    table: PaperTable, source: Source, flags: TextTableFlags, judging: JudgeFlags, overwrite: bool
) -> None:
    """Make a table of texts again with the model that the source names, or with the one that comes with the package."""
    name = source.name or DEFAULT
    beside = table.compared_model(name, flags.beside)
    if not name.startswith(ZOO):
        check([load_task(column.task, flags.unsafe) for column in table.columns], flags.data)
    model = source.cached.load()
    small = isinstance(model.tokenizer, Alphabet)
    length = table.models[beside].length if beside and not small else None
    asked = {"seeds": flags.seeds or (1 if small else table.seeds), "limit": flags.limit, "length": length}
    counted = flags.frequencies or (name if name.startswith(ZOO) else None)
    cells, refused = plan_table(table, Setting(model, describe(model), asked, flags.data, counted, flags.unsafe))
    check_asked(cells, refused, flags.data, flags.frequencies)
    warn(cells, model, counted)
    check_record(flags.out / f"{table.name}.json", {"model": cells[0].plan.about["model"]}, overwrite)
    make_folder(flags.out, (), overwrite)
    with resumable(lambda: saved_so_far([cell.plan for cell in cells], flags.runs)):
        carry_out(table.name, cells, flags.runs, flags.batch_size)
    print_and_write(*report(table, cells, refused, beside, flags.runs, judging), flags.out)


def report(
    table: PaperTable,
    cells: Sequence[PlannedCell],
    refused: dict[str, str],
    beside: str | None,
    runs: Path,
    judging: JudgeFlags,
) -> tuple[Plain, Table, list[str]]:
    """The numbers beside the paper's, as a record, a table and what must be said of them; a judge may be asked."""
    if table.measure == WIN_RATE:
        found = win_rate_table.record(table, cells, beside, runs, judged(cells, runs, judging))
        return found, win_rate_table.table_of(found), win_rate_table.notes(found)
    found = record(table, cells, refused, beside, runs)
    return found, table_of(found), notes(found)


def check_texts_only(table: PaperTable, **flags: object) -> None:
    """Refuse flags that only texts have, for a table of images."""
    if given := [name for name, value in flags.items() if value is not None]:
        raise InputError(f"{flags_in_words(frozenset(given))}: {table.name} is of images, which take none. Drop it.")


def check_judge(table: PaperTable, judging: JudgeFlags) -> None:
    """Refuse flags of a judge that would have no effect, and half of a judge, before a model is loaded."""
    if table.measure != WIN_RATE and judging.given:
        raise InputError(
            f"{flags_in_words(judging.given)}: a judge is asked for table5; {table.name} needs none. Drop it."
        )
    if table.measure == WIN_RATE:
        win_rate_table.check_contests(table)
    if judging.given:
        _ = judging.judge  # raises what is wrong with it


def judged(
    cells: Sequence[PlannedCell], runs: Path, judging: JudgeFlags
) -> tuple[JudgeModel, Mapping[str, Plain]] | None:
    """The judge and all that it said of these runs, once it was asked what is missing; None without a judge."""
    if not judging.given:
        return None
    asked = [one for c in win_rate_table.contests(cells, runs) for one in win_rate_table.questions_of(c, judging.judge)]
    missing = unanswered(asked, judging.file.read(), judging.ask_again)
    judging.ask(missing, len({question.key for question in asked}))
    return judging.judge, judging.file.read()


def check_asked(
    cells: Sequence[PlannedCell], refused: dict[str, str], data: Path | None, frequencies: str | None
) -> None:
    """Refuse a call in which no task can be asked, or a flag would have no effect."""
    if not cells:
        raise InputError(" ".join(refused.values()))
    if data and not any(cell.plan.task.files for cell in cells):
        raise InputError("--data is for tasks that are read from files; those asked here are drawn. Drop it.")
    if frequencies and not any(isinstance(cell.plan.recipe.sampler, PC) for cell in cells):
        raise InputError("--frequencies is for pc, which is in none of the rows asked for. Drop it.")


def warn(cells: Sequence[PlannedCell], model: TextModel, frequencies: str | None) -> None:
    """Say on the error stream what differs from the paper's setting."""
    own, recipes = model.denoiser.attention_block, [cell.plan.recipe for cell in cells]
    others = {recipe.block for recipe in recipes} - {None, own}
    if own and others:
        say(f"note: blocks of {others.pop()} columns; the checkpoint was trained with {own}.", err=True)
    if frequencies is None and any(isinstance(recipe.sampler, PC) for recipe in recipes):
        say("note: pc has no --frequencies: all tokens are equally frequent to it.", err=True)


def carry_out(title: str, cells: Sequence[PlannedCell], runs: Path, batch_size: int) -> None:
    """Decode what is missing of every cell."""
    with watch(sum(_work(cell.plan, runs, batch_size) for cell in cells)) as begin:
        for number, cell in enumerate(cells, 1):
            words = f"{title}, {number} of {len(cells)}: {cell.row.name}, {cell.plan.task.name}"
            for _ in evaluate(cell.plan, runs, batch_size, observe=begin(words, _weight(cell.plan))):
                pass


def _work(plan: Plan, runs: Path, batch_size: int) -> float:
    jobs = plan.jobs(batch_size, plan.run(runs).done())
    return _weight(plan) * sum(masks(plan.rows_of(texts), plan.model) for texts in jobs)


def _weight(plan: Plan) -> float:
    """Roughly what a token costs: a forward for every K, and twice as much where some steps look ahead."""
    k = getattr(plan.recipe.schedule, "k", 1)
    return (2 if isinstance(plan.recipe.sampler, LookAhead) else 1) / k


@contextmanager
def watch(work: float) -> Iterator[Callable[[str, float], Observer]]:
    """A bar over all cells, on the error stream; gives what begins one, with its weight."""
    columns = (Label(), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with bar(*columns) as progress:
        task = progress.add_task("", total=work)

        def begin(words: str, weight: float) -> Observer:
            progress.update(task, description=words)
            now = 0

            def observe(event: StepEvent) -> None:
                nonlocal now
                progress.advance(task, weight * (event.done - (now if event.step else 0)))
                now = event.done

            return observe

        yield begin
