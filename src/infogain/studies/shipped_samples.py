"""Samples of the models that tell tales and write molecules, for the demo: the first ones from seed 0, each judged.

Every group has the command that writes its texts again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from infogain.generate import Generation, generate
from infogain.load import load
from infogain.options import Plain
from infogain.recipe import DEFAULT_SAMPLER
from infogain.studies.report_page import JudgedText, SampleGroup
from infogain.zoo.molecules.chemistry import is_installed, parse
from infogain.zoo.molecules.drawing import draw_grid
from infogain.zoo.molecules.smiles import molecule_of
from infogain.zoo.tales.checker import faults
from infogain.zoo.tasks import load_task

TALES, MOLECULES = "zoo:tiny-tales", "zoo:tiny-molecule"
TELLERS = ("entropy", DEFAULT_SAMPLER)
TALE_COUNT, MOLECULE_COUNT = 3, 8
K, TAU_TOKEN = 2, 1.0  # of tales: where the samplers of the study `writing` differ most
SEED = 0
WHOLE, NONE = "holds together", "no molecule"
SENTENCE = re.compile(r"^(\d+): ")  # how the checker names one


@dataclass(frozen=True)
class ShippedSamples:
    """Texts of one model by one sampler, in the order of their seeds."""

    sampler: str
    command: str  # that writes them again
    texts: Sequence[Generation]
    judged: Sequence[JudgedText]  # the texts as they are shown, what is given included

    @property
    def right(self) -> int:
        return sum(one.kind == "yes" for one in self.judged)

    @cached_property
    def group(self) -> SampleGroup:
        """The part of a page that shows them."""
        return SampleGroup(self.sampler, self.command, self.judged)

    @property
    def provenance(self) -> Plain:
        return self.texts[0].provenance

    def lines(self) -> list[Plain]:
        """A line of a file for each: the text, what it cost, what made it, and the verdict."""
        return [
            {**text.plain(), "verdict": one.verdict or None} for text, one in zip(self.texts, self.judged, strict=True)
        ]


def first_sentence() -> str:
    """The beginning that all tales have: that of the first test problem."""
    canvas = load_task("tale").problems(1, "test")[0].canvas
    return canvas[: canvas.index(".") + 1]


def tell_tales() -> list[ShippedSamples]:
    """A few tales from one beginning by each sampler, on the whole canvas, as in the study `writing`."""
    model, given = load(TALES), first_sentence()
    found = []
    for name in TELLERS:
        texts = generate(model, [given] * TALE_COUNT, name, k=K, tau_token=TAU_TOKEN, block=0, seed=SEED)
        command = (
            f'infogain generate "{given}" --model {TALES} --count {TALE_COUNT} --sampler {name} '
            f"--tau-token {TAU_TOKEN:g} -k {K} --block 0 --seed {SEED}"
        )
        found.append(ShippedSamples(name, command, texts, [judge_tale(f"{given} {text.text}") for text in texts]))
    return found


def judge_tale(tale: str) -> JudgedText:
    """A tale with what the checker says of it."""
    broken = [SENTENCE.sub(r"sentence \1: ", fault) for fault in faults(tale)]
    return JudgedText(tale, "no", f"broken, {'; '.join(broken)}") if broken else JudgedText(tale, "yes", WHOLE)


def write_molecules(count: int | None = None) -> ShippedSamples:
    """A few molecules from an empty canvas, by the default recipe."""
    count = count or MOLECULE_COUNT
    texts = generate(load(MOLECULES), [""] * count, seed=SEED)
    command = f"infogain generate --model {MOLECULES} --count {count} --seed {SEED}"
    return ShippedSamples(DEFAULT_SAMPLER, command, texts, [judge_molecule(text.text) for text in texts])


def judge_molecule(text: str) -> JudgedText:
    """A molecule as text; nothing is said of it where RDKit is not installed."""
    smiles = molecule_of(text)
    if not is_installed():
        return JudgedText(smiles)
    return JudgedText(smiles, "yes", "a molecule") if parse(smiles) else JudgedText(smiles, "no", NONE)


def draw_molecules(samples: ShippedSamples, path: Path) -> list[Path]:
    """Draw a picture of them; none where RDKit is not installed."""
    if not is_installed():
        return []
    seeds, texts = [text.seed for text in samples.texts], [text.text for text in samples.texts]
    draw_grid(path, texts, {"recipe": samples.texts[0].recipe, "provenance": samples.provenance, "seeds": seeds})
    return [path]
