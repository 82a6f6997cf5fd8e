"""The viewer's HTML: a whole page, or a fragment for a page that holds several and the assets once."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from infogain.loop.trace import Trace
from infogain.provenance import made_with
from infogain.view.data import Words, data, headline


def page(traces: Sequence[tuple[str, Trace]], words: Words | None = None, title: str | None = None) -> str:
    """A whole page that fetches nothing. Traces with their titles are played side by side, in step;
    `words` gives each token id its text, else each trace's own `words` do. Unless it has a `title`, the page is
    called by the texts that came out. Its last line says which models the traces are of, where they know."""
    shown = fragment(traces, words)
    title = title or " · ".join(dict.fromkeys(headline(name, trace, words) for name, trace in traces))
    made = made_with(trace.provenance for _, trace in traces)
    return Template(_file("page.html")).substitute(
        title=html.escape(title),
        assets=assets(),
        viewer=shown,
        made=f'<p class="made">{html.escape(made)}</p>\n' if made else "",
    )


def fragment(traces: Sequence[tuple[str, Trace]], words: Words | None = None) -> str:
    """The HTML of one viewer, for a page that holds `assets()` once."""
    text = json.dumps(data(traces, words), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c")  # no token text can end the script element or begin a comment in it
    return f'<div class="infogain-viewer"><script type="application/json">{text}</script></div>'


def assets() -> str:
    """The style and the script of every viewer on a page."""
    return f"<style>\n{_file('viewer.css')}</style>\n<script>\n{_file('viewer.js')}</script>"


def _file(name: str) -> str:
    return (files("infogain.view") / name).read_text(encoding="utf-8")
