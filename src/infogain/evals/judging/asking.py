"""Asks a judge what it has not said yet: each pair twice, in both orders, many at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from queue import Empty, SimpleQueue
from typing import Any

from infogain.evals.judging.judge_client import JudgeClient, JudgeModel
from infogain.evals.judging.judge_prompt import VERSION, messages, read_reply, template_hash
from infogain.evals.judging.rulings import RulingsFile
from infogain.evals.judging.sides import TextPair
from infogain.options import Plain
from infogain.version import __version__

DECIDED = ("first", "second", "tie")
SHOWN = 80  # characters of an instruction in a line


@dataclass(frozen=True)
class Question:
    """A pair in one order, and the hash that its ruling is known by."""

    pair: TextPair
    a_first: bool
    key: str

    @property
    def messages(self) -> list[dict[str, str]]:
        return messages(self.pair.key.instruction, *_in_order(self.pair, self.a_first))


def _in_order(pair: TextPair, a_first: bool) -> tuple[str, str]:
    return (pair.a, pair.b) if a_first else (pair.b, pair.a)


def questions(pairs: Iterable[TextPair], judge: JudgeModel) -> list[Question]:
    """Each pair in both orders."""
    how = [judge.model, judge.options, template_hash()]
    return [
        Question(pair, a_first, _digest([*how, pair.key.instruction, *_in_order(pair, a_first)]))
        for pair in pairs
        for a_first in (True, False)
    ]


def _digest(value: list[Any]) -> str:
    """A hash that no two of many millions of questions share."""
    return blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def unanswered(asked: Iterable[Question], held: Mapping[str, Plain], again: bool = False) -> list[Question]:
    """The questions without a ruling, each once; with `again`, also those that were refused or malformed."""
    missing = {
        question.key: question
        for question in asked
        if question.key not in held or (again and held[question.key]["ruling"] not in DECIDED)
    }
    return list(missing.values())


def ask(client: JudgeClient, asked: Sequence[Question], file: RulingsFile, parallel: int = 8) -> Iterator[Plain]:
    """Ask all of these, so many at once; each line comes once it is written.

    If one cannot be answered, what other requests bring that are under way is still written before the error is raised.
    """
    if not asked:
        return
    with file.writing() as add:
        for line in _in_threads(asked, lambda question: line_of(question, client), parallel, client.pace.stop):
            add(line)
            yield line


def line_of(question: Question, client: JudgeClient) -> Plain:
    """Ask one question; gives the line of the rulings file, as `rulings.py` describes it."""
    reply = client.ask(question.messages)
    return {
        "key": question.key,
        "ruling": "refused" if reply.refused else read_reply(reply.text),
        "reply": reply.text,
        "judge": client.judge.model,
        "host": client.judge.host,
        "template": VERSION,
        "asked": question.pair.key.instruction[:SHOWN],
        **({"usage": reply.usage} if reply.usage else {}),
        "made": f"{datetime.now(UTC).isoformat(timespec='seconds')}, infogain {__version__}",
    }


def _in_threads(
    asked: Sequence[Question], answer: Callable[[Question], Plain], parallel: int, stop: Callable[[], None]
) -> Iterator[Plain]:
    """Answers as they come. Threads are daemons: an interrupted command need not wait for the network."""
    waiting, done = SimpleQueue[Question](), SimpleQueue[Plain | BaseException]()
    for question in asked:
        waiting.put(question)

    def work() -> None:
        while True:
            try:
                done.put(answer(waiting.get_nowait()))
            except Empty:
                return
            except BaseException as error:
                done.put(error)
                return

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(parallel, len(asked)))]
    for thread in threads:
        thread.start()
    try:
        for _ in asked:
            outcome = done.get()
            if isinstance(outcome, BaseException):
                stop()
                yield from _rest(threads, done)
                raise outcome
            yield outcome
    except BaseException:
        stop()
        raise


def _rest(threads: Iterable[threading.Thread], done: SimpleQueue[Plain | BaseException]) -> Iterator[Plain]:
    """The answers of requests that were under way when another one failed."""
    for thread in threads:
        thread.join()
    while not done.empty():
        outcome = done.get()
        if not isinstance(outcome, BaseException):
            yield outcome
