"""The last part of the demo: what the other two models of the package write, in the terminal and in the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.padding import Padding

from infogain.cli.terminal import busy, literal
from infogain.recipe import DEFAULT_SAMPLER
from infogain.studies.report_page import Section, embedded
from infogain.studies.shipped_samples import (
    MOLECULES,
    SEED,
    TALES,
    TAU_TOKEN,
    K,
    ShippedSamples,
    draw_molecules,
    first_sentence,
    tell_tales,
    write_molecules,
)
from infogain.zoo.molecules.chemistry import is_installed

LINES, PICTURE = "samples.jsonl", "molecules.png"
GET_RDKIT = "pip install 'infogain[molecules]'"
INDENT = (0, 0, 0, 2)

OTHERS = f"""\
Two more models come with the package. What follows are their first texts from
seed {SEED}: nothing is picked, and so few prove nothing.
"""
TOLD = f"""\
{TALES} tells tales of a small world, and a checker knows what can happen
in it. From one beginning, {K} tokens a step at τ_token {TAU_TOKEN:g}, in one block:
"""
WRITTEN = f"""\
{MOLECULES} writes molecules from nothing. By {DEFAULT_SAMPLER}, one
token a step, all settings as they are by default:
"""
ABOUT_TALES = (
    f"{TALES} tells tales of a small world, of which a checker knows what can happen. These are the first from seed "
    f"{SEED}, from the first sentence of the first test problem, with {K} tokens a step at τ_token {TAU_TOKEN:g}, in "
    "one block: nothing is picked, and so few prove nothing (docs/results.md has 2,500 of each sampler)."
)
ABOUT_MOLECULES = (
    f"{MOLECULES} writes molecules as SMILES from an empty canvas. These are the first from seed {SEED}, by the "
    "default sampler and its settings, one token a step: nothing is picked (docs/zoo.md says what they are like)."
)
NO_PICTURE = f"No picture of them: RDKit is not installed. Get it with: {GET_RDKIT}"


@dataclass(frozen=True)
class DemoSamples:
    """What both models wrote."""

    tales: Sequence[ShippedSamples]  # by each sampler
    molecules: ShippedSamples

    @property
    def all(self) -> list[ShippedSamples]:
        return [*self.tales, self.molecules]

    def save(self, folder: Path) -> list[Path]:
        """The texts with what made them, and a picture of the molecules. One of an earlier run does not stay."""
        (folder / PICTURE).unlink(missing_ok=True)
        lines = [json.dumps(line, ensure_ascii=False) for each in self.all for line in each.lines()]
        (folder / LINES).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return [*draw_molecules(self.molecules, folder / PICTURE), folder / LINES]

    def sections(self, folder: Path) -> list[Section]:
        """The parts of the report that show them; `save` must have drawn the picture."""
        tales = Section("tales", "Tales", words=ABOUT_TALES, samples=[each.group for each in self.tales])
        molecules = Section(
            "molecules",
            "Molecules",
            words=ABOUT_MOLECULES,
            lines=[] if is_installed() else [NO_PICTURE],
            samples=[self.molecules.group],
            figure=embedded(folder / PICTURE),
        )
        return [tales, molecules]


def show_samples(console: Console) -> DemoSamples:
    """Have both models write, and show the first tale of each sampler and all molecules."""
    console.print(OTHERS, TOLD, sep="\n")
    console.print(_indented(first_sentence()), "")
    with busy("telling tales"):
        tales = tell_tales()
    for each in tales:
        first = each.judged[0]
        tale = first.text.removeprefix(first_sentence()).strip()
        console.print(f"{each.sampler}: {each.right} of {len(each.judged)} hold together. The first:")
        console.print(_indented(tale), _indented(f"({first.verdict})", "dim"), "")
    console.print(WRITTEN)
    with busy("writing molecules"):
        molecules = write_molecules()
    for one in molecules.judged:
        console.print(_indented(one.text))
    if is_installed():
        console.print(f"RDKit reads {molecules.right} of {len(molecules.judged)} as molecules.", "", sep="\n")
    else:
        console.print("No picture of them: RDKit is not installed. Get it with:", f"  {GET_RDKIT}", "", sep="\n")
    return DemoSamples(tales, molecules)


def _indented(text: str, style: str = "") -> Padding:
    return Padding(literal(text, style), INDENT, expand=False)
