"""Up to which mask rate does looking ahead help on a masked LM that was trained with 15 % of its tokens masked?

    python benchmarks/antibody.py rates --model antiberty
    python benchmarks/antibody.py calibration --model antiberty
    python benchmarks/antibody.py loops --model antiberty
    python benchmarks/antibody.py summary --out benchmarks/results/antibody.json

Needs AntiBERTy in a folder (docs/antibodies.md says how). Three measurements of the heavy chains in
benchmarks/data/antibodies.csv, all with one block, and with seeds made from 0:

rates        a share of a chain's residues is masked at random and decoded by five samplers, with one and with two
             tokens a step, at τ_token 0 and .7: how many residues are the chain's own again, and how likely the model
             finds up to 12 of those that were written, each masked alone (pseudo-log-likelihood)
calibration  before anything is written: how sure the model is of its likeliest residues, and how often they are right
loops        the loop CDR-H3 alone is masked, and decoded by six samplers with one token a step

Each chain gives a line of its own in the folder --raw. A command that is stopped goes on with the next chain, chains
come in a random order, and `summary` takes those that are there. `--part 0/2` and `--part 1/2` share the work between
two processes. Rows that the model has read before are not run again; the columns that are counted are those that a
decode by itself would run.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

import infogain
from infogain import Canvas, Lane, TextModel
from infogain.algorithm import noise
from infogain.evals.intervals import mean_interval, paired_bootstrap, stored
from infogain.evals.means import mean
from infogain.report.numbers import six_digits
from infogain.resolve import as_recipe

DATA = Path(__file__).parent / "data" / "antibodies.csv"
RATES: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
KS, TEMPERATURES = (1, 2), (0.7, 0.0)
SAMPLERS: dict[str, tuple[str, dict[str, Any]]] = {
    "entropy": ("entropy", {}),
    "confidence (drawn)": ("confidence", {"of": "drawn"}),
    "lookum": ("lookum", {}),
    "info-gain": ("info-gain", {}),
    "info-gain:validated": ("info-gain:validated", {}),
    "margin": ("margin", {}),  # loops only
}
RATE_SAMPLERS = tuple(SAMPLERS)[:5]
BASELINE, LOOK_AHEAD = "entropy", ("lookum", "info-gain", "info-gain:validated")
GREEDY = "confidence (drawn)"  # a greedy order that goes by the drawn tokens
AGAINST = {"gap": BASELINE, "lead": GREEDY}  # differences of a cell, and what they are from
MASKED, SCORED, ORDER = 200, 201, 202  # streams of the noise: what is masked, what is scored, whose turn it is
EXAMPLE = "trastuzumab"  # the chain that docs/antibodies.md shows
LOOP = re.compile(r"[YF]C(.+)WG.G")  # CDR-H3 as IMGT has it: between the second cysteine and the J region's tryptophan
MOST_SCORED = 12  # written residues of a text whose pseudo-log-likelihood is taken
# On the first chains: candidates of a look-ahead step in the mean, and the share of rows that had not run before.
CANDIDATES, NEW = {"rates": 1.3, "loops": 3.7}, {"rates": 0.4, "loops": 0.8}
Line = dict[str, Any]


class Chain(NamedTuple):
    """An antibody's heavy chain."""

    number: int
    name: str
    residues: str

    @property
    def loop(self) -> range:
        """Where CDR-H3 lies."""
        found = LOOP.search(self.residues)
        if found is None:
            raise ValueError(f"a heavy chain must have a CDR-H3 between C and WG.G; {self.name} has none.")
        return range(*found.span(1))


def read_chains(path: Path = DATA) -> list[Chain]:
    with path.open(encoding="utf-8") as file:
        return [Chain(i, row["name"], row["sequence"]) for i, row in enumerate(csv.DictReader(file))]


def shuffled(chains: Sequence[Chain]) -> list[Chain]:
    """The chains in a random order that is always the same, so that the first few are not those of one kind."""
    u = noise.uniform(torch.tensor(0), ORDER, torch.tensor([chain.number for chain in chains]))
    return [chains[i] for i in u.argsort().tolist()]


class Text(NamedTuple):
    """One row to decode: a chain, and which of its columns are masked."""

    rate: float
    row: list[int]  # token ids of the whole chain, special tokens around it included
    masked: list[int]

    def canvas_row(self, mask_id: int) -> list[int]:
        hidden = set(self.masked)
        return [mask_id if column in hidden else token for column, token in enumerate(self.row)]


def row_of(model: TextModel, chain: Chain) -> tuple[list[int], int]:
    """A chain's token ids with the special tokens around them, and how many stand before it."""
    before, after = model.tokenizer.special_tokens_around
    return [*before, *model.tokenizer.encode(chain.residues), *after], len(before)


def masked_texts(model: TextModel, chain: Chain, masking: int = 0) -> list[Text]:
    """A chain at every rate; a higher rate masks what a lower one does, and more."""
    row, first = row_of(model, chain)
    u = noise.uniform(torch.tensor(masking), MASKED, torch.tensor(chain.number), torch.arange(len(chain.residues)))
    order = (u.argsort() + first).tolist()
    return [Text(rate, row, sorted(order[: max(1, round(rate * len(order)))])) for rate in RATES]


def loop_text(model: TextModel, chain: Chain) -> Text:
    row, first = row_of(model, chain)
    return Text(len(chain.loop) / len(chain.residues), row, [first + at for at in chain.loop])


class Setting(NamedTuple):
    """How texts are decoded."""

    sampler: str
    k: int
    tau_token: float

    @property
    def recipe(self) -> infogain.Recipe:
        name, options = SAMPLERS[self.sampler]
        return as_recipe(name, {**options, "k": self.k, "tau_token": self.tau_token, "block": 0})


def settings(samplers: Sequence[str], ks: Sequence[int] = KS) -> list[Setting]:
    return [Setting(name, k, tau) for tau in TEMPERATURES for k in ks for name in samplers]


class Remembering:
    """A network that runs no row twice: samplers that start from one canvas share many of their steps."""

    def __init__(self, network: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.network = network
        self.known: dict[bytes, Tensor] = {}
        self.columns = 0  # that have run

    def __call__(self, tokens: Tensor, inside: Tensor) -> Tensor:
        keys = [row.numpy().tobytes() for row in tokens.cpu()]
        new = list({key: i for i, key in enumerate(keys) if key not in self.known}.values())
        if new:
            logits = self.network(tokens[new], inside[new])
            self.known |= {keys[i]: logits[at] for at, i in enumerate(new)}
            self.columns += tokens[new].numel()
        return torch.stack([self.known[key] for key in keys])


def remembering(model: TextModel) -> Remembering:
    """Let a model remember, from here on, and forget what was before."""
    denoiser: Any = model.denoiser
    network = denoiser.network
    denoiser.network = Remembering(network.network if isinstance(network, Remembering) else network)
    found: Remembering = denoiser.network
    return found


def decode(
    model: TextModel, texts: Sequence[Text], how: Setting, seeds: Sequence[int] | None = None
) -> tuple[list[list[int]], list[int]]:
    """The rows as they were decoded, and the columns that ran for each, those of every candidate."""
    mask_id = model.denoiser.mask_id
    canvas = Canvas.infill([text.canvas_row(mask_id) for text in texts], mask_id)
    (result,) = infogain.decode_lanes(model, [Lane(canvas, how.recipe, seeds)], trace=False)
    return result.rows(), result.token_forwards.tolist()


def recovered(text: Text, row: Sequence[int]) -> float:
    """The share of masked residues that are the chain's own again."""
    return mean([row[column] == text.row[column] for column in text.masked])


@torch.inference_mode()
def log_probabilities(model: TextModel, rows: Sequence[Sequence[int]], per_call: int = 16) -> Iterator[Tensor]:
    """Log-probabilities of the tokens that can be written, for each column of each row. [columns, vocabulary]"""
    denoiser: Any = model.denoiser
    never = torch.tensor([denoiser.mask_id, *denoiser.vocabulary.never])
    for start in range(0, len(rows), per_call):
        canvas = Canvas.infill(rows[start : start + per_call], denoiser.mask_id)
        logits = denoiser.network(canvas.tokens.to(denoiser.device), canvas.inside.to(denoiser.device))
        yield from logits.float().cpu().index_fill(-1, never, -torch.inf).log_softmax(-1)


def pseudo_log_likelihood(model: TextModel, row: Sequence[int], columns: Sequence[int]) -> float:
    """The mean of log p(residue | all others) over these columns: each is masked alone."""
    alone = [[*row[:column], model.denoiser.mask_id, *row[column + 1 :]] for column in columns]
    tables = log_probabilities(model, alone)
    return mean([float(table[column, row[column]]) for table, column in zip(tables, columns, strict=True)])


def scored_columns(text: Text) -> list[int]:
    """Up to 12 of a text's masked columns, drawn by chance, and the same for all samplers."""
    u = noise.uniform(torch.tensor(0), SCORED, torch.tensor(len(text.masked)), torch.tensor(text.masked))
    return sorted(text.masked[i] for i in u.argsort().tolist()[:MOST_SCORED])


def averaged(cells: Sequence[Line], keys: Sequence[str], values: Sequence[str]) -> list[Line]:
    """One cell for all with the same keys, with the means of their values."""
    groups: dict[tuple[Any, ...], list[Line]] = {}
    for cell in cells:
        groups.setdefault(tuple(cell[key] for key in keys), []).append(cell)
    return [group[0] | {name: mean([cell[name] for cell in group]) for name in values} for group in groups.values()]


def measure_rates(model: TextModel, chain: Chain, repeats: int) -> Line:
    """What every setting makes of a chain at every rate, in the mean of so many ways of masking it."""
    cells, natives = [], []
    for masking in range(repeats):
        texts = masked_texts(model, chain, masking)
        natives += [{"rate": t.rate, "pll": pseudo_log_likelihood(model, t.row, scored_columns(t))} for t in texts]
        for how in settings(RATE_SAMPLERS):
            rows, columns = decode(model, texts, how, noise.row_seeds(masking, len(texts)))
            for text, row, ran in zip(texts, rows, columns, strict=True):
                pll = pseudo_log_likelihood(model, row, scored_columns(text))
                found = {"rate": text.rate, "recovered": recovered(text, row), "pll": pll, "columns": ran}
                cells.append({**how._asdict(), **found})
    averages = averaged(cells, (*Setting._fields, "rate"), ("recovered", "pll", "columns"))
    return {"cells": averages, "native_pll": {str(n["rate"]): n["pll"] for n in averaged(natives, ["rate"], ["pll"])}}


def measure_calibration(model: TextModel, chain: Chain, repeats: int) -> Line:
    """How sure the model is at masked columns, and how often it is right, before anything is written.

    Of a calibrated model the likeliest residue is right as often as it is probable, and the chains' own residues
    surprise it by as many nats as its distributions have entropy.
    """
    texts = [text for masking in range(repeats) for text in masked_texts(model, chain, masking)]
    tables = log_probabilities(model, [text.canvas_row(model.denoiser.mask_id) for text in texts])
    found: list[Line] = []
    for text, table in zip(texts, tables, strict=True):
        logs, own = table[text.masked], torch.tensor([text.row[column] for column in text.masked])
        best, guess = logs.max(-1)
        measured = {
            "top1": best.exp().mean(),
            "accuracy": (guess == own).float().mean(),
            "entropy": torch.special.entr(logs.exp()).sum(-1).mean(),
            "surprisal": -logs.gather(-1, own[:, None]).mean(),
        }
        found.append({"rate": text.rate, **{name: float(value) for name, value in measured.items()}})
    return {"cells": averaged(found, ["rate"], ("top1", "accuracy", "entropy", "surprisal"))}


def measure_loops(model: TextModel, chain: Chain, repeats: int) -> Line:
    """What every sampler writes as a chain's loop, in the mean of so many draws; the loop of the first is kept.

    Its seed is that of `infogain.infill` with one text.
    """
    text, cells = loop_text(model, chain), []
    for how in settings(tuple(SAMPLERS), ks=(1,)):
        for row, columns in zip(*decode(model, [text] * repeats, how, noise.row_seeds(0, repeats)), strict=True):
            pll = pseudo_log_likelihood(model, row, text.masked)
            loop = model.tokenizer.decode([row[column] for column in text.masked])
            measured = {"loop": loop, "recovered": recovered(text, row), "pll": pll, "columns": columns}
            cells.append({**how._asdict(), **measured, "first": {key: measured[key] for key in measured}})
    own = "".join(chain.residues[at] for at in chain.loop)
    native = {"loop": own, "pll": pseudo_log_likelihood(model, text.row, text.masked)}
    return {"cells": averaged(cells, Setting._fields, ("recovered", "pll", "columns")), "native": native}


MEASUREMENTS = {"rates": measure_rates, "calibration": measure_calibration, "loops": measure_loops}
REPEATS = {"rates": 1, "calibration": 4, "loops": 1}  # ways of masking a chain, or draws of a loop


def predicted_columns(what: str, model: TextModel, chain: Chain, repeats: int) -> float:
    """How many columns should run for a chain: masks / K forwards of its row for each candidate and setting, less
    those that ran before, and one for each residue that is scored."""
    texts = {"loops": [loop_text(model, chain)]}.get(what) or masked_texts(model, chain)
    columns, masks = len(texts[0].row), sum(len(text.masked) for text in texts)
    if what == "calibration":
        return repeats * len(texts) * columns
    samplers, ks = (tuple(SAMPLERS), (1,)) if what == "loops" else (RATE_SAMPLERS, KS)
    rows = sum(CANDIDATES[what] if name in LOOK_AHEAD else 1 for name in samplers)
    decoding = masks * rows * sum(1 / k for k in ks) * len(TEMPERATURES)
    scoring = len(texts) * MOST_SCORED * len(samplers) * len(ks) * len(TEMPERATURES)
    return repeats * columns * NEW[what] * (decoding + scoring)


def seconds_per_column(model: TextModel, chain: Chain) -> float:
    """Measured with four forwards of one row, after a first one that is not counted."""
    row, _ = row_of(model, chain)
    rows = [[*row[:at], model.denoiser.mask_id, *row[at + 1 :]] for at in range(1, 6)]
    list(log_probabilities(model, rows[:1]))
    begin = time.perf_counter()
    list(log_probabilities(model, rows[1:]))
    return (time.perf_counter() - begin) / (4 * len(row))


def run(what: str, model: TextModel, chains: Sequence[Chain], raw: Path, part: str, repeats: int) -> None:
    """Measure the chains of a part that have no line yet, and write a line for each."""
    raw.mkdir(parents=True, exist_ok=True)
    number, parts = (int(each) for each in part.split("/"))
    done = {line["chain"] for line in read_lines(raw, what)}
    order = sorted(shuffled(chains), key=lambda chain: what == "loops" and chain.name != EXAMPLE)
    to_do = [chain for chain in order[number::parts] if chain.name not in done]
    for i, chain in enumerate(to_do):
        memory = remembering(model)
        predicted = predicted_columns(what, model, chain, repeats)
        seconds = predicted * seconds_per_column(model, chain)
        begin = time.perf_counter()
        found = MEASUREMENTS[what](model, chain, repeats)
        cost = {"predicted_columns": predicted, "columns": memory.columns, "predicted_seconds": seconds}
        cost["seconds"] = time.perf_counter() - begin
        made_by = {**model.provenance, "model": Path(model.name or "").name}
        with (raw / f"{what}-{number}.jsonl").open("a", encoding="utf-8") as file:
            file.write(
                json.dumps({"chain": chain.name, "repeats": repeats, **found, "cost": cost, "provenance": made_by})
                + "\n"
            )
        print(f"{what}: {chain.name}, {i + 1} of {len(to_do)}; {cost['seconds']:.0f} s, predicted {seconds:.0f} s")


def read_lines(raw: Path, what: str) -> list[Line]:
    """All lines of a measurement, in the order of their chains' names."""
    paths = sorted(raw.glob(f"{what}-*.jsonl"))
    lines = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted(lines, key=lambda line: str(line["chain"]))


def with_interval(name: str, values: Sequence[float]) -> Line:
    """A mean over chains, with its interval."""
    found = mean_interval(values)
    return {name: found.value, f"{name}_interval": found.plain()}


def gap(name: str, ones: Sequence[float], others: Sequence[float]) -> Line:
    """The mean of chains' differences, with a paired interval."""
    found = paired_bootstrap([a - b for a, b in zip(ones, others, strict=True)])
    return {name: found.value, f"{name}_interval": found.plain()}


def column_of(lines: Sequence[Line], key: str, **where: Any) -> list[Any]:
    """One value per chain: that of the cell with these settings."""
    return [
        next(cell[key] for cell in line["cells"] if all(cell[name] == value for name, value in where.items()))
        for line in lines
    ]


@cache
def lengths() -> dict[str, int]:
    return {chain.name: len(chain.residues) for chain in read_chains()}


def canvas_of(line: Line) -> str | int:
    """What tells a chain's canvas from others where all is masked: its length, and nothing else."""
    name: str = line["chain"]
    return lengths().get(name, name)


def per_canvas(lines: Sequence[Line], values: Sequence[float], rate: float) -> list[float]:
    """One value for each canvas.

    Chains of one length have the same canvas where all is masked, and seeds are the same for all chains, so one text
    is decoded for all of them. They count as one observation, with the mean of their values.
    """
    groups: dict[str | int, list[float]] = {}
    for line, value in zip(lines, values, strict=True):
        groups.setdefault(canvas_of(line) if rate == 1 else line["chain"], []).append(value)
    return [mean(group) for group in groups.values()]


def rate_cells(lines: Sequence[Line]) -> list[Line]:
    """A cell for each setting and rate: means over canvases, and the differences from both greedy orders."""
    cells = []
    for how in settings(RATE_SAMPLERS):
        for rate in RATES:
            own = {**how._asdict(), "rate": rate}
            cell: Line = {**own, "columns": mean(column_of(lines, "columns", **own))}
            for name in ("recovered", "pll"):
                found = {
                    who: per_canvas(lines, column_of(lines, name, **{**own, "sampler": who}), rate)
                    for who in (how.sampler, *AGAINST.values())
                }
                cell |= with_interval(name, found[how.sampler])
                for key, rival in AGAINST.items():
                    cell |= gap(f"{name}_{key}", found[how.sampler], found[rival]) if how.sampler != rival else {}
            cells.append(cell)
    return cells


BANDS = {"up to .3": slice(0, 5), ".4 to .8": slice(5, 10)}


def band_means(lines: Sequence[Line], name: str, rates: Sequence[float], how: Line) -> list[float]:
    """One number per chain: the mean over some rates."""
    columns = [column_of(lines, name, **how, rate=rate) for rate in rates]
    return [mean(values) for values in zip(*columns, strict=True)]


def pooled_cells(lines: Sequence[Line]) -> list[Line]:
    """Differences in the mean of low and of middle rates, where single rates decide little.

    Beside those of a cell there is `cold`: what a setting that draws has more than the baseline that does not.
    """
    cells = []
    for how in settings(RATE_SAMPLERS):
        rivals = {key: how._replace(sampler=rival) for key, rival in AGAINST.items()}
        rivals |= {"cold": Setting(BASELINE, how.k, 0.0)} if how.tau_token else {}
        for band, part in BANDS.items():
            cell: Line = {**how._asdict(), "rates": band}
            for name in ("recovered", "pll"):
                ones = band_means(lines, name, RATES[part], how._asdict())
                for key, rival in rivals.items():
                    others = band_means(lines, name, RATES[part], rival._asdict())
                    cell |= gap(f"{name}_{key}", ones, others) if rival != how else {}
            cells.append(cell)
    return cells


def turning_points(cells: Sequence[Line]) -> list[Line]:
    """For each sampler that looks ahead: the rates at which it certainly helps, and those at which it hurts."""
    points = []
    for key, rival in AGAINST.items():
        for how in settings(LOOK_AHEAD):
            own = [cell for cell in cells if all(cell[name] == value for name, value in how._asdict().items())]
            point: Line = {**how._asdict(), "against": rival}
            for name in ("recovered", "pll"):
                gaps = {cell["rate"]: stored(cell[f"{name}_{key}"], cell[f"{name}_{key}_interval"]) for cell in own}
                helps, hurts = ([rate for rate, g in gaps.items() if g.above() is sign] for sign in (True, False))
                point[name] = {"helps": helps, "hurts": hurts}
            points.append(point)
    return points


def calibration_cells(lines: Sequence[Line]) -> list[Line]:
    rows = []
    for rate in RATES:
        found = {name: column_of(lines, name, rate=rate) for name in ("top1", "accuracy", "entropy", "surprisal")}
        row: Line = {"rate": rate}
        for name, values in found.items():
            row |= with_interval(name, values)
        row |= gap("overconfidence", found["top1"], found["accuracy"])
        rows.append(row | gap("excess_surprisal", found["surprisal"], found["entropy"]))
    return rows


def loop_cells(lines: Sequence[Line]) -> list[Line]:
    """A cell for each setting: how much of the loops comes back, how likely they are, and the example's loop."""
    cells = []
    for how in settings(tuple(SAMPLERS), ks=(1,)):
        own = how._asdict()
        cell: Line = {**own, "columns": mean(column_of(lines, "columns", **own))}
        for name in ("recovered", "pll"):
            ones, others = (column_of(lines, name, **{**own, "sampler": who}) for who in (how.sampler, BASELINE))
            cell |= with_interval(name, ones)
            cell |= gap(f"{name}_gap", ones, others) if how.sampler != BASELINE else {}
        shown = [line for line in lines if line["chain"] == EXAMPLE]
        cells.append(cell | {"example": next(iter(column_of(shown, "first", **own)), None)})
    return cells


def cost_of(lines: Sequence[Line]) -> Line:
    """What all chains took, and what was predicted."""
    names = ("predicted_columns", "columns", "predicted_seconds", "seconds")
    devices = sorted({line["provenance"]["device"] for line in lines})
    return {**{name: sum(line["cost"][name] for line in lines) for name in names}, "device": " and ".join(devices)}


def summary(raw: Path) -> Line:
    """The report, from all lines that are there."""
    found = {what: read_lines(raw, what) for what in MEASUREMENTS}
    report: Line = {"rates": RATES, "chains": {what: [line["chain"] for line in found[what]] for what in found}}
    report["repeats"] = {what: min((line["repeats"] for line in found[what]), default=0) for what in found}
    report["cost"] = {what: cost_of(lines) for what, lines in found.items()}
    report["provenance"] = found["rates"][0]["provenance"]
    report["canvases"] = len({canvas_of(line) for line in found["rates"]})  # where all is masked
    cells, loops = rate_cells(found["rates"]), found["loops"]
    natives = {r: [line["native_pll"][str(r)] for line in found["rates"]] for r in RATES}
    own = [line["native"] for line in loops if line["chain"] == EXAMPLE]
    return report | {
        "turning_points": turning_points(cells),
        "pooled": pooled_cells(found["rates"]),
        "calibration": calibration_cells(found["calibration"]),
        "loops": loop_cells(loops),
        "native_loops": {**with_interval("pll", [line["native"]["pll"] for line in loops]), "example": own},
        "native": [{"rate": r, **with_interval("pll", values)} for r, values in natives.items()],
        "cells": cells,
    }


def as_json(report: Line) -> str:
    """The report as JSON, with a line for each row of its tables."""
    parts = []
    for key, value in six_digits(report).items():
        rows = ",\n  ".join(json.dumps(each, ensure_ascii=False) for each in value) if isinstance(value, list) else ""
        text = f"[\n  {rows}\n ]" if rows.startswith("{") else json.dumps(value, ensure_ascii=False)
        parts.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*MEASUREMENTS, "summary"])
    parser.add_argument("--model", default="antiberty", help="folder with AntiBERTy's config, weights and vocab.txt")
    parser.add_argument("--raw", type=Path, default=Path("build/antibody"), help="folder of the chains' lines")
    parser.add_argument("--part", default="0/1", help="which of how many parts of the chains, such as 1/2")
    parser.add_argument(
        "--repeats", type=int, help="ways of masking a chain (rates 1, calibration 4), draws of a loop (1)"
    )
    parser.add_argument("--threads", type=int, default=1, help="of the CPU (1)")
    parser.add_argument("--out", type=Path, help="JSON file for the summary")
    options = parser.parse_args()
    if options.what != "summary":
        torch.set_num_threads(options.threads)
        repeats = options.repeats or REPEATS[options.what]
        run(options.what, infogain.load(options.model), read_chains(), options.raw, options.part, repeats)
    else:
        text = as_json(summary(options.raw))
        options.out.write_text(text, encoding="utf-8") if options.out else print(text)


if __name__ == "__main__":
    main()
