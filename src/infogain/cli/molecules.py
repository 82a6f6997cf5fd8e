"""`infogain molecules`: judge texts as molecules."""

from __future__ import annotations

import json
from pathlib import Path

import click

from infogain.cli.layout import in_parts, legend_of
from infogain.cli.output_files import OVERWRITE, make_folder
from infogain.cli.terminal import Terminal, busy, say
from infogain.evals.molecule_plots import draw_distributions
from infogain.evals.molecule_scores import score_texts, table_of
from infogain.options import Plain
from infogain.report.numbers import six_digits
from infogain.zoo.molecules.chemistry import rdkit_chem, rdkit_version
from infogain.zoo.molecules.drawing import draw_grid
from infogain.zoo.molecules.sampled import read_sampled
from infogain.zoo.molecules.training_set import reference, reference_distributions, training_molecules

JSON, GRID = "molecules.json", "grid.png"
FILES = (JSON, GRID, "distributions.png", "distributions.svg")
DRAWN = 24  # texts in the picture


@click.command()
@click.argument(
    "paths", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--data",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="MOSES's train.csv.gz, for an exact novelty; unset: a filter that takes a few new molecules for known ones",
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help=f"folder for {', '.join(FILES)}; unset: none"
)
@OVERWRITE
def molecules(paths: tuple[Path, ...], data: Path | None, out: Path | None, overwrite: bool) -> None:
    """Judge texts as molecules, by MOSES's measures.

    It counts how many are valid, different and new, and compares what they are like with MOSES's training set. It
    needs RDKit.

    A FILE holds JSON lines, as `infogain generate` writes them, or a SMILES per line; .gz is unpacked. Each gets a row
    of the table: shares with 95 % intervals, and how far lengths, weights, logP and rings are from those of the
    training set. Texts of `infogain infill` whose canvas is one of the task scaffold are also asked whether the
    scaffold was kept.

    \b
    Examples:
      infogain generate --model zoo:tiny-molecule --count 1000 --out mols.jsonl
      infogain molecules mols.jsonl --out judged
      infogain molecules mols.jsonl others.txt.gz --data train.csv.gz --out judged
    """
    rdkit_chem()
    make_folder(out, FILES, overwrite)
    files = [read_sampled(path) for path in paths]
    with busy("reading the training set" if data else "judging"):
        training = training_molecules(data)
        scores = [score_texts(texts, training) for texts in files]
    console, table = Terminal(), table_of(scores)
    for shown in in_parts(table, console.width):
        console.print(shown)
    console.print("", legend_of(table))
    say(novelty_in_words(data), err=True)
    if out:
        report: Plain = {"about": about(data), "files": [one.plain() for one in scores]}
        (out / JSON).write_text(json.dumps(six_digits(report), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        drawn = draw_distributions(out, scores)
        draw_grid(out / GRID, files[0].texts[:DRAWN], {"name": files[0].name, **files[0].about})
        say(f"{', '.join(name for name in FILES if drawn or not name.startswith('dist'))} → {out}", err=True)


def about(data: Path | None) -> Plain:
    """What the numbers rest on."""
    trained = reference()
    return {
        "novelty_by": "MOSES's file" if data else "Bloom filter",
        "bloom": trained["bloom"],
        "rdkit": rdkit_version(),
        "reference_rdkit": trained["rdkit"],
        "training_molecules": trained["molecules"],
        "training_set": {name: found.summary() for name, found in reference_distributions().items()},
    }


def novelty_in_words(data: Path | None) -> str:
    """How novelty was found out, and what may be wrong with it."""
    trained = reference()
    if data:
        return f"novelty: against the molecules of {data}"
    share = trained["bloom"]["false_positives_computed"]
    said = f"novelty: by a filter that takes {100 * share:.2f} % of new molecules for known ones; --data is exact"
    if (here := rdkit_version()) != trained["rdkit"]:
        said += f"; it was made with RDKit {trained['rdkit']}, and {here} may spell some molecules otherwise"
    return said
