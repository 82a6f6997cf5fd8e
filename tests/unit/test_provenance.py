"""Every output says which model it comes from and how that ran, with no value left open."""

from __future__ import annotations

import html
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import infogain
from infogain import Canvas, Trace
from infogain.evals.run_page import run_page
from infogain.evals.runs import Run, list_runs
from infogain.models.backbone.backbone import CACHES, random_backbone
from infogain.models.toys import TOYS, load_toy, random_joint
from infogain.provenance import approximation, in_words, made_with, provenance
from tests.e2e.test_cli import ok
from tests.laws.test_backbone import SPECS
from tests.parity.checkpoints import FAMILIES, write_checkpoint
from tests.parity.test_masked_lm import bert

ZOO = "zoo:tiny-reason"
KNOWN = {"model", "family", "dtype", "device", "cache", "refresh", "engine", "versions"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("models")
    own = {family: write_checkpoint(home / family, family) for family in FAMILIES}
    (home / "bert").mkdir()
    return own | {"bert": bert(home / "bert")}


def whole(table: dict[str, Any]) -> bool:
    return table.keys() >= KNOWN and None not in table.values() and None not in table["versions"].values()


# the table


@pytest.mark.parametrize("family", [*FAMILIES, "bert"])
def test_a_loaded_model_says_what_was_left_to_defaults(family: str, folders: dict[str, Path]) -> None:
    model = infogain.load(folders[family], device="cpu")
    cache = {"sdar": "block-causal", "bert": "none"}.get(family, "dual")
    table = model.provenance
    assert whole(table)
    assert table["model"] == str(folders[family])
    assert (table["family"], table["cache"], table["refresh"], table["engine"]) == (family, cache, 1, "eager")
    assert table["device"] == "cpu"
    assert table["dtype"] in ("float32", "bfloat16")
    assert table.get("attention_block") == (4 if family == "sdar" else None)
    assert table["versions"]["torch"] == torch.__version__


def test_what_was_asked_for_is_what_is_told(folders: dict[str, Path]) -> None:
    model = infogain.load(folders["llada"], dtype="bf16", device="cpu", cache="prefix", refresh=3)
    table = model.provenance
    assert (table["dtype"], table["cache"], table["refresh"]) == ("bfloat16", "prefix", 3)
    assert infogain.load(ZOO).provenance["cache"] == "none"


def test_a_model_that_nobody_loaded_is_told_by_its_class() -> None:
    bare = random_joint(3, 2)
    assert whole(provenance(bare))
    assert provenance(bare)["model"] == "Tabular"
    assert provenance(random_backbone(SPECS["sdar"]))["cache"] == "block-causal"


@pytest.mark.parametrize("name", TOYS)
def test_a_toy_is_told_by_its_name(name: str) -> None:
    table = provenance(load_toy(name).model)
    assert whole(table)
    assert (table["model"], table["family"]) == (f"toy:{name}", "Tabular")


def test_it_can_be_told_in_one_line() -> None:
    table = {**provenance(load_toy("parity").model), "cache": "dual", "revision": "main"}
    said = in_words(table)
    for word in (
        *("toy:parity", "revision main", "family Tabular", "cache dual", "refresh 1", "float64", "cpu", "engine eager"),
        *(f"infogain {infogain.__version__}", f"torch {torch.__version__}"),
    ):
        assert word in said.split(", ")
    assert in_words(None) == in_words({}) == made_with([None, {}]) == ""
    sorted_ = json.loads(json.dumps(table, sort_keys=True))
    assert made_with([table, None, sorted_]) == f"Made with {said}."
    assert made_with([table, {"model": "b"}]) == f"Made with {said}; and with b."


# the outputs


def test_texts_results_and_traces_carry_it(tmp_path: Path) -> None:
    model = infogain.load(ZOO, cache="dual", device="cpu")
    (text,) = infogain.generate(model, "C24,13,6=31:", length=4, trace=True)
    (filled,) = infogain.infill(model, "C24,13,6=[MASK:2]:")
    assert text.plain()["provenance"] == filled.provenance == model.provenance
    assert text.trace is not None
    text.trace.save(tmp_path / "trace.jsonl")
    assert Trace.load(tmp_path / "trace.jsonl").provenance == model.provenance
    toy = load_toy("parity")
    result = infogain.decode(toy.model, toy.canvas(2), "ar")
    assert result.plain()["provenance"] == provenance(toy.model)
    mask = model.denoiser.mask_id
    assert infogain.decode(model, Canvas.infill([[1, 2, mask]], mask)).provenance == model.provenance


def test_a_trace_of_before_it_was_kept_loads(tmp_path: Path) -> None:
    toy = load_toy("parity")
    trace = infogain.decode(toy.model, toy.canvas(2), "ar").trace
    assert trace is not None
    trace.save(tmp_path / "new.jsonl")
    header, _, rest = (tmp_path / "new.jsonl").read_text().partition("\n")
    old = {key: value for key, value in json.loads(header).items() if key != "provenance"}
    (tmp_path / "old.jsonl").write_text(f"{json.dumps(old)}\n{rest}")
    loaded = Trace.load(tmp_path / "old.jsonl")
    assert loaded.provenance is None
    assert loaded == trace, "the same happened"


def test_commands_write_it_down(tmp_path: Path) -> None:
    prompt = ("C24,13,6=31:", "--length", 3)
    ok("compare", *prompt, "--samplers", "ar,entropy", "--cache", "dual", "--out", tmp_path / "compared.json")
    compared = json.loads((tmp_path / "compared.json").read_text())
    ok("drift", *prompt, "--out", tmp_path)
    ok("toy", "parity", "--sampler", "ar", "--quiet", "--out", tmp_path / "toy.json")
    told = [line["provenance"] for line in compared]
    told += [json.loads((tmp_path / name).read_text())["provenance"] for name in ("drift.json", "toy.json")]
    assert all(map(whole, told))
    assert [table["cache"] for table in told] == ["dual", "dual", "dual", "none"]
    assert {table["model"] for table in told} == {ZOO, "toy:parity"}


def test_a_comparison_says_below_its_table_what_ran() -> None:
    shown = ok("compare", "C24,13,6=31:", "--length", 2, "--samplers", "ar", "--cache", "prefix", "--device", "cpu")
    below = " ".join(shown.split("seconds")[-1].split())  # what its columns mean comes before
    assert below.endswith(in_words(infogain.load(ZOO, cache="prefix", device="cpu").provenance))


def test_a_default_and_its_name_are_one_run(tmp_path: Path) -> None:
    flags = ("eval", "zoo:countdown", "--limit", 2, "--seeds", 1, "--sampler", "entropy", "--runs", tmp_path)
    ok(*flags)
    ok(*flags, "--cache", "none", "--dtype", "fp32", "--refresh", 1)
    (run,) = list_runs(tmp_path)
    model = run.about["model"]
    assert (model["cache"], model["dtype"], model["refresh"]) == ("none", "float32", 1)
    assert whole(run.about["provenance"])
    assert html.escape(made_with([run.about["provenance"]])) in run_page(run, run.items())
    listed = ok("results", run.name, "--runs", tmp_path, env={"COLUMNS": "200"})
    assert "none" in listed
    assert Run(run.folder).items()


# what is approximate


def test_a_cache_that_freezes_columns_is_an_approximation() -> None:
    for cache in CACHES:
        said = approximation({"cache": cache, "refresh": 1})
        assert (said is None) == (cache == "none")
    assert approximation({"cache": "block-causal", "refresh": 1}) is None
    assert "once in 4 blocks" in str(approximation({"cache": "dual", "refresh": 4}))


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("llada", {}, "outside"),
        ("llada", {"cache": "prefix"}, "before"),
        ("llada", {"cache": "none"}, None),
        ("sdar", {}, None),
        ("bert", {}, None),
    ],
)
def test_loading_says_it_in_one_line(
    name: str,
    options: dict[str, Any],
    word: str | None,
    folders: dict[str, Path],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "infogain"):
        infogain.load(folders[name], device="cpu", **options)
    said = [record.getMessage() for record in caplog.records if record.name == "infogain"]
    assert len(said) == (word is not None)
    assert all(f"columns {word} the block" in line and "--cache none" in line for line in said)


def test_a_user_sees_the_line_without_asking() -> None:
    call = [sys.executable, "-m", "infogain", "generate", "C24,13,6=31:", "--length", "2", "--cache", "dual"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stderr.count("an approximation") == 1
    assert json.loads(done.stdout)["provenance"]["cache"] == "dual"
