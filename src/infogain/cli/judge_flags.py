"""The flags of commands that ask a judge, and what they make: the judge, its client, its file of rulings."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from click.core import ParameterSource
from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

from infogain.cli.interrupt import resumable
from infogain.cli.output_files import check_folder_of
from infogain.cli.progress import Label, bar
from infogain.cli.terminal import say
from infogain.errors import InputError, OptionError
from infogain.evals.judging.asking import Question, ask
from infogain.evals.judging.judge_client import JudgeClient, JudgeModel
from infogain.evals.judging.pace import Pace
from infogain.evals.judging.rulings import RulingsFile
from infogain.evals.judging.secret import Secret
from infogain.options import Plain, dashed

KEY = "OPENAI_API_KEY"
OURS = ("model", "messages", "stream", "n")  # fields of a request that are not the user's to set
LOCAL = ("localhost", "127.0.0.1", "::1")


class JudgeOption(click.Option):
    section = "Judge"


judge_option = functools.partial(click.option, cls=JudgeOption)

HOW_TO_ASK = [
    judge_option(
        "--rulings",
        type=click.Path(dir_okay=False, path_type=Path),
        default=Path("judged/rulings.jsonl"),
        show_default=True,
        help="file of all that judges said; what it holds is not asked again",
    ),
    judge_option(
        "--parallel", type=click.IntRange(1, 256), default=8, show_default=True, help="requests at the same time"
    ),
    judge_option(
        "--requests-per-minute", type=click.FloatRange(min=0, min_open=True), help="at most; unset: any number"
    ),
    judge_option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=120,
        show_default=True,
        help="seconds to wait for a reply",
    ),
    judge_option(
        "--retries",
        type=click.IntRange(0, 20),
        default=6,
        show_default=True,
        help="further attempts if the server is busy or fails, after 1, 2, 4 … 60 seconds, or as long as it asks",
    ),
    judge_option("--ask-again", is_flag=True, help="ask again what was refused or had no clear verdict"),
]


@dataclass(frozen=True)
class JudgeFlags:
    """The flags of a judge as they were given."""

    judge_url: str | None
    judge_model: str | None
    judge_key_env: str
    judge_option: tuple[str, ...]
    rulings: Path
    parallel: int
    requests_per_minute: float | None
    timeout: float
    retries: int
    ask_again: bool
    given: frozenset[str] = frozenset()  # names of those that were not left out

    @property
    def judge(self) -> JudgeModel:
        if not self.judge_url or not self.judge_model:
            raise InputError("a judge is named by --judge-url and --judge-model together; one is missing. Add it.")
        options = {"temperature": 0, **dict(map(_named_value, self.judge_option))}
        return JudgeModel(self.judge_url, self.judge_model, options)

    @property
    def file(self) -> RulingsFile:
        return RulingsFile(self.rulings)

    def client(self) -> JudgeClient:
        """The judge with its key, which is read now, and not before a request is to be sent."""
        judge = self.judge
        key = Secret.from_environment(self.judge_key_env, required="judge_key_env" in self.given)
        parts = urlsplit(judge.url)
        if key and parts.scheme == "http" and parts.hostname not in LOCAL:
            say(f"note: the key is sent to {judge.host} without encryption; https:// would hide it.", err=True)
        return JudgeClient(judge, key, Pace(self.requests_per_minute), self.timeout, self.retries)

    def ask(self, missing: Sequence[Question], total: int) -> None:
        """Ask what is missing of a `total` of questions, with a bar; each ruling is kept as soon as it is there."""
        if not missing:
            return
        client, done = self.client(), total - len(missing)
        columns = (
            Label(client.judge.model),
            BarColumn(),
            MofNCompleteColumn(),
            Label("verdicts"),
            TimeRemainingColumn(),
        )
        with resumable(lambda: f"{done} of {total} verdicts in {self.rulings}"), bar(*columns) as progress:
            task = progress.add_task("", total=total, completed=done)
            for _ in ask(client, missing, self.file, self.parallel):
                done += 1
                progress.update(task, completed=done)


def _named_value(text: str) -> tuple[str, Any]:
    name, found, value = text.partition("=")
    if not found or not name or name in OURS:
        raise OptionError(
            f"--judge-option is a field of the request and its value, such as max_tokens=500; got {text!r:.80}. "
            f"{', '.join(OURS)} cannot be set."
        )
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def judge_flags(required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command the flags of a judge; it is called with them as `judging`."""

    def flagged(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def judging(**given: Any) -> Any:
            context = click.get_current_context()
            names = [field.name for field in fields(JudgeFlags) if field.name != "given"]
            source = {name: context.get_parameter_source(name) for name in names}
            chosen = frozenset(name for name in names if source[name] is not ParameterSource.DEFAULT)
            values: Plain = {name: given.pop(name) for name in names}
            check_folder_of(values["rulings"].parent)
            return command(judging=JudgeFlags(**values, given=chosen), **given)

        made: Callable[..., Any] = judging
        for flag in reversed(_flags(required)):
            made = flag(made)
        return made

    return flagged


def flags_in_words(given: frozenset[str]) -> str:
    return ", ".join(sorted(map(dashed, given)))


def _flags(required: bool) -> list[Callable[[Callable[..., Any]], Callable[..., Any]]]:
    unset = "" if required else "; unset: nobody judges"
    return [
        judge_option(
            "--judge-url",
            required=required,
            metavar="URL",
            help=f"OpenAI-compatible server, up to where /chat/completions follows: https://api.openai.com/v1{unset}",
        ),
        judge_option("--judge-model", required=required, metavar="NAME", help=f"model that judges, as there{unset}"),
        judge_option(
            "--judge-key-env",
            default=KEY,
            show_default=True,
            metavar="VARIABLE",
            help="variable of the environment that holds the key; a local server may need none",
        ),
        judge_option(
            "--judge-option",
            multiple=True,
            metavar="NAME=VALUE",
            help="field of the requests, such as max_tokens=500 or temperature=null; temperature is otherwise 0",
        ),
        *HOW_TO_ASK,
    ]
