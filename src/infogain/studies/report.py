"""The report: one page that fetches nothing, from the studies whose JSON lies in a folder."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

from infogain import view
from infogain.options import Plain
from infogain.provenance import made_with
from infogain.studies import duel
from infogain.studies.names import ORDER

FILE = "report.html"
VERDICTS = {True: ("yes", "yes"), False: ("no", "no"), None: ("open", "not decided")}
OPEN, LONG = 3, 24  # tables of a study that are shown at once, and rows of one


class Section(NamedTuple):
    name: str  # its anchor
    title: str
    body: str
    plays: bool = False  # holds a viewer


def load_records(folder: Path) -> list[Plain]:
    """The studies that are there, in order."""
    paths = [folder / f"{name}.json" for name in ORDER]
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]


def save_report(folder: Path) -> Path:
    records = load_records(folder)
    sections = [section(record, folder) for record in records]
    played = json.loads((folder / duel.FILE).read_text(encoding="utf-8")) if (folder / duel.FILE).exists() else None
    if played and played["rows"]:
        sections.append(duel_section(duel.words(played), duel.viewer(played)))
    path = folder / FILE
    tables = [*provenances(records), *(duel.provenances(played) if played else [])]
    path.write_text(page("Studies of samplers", about(records), sections, tables), encoding="utf-8")
    return path


def provenances(records: Sequence[Plain]) -> list[Plain]:
    """Those of records that hold them; older ones do not."""
    return [table for record in records for table in record.get("provenance", [])]


def page(title: str, about: str, sections: Sequence[Section], made: Sequence[Plain] = ()) -> str:
    """`made`: the provenance of what the sections show."""
    body = "\n".join(section.body for section in sections)
    return Template((files("infogain.studies") / "report.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        assets=view.assets() if any(section.plays for section in sections) else "",
        about=html.escape(f"{about} {made_with(made)}".rstrip()),
        contents="".join(f'<li><a href="#{part.name}">{html.escape(part.title)}</a></li>' for part in sections),
        sections=body,
    )


def about(records: Sequence[Plain]) -> str:
    if not records:
        return "No study has been run in this folder yet."
    models = sorted({f"{record['model']['name']} ({record['model']['fingerprint'][:8]})" for record in records})
    devices = sorted({device for record in records for device in record["devices"]})
    sizes = sorted({record["size"] for record in records})
    return (
        f"Model {', '.join(models)}; size {', '.join(sizes)}; decoded on {', '.join(devices)}. Intervals are 95 %, "
        "over problems; a claim whose interval leaves it open is not decided. H̃ is cumulative entropy in nats. "
        "Info-Gain picks among draws, so it does not keep the model's distribution: low H̃ is a means, accuracy the end."
    )


def section(record: Plain, folder: Path) -> Section:
    parts = [
        f'<h2 id="{record["study"]}">{html.escape(record["title"])}</h2>',
        f'<p class="source">{html.escape(record["source"])}{missing(record)}</p>',
        f'<p class="claim">The paper: {html.escape(record["claim"])}</p>',
        "<p>Here:</p><ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in record["summary"]) + "</ul>",
        figure(record, folder),
        checks(record["checks"]),
    ]
    parts += [table(grid, shown=i < OPEN) for i, grid in enumerate(record["tables"])]
    return Section(record["study"], record["title"], "\n".join(part for part in parts if part))


def missing(record: Plain) -> str:
    return (
        "" if record["points"] >= record["expected"] else f" · {record['points']} of {record['expected']} points so far"
    )


def figure(record: Plain, folder: Path) -> str:
    path = folder / f"{record['study']}.svg"
    if not path.exists():
        return ""
    data = base64.b64encode(path.read_bytes()).decode()
    words = html.escape(f"Figure: {record['title']}", quote=True)
    return f'<figure><img alt="{words}" src="data:image/svg+xml;base64,{data}"></figure>'


def checks(found: Sequence[tuple[str, bool | None, str]]) -> str:
    if not found:
        return ""
    lines = "".join(
        f'<tr><td>{html.escape(claim)}</td><td class="{kind}">{words}</td><td>{html.escape(evidence)}</td></tr>'
        for claim, holds, evidence in found
        for kind, words in [VERDICTS[holds]]
    )
    head = "<tr><th>claim</th><th>holds</th><th>evidence</th></tr>"
    return f'<div class="table"><table class="checks"><thead>{head}</thead><tbody>{lines}</tbody></table></div>'


def table(grid: Plain, shown: bool) -> str:
    """Long tables, and those after the first ones, unfold."""
    title = html.escape(grid["title"])
    head = "".join(f"<th>{html.escape(column)}</th>" for column in grid["columns"])
    bold = {tuple(place) for place in grid.get("bold", ())}
    lines = ("".join(cell(text, (i, j) in bold) for j, text in enumerate(row)) for i, row in enumerate(grid["rows"]))
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    text = f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    if shown and len(grid["rows"]) <= LONG:
        return f"<h3>{title}</h3>{text}"
    return f"<details><summary>{title} ({len(grid['rows'])} rows)</summary>{text}</details>"


def cell(text: str, bold: bool) -> str:
    return f'<td class="best">{html.escape(text)}</td>' if bold else f"<td>{html.escape(text)}</td>"


def duel_section(words: str, viewer: str, verdicts: Sequence[str] = ()) -> Section:
    title = "One problem, step by step"
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in verdicts)
    head = f'<h2 id="duel">{title}</h2><p>{html.escape(words)}</p>'
    return Section("duel", title, f"{head}{lines and f'<ul>{lines}</ul>'}{viewer}", plays=True)
