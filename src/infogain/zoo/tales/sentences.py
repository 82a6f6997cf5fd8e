"""The sentences of a tale: for each kind of event several wordings, which the teller fills and the checker matches.

Slots of a wording: {a} and {b} are persons (`{a}` a name, he or she; `{a.obj}` a name, him or her; `{a.he}` and
`{a.his}` a pronoun). {k} introduces a person: `a shy fox named Otto`. {at} is `by the lake`, {to} `to the lake`. {x} is
a thing, `a red kite` where it is new and `the kite` where it is not. {the} is `the kite`, {t} is that or `it`, and {u}
is `the kite` of another person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from infogain.zoo.tales.words import KINDS, NAMES, PLACES, QUALITIES, THINGS, TRAITS, with_article

SENTENCES: dict[str, tuple[str, ...]] = {
    "open": (
        "once upon a time there was {k} who lived {at}.",
        "once upon a time {k} lived {at}.",
        "there once was {k} who lived {at}.",
        "long ago {k} lived {at}.",
        "long ago there was {k} who lived {at}.",
        "{at} lived {k}.",
    ),
    "wish": (
        "{a} wanted {x} more than anything.",
        "{a} wished for {x} with all {a.his} heart.",
        "every night {a} dreamed of {x}.",
        "all {a} wanted was {x}.",
        "more than anything {a} wanted {x}.",
        "{a} had always wanted {x}.",
    ),
    "own": (
        "{a} had {x} and loved it dearly.",
        "{a} had {x} and took it everywhere.",
        "{a} always carried {x}.",
        "nothing was dearer to {a.obj} than {x} from {a.his} grandmother.",
        "{a} owned {x}.",
    ),
    "lose": (
        "one day {a} lost {t} {at}.",
        "but one morning {a} lost {t} {at}.",
        "one evening {a} left {t} {at}.",
        "then one day {a} dropped {t} {at}.",
    ),
    "go": (
        "the next morning {a} walked {to}.",
        "so {a} went {to}.",
        "{a} ran {to}.",
        "one day {a} set out and came {to}.",
        "early in the morning {a} went {to}.",
        "so {a} walked all the way {to}.",
    ),
    "find_there": (
        "there {a} found {x} under a tree.",
        "there {a} saw {x} in the grass and took it.",
        "there, behind a stone, {a} found {x}.",
        "{a} looked everywhere and found {x} there.",
    ),
    "find": (
        "one day {a} found {x} {at}.",
        "then {a} found {x} under a tree {at}.",
        "early one morning {a} saw {x} {at} and took it home.",
    ),
    "meet_there": ("there {a} met {k}.", "there {k} came along and greeted {a.obj}."),
    "meet_there_with": (
        "there {a} met {k}, who had {x}.",
        "there {a} met {k} with {x}.",
        "there {k} was playing with {x}.",
    ),
    "meet_with": (
        "one day {a} met {k}, who had {x}.",
        "then {k} came by with {x}.",
        "one morning {k} came to visit and brought {x}.",
    ),
    "meet_wish": (
        "one day {a} met {k}, who had always wanted {x}.",
        "then {k} came by, who wanted {x} more than anything.",
        "one evening {a} met {k}, who dreamed of {x}.",
    ),
    "help": (
        "{a} helped {b.obj} carry water.",
        "{a} shared {a.his} bread with {b.obj}.",
        "{a} sang a song for {b.obj}.",
        "{a} told {b.obj} a funny story.",
        "{a} was kind to {b.obj} and listened.",
    ),
    "play": (
        "they played together until evening.",
        "they talked and laughed all day.",
        "soon they were friends.",
    ),
    "give": (
        "{b} gave {a.obj} {the}.",
        "{b} gave {t} to {a.obj}.",
        "so {b} gave {t} to {a.obj}.",
        "then {b} gave {a.obj} {the} as a present.",
        "{b} smiled and gave {t} to {a.obj}.",
    ),
    "trade": (
        "{a} gave {b.obj} {the} for {u}.",
        "so {a} traded {the} for {u}.",
        "then {a} traded {the} for {u}, and {b} was glad.",
    ),
    "bring": (
        "then {k} found {t} {at} and brought it to {a.obj}.",
        "the next day {k} found {t} {at} and brought it back to {a.obj}.",
        "but {k} saw {t} {at} and carried it home to {a.obj}.",
    ),
    "happy": (
        "so {a} had {t} at last and was happy.",
        "at last {a} had {t}, and {a.he} was happy.",
        "in the end {the} belonged to {a.obj}.",
        "that night {a} fell asleep with {the} in {a.his} arms.",
        "from that day on {a} never let go of {t}.",
        "{a} was so happy that {a.he} danced all night with {the}.",
    ),
    "sad": (
        "but {a} never got {x}.",
        "in the end {a} went home without {x}.",
        "{a} was sad, for {a.he} never got {x}.",
    ),
    "lost": (
        "but {a} never saw {t} again.",
        "in the end {a} gave up and never found {t}.",
        "{a} was sad, for {the} was gone for ever.",
    ),
}
THERE = "there"  # in a wording: someone has just come to a place


class Sentence(NamedTuple):
    """A sentence that was read: the kind of event, its wording, and the words of each slot, in their order."""

    event: str
    wording: str
    slots: list[tuple[str, str]]


def _one_of(words: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


_NEW_PERSON = _one_of(f"{with_article(t)} {k}" for t in TRAITS for k in KINDS)
_NEW_PERSON = f"(?:{_NEW_PERSON}|{_one_of(map(with_article, KINDS))}) named {_one_of(NAMES)}"
_NEW_THING = f"{_one_of(map(with_article, QUALITIES))} {_one_of(THINGS)}"
_THE = f"the (?:{_one_of(QUALITIES)} )?{_one_of(THINGS)}"
SLOTS = {
    "a": _one_of((*NAMES, "he", "she")),
    "b": _one_of((*NAMES, "he", "she")),
    "a.obj": _one_of((*NAMES, "him", "her")),
    "b.obj": _one_of((*NAMES, "him", "her")),
    "a.he": "(?:he|she)",
    "a.his": "(?:his|her)",
    "k": _NEW_PERSON,
    "at": _one_of(f"{where} the {place}" for place, where in PLACES.items()),
    "to": _one_of(f"to the {place}" for place in PLACES),
    "x": f"(?:{_NEW_THING}|{_THE})",
    "t": f"(?:{_THE}|it)",
    "the": _THE,
    "u": _THE,
}


def _pattern(wording: str) -> re.Pattern[str]:
    parts = re.split(r"\{([\w.]+)\}", wording)
    return re.compile("".join(f"({SLOTS[part]})" if i % 2 else re.escape(part) for i, part in enumerate(parts)))


PATTERNS = {
    (event, wording): (_pattern(wording), re.findall(r"\{([\w.]+)\}", wording))
    for event, wordings in SENTENCES.items()
    for wording in wordings
}


def read_sentence(text: str) -> Sentence | None:
    """What a sentence says; None where it is none of this world. It begins with a capital letter."""
    if not text[:1].isupper():
        return None
    if text.split(" ", 1)[0] not in NAMES:
        text = text[0].lower() + text[1:]
    for (event, wording), (pattern, names) in PATTERNS.items():
        if found := pattern.fullmatch(text):
            return Sentence(event, wording, list(zip(names, found.groups(), strict=True)))
    return None


def vocabulary() -> Iterator[str]:
    """Every word and sign that a tale can have."""
    yield from (*NAMES, *KINDS, *TRAITS, *PLACES, *PLACES.values(), *THINGS, *QUALITIES)
    yield from ("a", "an", "the", "named", "to", "it", "he", "she", "him", "her", "his", ".", ",")
    for wordings in SENTENCES.values():
        for wording in wordings:
            yield from re.findall(r"[a-z]+|[.,]", re.sub(r"\{[\w.]+\}", " ", wording))
            first = wording.split()[0].strip(",")
            firsts = {"{at}": set(PLACES.values()), "{a}": {"he", "she"}, "{b}": {"he", "she"}}.get(first, {first})
            yield from sorted(word.capitalize() for word in firsts)
