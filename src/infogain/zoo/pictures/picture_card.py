"""The card of a model that writes pictures: what it learnt, for how long, and how good its pictures are."""

from __future__ import annotations

import json
from pathlib import Path

from infogain.options import Plain
from infogain.zoo.card import CARD_FILE, PAGE_FILE


def write_picture_card(folder: Path, card: Plain) -> None:
    """The numbers as JSON, and a page of them."""
    (folder / CARD_FILE).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    (folder / PAGE_FILE).write_text(picture_page(folder.name, card), encoding="utf-8")


def picture_page(name: str, card: Plain) -> str:
    settings, codec = card["settings"], card["codec"]
    rows = [
        *(score_row(what, "–", codec[what]) for what in ("training pictures", "coded")),
        *(score_row(score["sampler"], str(score["steps"]), score) for score in card["scores"]),
    ]
    lines = [
        f"# {name}",
        "",
        f"A masked diffusion model of {card['parameters']:,} parameters ({settings['layers']} layers of width "
        f"{settings['width']}) that writes pictures of a class. "
        f'Load it with `infogain.load_image_model("zoo:{name}")`.',
        "",
        f"- **Data**: {card['data']}. One picture in ten is shown without its class.",
        f"- **Training**: {card['steps']:,} steps, {card['tokens']:,} tokens, {card['seconds']:,.0f} seconds on one "
        f"{card['device']}; settings in `{CARD_FILE}`.",
        f"- **Validation loss**: {card['validation_loss']:.3f} nats per code.",
        f"- **Codes in use**: {codec['codes in use']:,}, counted on the test pictures.",
        f"- **The classifier** is right on {100 * codec['test pictures']['accuracy']:.1f} % of the test pictures.",
        "- **Use**: to see and to test decoding methods. It knows its classes and nothing else.",
        "",
        "| pictures | steps | n | Fréchet distance | accuracy % | spread | distinct % |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        "The Fréchet distance is that of the classifier's features from those of the test pictures, both taken for "
        "Gaussians; it depends on n. *Accuracy* is the share that the classifier takes for the class that was asked "
        "for. *Spread* is how far features of pictures asked to be of one class lie apart, over the same of the test "
        "pictures; a picture of a wrong class counts as variety there. *Distinct* is the share of different pictures. "
        "Steps follow a cosine schedule; tokens are drawn at temperature 1, without "
        "guidance. *Coded* pictures are test pictures that went through the codec alone.",
        "",
    ]
    return "\n".join(lines)


def score_row(what: str, steps: str, score: Plain) -> str:
    numbers = f"{score['frechet']:.2f} | {100 * score['accuracy']:.1f} | {score['spread']:.2f}"
    return f"| {what} | {steps} | {score['n']:,} | {numbers} | {100 * score['distinct']:.1f} |"
