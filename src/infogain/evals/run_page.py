"""A run as a page that fetches nothing: its texts to browse, with their traces to play."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from infogain import view
from infogain.evals.listing import listing
from infogain.evals.run_comparison import made_differently
from infogain.evals.runs import Run
from infogain.evals.summary import is_scored
from infogain.loop.trace import Trace
from infogain.options import Plain
from infogain.provenance import made_with
from infogain.report.pages import markup, render
from infogain.view.data import about as in_words

ROOM = 24 * 2**20  # characters of traces that a page holds; of the rest it names the files
KINDS = {1: "right", 0: "wrong", None: ""}  # of texts, by their score
SHORT = 60  # characters of an answer in the line that stands for its text


def in_order(lines: Iterable[Plain], right: bool | None = None, limit: int | None = None) -> list[Plain]:
    """Right texts, wrong ones or all, in the benchmark's order; a run has them as they were finished.

    Texts of a task without right answers are neither right nor wrong.
    """
    shown = [line for line in lines if right is None or line["score"] == int(right)]
    return sorted(shown, key=lambda line: (*_natural(line["key"]["item"]), line["key"]["seed"]))[:limit]


def _natural(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (2**62, name)


def prompt_text(prompt: str | Sequence[Plain]) -> str:
    """A prompt as one text; a conversation has its speakers' names."""
    return prompt if isinstance(prompt, str) else "\n\n".join(f"{m['role']}: {m['content']}" for m in prompt)


def run_page(run: Run, lines: Sequence[Plain]) -> str:
    """Every line as an item that unfolds; a trace of it is played where it stands."""
    about, room, items = run.about, ROOM, []
    for line in lines:
        viewer = _viewer(run, line, room)
        room -= len(viewer)
        command = view_command(trace_path(run, line)) if line.get("trace") else ""
        items.append({**_item(line, made_differently(about, line)), "viewer": markup(viewer), "command": command})
    words = f"{about['model']['name']}: {in_words(about['recipe'])}. Run {run.name}, begun {about['created']}."
    return render(
        "run_page.html",
        title=about["task"],
        about=f"{words} {made_with([about.get('provenance')])}".rstrip(),
        table=listing([run]),
        items=items,
        scored=is_scored(lines),
        assets=markup(view.assets() if any(line.get("trace") for line in lines) else ""),
    )


def _item(line: Plain, made_differently: str) -> Plain:
    """What the page shows of a text; `made_differently` says how it was made, where that is not how the run began."""
    key = line["key"]
    answer = "nothing" if line["answer"] is None else line["answer"]
    cost = (
        f"H̃ {line['cumulative_entropy']:.2f}, forwards {line['forwards']}, token-forwards {line['token_forwards']}, "
        f"ended by {line['finish']}, seed of the row {line['seed']}"
    )
    parts = {
        "prompt": prompt_text(line["prompt"]),
        "text": line["text"],
        **({} if line["score"] is None else {"answer": answer, "gold": line["gold"]}),
        "why it is wrong": line.get("note"),
        "cost": cost,
        "made otherwise than the run began": made_differently,
    }
    optional = ("why it is wrong", "made otherwise than the run began")
    shown = {name: value for name, value in parts.items() if value or name not in optional}
    name = f"{key['item']} · seed {key['seed']}"
    short = _short(line["text"] if line["score"] is None else answer)
    return {"kind": KINDS[line["score"]], "name": name, "short": short, "parts": shown}


def _viewer(run: Run, line: Plain, room: int) -> str:
    """The viewer of a text's trace, begun once its item is unfolded; empty without a trace, or room for one."""
    if not line.get("trace"):
        return ""
    path = trace_path(run, line)
    if not path.is_file() or path.stat().st_size > room:  # the viewer's data is smaller than the trace
        return ""
    return view.fragment([(line["key"]["item"], Trace.load(path))])


def trace_path(run: Run, line: Plain) -> Path:
    return run.folder / str(line["trace"])


def view_command(path: Path) -> str:
    return f"infogain view {path} --open"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"
