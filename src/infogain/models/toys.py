"""Toy problems with an exact model each: small enough to list every sequence, real enough to show the paper's point."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from infogain.algorithm import noise
from infogain.algorithm.canvas import Canvas
from infogain.errors import UnknownName
from infogain.models.tabular import Tabular

MASK = "_"


@dataclass(frozen=True)
class Toy:
    """A joint over short texts, and the problems to pose from it."""

    name: str
    about: str
    model: Tabular
    alphabet: str  # character of each token id; the mask is last
    problems: Sequence[str]  # texts with masks to fill
    solutions: frozenset[str]  # texts the joint lists

    def canvas(self, count: int, seed: int = 0) -> Canvas:
        """`count` problems, drawn with replacement."""
        u = noise.uniform(torch.tensor(seed), noise.ORDER, torch.arange(count))
        chosen = [self.problems[int(i)] for i in (u * len(self.problems)).long()]
        return Canvas.infill([self.encode(text) for text in chosen], self.model.mask_id)

    def encode(self, text: str) -> list[int]:
        return [self.alphabet.index(character) for character in text]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self.alphabet[token] for token in tokens)

    def accuracy(self, rows: Sequence[Sequence[int]]) -> float:
        return sum(self.decode(row) in self.solutions for row in rows) / len(rows)


def toy(name: str, about: str, texts: Sequence[str], problems: Sequence[str]) -> Toy:
    """A toy whose joint weighs each text by how often it is listed."""
    alphabet = "".join(sorted(set("".join(texts)))) + MASK
    index = {character: i for i, character in enumerate(alphabet)}
    weight = Counter(texts)
    sequences = torch.tensor([[index[character] for character in text] for text in weight])
    model = Tabular(sequences, torch.tensor(list(weight.values())), mask_id=len(alphabet) - 1, name=f"toy:{name}")
    return Toy(name, about, model, alphabet, problems, frozenset(texts))


def one_way(largest: int = 31) -> Toy:
    """Sec. 3.1, case study 1: decimal factors, binary product, `aa*bb=cccccccccc`; only `*` and `=` are given."""
    bits, digits = (largest * largest).bit_length(), len(str(largest))
    factors = range(1, largest + 1)
    texts = [f"{a:0{digits}}*{b:0{digits}}={a * b:0{bits}b}" for a in factors for b in factors]
    problem = f"{MASK * digits}*{MASK * digits}={MASK * bits}"
    return toy("one-way", "decimal factors, binary product (case study 1)", texts, [problem])


def judgement(factors: Sequence[int] = (2, 3, 4, 7)) -> Toy:
    """Sec. 3.1, case study 2: judge `a*b+c*d=e`; the two products are worked out in either order, then Y or N."""

    def answers(a: int, b: int, c: int, d: int, claim: int) -> list[str]:
        steps = [f"A{a * b:02}", f"B{c * d:02}"]
        verdict = "Y" if a * b + c * d == claim else "N"
        given = f"{a}*{b}+{c}*{d}={claim:02}?"
        return [given + "".join(order) + verdict for order in itertools.permutations(steps)]

    texts = []
    for a, b, c, d in itertools.product(factors, repeat=4):
        truth = a * b + c * d
        for claim in (truth, truth, truth - 1, truth + 1):  # true as often as not
            texts += answers(a, b, c, d, claim)

    question = len(texts[0].split("?")[0]) + 1
    problems = sorted({text[:question] + MASK * (len(text) - question) for text in texts})
    return toy("judgement", "judge a sum of products after reasoning in any order (case study 2)", texts, problems)


def parity(length: int = 6) -> Toy:
    """Bits whose sum is even: every proper subset is pure noise, the last bit is certain."""
    texts = ["".join(bits) for bits in itertools.product("01", repeat=length) if bits.count("1") % 2 == 0]
    return toy("parity", "bits with an even sum", texts, [MASK * length])


def random_joint(length: int, vocabulary: int, seed: int = 0, support: int | None = None) -> Tabular:
    """A joint with random weights over all sequences, or over `support` of them; the mask id is `vocabulary`."""
    sequences = torch.cartesian_prod(*[torch.arange(vocabulary)] * length).reshape(-1, length)
    order = noise.uniform(torch.tensor(seed), noise.ORDER, torch.arange(len(sequences))).argsort()
    sequences = sequences[order[:support]]
    u = noise.uniform(torch.tensor(seed), noise.UNIFORM, torch.arange(len(sequences)))
    weights = (-u.log() * 1000).long() + 1  # exponential: some sequences matter far more than others
    return Tabular(sequences, weights, mask_id=vocabulary)


TOYS: dict[str, Callable[[], Toy]] = {"one-way": one_way, "judgement": judgement, "parity": parity}


def load_toy(name: str) -> Toy:
    if name not in TOYS:
        raise UnknownName("toy", name, TOYS)
    return TOYS[name]()
