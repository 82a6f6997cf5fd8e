"""Who and what is meant: how a tale mentions persons and things, and whom `she` and `it` stand for."""

from __future__ import annotations

from dataclasses import dataclass, field

from infogain.zoo.tales.words import PLACES, is_she
from infogain.zoo.tales.world import Broken, Thing, World, need

WISHES = ("wish", "meet_wish")  # events that speak of a thing that need not be there
PRONOUNS = {"he": False, "him": False, "his": False, "she": True, "her": True}  # and whether it is of a woman


@dataclass
class Mentions:
    """What a tale has mentioned so far. A pronoun stands for the last one of its sex, `it` for the last thing."""

    world: World
    people: list[str] = field(default_factory=list)  # the last mentioned last
    thing: str | None = None

    def mention(self, name: str) -> str:
        self.people = [*(other for other in self.people if other != name), name]
        return name

    def meant(self, pronoun: str, besides: str | None = None) -> str | None:
        """The last mentioned person of a pronoun's sex; one beside the subject where it is an object."""
        fitting = [name for name in self.people if is_she(name) == PRONOUNS[pronoun] and name != besides]
        return fitting[-1] if fitting else None

    def read_person(self, text: str, besides: str | None = None) -> str:
        """The person that a name or a pronoun stands for."""
        if text in PRONOUNS:
            found = self.meant(text, besides)
            need(found is not None, f"nobody is meant by {text}")
            assert found is not None
            return self.mention(found)
        need(text in self.world.people, f"{text} is not known")
        return self.mention(text)

    def read_thing(self, text: str) -> Thing:
        """The thing that `it`, `the kite` or `a red kite` stands for; a new one where it is not known."""
        if text == "it":
            need(self.thing is not None, "nothing is meant by it")
            return self.world.things[str(self.thing)]
        article, *quality, noun = text.split()
        known = self.world.things.get(noun)
        self.thing = noun
        if known is None:
            need(article != "the", f"there is no {noun}")
            return Thing(noun, quality[0])
        need(not quality or quality == [known.quality], f"the {noun} is {known.quality}")
        return known

    def is_alone_of_its_sex(self, name: str) -> bool:
        """Whether a pronoun for this person cannot be mistaken."""
        return all(is_she(other) != is_she(name) for other in self.world.people if other != name)


def read_person_new(text: str) -> tuple[str, str]:
    """Name and kind of `a shy fox named Otto`."""
    *_, kind, _, name = text.split()
    return name, kind


def read_place(text: str) -> str:
    place = text.split()[-1]
    assert place in PLACES
    return place


def check_article(text: str, thing: Thing, event: str) -> None:
    """`the kite` is one that is there; `a kite` one that is not, or that someone wishes for."""
    new = not text.startswith("the ")
    if event in WISHES:
        need(new, f"a wish is for something: {text}")
    elif thing.real == new:
        raise Broken(f"{text}: the {thing.noun} is {'there already' if thing.real else 'not there yet'}")
