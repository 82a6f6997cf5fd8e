"""Names that were abolished stay away: each had a plainer one, or more than one sense."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.shape.test_house import modules

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
