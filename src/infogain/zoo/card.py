"""The model card: what a model of the zoo was trained on, for how long, and how well it does, as a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infogain.zoo.tasks import FileTask, Task, load_task

CARD_FILE, PAGE_FILE = "card.json", "README.md"


def write_page(folder: Path) -> None:
    """The card's page, beside its numbers."""
    card = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
    (folder / PAGE_FILE).write_text(page(folder.name, card), encoding="utf-8")


def page(name: str, card: dict[str, Any]) -> str:
    settings, tasks = card["settings"], [load_task(task) for task in card["data"]]
    read = [task for task in tasks if isinstance(task, FileTask)]
    return f"""# {name}

A masked diffusion model of {card["parameters"]:,} parameters ({settings["layers"]} layers of width {settings["width"]}), {_tokens(tasks)}, trained on texts {"of " + read[0].source if read else "that a program draws"}. Load it with `infogain.load("zoo:{name}")`.

- **Data**: {_texts(card)} texts of the training split for each of `{settings["tasks"]}`, in these shares; {"; ".join(f"`{task}`: {_taught(task, about)}" for task, about in card["data"].items())}.
{_numbers(tasks)}- **Training**: {card["steps"]:,} steps, {card["tokens"]:,} tokens, {card["seconds"]:,.0f} seconds on one {card["device"]}; settings in `{CARD_FILE}`.
- **Validation loss**, nats per column: {", ".join(f"{task} {loss:.3f}" for task, loss in card["validation_loss"].items())}.
- **Use**: to see and to test decoding methods. It knows its tasks and nothing else.
{_scores(card["validation_scores"])}"""


def _tokens(tasks: list[Task]) -> str:
    symbols = {symbol for task in tasks for symbol in task.alphabet.symbols}
    return "one character per token" if all(len(symbol) == 1 for symbol in symbols) else f"{len(symbols)} tokens"


def _texts(card: dict[str, Any]) -> str:
    """How many texts there were of a task; a card of before says it of all in its settings."""
    counts = {f"{count:,}" for count in card.get("texts", {"all": card["settings"]["pool"]}).values()}
    return " or ".join(sorted(counts))


def _numbers(tasks: list[Task]) -> str:
    if not all(task.numbers for task in tasks):
        return ""
    each = "; ".join(f"`{task.name}`: {task.numbers}" for task in tasks)
    posed = any(task.name.startswith("sudoku") for task in tasks)
    sudoku = " A Sudoku is posed with such givens, and was learnt with any number of them." if posed else ""
    return f"- **Numbers** it has seen, and it knows no others: {each}.{sudoku}\n"


def _scores(scores: list[dict[str, Any]]) -> str:
    """The table of validation scores; nothing where none were taken."""
    if not scores:
        return ""
    return f"""
Validation problems, τ_token .7, one seed, {" or ".join(sorted({str(score["problems"]) for score in scores}))} of each task:

| task | sampler | K | right % | in right steps % | mean H̃ |
|---|---|---|---|---|---|
{chr(10).join(_row(score) for score in scores)}

K is the number of tokens written in a step. *Right* counts right answers, *in right steps* those whose every worked step is right too. H̃ is the sum of the entropies of a text's tokens, each when it was written, in nats.
"""


def _taught(name: str, about: str) -> str:
    teacher = load_task(name).taught_by
    return f"{about}, learnt from the texts of `{teacher}`" if teacher else about


def _row(score: dict[str, Any]) -> str:
    shares = f"{100 * score['accuracy']:.1f} | {100 * score['sound']:.1f}"
    return f"| {score['task']} | {score['sampler']} | {score['k']} | {shares} | {score['entropy']:.2f} |"
