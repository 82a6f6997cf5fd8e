"""Decisions: how likely each allowed answer is in its place of a text, exactly, by the chain rule from left to right.

log p(answers) is the sum of log p(token | what stands before and after it, all later tokens of answers masked). Answers
that begin alike share the forwards of what they share. An answer stands on as many columns as it has tokens.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from infogain.algorithm.canvas import Canvas
from infogain.algorithm.marginals import Marginals
from infogain.errors import ContextError, InputError, UnknownName
from infogain.models.denoiser import Denoiser
from infogain.text.text_model import TextModel
from infogain.text.tokenizer import Tokenizer

MOST_WORK = 2**22
SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Prefix:
    """A row in which answers are written up to a column, and masked from there on."""

    row: tuple[int, ...]
    column: int


@dataclass(frozen=True)
class Combination:
    """One answer for each slot, as a row of tokens; `columns` are those of the answers, from left to right."""

    answers: tuple[str, ...]
    row: tuple[int, ...]
    columns: tuple[int, ...]

    def prefixes(self, mask_id: int) -> Iterator[tuple[Prefix, int]]:
        """The states in which its tokens are written, one after the other, each with the token."""
        for i, column in enumerate(self.columns):
            masked = set(self.columns[i:])
            row = tuple(mask_id if at in masked else token for at, token in enumerate(self.row))
            yield Prefix(row, column), self.row[column]


@dataclass(frozen=True)
class Decision:
    """A text with slots, and all combinations of their answers."""

    slots: tuple[str, ...]  # in the order of the text
    combinations: list[Combination]
    mask_id: int

    @classmethod
    def of(cls, model: TextModel, template: str, answers: Mapping[str, Sequence[str]], most: int) -> Decision:
        """Read a template such as "The sky is {color}." with the answers of each slot; `most` combinations at most."""
        names = SLOT.findall(template)
        if unknown := [name for name in names if name not in answers]:
            raise UnknownName("slot", unknown[0][:80], answers)
        if len(set(names)) != len(names) or set(names) != set(answers):
            raise InputError(f"a template must hold each slot once, as {{name}}; the slots are {', '.join(answers)}.")
        count = 1
        for name in names:
            count *= len(answers[name])
        if not 1 <= count <= most:
            raise InputError(f"a decision must have 1 to {most} combinations of answers; got {count}. Ask in parts.")
        texts = SLOT.split(template)[::2]
        parts = _Parts(model, texts, names, answers)
        chosen = itertools.product(*(answers[name] for name in names))
        decision = cls(tuple(names), [parts.combination(each) for each in chosen], model.denoiser.mask_id)
        decision.check(model.denoiser)
        return decision

    def check(self, model: Denoiser) -> None:
        """Refuse rows that are too long, and answers that are the same tokens."""
        longest = max(len(each.row) for each in self.combinations)
        if model.context is not None and longest > model.context:
            raise ContextError(f"a text must fit the model's context of {model.context}; it has {longest} columns.")
        if any(self.mask_id in each.row for each in self.combinations):
            raise InputError("a template and its answers must not hold the mask token. Name a slot instead.")
        if len({each.row for each in self.combinations}) < len(self.combinations):
            raise InputError("answers of a slot must differ in their tokens; two do not. Drop one of them.")

    def check_work(self) -> None:
        """Refuse what would take very long to look at, before any of it is done."""
        work = sum(len(each.columns) * len(each.row) for each in self.combinations)
        if work > MOST_WORK:
            raise InputError(
                f"columns, times tokens of answers, must be at most {MOST_WORK} over all combinations; got {work}. "
                "Shorten the text, or ask in parts."
            )

    @cached_property
    def prefixes(self) -> list[list[Prefix]]:
        """The distinct states that must be evaluated, by the number of tokens written."""
        found: dict[int, dict[Prefix, None]] = {}
        for each in self.combinations:
            for depth, (prefix, _) in enumerate(each.prefixes(self.mask_id)):
                found.setdefault(depth, {})[prefix] = None
        return [list(found[depth]) for depth in sorted(found)]

    @cached_property
    def wanted(self) -> dict[Prefix, list[int]]:
        """The tokens whose log p is asked for, in each state."""
        found: dict[Prefix, dict[int, None]] = {}
        for each in self.combinations:
            for prefix, token in each.prefixes(self.mask_id):
                found.setdefault(prefix, {})[token] = None
        return {prefix: list(tokens) for prefix, tokens in found.items()}

    def log_p(self, found: Mapping[Prefix, Mapping[int, float]]) -> list[float]:
        """log p of each combination."""
        return [
            sum(found[prefix][token] for prefix, token in each.prefixes(self.mask_id)) for each in self.combinations
        ]


class _Parts:
    """The tokens of a template's texts and of its answers."""

    def __init__(
        self, model: TextModel, texts: Sequence[str], names: Sequence[str], answers: Mapping[str, Sequence[str]]
    ) -> None:
        tokenizer, (before, after) = model.tokenizer, model.tokenizer.special_tokens_around
        after_space = [tokenizer.spaces_in_tokens and text.endswith(" ") for text in texts[: len(names)]]
        cut = [text[:-1] if has else text for text, has in zip(texts, [*after_space, False], strict=True)]
        self.texts = [tokenizer.encode(text) for text in cut]
        self.texts[0], self.texts[-1] = before + self.texts[0], self.texts[-1] + after
        self.answers = [
            {answer: _answer(tokenizer, answer, has) for answer in answers[name]}
            for name, has in zip(names, after_space, strict=True)
        ]

    def combination(self, chosen: Sequence[str]) -> Combination:
        row, columns = list(self.texts[0]), list[int]()
        for answer, known, text in zip(chosen, self.answers, self.texts[1:], strict=True):
            columns += range(len(row), len(row) + len(known[answer]))
            row += known[answer] + text
        return Combination(tuple(chosen), tuple(row), tuple(columns))


def _answer(tokenizer: Tokenizer, answer: str, after_space: bool) -> list[int]:
    """The tokens of an answer, with the space before it where the tokens of words hold it."""
    if not (tokens := tokenizer.encode(f" {answer}" if after_space else answer)):
        raise InputError(f"an answer must have at least one token; {answer!r:.80} has none. Drop it.")
    return tokens


@torch.inference_mode()
def evaluate(
    model: Denoiser, prefixes: Sequence[Prefix], wanted: Mapping[Prefix, Sequence[int]]
) -> dict[Prefix, dict[int, float]]:
    """log p of the wanted tokens in these states: one forward for all of them."""
    block = model.attention_block
    start = [prefix.column // block * block if block else prefix.column for prefix in prefixes]
    width = block or 1
    canvas = Canvas.infill([list(prefix.row) for prefix in prefixes], model.mask_id).to(model.device)
    _, logits = model.prefill(canvas, start, width, [at + width for at in start])
    p = Marginals.of(logits[:, :width], model.vocabulary)
    log_p = (p.logits.double() - p.log_z.double()[..., None]).cpu()
    first, found = model.vocabulary.first, {}
    for i, prefix in enumerate(prefixes):
        at = log_p[i, prefix.column - start[i]]
        found[prefix] = {
            token: float(at[token - first]) if token in model.vocabulary else -math.inf for token in wanted[prefix]
        }
    return found
