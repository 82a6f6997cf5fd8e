"""`infogain inspect`: what a checkpoint is, what memory it needs, and whether it fits."""

from __future__ import annotations

import os
from pathlib import Path

import click
import torch
from rich.console import Console
from rich.table import Table

from infogain.alphabet import FILE, Alphabet
from infogain.cli.layout import plain_table
from infogain.errors import InfoGainError
from infogain.load import find_checkpoint, is_masked_lm
from infogain.models.checkpoint import Checkpoint
from infogain.models.family import Config
from infogain.models.spec import Spec
from infogain.models.weights import shards
from infogain.text import load_tokenizer

DTYPES = {"bfloat16 or float16": 2, "float32": 4}
COLUMNS, CANDIDATES, BLOCK = 4096, 8, 16  # what a decode is taken to need
GIB = 2**30


@click.command()
@click.argument("checkpoint")
@click.option("--revision", help="of a hub id: branch, tag or commit")
def inspect(checkpoint: str, revision: str | None) -> None:
    """Say what a checkpoint is, what memory it needs, and whether it fits the card present.

    Weights are not loaded. Of a hub id only the small files are fetched.

    \b
    Examples:
      infogain inspect ./LLaDA-8B-Instruct
      infogain inspect Dream-org/Dream-v0-Instruct-7B
    """
    folder = find_checkpoint(checkpoint, revision, ["*.json", "*.txt", "*.jinja"])
    console = Console(highlight=False, markup=False)
    if is_masked_lm(Config(folder)):
        console.print(_table(_masked_lm(folder)))
        return
    found = Checkpoint.read(folder)
    console.print(_table(_facts(found)))
    console.print()
    room, where = _room()
    console.print(_memory(found.spec, room, where))
    console.print(
        f"cache: keys and values of {COLUMNS} columns of one row; work: {CANDIDATES} candidates, blocks of {BLOCK}. "
        f"Rows of a batch add to both. {where} has {_size(room)} free."
    )


def _facts(found: Checkpoint) -> dict[str, str]:
    spec = found.spec
    attention = f"block-causal, blocks of {spec.block}" if spec.block else "every column sees every other"
    head = "shares the embedding" if spec.tied else "its own"
    return {
        "family": found.family.name,
        "parameters": f"{spec.parameters:,}",
        "layers": f"{spec.layers} of width {spec.hidden}, MLP {spec.intermediate}",
        "attention": f"{spec.heads} heads over {spec.kv_heads} of {spec.head_dim}; {attention}",
        "logits": "shifted by one column" if spec.shift else "of their own column",
        "vocabulary": f"{spec.vocab_size:,} (mask {spec.mask_id}); head: {head}",
        "context": f"{spec.context:,} columns" if spec.context else "not said",
        "weights": _weights(found.folder),
        "tokenizer": _tokenizer(found),
    }


def _masked_lm(folder: Path) -> dict[str, str]:
    config = Config(folder)
    return {
        "family": f"masked LM of transformers ({', '.join(config['architectures'])}); decoded without a cache",
        "vocabulary": f"{config['vocab_size']:,}",
        "weights": _weights(folder),
    }


def _table(facts: dict[str, str]) -> Table:
    table = plain_table()
    table.show_header = False
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, value)
    return table


def _weights(folder: Path) -> str:
    try:
        files = shards(folder)
    except InfoGainError as error:
        return f"missing: {error}"
    size = sum(path.stat().st_size for path in files)
    return f"{len(files)} file{'s' if len(files) > 1 else ''}, {_size(size)}"


def _tokenizer(found: Checkpoint) -> str:
    if (found.folder / FILE).exists():
        return f"single characters: {Alphabet.load(found.folder).characters}"
    try:
        words = load_tokenizer(found.folder, found.spec.eos_ids, found.family.turn_ends, found.family.template)
    except InfoGainError as error:
        return f"missing: {error}"
    ends = ", ".join(f"{words.word(token)} ({token})" for token in words.eos_ids)
    template = "chat template" if words.chats else "no chat template"
    return f"{len(words.tokenizer):,} tokens; texts end with {ends}; {template}"


def _memory(spec: Spec, room: int, where: str) -> Table:
    table = plain_table()
    for title in ("dtype", "weights", "cache", "work", "in all", f"{where}?"):
        table.add_column(title, justify="left" if title == "dtype" else "right", no_wrap=True)
    for name, size in DTYPES.items():
        parts = (spec.parameters * size, spec.cached(COLUMNS) * size, _work(spec, size))
        verdict = "fits" if sum(parts) < room else "does not fit"
        table.add_row(name, *(_size(part) for part in (*parts, sum(parts))), verdict)
    return table


def _work(spec: Spec, size: int) -> int:
    """Bytes in flight at the peak: reading the whole row, or the logits of all candidates and their float32 copy."""
    reading = COLUMNS * (4 * spec.hidden + 3 * spec.intermediate) * size
    logits = CANDIDATES * BLOCK * spec.vocab_size * (size + 2 * 4)
    return max(reading, logits)


def _size(count: float) -> str:
    return f"{count / GIB:.2f} GiB" if count >= GIB / 10 else f"{count / 2**20:.1f} MiB"


def _room() -> tuple[int, str]:
    """Bytes that are free, and where."""
    if torch.cuda.is_available():
        free, _ = torch.cuda.mem_get_info()
        return free, torch.cuda.get_device_name()
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"), "CPU"
