"""The documentation is true today: its examples run, its tree is the tree, its links lead somewhere."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

import infogain
from infogain.models.backbone.backbone import Backbone, random_backbone
from infogain.samplers import SAMPLERS
from tests.laws.test_backbone import SPECS, canvas_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def test_the_readme_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    zoo, toy = python_blocks("README.md")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(zoo, "README.md", "exec"), names)
    equation, grid = capsys.readouterr().out.splitlines()
    assert re.match(r"\S+=31 ", equation)
    assert re.fullmatch(r"S1[1-4]{15}", grid)
    exec(compile(toy, "README.md", "exec"), names)
    promised = re.search(r"rows\(\)\[0\]\)\)\s+# (.+)", toy)
    assert promised is not None
    assert promised[1] == capsys.readouterr().out.splitlines()[0]
    assert (tmp_path / "trace.jsonl").exists()
    assert len([line for line in (zoo + toy).splitlines() if line.strip()]) <= 14


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_rows_of_a_table_have_equally_many_cells(page: Path) -> None:
    lines = [re.sub(r"`[^`]*`", "", line) for line in page.read_text().splitlines()]  # code may hold a bar
    for above, below in pairwise(lines):
        if above.startswith("|") and below.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", above)) == len(re.findall(r"(?<!\\)\|", below)), below


def test_the_sampler_guide_runs() -> None:
    greedy, look_ahead = python_blocks("docs/add-a-sampler.md")
    names: dict[str, object] = {}
    try:
        exec(greedy, names)
        exec(look_ahead, {})
        assert {"middle-out", "hoarder"} <= set(SAMPLERS)
    finally:
        for name in ("middle-out", "hoarder"):
            SAMPLERS.entries.pop(name, None)


def test_the_model_guide_runs() -> None:
    network, bias, quick = python_blocks("docs/add-a-model.md")
    names: dict[str, Any] = {}
    exec(network, names)
    assert names["result"].committed.tolist() == [6, 9]
    exec(bias, names)
    biased = names["biased"]
    assert biased.committed.tolist() == [6, 9]
    assert 7 not in biased.tokens[biased.generated].tolist()
    assert biased.provenance["model"] == "Bias(FullCanvas)"
    only = infogain.decode(names["Bias"](names["model"], -names["bias"]), names["canvas"], block=4)
    assert set(only.tokens[only.generated].tolist()) == {7}, "every step of every block is changed"
    exec(quick, names)
    transformer, ceiling = random_backbone(SPECS["llada"]).transformer, 2 * 4 * 4 * 24 / 2**30  # four rows of logits
    plain, capped = Backbone(transformer, "dual"), Backbone(transformer, "dual", ceiling=ceiling)
    one, two = (
        infogain.decode(names[kind](inner, torch.arange(24.0)), canvas_of(), "info-gain", block=4)
        for kind, inner in (("Bias", plain), ("QuickBias", capped))
    )
    assert torch.equal(one.tokens, two.tokens)
    assert torch.allclose(one.cumulative_entropy, two.cumulative_entropy)
    assert not torch.equal(infogain.decode(plain, canvas_of(), "info-gain", block=4).tokens, one.tokens)


def test_the_zoo_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = python_blocks("docs/zoo.md")
    exec(example, {})
    assert capsys.readouterr().out.startswith("C")


def test_the_tree_names_every_module() -> None:
    tree = (ROOT / "CONTRIBUTING.md").read_text().split("## The tree")[1]
    package = ROOT / "src" / "infogain"
    folders = [package / name for name in (".", "algorithm", "loop", "text", "models", "models/backbone")]
    for path in (path for folder in folders for path in folder.iterdir()):
        if path.suffix == ".py" and path.name != "__init__.py":
            assert path.name in tree, path.name
        elif path.is_dir() and path.name != "__pycache__":
            assert f"{path.name}/" in tree, path.name


def test_the_readme_names_every_sampler() -> None:
    section = (ROOT / "README.md").read_text().split("## Samplers")[1]
    assert [name for name in SAMPLERS if f"`{name}`" not in section] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not link.startswith("http"):
            assert (page.parent / link).exists(), link


def test_every_decision_is_listed() -> None:
    index = (ROOT / "docs" / "adr" / "README.md").read_text()
    for record in (ROOT / "docs" / "adr").glob("0*.md"):
        assert f"]({record.name})" in index
