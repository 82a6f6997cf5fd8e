"""report.html: one page that fetches nothing, from the studies whose JSON lies in a folder."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from infogain import view
from infogain.options import Plain
from infogain.provenance import made_with
from infogain.report.pages import markup, render
from infogain.report.tables import Table, meanings_of
from infogain.studies import trace_pair
from infogain.studies.study_files import read_record

FILE = "report.html"
OF_IMAGES = ("images", "images-lowstep")
# The case studies come first, then the main table, then the rest.
ORDER = (
    *(
        "frontier",
        "writing",
        "oneway",
        "judgement",
        "samplers",
        "preset",
        "draws",
        "trajectories",
        "correlation",
        "beam",
        "temperature",
        "utility",
    ),
    *("threshold", "candidates", "gain", "memory", "overhead"),
    *("variety", "lowstep", "temperature-tales", "draws-tales"),
    *("writing-molecules", "variety-molecules", "lowstep-molecules", "temperature-molecules", "draws-molecules"),
    *OF_IMAGES,
)
PICTURES = {".svg": "svg+xml", ".png": "png"}
VERDICTS = {True: ("yes", "yes"), False: ("no", "no"), None: ("open", "not decided")}


class JudgedText(NamedTuple):
    """A text of a model, with a verdict where there is one."""

    text: str
    kind: str = ""  # of verdict: one of those of VERDICTS
    verdict: str = ""


class SampleGroup(NamedTuple):
    """Texts with what made them."""

    title: str
    command: str  # that writes them again
    texts: Sequence[JudgedText]


@dataclass(frozen=True)
class Section:
    """A part of the page, under a title; what is empty is left out."""

    name: str  # its anchor
    title: str
    source: str = ""  # where in the paper
    claim: str = ""  # what the paper says
    words: str = ""
    lines: Sequence[str] = ()  # what came out, a sentence each
    samples: Sequence[SampleGroup] = ()
    figure: str = ""  # a picture as data: address
    checks: Sequence[tuple[str, str, str, str]] = ()  # claim, kind of verdict, verdict, evidence
    tables: Sequence[Table] = ()
    reading: str = ""  # how to read the tables
    viewer: str = field(default="", repr=False)  # HTML of a trace viewer


def load_records(folder: Path) -> list[Plain]:
    """The studies that are there, in order."""
    return [record for name in ORDER if (record := read_record(folder, name))]


def save_report(folder: Path) -> Path:
    """Write the page of all studies in a folder; returns its path."""
    records = load_records(folder)
    sections = [section(record, folder) for record in records]
    made = provenances(records)
    if (played := trace_pair.load(folder)) and played["rows"]:
        sections.append(viewer_section(trace_pair.explanation(played), trace_pair.viewer(played)))
        made += trace_pair.provenances(played)
    path = folder / FILE
    path.write_text(page("Studies of samplers", about(records), sections, made), encoding="utf-8")
    return path


def provenances(records: Sequence[Plain]) -> list[Plain]:
    """The provenances of those records that hold one; older ones do not."""
    return [table for record in records for table in record.get("provenance", [])]


def page(title: str, about: str, sections: Sequence[Section], made: Sequence[Plain] = ()) -> str:
    """The HTML of a page; `made` is the provenance of what its sections show."""
    shown = [vars(part) | {"viewer": markup(part.viewer), "meanings": meanings_of(*part.tables)} for part in sections]
    assets = view.assets() if any(part.viewer for part in sections) else ""
    words = f"{about} {made_with(made)}".rstrip()
    return render("studies_page.html", title=title, about=words, sections=shown, assets=markup(assets))


def about(records: Sequence[Plain]) -> str:
    """What was decoded, by what and where, and how to read the numbers."""
    if not records:
        return "No study has been run in this folder yet."
    models = sorted({f"{record['model']['name']} ({record['model']['fingerprint'][:8]})" for record in records})
    devices = sorted({device for record in records for device in record["devices"]})
    sizes = sorted({record["size"] for record in records})
    of_images = ", of images over seeds" if any(record["study"] in OF_IMAGES for record in records) else ""
    return (
        f"Model {', '.join(models)}; size {', '.join(sizes)}; decoded on {', '.join(devices)}. Intervals are 95 %, "
        f"over problems{of_images}; a claim whose interval leaves it open is not decided. "
        "H̃ is cumulative entropy in nats. "
        "Info-Gain picks among draws, so it does not keep the model's distribution: low H̃ is a means, accuracy the end."
    )


def section(record: Plain, folder: Path) -> Section:
    """All that a study found."""
    svg = folder / f"{record['study']}.svg"
    return Section(
        record["study"],
        record["title"],
        record["source"] + missing(record),
        record["claim"],
        "Here:",
        record["summary"],
        figure=embedded(svg),
        checks=[(claim, *VERDICTS[holds], evidence) for claim, holds, evidence in record["checks"]],
        tables=tables(record),
    )


def embedded(picture: Path) -> str:
    """A picture as an address that holds it; empty where there is none."""
    if not picture.exists():
        return ""
    return f"data:image/{PICTURES[picture.suffix]};base64,{base64.b64encode(picture.read_bytes()).decode()}"


def tables(record: Plain) -> list[Table]:
    """The tables of a record, whichever version wrote it."""
    return [
        Table(t["columns"], t["rows"], t.get("text_columns", 1), t["title"], [(i, j) for i, j in t.get("bold", ())])
        for t in record["tables"]
    ]


def missing(record: Plain) -> str:
    """How far an unfinished study is; empty for one that is finished."""
    done, expected = record["points"], record["expected"]
    return "" if done >= expected else f" · {done} of {expected} points so far"


def viewer_section(words: str, viewer: str, verdicts: Sequence[str] = ()) -> Section:
    """One problem that can be played step by step."""
    return Section("duel", "One problem, step by step", words=words, lines=verdicts, viewer=viewer)
