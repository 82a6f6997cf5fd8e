"""Runs on disk. A run is one task, asked of one model with one protocol and one recipe.

RUNS_DIR/NAME/run.json     what was asked:
    version       of this layout
    task          its name
    model         name, fingerprint (of configuration and weights), tokenizer (a fingerprint of its files), and how it
                  was loaded, as resolved: dtype, cache, refresh; revision where given
    protocol      how it was posed: shots, style, length; how much of it: seeds, limit (none: all items)
    recipe        all settings of the decode; recipe_hash is their hash
    frequencies   hash of the content of pc's table; null where the recipe names none
    data          source, and fingerprint of the items; prompts is a hash of the token ids of all of them as they are
                  posed, whatever the limit, and of what ends a text; items is how many there are
    provenance    the model and how it ran when the run was begun: also device, engine, versions; it holds for all
                  lines that have none of their own
    created       when (ISO 8601, UTC)
RUNS_DIR/NAME/items.jsonl  a line for each item and seed, in the order they were finished:
    key           task, item, seed (0, 1 …) and recipe (the recipe's hash)
    score         1 right, 0 wrong, null for a task without right answers
    prompt        what the model was given: a text or messages; text: what it wrote (an infilled text is whole)
    answer        what was read from the text, null if nothing; gold: the right one, as the benchmark has it, or null
    note          why it is wrong, where that can be said, such as the sandbox's "timeout"; left out otherwise
    cumulative_entropy, forwards, token_forwards, committed    what it cost: H̃, model calls, columns, tokens written
    choices       steps at which a look-ahead sampler could have looked ahead; null for other samplers
    bypassed      those of them that its bypass spared the look-ahead; the bypass rate is Σ bypassed / Σ choices
    seconds       of decoding, since the text before it came out: they add up to the decoding time of the run
    seed          of the row: decoded alone with this seed the text comes out the same
    finish        why it ended: "eos", "stop" or "length"
    trace         path of its trace within the run's folder, where traces were asked for
    provenance    its own, where it was made otherwise than the run was begun, as on another device; else left out
RUNS_DIR/NAME/traces/      those traces
RUNS_DIR/NAME/items.bad    lines that could not be read, moved here by the next process that writes
RUNS_DIR/NAME/lock         held by the one process that writes; the system lets go of it when that process dies

A line is appended whole as soon as its text is scored. What a killed process left half written is cut off by the next
one that writes and passed over by those that read. A line that cannot be read is reported and passed over, and decoded
again by the next process that writes; of two lines for one item and seed the first counts. A second writer is refused
rather than let in: it would decode what the first one is about to. NAME ends in a hash of all that decides the texts,
so that another recipe is another run, and by that end a run is found; seeds and limit say how much of it is wanted and
are left out of the hash, so that a run can grow, and so are names of files and folders whose content counts. Runs of
version 1 lack tokenizer, frequencies and prompts: they can be read, and are never gone on with.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infogain.errors import InputError
from infogain.evals.identity import identity
from infogain.evals.lock import lock
from infogain.evals.run_lines import (
    TABLE,
    TEXT,
    WHOLE,
    BadLine,
    Key,
    Rule,
    check,
    key_of,
    or_null,
    read_lines,
    set_aside,
)
from infogain.options import Plain

LOG = logging.getLogger("infogain")
VERSION, READABLE = 2, (1, 2)
RUN, ITEMS, BAD, LOCK, TRACES = "run.json", "items.jsonl", "items.bad", "lock", "traces"
FEW = 5  # bad lines that are named one by one
FIELDS: dict[str, Rule] = {  # of run.json, without which a run can be neither listed nor compared
    "version": WHOLE,
    "task": TEXT,
    "model.name": TEXT,
    "protocol.seeds": WHOLE,
    "protocol.limit?": or_null(WHOLE),
    "recipe.sampler.name": TEXT,
    "recipe.schedule": TABLE,
    "data.fingerprint": TEXT,
    "data.items": WHOLE,
    "created": TEXT,
}


@dataclass(frozen=True)
class Run:
    """A run's folder. Reading takes no lock, and may be done while it is written."""

    folder: Path
    _reported: set[str] = field(
        default_factory=set, init=False, compare=False, repr=False
    )  # each fault is reported once

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """The run in a folder that exists, to be read."""
        run = cls(Path(folder))
        if (version := run.about.get("version")) not in READABLE:
            known = " or ".join(map(str, READABLE))
            raise InputError(f"{run.folder / RUN} must be of version {known}; got {version!r}.")
        return run

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def about(self) -> Plain:
        """The content of run.json."""
        path = self.folder / RUN
        try:
            about: Plain = json.loads(path.read_text(encoding="utf-8"))
            check(about, FIELDS)
        except OSError as error:
            raise InputError(f"a run is a folder with {RUN}; {path}: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path} must be JSON as an evaluation writes it; it is not: {error}. Mend it, or move the folder away."
            ) from error
        return about

    def items(self) -> list[Plain]:
        """Every finished line, each item and seed once. Lines that cannot be read are reported and left out."""
        path = self.folder / ITEMS
        lines = read_lines(path)
        self._report_lines(lines.bad, "It is left out, and decoded again by the command that made the run.")
        if lines.repeated:
            repeat = "1 line repeats" if lines.repeated == 1 else f"{lines.repeated} lines repeat"
            self._report(f"{path}: {repeat} an item and seed; the first of each counts.")
        return lines.good

    def done(self) -> set[Key]:
        """The items and seeds that are finished."""
        return set(map(key_of, read_lines(self.folder / ITEMS).good))

    def _report_lines(self, bad: Sequence[BadLine], outcome: str) -> None:
        path = self.folder / ITEMS
        for line in bad[:FEW]:
            self._report(f"{path}, line {line.number}: must be a line that an evaluation wrote; {line.why}. {outcome}")
        if len(bad) > FEW:
            self._report(f"{path}: {len(bad) - FEW} more lines like these.")

    def _report(self, fault: str) -> None:
        if fault not in self._reported:
            LOG.warning(fault)
            self._reported.add(fault)

    @contextmanager
    def writing(self, about: Plain) -> Iterator[Callable[[Plain], Plain]]:
        """Begin the run or go on with it; gives a function that appends a line, and says what it then holds."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / LOCK).open("a") as held:
            lock(held, self.folder)
            own = _own_provenance(self._write_about(about), about)
            self._mend()
            with (self.folder / ITEMS).open("ab") as file:
                file.truncate(_end_of_last_line(self.folder / ITEMS))

                def add(line: Plain) -> Plain:
                    line = {**line, **own}
                    file.write(json.dumps(line, ensure_ascii=False).encode(errors="backslashreplace") + b"\n")
                    file.flush()
                    return line

                yield add

    def _mend(self) -> None:
        """Move lines that cannot be read out of the way, so that what they stood for is decoded again."""
        path = self.folder / ITEMS
        if bad := read_lines(path).bad:
            set_aside(path, bad, self.folder / BAD)
            self._report_lines(bad, f"It is moved to {BAD}, and decoded again.")

    def _write_about(self, about: Plain) -> Plain:
        """Write run.json, or widen the extent of one that is there; gives what it holds. It is never half written."""
        path = self.folder / RUN
        if path.exists():
            held = self.about
            if identity(held) != identity(about):
                raise InputError(f"{path} tells of another run than the one asked for. Name another folder.")
            about = {**held, "protocol": _wider(held["protocol"], about["protocol"])}
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps(about, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        os.replace(draft, path)
        return about


def _own_provenance(begun: Plain, now: Plain) -> Plain:
    """The provenance of lines that are made otherwise than the run was begun; nothing where it is the same."""
    made = now.get("provenance")
    return {} if made is None or made == begun.get("provenance") else {"provenance": made}


def _wider(held: Plain, asked: Plain) -> Plain:
    """The protocol with the larger extent: the most seeds, and the highest limit that was ever asked for."""
    widest = max((held, asked), key=lambda protocol: protocol.get("limit") or math.inf)
    return {**widest, "seeds": max(held["seeds"], asked["seeds"])}


def list_runs(folder: str | Path) -> list[Run]:
    """Every run in a folder, the oldest first. One whose run.json cannot be read is reported and left out."""
    runs = []
    for path in sorted(Path(folder).glob(f"*/{RUN}")):
        try:
            runs.append(Run.open(path.parent))
        except InputError as error:
            LOG.warning("left out: %s", error)
    return sorted(runs, key=lambda run: (run.about["created"], run.name))


def wanted(about: Plain) -> int:
    """How many texts a run has once it is finished."""
    protocol, items = about["protocol"], int(about["data"]["items"])
    return min(protocol.get("limit") or items, items) * int(protocol["seeds"])


def run_name(about: Mapping[str, Any]) -> str:
    """The name of a run's folder: task, model and sampler to read, then a hash that no other run has."""
    model = Path(about["model"]["name"].removeprefix("zoo:")).name
    words = "-".join([about["task"], model, about["recipe"]["sampler"]["name"]])
    return f"{re.sub('[^A-Za-z0-9.-]+', '-', words)}-{identity(about)}"


def find_run(runs: Path, about: Mapping[str, Any]) -> Run:
    """The run of this identity, whatever its name begins with; where there is none, one that is yet to be begun."""
    named = runs / run_name(about)
    others = sorted(path for path in runs.glob(f"*-{identity(about)}") if path.is_dir())
    return Run(others[0] if others and named not in others else named)


def _end_of_last_line(path: Path) -> int:
    return path.read_bytes().rfind(b"\n") + 1
