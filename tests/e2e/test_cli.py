"""The command line as a user meets it: output, exit codes, and files that load back."""

from __future__ import annotations

import csv
import html
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

import infogain
from infogain import Recipe, Trace
from infogain.cli import demo, main
from infogain.generate import Generation, generate
from infogain.options import fields
from infogain.provenance import made_with
from infogain.samplers import SAMPLERS
from infogain.zoo.tales.checker import faults
from tests.unit.test_molecules import without_rdkit

TERMINAL = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}


def run(*arguments: object, input: str | None = None, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], input=input, env=env or {"COLUMNS": "80"})


def ok(*arguments: object, input: str | None = None, env: dict[str, str] | None = None) -> str:
    result = run(*arguments, input=input, env=env)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object, input: str | None = None) -> str:
    """The one line that a refused command prints."""
    result = run(*arguments, input=input)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def flowing(text: str) -> str:
    """Words with one space between them, wherever lines were broken."""
    return f" {' '.join(text.split())} "


def recipe_of(*flags: str | Path) -> Recipe:
    return Recipe.of(tomllib.loads(ok("recipe", *flags)))


# help


def test_the_installed_command_runs_and_has_no_traceback() -> None:
    call = [sys.executable, "-m", "infogain"]
    version = subprocess.run([*call, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.split() == ["infogain,", "version", infogain.__version__]
    wrong = subprocess.run([*call, "samplers", "entropi"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert re.fullmatch(r"error: unknown sampler 'entropi'\. Did you mean 'entropy'\?.*\n", wrong.stderr)


@pytest.mark.parametrize("command", ["", *main.commands])
def test_every_help_has_examples(command: str) -> None:
    text = ok(*command.split(), "--help")
    assert "Examples:" in text
    assert f"infogain {command}".strip() in text.split("Examples:")[1]


def test_the_examples_of_the_help_name_real_flags() -> None:
    for name, command in main.commands.items():
        known = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
        examples = [line for line in (command.help or "").splitlines() if f"infogain {name}" in line]
        assert examples
        for line in examples:
            used = line.split(f"infogain {name}", 1)[1].split(">")[0]
            assert set(re.findall(r"(?<=\s)--?[a-z][\w.-]*", used)) <= known


# samplers


def test_the_table_of_samplers_fits_80_columns() -> None:
    lines = ok("samplers").splitlines()
    assert max(map(len, lines)) <= 80 + 2  # H̃ is two characters in one column
    assert "…" not in "".join(lines)
    for name in SAMPLERS:
        _, row = (line for line in lines if line.startswith(name + " "))
        assert SAMPLERS.make(name).criteria in row
        assert row.split()[-2:] == [
            "yes" if SAMPLERS[name].greedy else "no",
            "yes" if SAMPLERS.make(name).traits.adaptive else "no",
        ]


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_a_sampler_says_in_sentences_what_it_does_and_when_to_use_it(name: str) -> None:
    purpose = SAMPLERS[name].purpose
    assert re.fullmatch(r"[A-Z].{30,}\.", purpose)
    assert f" {name} {purpose} " in flowing(ok("samplers"))
    assert f" {purpose} " in flowing(ok("samplers", name))


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_one_sampler_is_shown_with_all_its_options(name: str) -> None:
    text = ok("samplers", name)
    for field in fields(SAMPLERS[name]):
        assert "--" + field.replace("_", "-") in text


def test_options_are_shown_with_range_default_and_condition() -> None:
    text = ok("samplers", "klass")
    assert re.search(r"--threshold +0\.9 +> 0, ≤ 1", text)
    assert "if variant is" in text
    assert re.search(r"--epsilon +unset", text)
    assert re.search(r"--base +confidence", ok("samplers", "best-of-n"))


def test_an_unknown_sampler_is_refused_with_a_guess() -> None:
    assert "Did you mean 'info-gain'?" in refused("samplers", "infogain")


# recipe flags


def test_without_flags_the_recipe_is_the_default() -> None:
    assert recipe_of() == Recipe()


def test_flags_make_a_recipe() -> None:
    recipe = recipe_of("--sampler", "pc", "--lam", "0.5", "--steps", "9", "--shape", "cosine", "--block", "4")
    table = recipe.plain()
    assert (table["sampler"]["name"], table["sampler"]["lam"]) == ("pc", 0.5)
    assert table["schedule"] == {"name": "steps", "count": 9, "shape": "cosine"}
    assert table["block"] == 4
    assert recipe_of("-k", "3", "--order", "random", "--eos-ids", "7,8", "--seed", "5").plain() | {"sampler": 0} == {
        "sampler": 0,
        "schedule": {"name": "tokens", "k": 3},
        "order": "random",
        "eos_ids": [7, 8],
        "seed": 5,
    }


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_every_plain_option_of_every_sampler_has_a_flag(name: str) -> None:
    flags: list[str] = []
    for field in fields(SAMPLERS[name]).values():
        if isinstance(field.default, int | float | str) and field.name != "base":
            flags += ["--" + field.name.replace("_", "-"), str(field.default)]
    assert recipe_of("--sampler", name, *flags) == Recipe(SAMPLERS.make(name))


def test_flags_override_the_file_and_keep_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text(
        ok("recipe", "--sampler", "info-gain", "--n", "4", "--tau-pos", "0.3", "--steps", "9", "--shape", "cosine")
    )
    table = recipe_of("--recipe", path, "--n", "2", "--steps", "5").plain()
    assert (table["sampler"]["n"], table["sampler"]["tau_pos"]) == (2, 0.3)
    assert table["schedule"] == {"name": "steps", "count": 5, "shape": "cosine"}
    assert recipe_of("--recipe", path, "--sampler", "info-gain").plain()["sampler"]["n"] == 4
    assert recipe_of("--recipe", path, "--sampler", "lookum").plain()["sampler"]["n"] == 8
    assert recipe_of("--recipe", path, "--shape", "linear").plain()["schedule"]["count"] == 9


def test_the_base_has_flags_of_its_own() -> None:
    default = recipe_of("--sampler", "best-of-n", "--base.tau-token", "0.5").plain()["sampler"]["base"]
    assert (default["name"], default["tau_token"]) == ("confidence", 0.5)
    chosen = recipe_of("--sampler", "best-of-n", "--n", "3", "--base", "eb", "--base.bound", "0.5").plain()["sampler"]
    assert (chosen["n"], chosen["base"]["name"], chosen["base"]["bound"]) == (3, "eb", 0.5)
    assert "--base.bound" not in ok("recipe", "--help")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["-k", "2", "--steps", "4"], "got k 2 and steps 4. Drop one"),
        (["--shape", "cosine"], "Give steps (--steps), or drop shape"),
        (["-k", "2", "--shape", "cosine"], "Give steps (--steps), or drop shape"),
        (["--sampler", "entropy", "--tau-token", "-1"], "tau_token must be at least 0"),
        (["--sampler", "entropy", "--n", "4"], "unknown option of sampler 'entropy': 'n'"),
        (["--sampler", "klass", "--variant", "orginal"], "Did you mean 'original'?"),
        (["--sampler", "entropy", "--base", "margin"], "'base'"),
        (["--sampler", "best-of-n", "--base", "entropy", "--base.n", "2"], "unknown option of sampler 'entropy': 'n'"),
        (["--recipe", "none.toml"], "none.toml"),
        (["--order", "sideways"], "sideways"),
        (["--block", "-1"], "block must be at least 0"),
    ],
)
def test_what_does_not_belong_is_refused(flags: list[str], said: str) -> None:
    assert said in refused("recipe", *flags)


def test_what_is_no_number_is_a_usage_error() -> None:
    result = run("recipe", "--n", "many")
    assert result.exit_code == 2
    assert "'many' is not a valid integer" in result.stderr


# toy and replay


def test_without_a_name_the_toys_are_listed() -> None:
    text = ok("toy")
    assert all(name in text for name in ("one-way", "judgement", "parity", "bits with an even sum"))


def test_a_toy_is_decoded_and_marked() -> None:
    lines = ok("toy", "parity", "--sampler", "entropy", "--count", "5").splitlines()
    assert "always right" in " ".join(lines[6:])
    for line in lines[:5]:
        assert (line[:6].count("1") % 2 == 0) == line.endswith("✓ right")
    right = sum(line.endswith("right") for line in lines[:5])
    assert lines[5] == f"accuracy {20 * right:.1f} %  H̃ 3.47  forwards 6.0  token-forwards 36.0"


def test_the_result_and_the_trace_are_saved_and_load_back(tmp_path: Path) -> None:
    out, trace = tmp_path / "r.json", tmp_path / "t.jsonl"
    flags = ["--sampler", "info-gain-beam", "-k", "4", "--count", "2", "--seed", "3"]
    text = ok("toy", "one-way", *flags, "--quiet", "--out", out, "--trace", trace)
    assert text.splitlines()[0].startswith("accuracy ")
    assert "✓" not in text
    toy = infogain.models.one_way()
    recipe = recipe_of(*flags[:4], *flags[6:])
    again = infogain.decode(toy.model, toy.canvas(2, seed=3), recipe.sampler, schedule=4, seed=3)
    assert json.loads(out.read_text())["rows"] == again.rows()
    assert Recipe.of(json.loads(out.read_text())["recipe"]) == replace(recipe, block=0), "what was left open is told"
    assert Trace.load(trace).rows == again.rows()

    ids = ok("replay", trace).splitlines()
    signs = ok("replay", trace, "--toy", "one-way").splitlines()
    assert len(ids) == len(signs) == 2 * 4  # two prompts, four steps
    assert [int(x) for x in ids[-1].split("H̃")[0].split()[3:]] == again.rows()[1]
    assert toy.decode(again.rows()[1]) in signs[-1]
    assert float(signs[-1].split("H̃")[1]) == pytest.approx(again.cumulative_entropy[1].item(), abs=0.005)


def test_a_recipe_file_gives_the_same_decode_again(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    flags = ["--sampler", "uniform", "--tau-token", "1", "--seed", "9"]
    path.write_text(ok("recipe", *flags))
    assert ok("toy", "one-way", *flags) == ok("toy", "one-way", "--recipe", path)


def test_on_a_terminal_the_unmasking_is_drawn_live(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    text = ok("toy", "parity", "--count", "40", "--delay", "0", "--trace", trace, env=TERMINAL)
    assert "info-gain, step 6" in text
    assert "\x1b[" in text
    assert "… and 18 more" in text  # 30 lines hold 22 of them
    assert "step 6" in ok("replay", trace, "--delay", "0", env=TERMINAL)


def test_what_cannot_be_decoded_or_saved_is_refused(tmp_path: Path) -> None:
    assert "Did you mean 'one-way'?" in refused("toy", "oneway")
    assert "at least the number of blocks" in refused("toy", "parity", "--block", "1", "--steps", "2")
    assert "needs a folder that exists" in refused("toy", "parity", "--quiet", "--out", tmp_path / "no" / "r.json")


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"kind": "step"}\n')
    assert "a trace must be the JSON lines" in refused("replay", path)
    ok("toy", "one-way", "-k", "7", "--count", "1", "--quiet", "--trace", path, "--overwrite")
    for other in ("parity", "judgement"):
        assert "Drop --toy to see the ids" in refused("replay", path, "--toy", other)
    path.write_text(path.read_text().replace('"columns": [', '"columns": [99, '))
    assert "must follow from each other" in refused("replay", path)


# demo


def with_hasty_samples(patch: pytest.MonkeyPatch) -> None:
    """Tales and molecules in a few steps."""

    def hasty(*given: Any, **options: Any) -> list[Generation]:
        return generate(*given, **{**options, "k": 28})

    patch.setattr("infogain.studies.shipped_samples.generate", hasty)


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    with pytest.MonkeyPatch.context() as patch:
        with_hasty_samples(patch)
        return folder, ok("demo", "--count", "2", "--out", folder)


def test_the_demo_steps_through_both_samplers(demo_folder: tuple[Path, str]) -> None:
    _, text = demo_folder
    for name in ("entropy", "info-gain:validated"):
        assert len(re.findall(rf"^step +\d+  {name} ", text, re.M)) == 18
        assert re.search(rf"^{name} +wrote \d\d × \d\d = \d+: (right|wrong)\.$", text, re.M)
    assert "One text proves nothing: now 2 draws of oneway and 2 draws of sudoku." in text


def test_the_demos_tables_fit_a_terminal(demo_folder: tuple[Path, str]) -> None:
    tables = demo_folder[1].split("One text proves nothing")[1].split("Written to")[0]
    assert max(map(cell_len, tables.splitlines())) <= 80
    assert "…" not in tables


def test_the_demo_writes_every_number_it_prints(demo_folder: tuple[Path, str]) -> None:
    folder, text = demo_folder
    record = json.loads((folder / "results.json").read_text())
    assert [table["cache"] for table in record["provenance"]] == ["none"]
    rows = record["rows"]
    assert record["points"] == record["expected"] == len(rows) == 12
    for row in rows:
        numbers = row["numbers"]
        cells = [
            rf"{100 * numbers['accuracy']:.1f} \[([0-9]+, [0-9]+|–)\]",
            f"{100 * numbers['distinct']:.1f}",
        ]
        line = " +".join([re.escape(row["labels"]["sampler"]), *cells, f"{numbers['token_forwards']:,.0f} "])
        assert re.search(f"^{line}", text, re.M)
        assert Recipe.of(row["cell"]["recipe"]).sampler.name in SAMPLERS
    with (folder / "results.csv").open() as file:
        table = list(csv.DictReader(file))
    for name in ("accuracy", "distinct", "token_forwards", "seconds"):
        assert [float(line[name]) for line in table] == [row["numbers"][name] for row in rows]
    assert [line["sampler"] for line in table] == [row["labels"]["sampler"] for row in rows]
    assert {(line["model"], line["cache"], line["infogain"]) for line in table} == {
        ("zoo:tiny-reason", "none", infogain.__version__)
    }
    assert made_with(record["provenance"]).removesuffix(".") in (folder / "report.html").read_text()


def test_the_demos_report_plays_both_and_fetches_nothing(demo_folder: tuple[Path, str]) -> None:
    folder, text = demo_folder
    page = (folder / "report.html").read_text()
    assert re.search(r'"title":"entropy: (right|wrong)"', page)
    assert re.search(r'"title":"info-gain:validated: (right|wrong)"', page)
    assert page.count("<tbody>") == 2
    words = " ".join(html.unescape(page).split())
    told = [line for line in text.splitlines() if " wrote " in line]
    reading = text.split("The best of each column")[1].split("Two more models")[0]
    assert len(told) == 2
    for verdict in (*told, "The best of each column" + reading):
        assert " ".join(verdict.split()) in words, "what the terminal says of it"
    assert 'class="best"' in page
    assert not re.search(r'(?:src|href)="(?!#|data:)|url\(|@import|https?://(?!www\.w3\.org)', page)
    assert f"Written to {folder}: report.html" in text


def test_the_demo_shows_samples_of_the_other_models(demo_folder: tuple[Path, str]) -> None:
    folder, text = demo_folder
    lines = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    tales, molecules = lines[:6], lines[6:]
    assert {line["provenance"]["model"] for line in tales} == {"zoo:tiny-tales"}
    assert {line["provenance"]["model"] for line in molecules} == {"zoo:tiny-molecule"}
    assert [line["recipe"]["sampler"]["name"] for line in lines] == [*["entropy"] * 3, *["info-gain"] * 11]
    assert {line["recipe"]["sampler"]["tau_token"] for line in tales} == {1.0}
    assert {(line["recipe"]["block"], line["recipe"]["seed"]) for line in lines} == {(0, 0)}
    for line in tales:
        assert (line["verdict"] == "holds together") == (not faults(f"{line['prompt']} {line['text']}"))
    shown, page = (" ".join(told.split()) for told in (text, html.unescape((folder / "report.html").read_text())))
    for each in (*tales, *molecules):
        assert each["text"] in page
    for each in (tales[0], tales[3], *molecules):  # the first tale of each sampler, and all molecules
        assert each["text"] in shown
    assert tales[0]["verdict"] in shown
    assert "zoo:tiny-molecule, family llada" in page, "what made them stands at the head"


@pytest.mark.parametrize(
    ("program", "on_the_path", "said"),
    [
        ("/somewhere/infogain/__main__.py", True, "python -m infogain"),
        ("/somewhere/infogain/__main__.py", False, "python -m infogain"),
        ("/env/bin/infogain", True, "infogain"),
        ("/env/bin/infogain", False, "/env/bin/infogain"),
    ],
)
def test_the_demo_names_the_command_as_it_was_called(
    program: str, on_the_path: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [program])
    monkeypatch.setattr("shutil.which", lambda name: f"/env/bin/{name}" if on_the_path else None)
    assert demo._command() == said


def test_the_demo_draws_a_picture(demo_folder: tuple[Path, str]) -> None:
    pytest.importorskip("matplotlib")
    folder, text = demo_folder
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert ", demo.png, " in text
    assert "data:image/svg+xml;base64," in (folder / "report.html").read_text()


def test_without_matplotlib_and_rdkit_only_pictures_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    without_rdkit(monkeypatch)
    with_hasty_samples(monkeypatch)
    (tmp_path / "demo.svg").write_text("of an earlier run")
    assert "demo.svg exists, and what it holds would be lost" in refused("demo", "--count", "1", "--out", tmp_path)
    text = ok("demo", "--count", "1", "--out", tmp_path, "--overwrite")
    assert "No picture: matplotlib is not installed." in text
    assert "pip install 'infogain[plot]'" in text
    assert "pip install 'infogain[molecules]'" in text
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "samples.jsonl", "results.json", "results.csv"}
    page = html.unescape((tmp_path / "report.html").read_text())
    assert "<figure>" not in page
    assert "pip install 'infogain[molecules]'" in page


def test_on_a_terminal_the_demo_is_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infogain.cli.demo.DELAY", 0.0)
    with_hasty_samples(monkeypatch)
    text = ok("demo", "--count", "1", "--out", tmp_path, env=TERMINAL)
    assert "info-gain:validated, step 18" in text
    assert "12/12" in text
