"""The token frequencies that `pc` corrects by: counted from a corpus once, kept as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from infogain.errors import InputError, UnknownName

FILE = "frequencies.json"  # beside the weights of a model that comes with the package
ZOO = "zoo:"
FORMAT = '{"num_tokens": N, "counts": {"token id": n}}'


def find_table(name: str) -> Path:
    """The file of that name; `zoo:tiny-reason` names the table of a model that comes with the package."""
    if not name.startswith(ZOO):
        return Path(name)
    weights = Path(__file__).parents[1] / "zoo" / "weights"
    known = {f"{ZOO}{path.parent.name}": path for path in weights.glob(f"*/{FILE}")}
    if name not in known:
        raise UnknownName("frequency table", name, known)
    return known[name]


def count_frequencies(documents: Iterable[Iterable[int]]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for document in documents:
        counts.update(document)
    return counts


def write_frequencies(counts: Counter[int], path: str | Path) -> None:
    table = {str(token): count for token, count in sorted(counts.items())}
    Path(path).write_text(json.dumps({"num_tokens": counts.total(), "counts": table}))


def read_frequencies(name: str | Path, vocabulary: int) -> Tensor:
    """Each token's share of the corpus; one never seen counts as seen once. [V]"""
    path = find_table(str(name))
    try:
        table = json.loads(path.read_text())
        total = int(table["num_tokens"])
        counts = {int(token): int(count) for token, count in table["counts"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"a frequency table must be JSON like {FORMAT}; {path} is not ({error}). "
            "Write one with `infogain frequencies`."
        ) from error
    if total < 1 or any(not 0 <= token < vocabulary for token in counts):
        raise InputError(
            f"a frequency table must hold at least one token and only ids below the vocabulary of {vocabulary}; "
            f"{path} holds {total} tokens, highest id {max(counts, default=-1)}. Count it with this model's tokenizer."
        )
    frequency = torch.ones(vocabulary, dtype=torch.float64)
    for token, count in counts.items():
        frequency[token] = max(count, 1)
    return frequency / total
