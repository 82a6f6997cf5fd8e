"""`python -m infogain.zoo.card_scores FOLDER`: score a trained model on validation problems, for its card.

For tasks whose check needs what the machine that trained the model did not have.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import torch

from infogain.zoo.card import CARD_FILE, write_page
from infogain.zoo.tasks import load_task
from infogain.zoo.train import validate


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m infogain.zoo.card_scores", description=__doc__)
    parser.add_argument("folder", type=Path, help="of the model")
    parser.add_argument("--problems", type=int, default=250, help="validation problems of each task")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="where to decode")
    options = parser.parse_args(arguments)
    path = options.folder / CARD_FILE
    card = json.loads(path.read_text(encoding="utf-8"))
    tasks = [load_task(name) for name in card["data"]]
    scores = validate(options.folder, torch.device(options.device), tasks, options.problems)
    card["validation_scores"] = [each.plain() for each in scores]
    path.write_text(json.dumps(card, indent=1) + "\n")
    write_page(options.folder)


if __name__ == "__main__":
    main()
