"""Samples of the models that come with the package: those that are shown are those that their commands write."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import infogain
from infogain.load import shipped_models
from infogain.studies import STUDIES, shipped_samples
from infogain.studies.report_page import JudgedText, Section, embedded, page
from infogain.studies.shipped_samples import ShippedSamples, draw_molecules, judge_molecule, judge_tale
from infogain.zoo.molecules.smiles import token_count
from infogain.zoo.molecules.training_set import reference_distributions
from tests.e2e.test_cli import flowing, ok
from tests.molecules import ASPIRIN, needs_rdkit
from tests.unit.test_molecules import without_rdkit
from tests.unit.test_tales import TOLD

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def few() -> list[ShippedSamples]:
    """One tale by each sampler, in a few steps, and one molecule."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shipped_samples, "K", 16)
        patch.setattr(shipped_samples, "TALE_COUNT", 1)
        return [*shipped_samples.tell_tales(), shipped_samples.write_molecules(1)]


def test_the_command_of_samples_writes_them_again(few: list[ShippedSamples]) -> None:
    for samples in few:
        program, *arguments = shlex.split(samples.command)
        assert program == "infogain"
        lines = [json.loads(line) for line in ok(*arguments).splitlines()]
        for line, text in zip(lines, samples.texts, strict=True):
            held = ("text", "seed", "recipe", "provenance")
            assert [line[name] for name in held] == [getattr(text, name) for name in held]


def test_a_page_shows_samples_with_command_and_verdict(few: list[ShippedSamples]) -> None:
    html = page("Samples", "", [Section("tales", "Tales", samples=[samples.group for samples in few])])
    assert html.count('<ol class="samples">') == 3
    for verdict in ('class="yes"', 'class="no"'):
        assert (verdict in html) == any(one.kind in verdict for each in few for one in each.judged if one.kind)
    assert "&#34;Once upon a time a merry frog" in html


def test_a_tale_is_shown_with_what_broke() -> None:
    assert judge_tale(TOLD) == JudgedText(TOLD, "yes", "holds together")
    broken = judge_tale(TOLD.replace("One day he lost it", "One day she lost it"))
    assert (broken.kind, broken.verdict) == ("no", "broken, sentence 3: nobody is meant by she")


def test_without_rdkit_nothing_is_said_of_molecules(
    few: list[ShippedSamples], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_rdkit(monkeypatch)
    assert judge_molecule(f"{ASPIRIN}~~") == JudgedText(ASPIRIN)
    assert draw_molecules(few[-1], tmp_path / "m.png") == []
    assert embedded(tmp_path / "m.png") == ""


@needs_rdkit
def test_with_rdkit_molecules_are_judged_and_drawn(few: list[ShippedSamples], tmp_path: Path) -> None:
    assert judge_molecule(f"{ASPIRIN}~~") == JudgedText(ASPIRIN, "yes", "a molecule")
    assert judge_molecule("CC(").verdict == "no molecule"
    assert draw_molecules(few[-1], tmp_path / "m.png") == [tmp_path / "m.png"]
    assert embedded(tmp_path / "m.png").startswith("data:image/png;base64,iVBOR")


def tales_of_the_docs() -> list[tuple[str, str]]:
    """The tales that docs/zoo.md shows, each with its verdict."""
    return re.findall(r"^\d\. (Once upon a time .*\.) → \*(.*)\*$", (DOCS / "zoo.md").read_text(), re.M)


def test_the_docs_say_of_their_tales_what_the_checker_says() -> None:
    assert len(tales_of_the_docs()) == 6
    for tale, verdict in tales_of_the_docs():
        assert verdict == judge_tale(tale).verdict


@pytest.mark.slow
def test_the_docs_show_tales_as_they_come() -> None:
    texts = infogain.generate(infogain.load("zoo:tiny-tales", device="cpu"), ["Once upon a time"] * 6)
    assert [tale for tale, _ in tales_of_the_docs()] == [f"{text.prompt} {text.text}" for text in texts]


def test_the_docs_say_what_their_molecules_are_like() -> None:
    image = pytest.importorskip("PIL.Image")
    picture = DOCS / "img" / "molecules.png"
    texts = json.loads(image.open(picture).text["infogain"])["texts"]
    mean, trained = sum(map(token_count, texts)) / len(texts), reference_distributions()["length"].summary()["mean"]
    assert f"{mean:.1f} tokens in the mean, where MOSES's training molecules have {trained:.1f}" in flowing(
        (DOCS / "zoo.md").read_text()
    )
    assert len(texts) == 12
    assert picture.stat().st_size <= 150_000


def unbroken(text: str) -> str:
    """Words without what parts them: help breaks lines behind hyphens, too."""
    return "".join(text.split())


def test_help_names_every_model_that_comes_with_the_package() -> None:
    texts, images = (shipped_models(images=kind) for kind in (False, True))
    assert texts == ["zoo:tiny-molecule", "zoo:tiny-reason", "zoo:tiny-tales"]
    assert images == ["zoo:tiny-digits", "zoo:tiny-image"]
    assert shipped_models() == sorted([*texts, *images])
    assert ",".join(texts) in unbroken(ok("generate", "--help"))
    assert "or".join(images) in unbroken(ok("image", "--help"))


def test_help_says_which_model_a_study_asks() -> None:
    told = unbroken(ok("study", "--help"))
    assert "unset:zoo:tiny-reason,or" in told
    others = [study for study in STUDIES.values() if study.model != "zoo:tiny-reason"]
    assert all(study.model in told and study.name in told.split("unset:")[1] for study in others)
