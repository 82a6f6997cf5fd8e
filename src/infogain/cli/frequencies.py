"""`infogain frequencies`: count a corpus into the table that the `pc` sampler reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
from rich.progress import Progress

from infogain.cli.model import REVISION_HELP
from infogain.cli.output_files import OVERWRITE, check_file
from infogain.cli.progress import bar
from infogain.cli.terminal import say
from infogain.errors import InputError
from infogain.load import load_tokenizer
from infogain.samplers.frequencies import count_frequencies, write_frequencies
from infogain.text.tokenizer import Tokenizer

TEXTS, IDS = (".txt", ".jsonl"), (".txt", ".ids")  # what is taken from a folder
TEXT = "text"
Read = Callable[[str, str, str], list[int]]  # a line, where it stands, the name of its file → token ids


@click.command()
@click.argument("corpus", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
@click.option(
    "--model",
    "-m",
    help="folder, hub id or zoo:NAME whose tokenizer reads it; no weights are loaded; unset: ids are read",
)
@click.option("--revision", help=REVISION_HELP)
@click.option("--ids", is_flag=True, help="the files hold token ids of the --model's tokenizer, not texts")
@click.option("--field", help=f"of JSON lines: where the text is  [default: {TEXT}]")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="JSON table to write")
@OVERWRITE
def frequencies(
    corpus: tuple[str, ...],
    model: str | None,
    revision: str | None,
    ids: bool,
    field: str | None,
    out: Path,
    overwrite: bool,
) -> None:
    """Count a corpus for the pc sampler.

    The files hold texts: one per line, or JSON lines (.jsonl) with a field that holds one. With --ids, or without a
    model, they hold token ids, whole numbers between white space. A folder stands for its .txt and .jsonl files (of
    ids: .txt and .ids); - is standard input. A token never seen counts as seen once.

    The table names the vocabulary of the model's tokenizer, and pc refuses it for a model that has another. Without a
    model it names none, and serves toys and infogain.decode on token ids only.

    \b
    Examples:
      infogain frequencies corpus/ --model ./llada --out frequencies.json
      infogain frequencies train.jsonl --field question --model ./dream --out frequencies.json
      cat *.ids | infogain frequencies - --ids --model ./llada --out frequencies.json
      infogain generate "Count to ten." --model ./llada --sampler pc --frequencies frequencies.json
    """
    check_file(out, overwrite)
    if not model and (revision or field):
        raise InputError("--revision and --field say how texts are read; without a --model there are only token ids.")
    if ids and (field or not model):
        raise InputError("--ids says whose token ids the files hold: it needs a --model, and no --field.")
    words = load_tokenizer(model, revision) if model else None
    texts = words if not ids else None
    paths = _files(corpus, TEXTS if texts else IDS)
    read = _texts(texts, field or TEXT) if texts else _ids
    with bar(*Progress.get_default_columns()) as progress:
        counts = count_frequencies(_lines(paths, read, progress))
    if not counts:
        raise InputError(f"a frequency table needs at least one token; {', '.join(corpus)} held none.")
    write_frequencies(counts, out, words.vocabulary if words else None)
    say(f"{counts.total():,} tokens, {len(counts):,} different ids → {out}")


def _files(corpus: Sequence[str], suffixes: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for name in corpus:
        if Path(name).is_dir():
            held = sorted(str(path) for path in Path(name).rglob("*") if path.suffix in suffixes and path.is_file())
            if not held:
                raise InputError(f"a folder of a corpus must hold {' or '.join(suffixes)} files; {name} has none.")
            found += held
        else:
            found.append(name)
    return found


def _lines(paths: Sequence[str], read: Read, progress: Progress) -> Iterator[list[int]]:
    task = progress.add_task("counting", total=sum(Path(path).stat().st_size for path in paths if path != "-"))
    for path in paths:
        name = "standard input" if path == "-" else path
        with click.open_file(path, "rb") as file:
            for number, raw in enumerate(file, start=1):
                progress.advance(task, len(raw))
                where = f"{name}, line {number}"
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n")
                except UnicodeDecodeError as error:
                    raise InputError(f"a corpus must be UTF-8 text; {where} is not: {error}.") from error
                yield read(line, where, path)


def _ids(line: str, where: str, path: str) -> list[int]:  # noqa: ARG001  # of any file
    for word in line.split():
        if not (word.isascii() and word.isdigit()):
            raise InputError(
                f"token ids must be whole numbers between white space; {where} holds {word[:40]!r}. "
                "Name the --model whose tokenizer is to read it."
            )
    return [int(word) for word in line.split()]


def _texts(words: Tokenizer, field: str) -> Read:
    def read(line: str, where: str, path: str) -> list[int]:
        text = _field(line, field, where) if path.endswith(".jsonl") and line.strip() else line
        return words.encode(text)

    return read


def _field(line: str, field: str, where: str) -> str:
    try:
        text = json.loads(line)[field]
    except (ValueError, LookupError, TypeError):
        text = None
    if not isinstance(text, str):
        raise InputError(f"{where} must be a JSON object with a text in {field!r}; it is not. Name another --field.")
    return text
