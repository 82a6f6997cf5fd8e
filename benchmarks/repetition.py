"""Count how often each sampler writes a true equation, and how often one that it has not written before.

    python benchmarks/repetition.py --out benchmarks/results/repetition.json --plot docs/img/repetition.png

One-way multiplication is a single canvas that thousands of equations fit. `zoo:tiny-reason` decodes it 300 times with
each sampler, each draw from its own seed. A sampler that repeats its few safest equations is often right and seldom
new. Finished samplers are kept in the file, and the same command goes on from there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import infogain
from infogain.studies.methods import GREEDY, METHODS, TAU, VARIANTS, recipe
from infogain.zoo import load_task

DRAWS = 300
LABELS = ("uniform", "ar", *GREEDY, "best-of-8", "lookum", "info-gain")
SAMPLERS = {label: METHODS[label] for label in LABELS} | {"info-gain:validated": VARIANTS["info-gain (α 0)"]}
COLOURS = {"right": "#9ecae1", "new": "#08519c"}
WORDS = {"right": "true", "new": "true, each equation counted once"}


def measure(model: infogain.TextModel, sampler: dict[str, Any]) -> dict[str, Any]:
    """Decode the canvas once from each seed, one token a step."""
    denoiser, tokenizer = model
    task = load_task("oneway")
    problem = task.problems(1, "test")[0]
    canvas = infogain.Canvas.infill([tokenizer.encode(problem.canvas)] * DRAWS, denoiser.mask_id)
    result = infogain.decode(denoiser, canvas, **recipe(sampler, k=1).plain(), trace=False)
    texts = [tokenizer.decode(row) for row in result.rows()]
    right = [text for text in texts if task.check(problem, text)]
    columns = float(result.token_forwards.double().mean())
    often = max(map(texts.count, texts))
    return {"right": len(right), "new": len(set(right)), "most_frequent": often, "columns": columns}


def plot(found: dict[str, dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure((8, 4.4), layout="constrained")
    axes = figure.subplots()
    for shift, key in ((-0.19, "right"), (0.19, "new")):
        places = [at + shift for at in range(len(found))]
        bars = axes.barh(places, [100 * row[key] / DRAWS for row in found.values()], 0.36, color=COLOURS[key])
        axes.bar_label(bars, fmt="%.0f", padding=3, fontsize="small")
        bars.set_label(WORDS[key])
    axes.set_yticks(range(len(found)), list(found))
    axes.invert_yaxis()
    axes.set(xlim=(0, 105), xlabel=f"% of {DRAWS} draws", title="One-way multiplication, one token a step")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right")
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    about = {"task": "zoo:oneway", "draws": DRAWS, "k": 1, "tau_token": TAU}
    kept = json.loads(options.out.read_text())["samplers"] if options.out.exists() else {}
    model = infogain.load("zoo:tiny-reason")
    found = {}
    for label, sampler in SAMPLERS.items():
        found[label] = kept.get(label) or measure(model, sampler)
        options.out.write_text(json.dumps({**about, "samplers": found | kept}, indent=1) + "\n")
        print(label, found[label], flush=True)
    options.out.write_text(json.dumps({**about, "samplers": found}, indent=1) + "\n")
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
