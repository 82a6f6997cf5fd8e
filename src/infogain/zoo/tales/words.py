"""The words of the small world: those who live there, their places, and their things."""

from __future__ import annotations

SHE = ("Anna", "Clara", "Ella", "Emma", "Greta", "Ida", "Lily", "Mia", "Nora", "Rosa")
HE = ("Ben", "Emil", "Finn", "Hugo", "Jack", "Karl", "Leo", "Max", "Otto", "Tom")
NAMES = (*SHE, *HE)
CHILDREN = {"girl": SHE, "boy": HE}
ANIMALS = ("bear", "cat", "dog", "duck", "fox", "frog", "goat", "hedgehog", "mouse", "owl", "rabbit", "wolf")
KINDS = (*CHILDREN, *ANIMALS)
TRAITS = ("brave", "clever", "gentle", "lazy", "little", "lonely", "merry", "shy", "young")
PLACES = {  # with the word that says where
    "farm": "on",
    "forest": "in",
    "garden": "in",
    "hill": "on",
    "lake": "by",
    "market": "at",
    "meadow": "in",
    "mill": "at",
    "river": "by",
    "sea": "by",
    "valley": "in",
    "village": "in",
}
THINGS = (
    *("ball", "basket", "bell", "boat", "book", "coin", "cup", "drum"),
    *("flute", "hat", "key", "kite", "lantern", "map", "ring", "scarf"),
)
QUALITIES = ("big", "blue", "golden", "green", "old", "pretty", "red", "shiny", "silver", "small")


def is_she(name: str) -> bool:
    return name in SHE


def names_for(kind: str) -> tuple[str, ...]:
    """The names that one of this kind may have."""
    return CHILDREN.get(kind, NAMES)


def with_article(words: str) -> str:
    """`a red kite`, `an old drum`."""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
