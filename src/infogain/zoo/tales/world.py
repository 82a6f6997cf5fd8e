"""The state of a tale: who is where, who has what, what is wished for; and what each event needs and changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from infogain.zoo.tales.words import names_for


class Broken(Exception):
    """An event that cannot happen, and why."""


@dataclass
class Thing:
    noun: str
    quality: str
    real: bool = False  # or only wished for
    holder: str | None = None
    place: str | None = None  # where it lies, if nobody has it
    owners: list[str] = field(default_factory=list)  # all who ever had it

    def go_to(self, holder: str) -> None:
        self.holder, self.place = holder, None
        self.owners.append(holder)


@dataclass
class World:
    people: dict[str, str] = field(default_factory=dict)  # where each of them is
    things: dict[str, Thing] = field(default_factory=dict)
    goal: tuple[str, str] | None = None  # who wants which thing: the first wish of the tale
    gone: bool = False  # whether someone has set out, so that `there` is a place

    def introduce(self, name: str, kind: str, place: str) -> None:
        need(name not in self.people, f"{name} is known already")
        need(name in names_for(kind), f"no {kind} is named {name}")
        self.people[name] = place

    def open(self, k: tuple[str, str], at: str) -> None:
        self.introduce(*k, at)

    def wish(self, a: str, x: Thing) -> None:
        need(x.holder != a, f"{a} has the {x.noun} already")
        self._imagine(x)
        self.goal = self.goal or (a, x.noun)

    def own(self, a: str, x: Thing) -> None:
        self._make(x, a)

    def lose(self, a: str, t: Thing, at: str) -> None:
        self._has(a, t)
        t.holder, t.place = None, at
        self.goal = self.goal or (a, t.noun)

    def go(self, a: str, to: str) -> None:
        need(self.people[a] != to, f"{a} is in that place already")
        self.people[a], self.gone = to, True

    def find_there(self, a: str, x: Thing) -> None:
        self.find(a, x, self.people[a])

    def find(self, a: str, x: Thing, at: str) -> None:
        self.people[a] = at
        if x.real:
            need(x.holder is None and x.place == at, f"the {x.noun} does not lie there")
            x.go_to(a)
        else:
            self._make(x, a)

    def meet_there(self, a: str, k: tuple[str, str]) -> None:
        self.introduce(*k, self.people[a])

    def meet_there_with(self, a: str, k: tuple[str, str], x: Thing) -> None:
        self.meet_there(a, k)
        self._make(x, k[0])

    meet_with = meet_there_with

    def meet_wish(self, a: str, k: tuple[str, str], x: Thing) -> None:
        self.meet_there(a, k)
        self._imagine(x)
        self.goal = self.goal or (k[0], x.noun)

    def help(self, a: str, b: str) -> None:
        self._together(a, b)

    def play(self) -> None:
        need(len(self.people) == 2, "they are not two")
        self._together(*self.people)

    def give(self, b: str, a: str, t: Thing) -> None:
        self._has(b, t)
        self._together(a, b)
        t.go_to(a)

    def trade(self, a: str, b: str, t: Thing, u: Thing) -> None:
        self._together(a, b)
        self._has(a, t)
        self._has(b, u)
        t.go_to(b)
        u.go_to(a)

    def bring(self, k: tuple[str, str], a: str, t: Thing, at: str) -> None:
        need(t.holder is None and t.place == at, f"the {t.noun} does not lie there")
        self.introduce(*k, self.people[a])
        t.go_to(a)

    def happy(self, a: str, t: Thing) -> None:
        need(self.goal == (a, t.noun), "the ending answers no wish")
        self._has(a, t)

    def sad(self, a: str, x: Thing) -> None:
        need(self.goal == (a, x.noun), "the ending answers no wish")
        need(a not in x.owners, f"{a} had the {x.noun}")

    def lost(self, a: str, t: Thing) -> None:
        need(self.goal == (a, t.noun), "the ending answers no wish")
        need(a in t.owners, f"{a} never had the {t.noun}")
        need(t.holder != a, f"{a} has the {t.noun}")

    def _imagine(self, x: Thing) -> None:
        self.things.setdefault(x.noun, x)

    def _make(self, x: Thing, holder: str) -> None:
        need(not x.real, f"the {x.noun} is there already")
        x.real = True
        x.go_to(holder)
        self.things[x.noun] = x

    def _has(self, name: str, thing: Thing) -> None:
        need(thing.holder == name, f"{name} does not have the {thing.noun}")

    def _together(self, one: str, other: str) -> None:
        need(one != other, f"{one} is one and the same")
        need(self.people[one] == self.people[other], f"{one} and {other} are not in one place")


def need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)
