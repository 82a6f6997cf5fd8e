"""Runs on disk. A run is one task, asked of one model with one protocol and one recipe.

RUNS_DIR/NAME/run.json     what was asked:
    version       of this layout
    task          its name
    model         name, fingerprint, and how it was loaded, as resolved: dtype, cache, refresh; revision where given
    protocol      how it was posed: shots, style, length; how much of it: seeds, limit (none: all items)
    recipe        all settings of the decode; recipe_hash is their hash
    data          source, and fingerprint of the items; items is how many there are
    provenance    the model and how it ran when the run was begun: also device, engine, versions
    created       when (ISO 8601, UTC)
RUNS_DIR/NAME/items.jsonl  a line for each item and seed, in the order they were finished:
    key           task, item, seed (0, 1 …) and recipe (the recipe's hash)
    score         1 right, 0 wrong
    prompt        what the model was given: a text or messages; text: what it wrote (an infilled text is whole)
    answer        what was read from the text, null if nothing; gold: the right one, as the benchmark has it
    note          why it is wrong, where that can be said, such as the sandbox's "timeout"; left out otherwise
    cumulative_entropy, forwards, token_forwards, committed    what it cost: H̃, model calls, columns, tokens written
    choices       steps at which a look-ahead sampler could have looked ahead; null for other samplers
    bypassed      those of them that its bypass spared the look-ahead; the bypass rate is Σ bypassed / Σ choices
    seconds       of decoding, since the text before it came out: they add up to the decoding time of the run
    seed          of the row: decoded alone with this seed the text comes out the same
    finish        why it ended: "eos", "stop" or "length"
    trace         path of its trace within the run's folder, where traces were asked for
RUNS_DIR/NAME/traces/      those traces
RUNS_DIR/NAME/lock         held by the one process that writes; the system lets go of it when that process dies

A line is appended whole as soon as its text is scored. What a killed process left half written is cut off by the next
one that writes and passed over by those that read. A second writer is refused rather than let in: it would decode what
the first one is about to. NAME ends in a hash of all that decides the texts, so that another recipe is another run;
seeds and limit say how much of it is wanted and are left out of the hash, so that a run can grow.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from infogain.errors import InputError
from infogain.options import Plain

VERSION = 1
RUN, ITEMS, LOCK, TRACES = "run.json", "items.jsonl", "lock", "traces"
EXTENT = ("seeds", "limit")  # of a protocol: how much is wanted, not what


@dataclass(frozen=True)
class Run:
    """A run's folder. Reading takes no lock, and may be done while it is written."""

    folder: Path

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """One that exists, to be read."""
        run = cls(Path(folder))
        if run.about.get("version") != VERSION:
            raise InputError(f"{run.folder / RUN} must be of version {VERSION}; got {run.about.get('version')!r}.")
        return run

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def about(self) -> Plain:
        """What run.json holds."""
        path = self.folder / RUN
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"a run is a folder with {RUN}; {path}: {error.strerror}.") from error
        except ValueError as error:
            raise InputError(f"{path} must be JSON; it is not: {error}.") from error
        if not isinstance(about, dict):
            raise InputError(f"{path} must hold a table; got {about!r:.80}.")
        return about

    def items(self) -> list[Plain]:
        """Every finished line, whole ones only."""
        return [_parse(line, self.folder / ITEMS, number) for number, line in enumerate(self._whole(), 1)]

    def done(self) -> set[tuple[str, int]]:
        """The items and seeds that are finished."""
        return {(line["key"]["item"], line["key"]["seed"]) for line in self.items()}

    def _whole(self) -> list[bytes]:
        path = self.folder / ITEMS
        return path.read_bytes().split(b"\n")[:-1] if path.exists() else []

    @contextmanager
    def writing(self, about: Plain) -> Iterator[Callable[[Plain], None]]:
        """Begin the run or go on with it; gives a function that appends a line."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with _locked(self.folder / LOCK):
            self._keep(about)
            with (self.folder / ITEMS).open("ab") as file:
                file.truncate(_end_of_last_line(self.folder / ITEMS))

                def add(line: Plain) -> None:
                    file.write(json.dumps(line, ensure_ascii=False).encode(errors="backslashreplace") + b"\n")
                    file.flush()

                yield add

    def _keep(self, about: Plain) -> None:
        """Write run.json, or widen the extent of one that is there. It is never half written."""
        path = self.folder / RUN
        if path.exists():
            held = self.about
            if identity(held) != identity(about):
                raise InputError(f"{path} tells of another run than the one asked for. Name another folder.")
            about = {**held, "protocol": _wider(held["protocol"], about["protocol"])}
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps(about, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        os.replace(draft, path)


def _wider(held: Plain, asked: Plain) -> Plain:
    """A run has grown to the most that was ever asked of it; no limit is the most there is."""
    widest = max((held, asked), key=lambda protocol: protocol.get("limit") or math.inf)
    return {**widest, "seeds": max(held["seeds"], asked["seeds"])}


def list_runs(folder: str | Path) -> list[Run]:
    """Every run in a folder, the oldest first."""
    runs = [Run.open(path.parent) for path in Path(folder).glob(f"*/{RUN}")]
    return sorted(runs, key=lambda run: (run.about["created"], run.name))


def hash_of(value: Any) -> str:
    """Of anything JSON can hold; equal values have equal hashes."""
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=6).hexdigest()


def identity(about: Mapping[str, Any]) -> str:
    """A hash of all that decides what a run's texts are."""
    posed = {name: value for name, value in about["protocol"].items() if name not in EXTENT}
    return hash_of([about["task"], about["model"], posed, about["recipe"], about["data"]["fingerprint"]])


def run_name(about: Mapping[str, Any]) -> str:
    """Readable in front, unmistakable at the end."""
    model = Path(about["model"]["name"].removeprefix("zoo:")).name
    words = "-".join([about["task"], model, about["recipe"]["sampler"]["name"]])
    return f"{re.sub('[^A-Za-z0-9.-]+', '-', words)}-{identity(about)}"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fcntl  # Unix only; runs are read anywhere

    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"a run is written by one process at a time; another is at work on {path.parent}. Wait for it to end."
            ) from error
        yield


def _end_of_last_line(path: Path) -> int:
    return path.read_bytes().rfind(b"\n") + 1


def _parse(line: bytes, path: Path, number: int) -> Plain:
    try:
        value = json.loads(line)
        if not isinstance(value.get("key"), dict):
            raise ValueError("it has no key")
    except (ValueError, AttributeError) as error:
        raise InputError(
            f"{path}, line {number}: must be a line that an evaluation wrote; it is not: {error}. Remove the line, and "
            "the same command will decode it again."
        ) from error
    return dict(value)
