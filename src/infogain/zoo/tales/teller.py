"""Tells tales: draws who, where and what, lets events happen one after another, and words each of them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from infogain.zoo.tales.checker import happen
from infogain.zoo.tales.mentions import WISHES, Mentions
from infogain.zoo.tales.sentences import PATTERNS, SENTENCES, Sentence
from infogain.zoo.tales.words import KINDS, NAMES, PLACES, QUALITIES, THINGS, TRAITS, is_she, names_for, with_article
from infogain.zoo.tales.world import World

PRONOUN, IT, BARE, TRAIT = 0.65, 0.5, 0.5, 0.5  # how often: he for a name, it for a thing, no quality, a trait

Plot = Callable[["Teller"], None]


def tell(rng: Random) -> str:
    """A tale that holds together."""
    teller = Teller(rng)
    rng.choice(PLOTS)(teller)
    return " ".join(teller.told)


class Teller:
    """A tale that is being told."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.world, self.told = rng, World(), list[str]()
        self.mentions = Mentions(self.world)
        self.hero, self.friend = rng.sample(NAMES, 2)
        self.thing, self.other = (f"{rng.choice(QUALITIES)} {noun}" for noun in rng.sample(THINGS, 2))
        self.home, self.away, self.far = rng.sample(sorted(PLACES), 3)

    def say(self, event: str, **meant: str) -> None:
        """Word an event, and let it happen."""
        wording = self.rng.choice(SENTENCES[event])
        slots = [(slot, self.word(slot, event, meant)) for slot in PATTERNS[event, wording][1]]
        text = wording
        for slot, words in slots:
            text = text.replace("{" + slot + "}", words, 1)
        happen(Sentence(event, wording, slots), self.world, self.mentions)
        self.told.append(text[0].upper() + text[1:])

    def word(self, slot: str, event: str, meant: dict[str, str]) -> str:
        """The words for a slot."""
        name, _, form = slot.partition(".")
        if name in ("a", "b"):
            return self.person(meant[name], form, alone="k" not in meant or is_she(meant["k"]) != is_she(meant[name]))
        if name == "k":
            return self.stranger(meant["k"])
        if name in ("at", "to"):
            return f"{PLACES[meant[name]] if name == 'at' else 'to'} the {meant[name]}"
        return self.thing_words(meant["t" if name == "the" else name], slot, event in WISHES)

    def person(self, name: str, form: str, alone: bool) -> str:
        """A name, or a pronoun where it cannot be mistaken: nobody else of that sex is about."""
        pronoun = {"": ("he", "she"), "obj": ("him", "her"), "he": ("he", "she"), "his": ("his", "her")}[form]
        if form in ("he", "his"):
            return pronoun[is_she(name)]
        clear = alone and name in self.mentions.people and self.mentions.is_alone_of_its_sex(name)
        return pronoun[is_she(name)] if clear and self.rng.random() < PRONOUN else name

    def stranger(self, name: str) -> str:
        kind = self.rng.choice([kind for kind in KINDS if name in names_for(kind)])
        trait = f"{self.rng.choice(TRAITS)} " if self.rng.random() < TRAIT else ""
        return f"{with_article(trait + kind)} named {name}"

    def thing_words(self, thing: str, slot: str, wished: bool) -> str:
        """`a red kite` where it is wished for or not there yet, else `the red kite`, `the kite` or `it`."""
        noun = thing.split()[1]
        known = self.world.things.get(noun)
        if slot == "x" and (wished or known is None or not known.real):
            return with_article(thing)
        if slot == "t" and self.mentions.thing == noun and self.rng.random() < IT:
            return "it"
        return f"the {noun}" if self.rng.random() < BARE else f"the {thing}"

    def begin(self, event: str) -> None:
        self.say("open", k=self.hero, at=self.home)
        self.say(event, a=self.hero, x=self.thing)

    def get_on(self) -> None:
        """What two do who have met."""
        kind = self.rng.choice(("help", "help", "play"))
        self.say(kind, **({"a": self.hero, "b": self.friend} if kind == "help" else {}))

    def maybe(self) -> bool:
        return self.rng.random() < 0.5


def found_by_chance(t: Teller) -> None:
    t.begin("wish")
    t.say("find", a=t.hero, x=t.thing, at=t.away)
    t.say("happy", a=t.hero, t=t.thing)


def found_abroad(t: Teller) -> None:
    t.begin("wish")
    t.say("go", a=t.hero, to=t.away)
    if t.maybe():
        t.say("meet_there", a=t.hero, k=t.friend)
    t.say("find_there", a=t.hero, x=t.thing)
    t.say("happy", a=t.hero, t=t.thing)


def given(t: Teller) -> None:
    """A friend has what the hero wishes for, and gives it away, or does not."""
    t.begin("wish")
    if t.maybe():
        t.say("go", a=t.hero, to=t.away)
        t.say("meet_there_with", a=t.hero, k=t.friend, x=t.thing)
    else:
        t.say("meet_with", a=t.hero, k=t.friend, x=t.thing)
        t.get_on()
    if t.rng.random() < 0.8:
        t.say("give", b=t.friend, a=t.hero, t=t.thing)
        t.say("happy", a=t.hero, t=t.thing)
    else:
        t.say("sad", a=t.hero, x=t.thing)


def traded(t: Teller) -> None:
    t.say("open", k=t.hero, at=t.home)
    t.say("own", a=t.hero, x=t.other)
    t.say("wish", a=t.hero, x=t.thing)
    t.say("meet_with", a=t.hero, k=t.friend, x=t.thing)
    t.say("trade", a=t.hero, b=t.friend, t=t.other, u=t.thing)
    t.say("happy", a=t.hero, t=t.thing)


def lost_and_found(t: Teller) -> None:
    t.begin("own")
    t.say("lose", a=t.hero, t=t.thing, at=t.away)
    t.say("go", a=t.hero, to=t.away)
    t.say("find_there", a=t.hero, x=t.thing)
    t.say("happy", a=t.hero, t=t.thing)


def lost_and_brought(t: Teller) -> None:
    t.begin("own")
    t.say("lose", a=t.hero, t=t.thing, at=t.away)
    t.say("bring", k=t.friend, t=t.thing, at=t.away, a=t.hero)
    if t.maybe():
        t.get_on()
    t.say("happy", a=t.hero, t=t.thing)


def lost_for_good(t: Teller) -> None:
    t.begin("own")
    t.say("lose", a=t.hero, t=t.thing, at=t.away)
    t.say("go", a=t.hero, to=t.far)
    if t.maybe():
        t.say("meet_there", a=t.hero, k=t.friend)
    t.say("lost", a=t.hero, t=t.thing)


def given_away(t: Teller) -> None:
    """The hero has what a friend wishes for."""
    t.begin("own")
    t.say("meet_wish", a=t.hero, k=t.friend, x=t.thing)
    if t.maybe():
        t.get_on()
    t.say("give", b=t.hero, a=t.friend, t=t.thing)
    t.say("happy", a=t.friend, t=t.thing)


def sought_in_vain(t: Teller) -> None:
    t.begin("wish")
    t.say("go", a=t.hero, to=t.away)
    if t.maybe():
        t.say("meet_there", a=t.hero, k=t.friend)
        t.get_on()
    t.say("sad", a=t.hero, x=t.thing)


PLOTS: tuple[Plot, ...] = (
    *(found_by_chance, found_abroad, given, given, traded, lost_and_found, lost_and_brought, lost_for_good),
    *(given_away, sought_in_vain),
)
