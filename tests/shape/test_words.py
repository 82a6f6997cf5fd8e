"""Plain words: abolished names stay away, docstrings do not begin in mid-phrase, and the layers are few."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.shape.test_house import modules

ROOT = Path(__file__).parents[2]
LAYERS = 17
MID_PHRASE = re.compile(r"(The same|Of|With|From|By|But|And|As where)\b")

ABOLISHED = {  # what is said instead
    "Came": "Completion",
    "Deferred": "LazyLogits",
    "Desk": "ScoringQueue",
    "GoesOn": "Denoiser.append",
    "Grid": "Table",
    "Left": "RowResult",
    "Piece": "Snippet",
    "Referee": "MathProcess",
    "Spots": "MaskedColumns",
    "StepRecord": "TraceStep",
    "Tally": "what it counts: CellScores",
    "UnfitModel": "UnsupportedTask",
    "Verdict": "CandidateFacts",
    "Watch": "CellObserver",
    "as_words": "as_float32",
    "at_once": "max_in_flight",
    "beside": "reproduced_table",
    "board": "what it shows",
    "desk": "scoring_queue",
    "duel": "trace_pair",
    "laid": "weights_version",
    "lined_up": "rows_contiguous",
    "load_words": "load_tokenizer",
    "otherwise": "made_differently",
    "pieces": "snippets, jobs",
    "place_seed": "hypothesis_seed",
    "referee": "math_process",
    "seen": "with_marginals",
    "sheet": "what it shows",
    "strike": "exclude_mask_token",
    "taken": "steps_taken",
    "tally": "cell_scores",
    "tells": "gives_away",
    "unfit": "unsupported",
    "way_to_open": "append_group",
    "with_places": "with_beam_seeds",
}
NO_VALUE = ("at_once", "flying", "rivals", "spaced", "wide_rope", "lined_up")  # nor a parameter or a field


def defined() -> Iterator[tuple[str, str]]:
    """The last part of every module's name, and the name of every function and class, with where it stands."""
    for module, path in modules():
        yield module.rpartition(".")[2], module
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name, f"{module}.{node.name}"


def test_abolished_names_stay_away() -> None:
    found = {place: ABOLISHED[name] for name, place in defined() if name in ABOLISHED}
    assert not found, "say instead"


def test_abolished_words_name_no_value_either() -> None:
    word = re.compile(rf"\b({'|'.join(NO_VALUE)})\b(?= *[=:,)])")
    found = [(module, *word.findall(path.read_text(encoding="utf-8"))) for module, path in modules()]
    assert [each for each in found if each[1:]] == []


def test_docstrings_do_not_begin_in_mid_phrase() -> None:
    """Those of tests and tools neither."""
    paths = [path for folder in ("src", "tests", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    nodes = [(path, node) for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    own = [(path, node) for path, node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)]
    assert [str(path) for path, node in own if MID_PHRASE.match(ast.get_docstring(node) or "")] == []


def test_no_value_is_called_as_what_it_lies_in() -> None:
    """`model.model` was in twenty-one places, and one had to know which was which."""
    found = [module for module, path in modules() if re.search(r"\bmodel\.model\b", path.read_text(encoding="utf-8"))]
    assert found == []


def test_the_layers_are_few() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    assert len(layers) <= LAYERS
