"""`infogain inspect`: what a checkpoint is, what memory it needs, and whether it fits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click
import torch
from rich.console import Console, Group
from rich.table import Table

from infogain.cli.layout import explained, plain_table
from infogain.cli.model import REVISION_HELP
from infogain.cli.terminal import Terminal
from infogain.errors import InfoGainError
from infogain.generate import BLOCK
from infogain.load import SMALL_FILES, find_checkpoint, is_masked_lm
from infogain.models.families.checkpoint import Checkpoint
from infogain.models.families.family import Config
from infogain.models.families.spec import Spec
from infogain.models.families.weights import shards
from infogain.models.huggingface import (
    check_tokenizer,
    context_of,
    load_masked_lm_tokenizer,
    network_of,
    weight_files,
)
from infogain.text.alphabet import FILE, Alphabet
from infogain.text.tokenizer import read_tokenizer

BYTES = {"bfloat16 or float16": 2, "float32": 4}
COLUMNS, CANDIDATES = 4096, 8  # what a decode is taken to need, where the context allows it
GIB = 2**30
MEANINGS = {"dtype": "of the numbers, as --dtype says", "weights": "the model's parameters"}
Parts = Callable[[int], dict[str, int]]  # bytes of a number -> what takes how many bytes


@click.command()
@click.argument("checkpoint")
@click.option("--revision", help=REVISION_HELP)
def inspect(checkpoint: str, revision: str | None) -> None:
    """Describe a checkpoint, and say whether it fits the memory.

    Weights are not loaded. Of a hub id only the small files are fetched.

    \b
    Examples:
      infogain inspect ./LLaDA-8B-Instruct
      infogain inspect Dream-org/Dream-v0-Instruct-7B
    """
    folder = find_checkpoint(checkpoint, revision, SMALL_FILES)
    console = Terminal()
    if is_masked_lm(Config(folder)):
        _show_masked_lm(console, folder)
    else:
        _show_checkpoint(console, Checkpoint.read(folder))


def _show_checkpoint(console: Console, found: Checkpoint) -> None:
    spec, columns = found.spec, _columns(found.spec.context)
    console.print(_table(_facts(found)), "", sep="\n")

    def parts(size: int) -> dict[str, int]:
        cache = spec.kv_numbers(columns) * size
        return {"weights": spec.parameters * size, "cache": cache, "work": _work(spec, columns, size)}

    meanings = {
        "cache": f"keys and values of {columns} columns, for each row of a batch",
        "work": f"a step with {CANDIDATES} candidates and blocks of {BLOCK}, for each row of a batch",
    }
    console.print(_memory(parts, meanings))


def _show_masked_lm(console: Console, folder: Path) -> None:
    network = network_of(folder)
    context = context_of(network) if network else None
    numbers = sum(parameter.numel() for parameter in network.parameters()) if network else None
    columns, rows = _columns(context), int(Config(folder)["vocab_size"])
    console.print(_table(_masked_lm(folder, context, numbers)))
    if numbers is None:
        return

    def parts(size: int) -> dict[str, int]:
        return {"weights": numbers * size, "work": CANDIDATES * columns * rows * size}

    work = f"logits of {CANDIDATES} candidates of {columns} columns, for each row of a batch"
    console.print("", _memory(parts, {"work": work}), sep="\n")


def _columns(context: int | None) -> int:
    return min(COLUMNS, context or COLUMNS)


def _facts(found: Checkpoint) -> dict[str, str]:
    spec = found.spec
    attention = f"block-causal, blocks of {spec.block}" if spec.block else "every column sees every other"
    head = "the output layer shares the embedding" if spec.tied else "the output layer has weights of its own"
    return {
        "family": found.family.name,
        "parameters": f"{spec.parameters:,}",
        "layers": f"{spec.layers} of width {spec.hidden}, with MLPs of width {spec.intermediate}",
        "attention": f"{spec.heads} heads of width {spec.head_dim}, {spec.kv_heads} for keys and values; {attention}",
        "logits": "shifted: a column predicts the next one" if spec.shift else "a column predicts itself",
        "vocabulary": f"{spec.vocab_size:,} token ids, of which {spec.mask_id} is the mask; {head}",
        "context": _context(spec.context),
        "weights": _weights(found.folder),
        "tokenizer": _tokenizer(found),
    }


def _context(columns: int | None) -> str:
    return f"{columns:,} columns" if columns else "not said"


def _masked_lm(folder: Path, context: int | None, parameters: int | None) -> dict[str, str]:
    config = Config(folder)
    return {
        "family": f"masked LM of transformers ({', '.join(config['architectures'])}); decoded without a cache",
        "parameters": f"{parameters:,}" if parameters else "transformers cannot tell",
        "vocabulary": f"{config['vocab_size']:,}",
        "context": _context(context),
        "weights": _weights(folder, weight_files),
        "tokenizer": _masked_words(folder, config["vocab_size"]),
    }


def _masked_words(folder: Path, words: int) -> str:
    try:
        tokenizer = load_masked_lm_tokenizer(str(folder))
        check_tokenizer(str(folder), tokenizer, words)
    except InfoGainError as error:
        return f"missing, or not this model's: {error}"
    return f"{len(tokenizer):,} tokens (mask {tokenizer.mask_token_id})"


def _table(facts: dict[str, str]) -> Table:
    table = plain_table()
    table.show_header = False
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, value)
    return table


def _weights(folder: Path, files_of: Callable[[Path], list[Path]] = shards) -> str:
    try:
        files = files_of(folder)
    except InfoGainError as error:
        return f"missing: {error}"
    size = sum(path.stat().st_size for path in files)
    return f"{len(files)} file{'s' if len(files) > 1 else ''}, {_size(size)}"


def _tokenizer(found: Checkpoint) -> str:
    if (found.folder / FILE).exists():
        alphabet = Alphabet.load(found.folder)
        return f"{len(alphabet)} words" if alphabet.words else f"these symbols: {' '.join(alphabet.symbols)}"
    try:
        words = read_tokenizer(found.folder, found.spec.eos_ids, found.family.turn_ends, found.family.template)
    except InfoGainError as error:
        return f"missing: {error}"
    ends = ", ".join(f"{words.word(token)} ({token})" for token in words.eos_ids)
    template = "chat template" if words.chats else "no chat template"
    return f"{len(words.tokenizer):,} tokens; texts end with {ends}; {template}"


def _memory(parts: Parts, meanings: dict[str, str]) -> Group:
    """A table of the memory that each part takes and whether all fits, with the `meanings` of the parts below."""
    (free, where), table = _free_memory(), plain_table()
    for title in ("dtype", *parts(1), "in all", f"{where}?"):
        table.add_column(title, justify="left" if title == "dtype" else "right", no_wrap=True)
    for name, size in BYTES.items():
        needed = parts(size).values()
        verdict = "fits" if sum(needed) < free else "does not fit"
        table.add_row(name, *(_size(part) for part in (*needed, sum(needed))), verdict)
    return explained(
        table, {**MEANINGS, **meanings, f"{where}?": f"beside the memory that is free there, {_size(free)}"}
    )


def _work(spec: Spec, columns: int, size: int) -> int:
    """Bytes in flight at the peak: reading the whole row, or the logits of all candidates and their float32 copy."""
    reading = columns * (4 * spec.hidden + 3 * spec.intermediate) * size
    logits = CANDIDATES * BLOCK * spec.vocab_size * (size + 2 * 4)
    return max(reading, logits)


def _size(count: float) -> str:
    return f"{count / GIB:.2f} GiB" if count >= GIB / 10 else f"{count / 2**20:.1f} MiB"


def _free_memory() -> tuple[int, str]:
    """Bytes that are free, and the device they are free on."""
    if torch.cuda.is_available():
        free, _ = torch.cuda.mem_get_info()
        return free, torch.cuda.get_device_name()
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"), "CPU"
