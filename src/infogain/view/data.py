"""The data that the viewer plays: for each trace the history of every prompt's answer, rounded to what is shown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from infogain.errors import InputError
from infogain.loop.trace import Candidate, Row, Trace, tell
from infogain.options import Plain

LONGEST = 60  # characters of a page's title for each text
SPECIAL = re.compile(r"<\|.*?\|>")  # tokens around a prompt that are no words
Words = Callable[[int], str]
Moves = Sequence[tuple[Row, Candidate]]


def data(traces: Sequence[tuple[str, Trace]], words: Words | None = None) -> Plain:
    if not traces:
        raise InputError("a viewer needs at least one trace; got none.")
    runs = [run(title, trace, words) for title, trace in traces]
    return {"runs": runs, "top": top([h for r in runs for p in r["prompts"] for s in p["steps"] for h in s["entropy"]])}


def run(title: str, trace: Trace, words: Words | None) -> Plain:
    """One trace as the viewer takes it: the steps of the hypothesis that became each prompt's answer."""
    story = tell(trace, title)
    moves = [story.best(prompt).moves for prompt in range(len(trace.canvas))]
    images = [grid(trace, prompt, words) for prompt in range(len(trace.canvas))]
    return {
        "title": title,
        "about": about(trace.recipe),
        "score": "J" if trace.recipe["sampler"]["name"] == "info-gain" else "score",
        "mask": trace.mask_id,
        "words": texts(trace, moves, words),
        "prompts": [
            {"canvas": canvas, "steps": steps(path), **image}
            for canvas, path, image in zip(trace.canvas, moves, images, strict=True)
        ],
    }


def grid(trace: Trace, prompt: int, words: Words | None) -> Plain:
    """Where a row holds the codes of an image, and the picture that they became; empty for a text."""
    image = trace.image
    if image is None:
        return {}
    image.check(trace.canvas)
    start, picture, asked = image.starts[prompt], image.pictures[prompt], asked_for(trace, prompt, words)
    shape = {"height": image.height, "width": image.width}
    return {"image": {**shape, "start": start, "picture": picture, "prompt": asked}}


def asked_for(trace: Trace, prompt: int, words: Words | None = None) -> str:
    """What stands before an image, as text without special tokens; empty where no text is known."""
    before = trace.canvas[prompt][: trace.image.starts[prompt]] if trace.image else []
    return " ".join(SPECIAL.sub("", _text(trace, before, words)).split())


def _text(trace: Trace, tokens: Iterable[int], words: Words | None) -> str:
    word = words or (trace.words or {}).get
    return "".join(word(token) or "" for token in tokens if token != trace.mask_id)


def steps(moves: Moves) -> list[Plain]:
    """A block begins at its start and ends with the last column that was ever masked in it."""
    end: dict[int, int] = {}
    for row, _ in moves:
        end.setdefault(row.start, max(row.columns, default=row.start))
    return [
        {
            "block": [row.start, end[row.start]],
            "columns": row.columns,
            "entropy": [short(h) for h in row.entropy],
            **choice(row.candidates, candidate),
        }
        for row, candidate in moves
    ]


def choice(candidates: Sequence[Candidate], taken: Candidate) -> Plain:
    """The candidates, best first, and the place of the one that was taken."""
    best = sorted(candidates, key=lambda c: (c.score, c is taken), reverse=True)
    table = [{**vars(c), "score": short(c.score), "cost": short(c.cost)} for c in best]
    return {"candidates": table, "taken": best.index(taken)}


def texts(trace: Trace, moves: Sequence[Moves], words: Words | None) -> dict[int, str]:
    """The text of every id that is shown, where it is known."""
    tried = {token for path in moves for row, _ in path for c in row.candidates for token in c.tokens}
    ids = sorted((tried | {token for row in trace.canvas for token in row}) - {trace.mask_id})
    if words is not None:
        return {token: words(token) for token in ids}
    return {token: trace.words[token] for token in ids if token in trace.words} if trace.words else {}


def headline(title: str, trace: Trace, words: Words | None = None) -> str:
    """What the first prompt became, from its first hole to its end, shortened; the title where no text is known.

    An image is called by its prompt."""
    return _shortened(asked_for(trace, 0, words) if trace.image else _answer(title, trace, words)) or title


def _answer(title: str, trace: Trace, words: Words | None) -> str:
    canvas, final = trace.canvas[0], tell(trace, title).best(0).tokens
    written = final[canvas.index(trace.mask_id) :] if trace.mask_id in canvas else final
    ended = takewhile(lambda token: token not in trace.recipe.get("eos_ids", ()), written)
    return " ".join(_text(trace, ended, words).split())


def _shortened(text: str) -> str:
    return f"{text[: LONGEST - 1]}…" if len(text) > LONGEST else text


def about(recipe: Plain) -> str:
    """A recipe in a few words: `best-of-n (entropy), K = 2, blocks of 32`."""
    sampler, schedule = recipe["sampler"], recipe["schedule"]
    base = f" ({sampler['base']['name']})" if "base" in sampler else ""
    pace = {"tokens": "K = {k}", "steps": "{count} steps"}.get(schedule["name"], "{name}").format(**schedule)
    block = f", blocks of {recipe['block']}" if recipe.get("block") else ""
    block += f", guidance {recipe['guidance']:g}" if recipe.get("guidance") else ""
    return f"{sampler['name']}{base}, {pace}{block}"


def top(entropy: Sequence[float | None]) -> float:
    """The scale's end in nats: few values lie above, so that rare ones do not take the colours from the rest."""
    known = sorted(h for h in entropy if h is not None)
    high = known[int(0.98 * (len(known) - 1))] if known else 0.0
    return max(0.5, math.ceil(2 * high) / 2)


def short(x: float) -> float | None:
    """Four decimals are more than the eye can tell; JSON has no infinities."""
    return round(x, 4) if math.isfinite(x) else None
