"""The texts of `generate` and `infill`: shown on a terminal, or a JSON line each in a file or a pipe.

A file can be continued: a line that is there is kept if it is what would be decoded now, and refused if not.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from infogain.algorithm.noise import row_seeds
from infogain.cli.interrupt import on_interrupt, resumable
from infogain.cli.layout import COST_OF_A_TEXT, legend
from infogain.cli.output_files import OVERWRITE, check_folder_of, make_folder, would_be_lost
from infogain.cli.progress import watch
from infogain.cli.prompt_input import PromptLine
from infogain.cli.resumable_file import ResumableFile, json_line
from infogain.cli.terminal import Terminal, say, write
from infogain.errors import InputError
from infogain.evals.identity import hash_of, made_by
from infogain.generate import Generation, decode_job
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.text.prompts import Job
from infogain.text.text_model import TextModel

Finish = Callable[[int, Generation], None]
FLAGS = [
    click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        help="write JSON lines here as texts finish; the same command again goes on where it stopped",
    ),
    click.option("--traces", type=click.Path(file_okay=False, path_type=Path), help="folder for a trace per text"),
    click.option(
        "--batch-size",
        type=click.IntRange(min=1),
        default=16,
        show_default=True,
        help="texts decoded together; the next takes the place of one that is done",
    ),
    OVERWRITE,
]


@dataclass(frozen=True)
class PlannedTexts:
    """Everything that decides what the texts will be."""

    model: TextModel
    job: Job
    recipe: Recipe
    asked: Sequence[PromptLine]  # one per row of the job
    stop: Sequence[str] = ()

    @cached_property
    def seeds(self) -> list[int]:
        """A seed for each prompt: its own, or else one made from the recipe's."""
        made = row_seeds(self.recipe.seed, len(self.asked))
        return [seed if one.seed is None else one.seed for one, seed in zip(self.asked, made, strict=True)]

    @cached_property
    def settings(self) -> Plain:
        """The settings that all texts have in common."""
        return {"stop": list(self.stop), "recipe": self.recipe.plain(), "provenance": self.model.provenance}

    def about(self, i: int) -> Plain:
        """Everything that decides text i, as its line says it: two lines that agree in this hold the same text."""
        one = self.asked[i]
        named = {} if one.id is None else {"id": one.id}
        posed = {"prompt": one.prompt, "input": hash_of(self.job.rows[i]), "seed": self.seeds[i]}
        return {"number": i, **named, **posed, **self.settings}

    def decode(self, numbers: Sequence[int], batch_size: int, trace: bool) -> Iterator[tuple[int, Generation]]:
        """The texts of these numbers, each as soon as it is done, under a progress bar."""
        if not numbers:
            return
        job, seeds = part(self.job, numbers), [self.seeds[i] for i in numbers]
        with watch(masks(job, self.model) * self.recipe.sampler.traits.copies) as observe:
            for at, text in decode_job(self.model, job, self.recipe, self.stop, seeds, batch_size, observe, trace):
                yield numbers[at], text


@dataclass(frozen=True)
class TextOutput:
    """Where texts and traces go, and how many are decoded together."""

    out: Path | None
    traces: Path | None
    batch_size: int
    overwrite: bool

    def check(self, count: int) -> None:
        """Find out before a model is loaded what cannot be written, or would be lost."""
        if str(self.out) == "-":
            raise InputError("--out takes the name of a file; JSON lines go to a pipe without it. Drop it.")
        check_folder_of(self.out)
        held = self.file.lines() if self.file else {}
        begun = self.file is not None and self.file.path.exists()
        make_folder(self.traces, map(_trace_name, range(count)), self.overwrite or begun)
        if self.traces and (bare := [i for i in held if not (self.traces / _trace_name(i)).exists()]):
            raise would_be_lost(self.file.path if self.file else self.traces, f"text {bare[0]} has no trace yet")

    @property
    def file(self) -> ResumableFile | None:
        return ResumableFile(self.out, self.overwrite) if self.out else None

    def write(self, planned: PlannedTexts) -> list[str]:
        """Decode what is missing, and write each text as soon as it is done; returns all, those of before too."""
        with self._sink(planned) as (kept, finish):
            texts = {i: line["text"] for i, line in self.file.lines().items()} if self.file and kept else {}
            missing = [i for i in range(len(planned.asked)) if i not in kept]
            for i, text in planned.decode(missing, self.batch_size, self.traces is not None):
                if self.traces and text.trace:
                    text.trace.save(self.traces / _trace_name(i))  # before its line, which says that all is done
                finish(i, text)
                texts[i] = text.text
        return [texts[i] for i in sorted(texts)]

    @contextmanager
    def _sink(self, planned: PlannedTexts) -> Iterator[tuple[set[int], Finish]]:
        """Gives the numbers of the texts that are there already, and a function that writes one more."""
        if self.file:
            with _to_file(self.file, planned) as sink:
                yield sink
        elif sys.stdout.isatty():
            with _to_terminal(len(planned.asked)) as finish:
                yield set(), finish
        else:
            with _to_pipe(planned) as finish:
                yield set(), finish


def output_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the flags of a TextOutput; it is called with the `output`."""

    @functools.wraps(command)
    def with_output(out: Path | None, traces: Path | None, batch_size: int, overwrite: bool, **given: Any) -> Any:
        return command(output=TextOutput(out, traces, batch_size, overwrite), **given)

    flagged: Callable[..., Any] = with_output
    for flag in reversed(FLAGS):
        flagged = flag(flagged)
    return flagged


def part(job: Job, numbers: Sequence[int]) -> Job:
    """The job with these rows only."""
    return replace(job, prompts=[job.prompts[i] for i in numbers], rows=[job.rows[i] for i in numbers])


def masks(job: Job, model: TextModel) -> int:
    return sum(row.count(model.denoiser.mask_id) for row in job.rows)


def show(console: Console, text: Generation) -> None:
    """Print a text, and a line of what it cost, whose words `explain_costs` explains."""
    write(console, text.text)
    console.print(
        f"[{len(text.tokens)} tokens, {text.finish}; H̃ {text.cumulative_entropy:.2f}, forwards {text.forwards}, "
        f"token-forwards {text.token_forwards}]",
        style="dim",
        soft_wrap=True,
    )


def explain_costs(console: Console) -> None:
    console.print(legend(("H̃", "forwards", "token-forwards"), COST_OF_A_TEXT), style="dim")


@contextmanager
def _to_file(file: ResumableFile, planned: PlannedTexts) -> Iterator[tuple[set[int], Finish]]:
    total, files = len(planned.asked), {"made_by": made_by(planned.model, planned.recipe)}
    with file.resume([{**planned.about(i), **files} for i in range(total)]) as (done, add):
        if done:
            say(f"{file.path}: {len(done)} of {total} texts are there and kept.", err=True)

        def finish(i: int, text: Generation) -> None:
            add({**planned.about(i), **files, **text.plain()})
            done.add(i)

        with resumable(lambda: f"{len(done)} of {total} texts in {file.path}"):
            yield set(done), finish
    say(f"texts → {file.path}", err=True)


@contextmanager
def _to_terminal(total: int) -> Iterator[Finish]:
    """Shows the texts once the progress bar is gone; what is done is shown, whatever came in between."""
    console, texts = Terminal(), dict[int, Generation]()
    with _unkept(lambda: len(texts), total):
        try:
            yield texts.__setitem__
        finally:
            for _, text in sorted(texts.items()):
                show(console, text)
            if texts:
                explain_costs(console)


@contextmanager
def _to_pipe(planned: PlannedTexts) -> Iterator[Finish]:
    written = 0

    def finish(i: int, text: Generation) -> None:
        nonlocal written
        sys.stdout.write(json_line({**planned.about(i), **text.plain()}, sys.stdout.encoding))
        sys.stdout.flush()  # at once: what is done stays, whatever comes next
        written += 1

    with _unkept(lambda: written, len(planned.asked)):
        yield finish


def _unkept(written: Callable[[], int], total: int) -> Any:
    return on_interrupt(
        lambda: f"{written()} of {total} texts are done. With --out FILE the same command would go on from there."
    )


def _trace_name(number: int) -> str:
    return f"{number:04}.jsonl"
