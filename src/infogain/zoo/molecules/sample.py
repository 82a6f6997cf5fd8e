"""`python -m infogain.zoo.molecules.sample --model FOLDER --out DIR`: molecules by many samplers, with torch alone.

For a machine that is lent for minutes: one compressed file of texts per recipe, written when it is complete; what is
there is not decoded again. `infogain molecules DIR/*.jsonl.gz` judges them, where RDKit is.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.noise import row_seeds
from infogain.algorithm.schedule import TokensPerStep
from infogain.decode import decode
from infogain.load import load
from infogain.options import Plain
from infogain.recipe import Recipe
from infogain.text.alphabet import EOS, MASK
from infogain.text.text_model import TextModel
from infogain.zoo.molecules.sampled import COSTS, SampledTexts
from infogain.zoo.molecules.smiles import molecule_of
from infogain.zoo.tasks import MOLECULES, load_task

SAMPLERS: dict[str, Plain] = {
    "uniform": {"name": "uniform"},
    "ar": {"name": "ar"},
    "entropy": {"name": "entropy"},
    "confidence (drawn)": {"name": "confidence", "of": "drawn"},
    "margin": {"name": "margin"},
    "lookum": {"name": "lookum"},
    "lookum (τ_pos .4)": {"name": "lookum", "tau_pos": 0.4},
    "info-gain": {"name": "info-gain"},
    "info-gain (α ½)": {"name": "info-gain", "gain_power": 0.5},
    "info-gain (α 0)": {"name": "info-gain", "gain_power": 0.0},
    "info-gain:validated": {"name": "info-gain:validated"},
}
KS, TAUS = (1, 2, 4), (0.7, 1.0)
COLUMNS = {"cuda": 1_000_000, "cpu": 40_000}  # in one forward, candidates counted
DIGITS = 4  # of a cost in a file


class SampledRecipe(NamedTuple):
    """A sampler with its K and τ_token."""

    sampler: str
    k: int
    tau_token: float

    @property
    def recipe(self) -> Recipe:
        """The whole canvas at once."""
        table = {**SAMPLERS[self.sampler], "tau_token": self.tau_token}
        return Recipe(table, TokensPerStep(self.k))  # type: ignore[arg-type]  # Recipe parses tables

    @property
    def name(self) -> str:
        return f"{self.sampler}, K = {self.k}, τ_token = {self.tau_token:g}"

    @property
    def file(self) -> str:
        words = self.sampler.replace("½", "half").replace("α", "alpha").replace("τ", "tau")
        return f"{re.sub('[^a-z0-9]+', '-', words).strip('-')}-k{self.k}-tau{self.tau_token:g}.jsonl.gz"


def main(arguments: Sequence[str] | None = None) -> None:
    options = read_arguments(arguments)
    out, began = Path(options.out), time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    model = load(options.model, device=options.device)
    canvases = [problem.canvas for problem in load_task(options.task).problems(options.count, options.split)]
    for setting in product_of(options):
        path = out / f"{options.task}-{setting.file}"
        if path.exists():
            continue
        if options.minutes and time.monotonic() - began > 60 * options.minutes:
            print("time is up; the same command goes on from here", flush=True)
            return
        since = time.monotonic()
        texts = sample(model, setting, canvases, options.seed)
        about = {"task": options.task, "split": options.split, "seconds": round(time.monotonic() - since, 2)}
        SampledTexts(setting.name, texts.texts, texts.canvases, texts.costs, {**texts.about, **about}).save(path)
        print(f"{setting.name:<44} {len(texts.texts):6} texts  {about['seconds']:7.1f} s", flush=True)


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m infogain.zoo.molecules.sample",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--model", default="zoo:tiny-molecule", help="a model folder")
    parser.add_argument("--out", required=True, help="folder of the files")
    parser.add_argument("--task", choices=MOLECULES, default="molecule", help="what to write")
    parser.add_argument("--split", default="test", help="of the problems of scaffold")
    parser.add_argument(
        "--count", type=int, default=5000, help="texts of each recipe; of scaffold problems, one text each"
    )
    parser.add_argument("--samplers", nargs="+", choices=SAMPLERS, default=list(SAMPLERS), help="which")
    parser.add_argument("--k", nargs="+", type=int, default=list(KS), help="tokens per step")
    parser.add_argument("--tau", nargs="+", type=float, default=list(TAUS), help="temperatures of tokens")
    parser.add_argument("--seed", type=int, default=0, help="of all texts")
    parser.add_argument("--minutes", type=float, help="begin no recipe after this time; unset: no limit")
    parser.add_argument("--device", help="cpu or cuda; unset: the GPU where there is one")
    return parser.parse_args(arguments)


def product_of(options: argparse.Namespace) -> Iterator[SampledRecipe]:
    """Every setting; the cheapest K first."""
    ks = sorted(options.k, reverse=True)
    return (SampledRecipe(sampler, k, tau) for k, tau, sampler in product(ks, options.tau, options.samplers))


def sample(model: TextModel, setting: SampledRecipe, canvases: Sequence[str], seed: int = 0) -> SampledTexts:
    """Fill every canvas once, in batches as large as memory allows; texts are cut before their first end mark."""
    recipe, tokenizer, mask_id = setting.recipe, model.tokenizer, model.denoiser.mask_id
    traits = recipe.sampler.traits
    widest = max(len(tokenizer.encode(canvas)) for canvas in set(canvases))
    size = max(1, COLUMNS[model.denoiser.device.type] // (widest * traits.candidates * traits.beam * traits.copies))
    seeds, texts = row_seeds(seed, len(canvases)), list[str]()
    costs: dict[str, list[float]] = {name: [] for name in COSTS}
    for first in range(0, len(canvases), size):
        rows = [tokenizer.encode(canvas) for canvas in canvases[first : first + size]]
        own = seeds[first : first + size]
        result = decode(model, Canvas.infill(rows, mask_id), **recipe.plain(), seeds=own, trace=False)
        texts += [molecule_of(tokenizer.decode(row)) for row in result.tokens.tolist()]
        for name, found in costs.items():
            found += [round(float(value), DIGITS) for value in getattr(result, name).tolist()]
    given = [canvas if canvas.strip(MASK + EOS) else "" for canvas in canvases]
    about = {"sampler": setting.sampler, "K": setting.k, "tau_token": setting.tau_token}
    return SampledTexts(
        setting.name, texts, given, costs, {**about, "recipe": recipe.plain(), "provenance": model.provenance}
    )


if __name__ == "__main__":
    main()
