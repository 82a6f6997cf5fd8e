"""Tables of results as Markdown, LaTeX and HTML. Whatever a cell holds is shown as text and never taken for markup."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from infogain.evals.intervals import bounds, stored
from infogain.evals.runs import Run, wanted
from infogain.evals.summary import summary
from infogain.options import Plain

NONE = "–"
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "H̃": r"$\tilde{H}$",
    "−": "$-$",
    "–": "--",
    "×": r"$\times$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\n": " ",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
LATEX_SIGNS = re.compile("|".join(map(re.escape, LATEX)))
MARKDOWN_SIGNS = re.compile(r"[\\`*_\[\]|~]")


class Table(NamedTuple):
    columns: list[str]
    rows: list[list[str]]
    words: int = 1  # columns that hold words, on the left; all others hold numbers


def as_markdown(table: Table) -> str:
    ruler = [":--" if i < table.words else "--:" for i in range(len(table.columns))]
    lines = [*([map(in_markdown, table.columns), ruler]), *(map(in_markdown, row) for row in table.rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_latex(table: Table) -> str:
    """For the booktabs package."""
    shape = "l" * table.words + "r" * (len(table.columns) - table.words)
    head, *body = (f"{' & '.join(map(in_latex, row))} \\\\\n" for row in [table.columns, *table.rows])
    begin, end = f"\\begin{{tabular}}{{{shape}}}\n\\toprule\n", "\\bottomrule\n\\end{tabular}\n"
    return f"{begin}{head}\\midrule\n{''.join(body)}{end}"


def as_html(table: Table) -> str:
    rows = [_html_row("td", row, table.words) for row in table.rows]
    head = _html_row("th", table.columns, table.words)
    return f'<div class="table"><table><thead>{head}</thead><tbody>\n{"".join(rows)}</tbody></table></div>\n'


def _html_row(tag: str, cells: Sequence[str], words: int) -> str:
    parts = (f"<{tag}{' class=word' if i < words else ''}>{html.escape(c)}</{tag}>" for i, c in enumerate(cells))
    return f"<tr>{''.join(parts)}</tr>\n"


def in_markdown(text: str) -> str:
    escaped = MARKDOWN_SIGNS.sub(lambda sign: f"\\{sign[0]}", " ".join(text.split()))
    return html.escape(escaped, quote=False)


def in_latex(text: str) -> str:
    return LATEX_SIGNS.sub(lambda sign: LATEX[sign[0]], text)


FORMATS: dict[str, Callable[[Table], str]] = {"markdown": as_markdown, "latex": as_latex, "html": as_html}


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def pace(recipe: Plain) -> str:
    """K, or how many steps there are."""
    schedule = recipe["schedule"]
    return str(schedule["k"]) if "k" in schedule else f"{schedule.get('count', '?')} steps"


def kept(model: Plain) -> str:
    """The cache, and how often rows are read where that is not for every block. Older runs may not say."""
    cache, refresh = model.get("cache") or NONE, model.get("refresh", 1)
    return f"{cache}, refresh {refresh}" if refresh > 1 else cache


def extent(found: Plain) -> str:
    """Problems × seeds; of an unfinished run how many of its texts there are."""
    if found["lines"] < found["wanted"]:
        return f"{found['lines']} of {found['wanted']}"
    return f"{found['problems']}×{found['seeds']}"


# What can be shown of a run: from what was asked, and from what came of it.
ASKED: dict[str, Callable[[Run, Plain], str]] = {
    "run": lambda run, about: run.name.rpartition("-")[2][:6],
    "task": lambda run, about: about["task"],
    "model": lambda run, about: about["model"]["name"],
    "sampler": lambda run, about: about["recipe"]["sampler"]["name"],
    "K": lambda run, about: pace(about["recipe"]),
    "block": lambda run, about: str(about["recipe"].get("block") or "all"),
    "cache": lambda run, about: kept(about["model"]),
}
SPARED = ("block", "cache")  # where runs do not differ in it
FOUND: dict[str, Callable[[Plain], str]] = {
    "pass@1": lambda found: percent(found["accuracy"]),
    "95 %": lambda found: bounds(stored(found["accuracy"], found["accuracy_95"]), scale=100),
    "texts": extent,
    "H̃": lambda found: f"{found['entropy']:.2f}",
    "forwards": lambda found: f"{found['forwards']:.1f}",
    "token-fw": lambda found: f"{found['token_forwards']:.0f}",
    "bypass": lambda found: NONE if found["bypass_rate"] is None else f"{found['bypass_rate']:.0%}",
    "tok/s": lambda found: NONE if found["tokens_per_second"] is None else f"{found['tokens_per_second']:.0f}",
}


def listing(runs: Iterable[Run], asked: Sequence[str] = tuple(ASKED), found: Sequence[str] = tuple(FOUND)) -> Table:
    """A row for each run, with these columns; one without a finished line has no numbers."""
    runs = list(runs)
    told = [name for name in asked if name not in SPARED or len(runs) == 1 or _differ(runs, name)]
    rows = [_numbers(run, told, found) for run in runs]
    return Table([*told, *found], rows, len(told))


def _differ(runs: Sequence[Run], name: str) -> bool:
    return len({ASKED[name](run, run.about) for run in runs}) > 1


def _numbers(run: Run, asked: Sequence[str], found: Sequence[str]) -> list[str]:
    about, lines = run.about, run.items()
    came = {"lines": 0, "wanted": wanted(about), **(summary(lines) if lines else {})}
    words = [ASKED[name](run, about) for name in asked]
    return [*words, *(FOUND[name](came) if lines or name == "texts" else NONE for name in found)]
