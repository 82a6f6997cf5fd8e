"""Results as pages that fetch nothing: a run to browse, its texts with their traces, and tables."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from infogain import view
from infogain.evals.compare import otherwise
from infogain.evals.runs import Run
from infogain.evals.tables import as_html, listing
from infogain.loop.trace import Trace
from infogain.options import Plain
from infogain.provenance import made_with
from infogain.view.data import about as in_words

ROOM = 24 * 2**20  # characters of traces that a page holds; of the rest it names the files
SHORT = 60  # characters of an answer in the line that stands for its text


def in_order(lines: Iterable[Plain], right: bool | None = None, limit: int | None = None) -> list[Plain]:
    """Right ones, wrong ones or all, as the benchmark has them; a run has them as they were finished."""
    kept = [line for line in lines if right is None or bool(line["score"]) == right]
    return sorted(kept, key=lambda line: (*_natural(line["key"]["item"]), line["key"]["seed"]))[:limit]


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (2**62, name)


def prompt_text(prompt: str | Sequence[Plain]) -> str:
    """A conversation has its speakers' names."""
    return prompt if isinstance(prompt, str) else "\n\n".join(f"{m['role']}: {m['content']}" for m in prompt)


def run_page(run: Run, lines: Sequence[Plain]) -> str:
    """Every line as an item that unfolds; a trace of it is played where it stands."""
    about, room, items = run.about, ROOM, []
    for line in lines:
        trace = _trace(run, line, room)
        room -= len(trace)
        items.append(_item(line, otherwise(about, line), trace))
    words = f"{about['model']['name']}: {in_words(about['recipe'])}. Run {run.name}, begun {about['created']}."
    return _page(
        about["task"],
        f"{words} {made_with([about.get('provenance')])}".rstrip(),
        as_html(listing([run])) + _file("filter.html") + "\n".join(items),
        view.assets() if any(line.get("trace") for line in lines) else "",
    )


def table_page(title: str, about: str, table: str, notes: Sequence[str]) -> str:
    said = "".join(f"<li>{html.escape(note)}</li>\n" for note in notes)
    return _page(title, about, f"{table}<ul>\n{said}</ul>\n")


def _page(title: str, about: str, body: str, assets: str = "") -> str:
    return Template(_file("page.html")).substitute(
        title=html.escape(title), about=html.escape(about), body=body, assets=assets
    )


def _item(line: Plain, unlike: str, trace: str) -> str:
    key, right = line["key"], bool(line["score"])
    name = f"{key['item']} · seed {key['seed']}"
    answer = "nothing" if line["answer"] is None else line["answer"]
    head = f"<b>{'✓' if right else '✗'}</b> {_text(name)} <code>{_text(_short(answer))}</code>"
    parts = {"prompt": prompt_text(line["prompt"]), "text": line["text"], "answer": answer, "gold": line["gold"]}
    if line.get("note"):
        parts["why it is wrong"] = line["note"]
    parts["cost"] = (
        f"H̃ {line['cumulative_entropy']:.2f}, forwards {line['forwards']}, token-forwards {line['token_forwards']}, "
        f"ended by {line['finish']}, seed of the row {line['seed']}"
    )
    if unlike:
        parts["made otherwise than the run began"] = unlike
    shown = "".join(f"<dt>{name}</dt><dd><pre>{_text(value)}</pre></dd>\n" for name, value in parts.items())
    kind = "right" if right else "wrong"
    return f'<details class="item {kind}"><summary>{head}</summary><dl>\n{shown}</dl>{trace}</details>'


def _trace(run: Run, line: Plain, room: int) -> str:
    """The viewer, begun once its item is unfolded; or the command that opens it."""
    if not line.get("trace"):
        return ""
    path = trace_path(run, line)
    if path.is_file() and path.stat().st_size <= room:  # the viewer's data is smaller than the trace
        return f"<template>{view.fragment([(line['key']['item'], Trace.load(path))])}</template>"
    return f"<p>Trace: <code>{_text(view_command(path))}</code></p>"


def trace_path(run: Run, line: Plain) -> Path:
    return run.folder / str(line["trace"])


def view_command(path: Path) -> str:
    return f"infogain view {path} --open"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"


def _text(value: object) -> str:
    return html.escape(str(value))


def _file(name: str) -> str:
    return (files("infogain.evals") / name).read_text(encoding="utf-8")
