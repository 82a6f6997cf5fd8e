"""`python -m infogain.zoo.token_counts FOLDER [DATA]`: count a zoo model's training texts, for the `pc` sampler.

They are drawn again from the settings in the folder's card, in the shares that training took them; or read from the
file that training was given as --data.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from infogain.samplers.frequencies import FILE, count_frequencies, write_frequencies
from infogain.text.alphabet import Alphabet
from infogain.zoo.card import CARD_FILE
from infogain.zoo.pool import fill
from infogain.zoo.trainer import TrainingSettings

TEXTS = 4000  # of the task with the largest share; counts of some fifty characters need no more


def count_texts(folder: Path, texts: int = TEXTS, data: Path | None = None) -> Counter[int]:
    settings = TrainingSettings(**json.loads((folder / CARD_FILE).read_text())["settings"])
    most = max(settings.shares.values())
    pools = fill(list(settings.shares), "train", texts, settings.seed, data=data)
    drawn = [pools[name].tokens[: round(texts * share / most)] for name, share in settings.shares.items()]
    return count_frequencies(tokens.flatten().tolist() for tokens in drawn)


if __name__ == "__main__":
    folder, *given = map(Path, sys.argv[1:])
    write_frequencies(
        count_texts(folder, data=given[0] if given else None), folder / FILE, Alphabet.load(folder).vocabulary
    )
