"""Canvases of the case studies, as the paper poses them to a checkpoint: a prompt, then masks with given text between.

Each run of masks holds a part of the answer, such as the verdict. The zoo's canvases are cut the same way, so the
order in which parts are written is read from columns whichever model writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from infogain.text.prompts import encode_prompt, warn_of_unknown
from infogain.text.text_model import TextModel
from infogain.text.tokenizer import Tokenizer
from infogain.zoo.tasks import Problem, load_task

REASONING = 64  # masks for the reasoning of a judgement; the paper does not say how many it has
LEAD, VERDICTS = " The answer is (Yes/No):", ("Yes", "No")
EQUATION = ("12", "34", "00000110011000")  # two digits, two digits, 14 bits: their tokens say how many masks a part has
# What each run of masks holds, from left to right. A part may have several runs.
RUNS = {"oneway": ("factors", "factors", "product"), "judgement": ("reasoning", "verdict")}
# The part from which on an answer is judged, and the words put before it. A verdict within the reasoning does not
# count, nor do the Yes and No of the lead.
JUDGED = {"oneway": ("factors", ""), "judgement": ("verdict", "The answer is:")}

Parts = Mapping[str, Sequence[int]]  # the columns of each part of an answer
Pieces = Sequence[str | int]  # of an answer: given text, or so many masks


def parts_of(task: str, row: Sequence[int], mask_id: int) -> Parts:
    """The columns of each part of a task's answer; none where the task is not a case study."""
    runs = [list(run) for masked, run in groupby(range(len(row)), lambda column: row[column] == mask_id) if masked]
    parts: dict[str, list[int]] = {}
    for name, run in zip(RUNS[task], runs, strict=True) if task in RUNS else ():
        parts.setdefault(name, []).extend(run)
    return parts


@dataclass(frozen=True)
class Posed:
    """A problem as one row of token ids; every mask of it belongs to a part of the answer."""

    task: str
    row: list[int]
    parts: Parts

    @property
    def masks(self) -> list[int]:
        """The columns that are to be written, from left to right."""
        return sorted(column for columns in self.parts.values() for column in columns)

    def read(self, written: Sequence[int], words: Tokenizer) -> str:
        """The text that is judged, with these tokens in place of the masks."""
        row = list(self.row)
        for column, token in zip(self.masks, written, strict=True):
            row[column] = token
        part, before = JUDGED[self.task]
        return before + words.decode(row[self.parts[part][0] :])

    def revealed(self, steps: Sequence[int]) -> Tensor:
        """The step that wrote each column, −1 where it was given. [1, L]"""
        found = torch.full([1, len(self.row)], -1)
        found[0, self.masks] = torch.tensor(steps)
        return found


def pose(model: TextModel, task: str, problem: Problem) -> Posed:
    """A problem of a case study as a row: its message in the chat template, or as a plain line, then the canvas."""
    words, mask_id = model.tokenizer, model.denoiser.mask_id
    message, pieces = load_task(task).chat(problem), CANVASES[task](words)
    warn_of_unknown(words, [message, *(piece for piece in pieces if isinstance(piece, str))])
    row = encode_prompt(words, message if words.chats else f"{message}\n", words.chats)
    for piece in pieces:
        row += words.encode(piece) if isinstance(piece, str) else [mask_id] * piece
    row += [] if words.chats else words.special_tokens_around[1]
    return Posed(task, row, parts_of(task, row, mask_id))


def judgement_canvas(words: Tokenizer) -> Pieces:
    """Sec. 3.1, case study 2: `[reasoning masks] The answer is (Yes/No): [answer mask]`.

    Where the tokenizer takes more than one token for Yes or No, with a space before it or without, the answer has as
    many masks.
    """
    forms = [[words.encode(f"{space}{verdict}") for space in ("", " ")] for verdict in VERDICTS]
    return [REASONING, LEAD, max(min(map(len, both)) for both in forms)]


def oneway_canvas(words: Tokenizer) -> Pieces:
    """Sec. 3.1, case study 1: `a × b = c`, as many masks for each number as the tokenizer takes for one so long.

    The signs are given. So is the space behind them, unless a number's first token holds it.
    """
    first, second, product = (len(words.encode(number)) for number in EQUATION)
    space = " " if len(words.encode(f" {EQUATION[1]}")) > second else ""
    return [first, f" ×{space}", second, f" ={space}", product]


CANVASES: dict[str, Callable[[Tokenizer], Pieces]] = {"oneway": oneway_canvas, "judgement": judgement_canvas}
