"""`infogain judge`: two runs of texts that are neither right nor wrong, compared by a judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from infogain.cli.judge_flags import JudgeFlags, judge_flags
from infogain.cli.output_files import OVERWRITE, check_record
from infogain.cli.results import find_runs
from infogain.cli.sections import SectionedCommand
from infogain.cli.table_output import print_and_write
from infogain.cli.terminal import Terminal
from infogain.evals.judging.asking import Question, questions, unanswered
from infogain.evals.judging.judge_report import name_of, notes, question_of, record, table_of
from infogain.evals.judging.sides import Side, pair_up, read_side, side_of_run
from infogain.evals.runs import RUN
from infogain.report.numbers import grouped

FOLDER = click.Path(file_okay=False, path_type=Path)
CHARACTERS, REPLY = 4, 5  # characters of a token, and tokens of a reply, roughly


@click.command(cls=SectionedCommand)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@judge_flags(required=True)
@click.option("--runs", type=FOLDER, default=Path("runs"), show_default=True, help="folder of the runs")
@click.option("--out", type=FOLDER, default=Path("judged"), show_default=True, help="folder of the tables")
@click.option("--dry-run", is_flag=True, help="count the requests and estimate their tokens, and send none")
@OVERWRITE
def judge(a: str, b: str, judging: JudgeFlags, runs: Path, out: Path, dry_run: bool, overwrite: bool) -> None:
    """Ask a judge whether A's texts are better than B's.

    A and B are runs of `infogain eval writing` (a folder, or a part of its name), or JSON files of instructions and
    outputs as AlpacaEval has them. Each pair of texts is judged twice, in both orders. What the judge says is kept line
    by line: the same command goes on where it was interrupted, and asks nothing twice. Win rates are written as
    A-vs-B.md, .json, .tex and .html.

    \b
    Examples:
      infogain judge 3f20a1 9c41d2 --judge-url https://api.openai.com/v1 --judge-model gpt-4.1 --dry-run
      infogain judge 3f20a1 9c41d2 --judge-url https://api.openai.com/v1 --judge-model gpt-4.1
      infogain judge ours.json alpaca_eval.json --judge-url http://localhost:8000/v1 --judge-model qwen
    """
    model, (first, second) = judging.judge, (find_side(name, runs) for name in (a, b))
    asked = questions(pair_up(first, second), model)
    held = judging.file.read()
    missing = unanswered(asked, held, judging.ask_again)
    if dry_run:
        Terminal().print(*estimate(asked, missing, judging.rulings), sep="\n", soft_wrap=True)
        return
    check_record(out / f"{name_of(first, second)}.json", question_of(first, second, model), overwrite)
    judging.ask(missing, len({question.key for question in asked}))
    found = record(first, second, model, asked, judging.file.read())
    print_and_write(found, table_of(found), notes(found), out)


def find_side(name: str, runs: Path) -> Side:
    """The run or file of this name: a path, or a part of the name of a run in `runs`."""
    path = Path(name)
    return read_side(path) if path.is_file() or (path / RUN).is_file() else side_of_run(find_runs(runs, [name])[0])


def estimate(asked: Sequence[Question], missing: Sequence[Question], rulings: Path) -> list[str]:
    """What asking would take, in sentences."""
    characters = sum(len(message["content"]) for question in missing for message in question.messages)
    kept = len({question.key for question in asked}) - len(missing)
    return [
        f"{grouped(len(asked) / 2)} pairs, each in both orders: {grouped(len(missing))} requests to send, "
        f"{grouped(kept)} verdicts in {rulings}.",
        f"About {grouped(characters / CHARACTERS)} tokens to read, {CHARACTERS} characters counted as one, and "
        f"{grouped(REPLY * len(missing))} to write, {REPLY} a reply; a model that reasons writes more.",
        "Nothing was sent.",
    ]
