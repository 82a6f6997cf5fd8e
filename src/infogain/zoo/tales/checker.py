"""Reads a tale and says whether it holds together, and where not, what broke."""

from __future__ import annotations

import re
from typing import Any

from infogain.zoo.tales.mentions import Mentions, check_article, read_person_new, read_place
from infogain.zoo.tales.sentences import THERE, Sentence, read_sentence
from infogain.zoo.tales.words import is_she
from infogain.zoo.tales.world import Broken, World, need

FEWEST, MOST = 4, 6  # sentences
ENDS = ("happy", "sad", "lost")


def faults(tale: str) -> list[str]:
    """What is wrong with a tale, as `3: Mia does not have the kite`; nothing where it holds together.

    A tale is read up to its first broken sentence: what follows would only repeat the fault.
    """
    sentences = re.findall(r"[^.]*\.|[^.]+$", tale.strip())
    world = World()
    mentions = Mentions(world)
    for number, text in enumerate(sentences, 1):
        try:
            sentence = read_sentence(text.strip())
            if sentence is None:
                raise Broken(f"no sentence of this world: {text.strip()}")
            check_place_in_tale(sentence.event, number, len(sentences))
            happen(sentence, world, mentions)
        except Broken as broken:
            return [f"{number}: {broken}"]
    return [] if FEWEST <= len(sentences) <= MOST else [f"{len(sentences)} sentences; {FEWEST} to {MOST} make a tale"]


def check_place_in_tale(event: str, number: int, count: int) -> None:
    """A tale begins with an opening, ends with an ending, and has one of each."""
    need((event == "open") == (number == 1), "an opening comes first, and once")
    need((event in ENDS) == (number == count), "an ending comes last, and once")


def happen(sentence: Sentence, world: World, mentions: Mentions) -> None:
    """Let an event happen, if all that its sentence says can be."""
    if sentence.event != "open" and THERE in re.findall(r"\w+", sentence.wording):
        need(world.gone, "there: nobody has gone anywhere")
    found: dict[str, Any] = {}
    for slot, text in sentence.slots:
        read_slot(slot, text, sentence, mentions, found)
    if sentence.event.startswith("meet"):
        found.setdefault("a", hero(world))
    if sentence.event == "trade":
        found.setdefault("b", other(world, found["a"]))
    getattr(world, sentence.event)(**found)
    if "k" in found:
        mentions.mention(found["k"][0])


def read_slot(slot: str, text: str, sentence: Sentence, mentions: Mentions, found: dict[str, Any]) -> None:
    """Take in what one slot says."""
    name, _, form = slot.partition(".")
    if form in ("he", "his"):
        need(is_she(found[name]) == (text in ("she", "her")), f"{text} is not {found[name]}")
    elif name in ("a", "b"):
        subject = found.get("b" if name == "a" else "a") if form == "obj" else None
        found[name] = mentions.read_person(text, subject)
    elif name == "k":
        found["k"] = read_person_new(text)
    elif name in ("at", "to"):
        found[name] = read_place(text)
    else:
        thing = mentions.read_thing(text)
        if name == "x":
            check_article(text, thing, sentence.event)
        elif not thing.real:
            raise Broken(f"{text}: the {thing.noun} is not there yet")
        found["t" if name == "the" else name] = thing


def hero(world: World) -> str:
    """Whom a tale is about: the first who was introduced."""
    return next(iter(world.people))


def other(world: World, name: str) -> str:
    """The one person besides another."""
    others = [person for person in world.people if person != name]
    need(len(others) == 1, "whom with?")
    return others[0]
