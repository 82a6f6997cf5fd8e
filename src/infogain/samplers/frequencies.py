"""The token frequencies that `pc` corrects by: counted from a corpus once, kept as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from infogain.errors import InputError, UnknownName
from infogain.options import Plain

FILE = "frequencies.json"  # beside the weights of a model that comes with the package
ZOO = "zoo:"
FORMAT = '{"num_tokens": N, "vocabulary": "fingerprint", "counts": {"token id": n}}'
RECOUNT = "Count it again with this model's tokenizer: `infogain frequencies CORPUS --model NAME --out FILE`."


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


def write_frequencies(counts: Counter[int], path: str | Path, vocabulary: str | None = None) -> None:
    """`vocabulary`: the fingerprint of the tokenizer that made the ids; unset where nobody knows."""
    table = {str(token): count for token, count in sorted(counts.items())}
    named = {} if vocabulary is None else {"vocabulary": vocabulary}
    Path(path).write_text(json.dumps({"num_tokens": counts.total(), **named, "counts": table}))


def check_vocabulary(name: str | Path, vocabulary: str) -> None:
    """Refuse a table that was counted with another tokenizer than the one with this fingerprint, or nobody knows."""
    path = find_table(str(name))
    held = _read(path).get("vocabulary")
    if held is None:
        raise InputError(
            f"a frequency table must name the vocabulary it was counted with; {path} names none, as tables of before "
            f"and those of bare token ids do. {RECOUNT}"
        )
    if held != vocabulary:
        raise InputError(
            f"a frequency table must be counted with the model's own tokenizer; {path} is of the vocabulary {held}, "
            f"the model has {vocabulary}. {RECOUNT}"
        )


def read_frequencies(name: str | Path, vocabulary: int) -> Tensor:
    """Each token's share of the corpus; one never seen counts as seen once. [V]"""
    path = find_table(str(name))
    table = _read(path)
    total: int = table["num_tokens"]
    counts: dict[int, int] = table["counts"]
    if total < 1 or any(not 0 <= token < vocabulary for token in counts):
        raise InputError(
            f"a frequency table must hold at least one token and only ids below the vocabulary of {vocabulary}; "
            f"{path} holds {total} tokens, highest id {max(counts, default=-1)}. Count it with this model's tokenizer."
        )
    frequency = torch.ones(vocabulary, dtype=torch.float64)
    for token, count in counts.items():
        frequency[token] = max(count, 1)
    return frequency / total


def _read(path: Path) -> Plain:
    try:
        table = json.loads(path.read_text())
        counts = {int(token): int(count) for token, count in table["counts"].items()}
        return {"num_tokens": int(table["num_tokens"]), "vocabulary": table.get("vocabulary"), "counts": counts}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"a frequency table must be JSON like {FORMAT}; {path} is not ({error}). "
            "Write one with `infogain frequencies`."
        ) from error
