"""`python -m infogain.zoo.token_counts FOLDER`: count the texts a zoo model was trained on, for the `pc` sampler.

They are drawn again from the settings in the folder's card, in the shares that training took them.
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

TEXTS = 2000  # of each task; counts of some fifty characters need no more


def count_texts(folder: Path, texts: int = TEXTS) -> Counter[int]:
    settings = json.loads((folder / CARD_FILE).read_text())["settings"]
    batches: list[str] = settings["tasks"].split(",")  # a task that is named twice was trained on twice as often
    pools = fill(list(dict.fromkeys(batches)), "train", texts, settings["seed"])
    return count_frequencies(pools[name].tokens.flatten().tolist() for name in batches)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write_frequencies(count_texts(folder), folder / FILE, Alphabet.load(folder).vocabulary)
