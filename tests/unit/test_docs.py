"""The documentation is true today: its examples run, its tree is the tree, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import tomllib
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest
import torch
from tools.package_page import package_page

import infogain
from infogain.cli import main
from infogain.models.backbone.backbone import Backbone, random_backbone
from infogain.samplers import SAMPLERS
from infogain.zoo.tasks.sudoku import is_grid
from tests.laws.test_backbone import SPECS, canvas_of
from tests.parity.checkpoints import write_checkpoint

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)


def test_the_readme_example_runs_on_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = python_blocks("README.md")
    write_checkpoint(tmp_path / "llada", "llada")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert 1 <= names["text"].forwards <= 16  # 32 tokens, two a step, unless one ends the text
    said = capsys.readouterr().out
    assert re.search(r"the.* sat on the", said, flags=re.DOTALL)
    assert "'cache': 'none'" in said
    assert len([line for line in example.splitlines() if line.strip()]) <= 10


def test_the_examples_of_use_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    zoo, toy = python_blocks("docs/use.md")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(zoo, "use.md", "exec"), names)
    equation, grid = capsys.readouterr().out.splitlines()
    said = re.findall(r"# (\S+=33), H̃|Sudoku: (S\d+)", zoo)
    assert [first or second for first, second in said] == [equation.split()[0], grid]
    assert is_grid(grid[1:])
    exec(compile(toy, "use.md", "exec"), names)
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


def commands(page: Path) -> list[list[str]]:
    """The words of every line in a block that calls `infogain`, up to its comment or where its output goes."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    lines = [line.split(" > ")[0] for line in "".join(blocks).splitlines() if line.startswith("infogain ")]
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_commands_are_known_with_all_their_options(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Path, "convert", lambda self, value, *context: value)  # files need not be there
    above = click.Context(main)
    for _, name, *rest in commands(page):
        command = main.get_command(above, name)
        assert command is not None, name
        with suppress(click.exceptions.Exit):  # `recipe --list` is done once it is parsed
            command.make_context(name, rest, parent=above)  # raises where an option is not known


def test_the_readme_lists_eight_commands() -> None:
    assert len(commands(ROOT / "README.md")) == 8


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
    reason, tale = python_blocks("docs/zoo.md")
    exec(reason, {})
    assert capsys.readouterr().out.startswith("C")
    exec(tale, {})
    assert capsys.readouterr().out == tale.splitlines()[-1].removeprefix("# ") + "\n"


def test_the_tree_names_every_module() -> None:
    tree = (ROOT / "CONTRIBUTING.md").read_text().split("## The tree")[1]
    package = ROOT / "src" / "infogain"
    folders = [package / name for name in (".", "algorithm", "loop", "text", "models", "models/backbone")]
    for path in (path for folder in folders for path in folder.iterdir()):
        if path.suffix == ".py" and path.name != "__init__.py":
            assert path.name in tree, path.name
        elif path.is_dir() and path.name != "__pycache__":
            assert f"{path.name}/" in tree, path.name


def test_the_layers_are_those_that_are_kept() -> None:
    told = (ROOT / "CONTRIBUTING.md").read_text().split("**Layers.**")[1].split("```")[1]
    (contract, *_) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert [line.strip() for line in told.strip().splitlines()] == contract["layers"]


def test_the_readme_names_every_sampler() -> None:
    section = (ROOT / "README.md").read_text().split("## Samplers")[1]
    assert [name for name in SAMPLERS if f"`{name}`" not in section] == []


def anchors(page: Path) -> set[str]:
    """What a link may name behind its `#`: headings as forges spell them, and anchors that are written out."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = [heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)]
    return {re.sub(r"[^\w-]", "", heading) for heading in headings} | set(re.findall(r'<a id="([^"]+)">', text))


def broken(text: str, folder: Path) -> list[str]:
    """Links within the repository that name no file, or no heading of a page."""
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("http")]
    return [link for link in links if not _leads_somewhere(*link.split("#"), folder=folder)]


def _leads_somewhere(path: str, anchor: str = "", *, folder: Path) -> bool:
    target = folder / path
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text().replace("](#", f"]({page.name}#")  # within the page
    assert broken(text, page.parent) == []


def test_broken_links_are_found() -> None:
    assert broken("[a](README.md) [b](absent.md) [c](https://example.org/x)", ROOT) == ["absent.md"]
    assert broken("[a](docs/walk.md#the-forms-of-a-row) [b](docs/walk.md#absent)", ROOT) == ["docs/walk.md#absent"]


def test_on_a_package_index_every_link_of_the_readme_leads_to_a_file_of_the_repository() -> None:
    repository = "https://forge.example/owner/infogain"
    page = package_page((ROOT / "README.md").read_text(), f"{repository}/")
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", page)
    assert all(link.startswith(("https://", "#")) for _, link in links)
    ours = [(image, link.removeprefix(repository)) for image, link in links if link.startswith(repository)]
    assert len(ours) > 10
    assert all(path.startswith("/raw/main/" if image else "/blob/main/") for image, path in ours)
    local = page.replace(f"{repository}/blob/main/", "").replace(f"{repository}/raw/main/", "")
    assert broken(local.replace("](#", "](README.md#"), ROOT) == []


def test_without_an_address_the_page_of_a_package_index_has_no_link_that_leads_nowhere() -> None:
    readme = (ROOT / "README.md").read_text()
    page = package_page(readme, None)
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert links
    assert all(link.startswith(("https://", "#")) for link in links)
    assert "findings" in page
    assert "![" not in page


def test_every_decision_is_listed() -> None:
    index = (ROOT / "docs" / "adr" / "README.md").read_text()
    for record in (ROOT / "docs" / "adr").glob("0*.md"):
        assert f"]({record.name})" in index
