"""`python -m infogain.zoo.train --out FOLDER`: draw texts, train, save a model folder and its card.

Run it again with the same folder and it goes on where it stopped. Scores are taken on the
validation split; nothing here ever sees a test problem.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from infogain.errors import NumericsError
from infogain.options import Plain
from infogain.zoo.card import CARD_FILE, write_page
from infogain.zoo.elbo import elbo_loss
from infogain.zoo.folder import load_zoo_model, save_model
from infogain.zoo.pool import Pool, fill
from infogain.zoo.score import CARD, TaskScore, score
from infogain.zoo.tasks import Task
from infogain.zoo.trainer import Trainer, TrainingSettings

STATE = "state.pt"  # of an unfinished run; not part of the model
REPORT_EVERY, SAVE_EVERY = 10.0, 60.0  # seconds
VALIDATE_EVERY = 6  # reports
VALIDATION_TEXTS = 1000


def main(arguments: Sequence[str] | None = None) -> None:
    options = read_arguments(arguments)
    settings = TrainingSettings(
        **{field.name: getattr(options, field.name) for field in dataclasses.fields(TrainingSettings)}
    )
    out, device = Path(options.out), torch.device(options.device)
    out.mkdir(parents=True, exist_ok=True)
    torch.set_float32_matmul_precision("high")
    data = Path(options.data) if options.data else None
    pools = draw_pools(settings, "train", settings.pool, options.workers, data)
    held_out = draw_pools(settings, "validation", VALIDATION_TEXTS, 1, data)
    loss = torch.compile(elbo_loss, dynamic=True) if options.compile else elbo_loss  # one kernel set for all widths
    trainer = Trainer(settings, pools, device, loss)
    if (out / STATE).exists():
        trainer.restore(out / STATE)
        print(f"going on at step {trainer.step}", flush=True)
    losses = train(trainer, held_out, out)
    save_model(out, trainer.averaged, settings.alphabet, max(task.width for task in settings.known))
    scores = validate(out, device, settings.known, options.problems)
    texts = {name: len(pool.tokens) for name, pool in pools.items()}
    write_card(
        out,
        {"data": {task.name: task.about for task in settings.known}, "texts": texts, **how_trained(trainer)}
        | {"validation_loss": losses, "validation_scores": [each.plain() for each in scores]},
    )


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m infogain.zoo.train", description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--out", required=True, help="folder of the model, and of the state of an unfinished run")
    for field in dataclasses.fields(TrainingSettings):
        flag = "--" + field.name.replace("_", "-")
        parser.add_argument(flag, type=type(field.default), default=field.default, help=field.metadata["help"])
    parser.add_argument("--data", help="file of the texts, for tasks that do not draw them: MOSES's train.csv.gz")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="where to train")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that draw texts")
    parser.add_argument("--problems", type=int, default=250, help="validation problems of each task for the card")
    parser.add_argument("--compile", action="store_true", help="fuse kernels with torch.compile; takes a minute first")
    return parser.parse_args(arguments)


def draw_pools(
    settings: TrainingSettings, split: str, count: int, workers: int, data: Path | None = None
) -> dict[str, Pool]:
    began = time.perf_counter()
    pools = fill(list(settings.shares), split, count, settings.seed, workers, data)
    seconds = time.perf_counter() - began
    total = sum(len(pool.tokens) for pool in pools.values())
    print(f"{total:,} {split} texts in {seconds:.1f} s, {total / seconds:,.0f}/s", flush=True)
    return pools


def train(trainer: Trainer, held_out: dict[str, Pool], out: Path) -> dict[str, float]:
    """Step until the run is over, saving now and then and when interrupted. Returns the validation losses."""
    report = Report(trainer, held_out)
    began, saved = None, 0.0
    try:
        while trainer.progress < 1:
            losses = trainer.train_step()
            if began is None:  # the first step compiles; the clock that drives the rate starts after it
                began, saved = time.perf_counter() - trainer.seconds, time.perf_counter()
            trainer.seconds = time.perf_counter() - began
            report.step(losses)
            if time.perf_counter() - saved > SAVE_EVERY:
                trainer.save(out / STATE)
                saved = time.perf_counter()
    except KeyboardInterrupt:
        trainer.save(out / STATE)
        raise
    trainer.save(out / STATE)
    return report.validation()


class Report:
    """A line now and then, with the mean losses since the last: reading each would make the device wait."""

    def __init__(self, trainer: Trainer, held_out: dict[str, Pool]) -> None:
        self.trainer, self.held_out = trainer, held_out
        self.lines = 0
        self.begin()

    def begin(self) -> None:
        self.since, self.first = time.perf_counter(), self.trainer.step
        self.sum = torch.zeros(len(self.trainer.settings.shares), device=self.trainer.device)

    def step(self, losses: torch.Tensor) -> None:
        self.sum += losses
        seconds = time.perf_counter() - self.since
        if seconds < REPORT_EVERY:
            return
        trainer, steps = self.trainer, self.trainer.step - self.first
        mean = (self.sum / steps).tolist()
        if not all(map(math.isfinite, mean)):
            raise NumericsError(f"the loss must be a number; by step {trainer.step} it is {mean}. Lower --rate.")
        each = "  ".join(f"{name} {loss:.3f}" for name, loss in zip(trainer.settings.shares, mean, strict=True))
        speed = steps * tokens_per_step(trainer) / seconds / 1e3
        left = trainer.seconds * (1 / trainer.progress - 1)
        done = f"step {trainer.step} ({trainer.progress:.1%})"
        print(f"{done}  {each}  rate {trainer.rate:.1e}  {speed:,.0f} k tokens/s  {left:.0f} s left", flush=True)
        self.lines += 1
        if self.lines % VALIDATE_EVERY == 0:
            self.validation()
        self.begin()

    def validation(self) -> dict[str, float]:
        losses = self.trainer.validate(self.held_out)
        print("validation  " + "  ".join(f"{name} {loss:.3f}" for name, loss in losses.items()), flush=True)
        return losses


def tokens_per_step(trainer: Trainer) -> int:
    return sum(trainer.settings.rows_of(name) * pool.tokens.shape[1] for name, pool in trainer.pools.items())


def validate(out: Path, device: torch.device, tasks: Sequence[Task], count: int) -> list[TaskScore]:
    """The card's samplers on validation problems, with the weights as they were saved.

    Tasks whose check needs what is not installed here are left for `python -m infogain.zoo.card_scores`.
    """
    model, alphabet = load_zoo_model(out, device)
    scores = []
    for task in tasks:
        if missing := task.missing():
            print(f"{task.name} is not scored: {missing} Then: python -m infogain.zoo.card_scores {out}", flush=True)
            continue
        problems = task.problems(count, "validation")
        for recipe in CARD:
            scores.append(score(model, alphabet, task, problems, recipe))
            print(scores[-1].line(), flush=True)
    return scores


def write_card(out: Path, card: Plain) -> None:
    (out / CARD_FILE).write_text(json.dumps(card, indent=1) + "\n")
    write_page(out)


def how_trained(trainer: Trainer) -> Plain:
    """What a card says of a run: its settings, how long it took, and where."""
    on_cuda = trainer.device.type == "cuda"
    return {
        "settings": dataclasses.asdict(trainer.settings),
        "parameters": trainer.settings.spec.parameters,
        "steps": trainer.step,
        "tokens": trainer.step * tokens_per_step(trainer),
        "seconds": round(trainer.seconds, 1),
        "device": torch.cuda.get_device_name(trainer.device) if on_cuda else "CPU",
    }


if __name__ == "__main__":
    main()
