"""The canvas: rows of tokens with masks to fill, of any length, and the blocks they are filled in.

A canvas knows nothing of models or samplers. Prompts of different length and masks in the middle
of a text (infilling) are the same thing here: columns that hold the mask token.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from infogain.algorithm import noise
from infogain.algorithm.guidance import CONSTANT, guidance_of, no_guidance
from infogain.algorithm.vocabulary import Vocabulary
from infogain.device import upload
from infogain.errors import ContextError, InputError

PAD = 0  # stands right of a row's end; never read by a model and never decoded


@dataclass(frozen=True)
class Canvas:
    """Rows of token ids, right-padded, with the mask id wherever something is to be written."""

    tokens: Tensor  # [P, L]
    length: Tensor  # [P] columns that belong to the row; the rest is padding
    mask_id: int
    revealed: Tensor = None  # type: ignore[assignment]  # [P, L] step of its row that wrote a column; −1: given, or none
    prompt: Tensor = None  # type: ignore[assignment]  # [P] columns of the prompt; unset: all before the first mask
    guidance: Tensor = None  # type: ignore[assignment]  # [P, 2] weight and shape, see algorithm/guidance.py; unset: NaN

    def __post_init__(self) -> None:
        if self.revealed is None or self.prompt is None:  # made by hand
            self._check_shapes()
        if self.guidance is None:
            object.__setattr__(self, "guidance", no_guidance(len(self.tokens), self.tokens.device))
        if self.revealed is None:
            object.__setattr__(self, "revealed", torch.full_like(self.tokens, -1))
        if self.prompt is None:
            given = (~self.masked & self.inside).cumprod(1).sum(1)
            object.__setattr__(self, "prompt", given)

    def _check_shapes(self) -> None:
        came = [tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__ for x in (self.tokens, self.length)]
        if not (isinstance(came[0], tuple) and len(came[0]) == 2 and came[1] == came[0][:1]):
            raise InputError(
                f"a canvas needs tokens [rows, columns] and a length for each row; got {came[0]} and {came[1]}. "
                "Canvas.from_prompts and Canvas.infill make one from lists of token ids."
            )

    @classmethod
    def from_prompts(
        cls,
        prompts: Iterable[Sequence[int] | Tensor],
        length: int | Sequence[int],
        mask_id: int,
        columns: int | None = None,
    ) -> Canvas:
        """Prompts, each followed by `length` masks to generate (one number, or one per prompt).

        `columns` is the most columns a row may have, a model's context for example.
        """
        rows = [_ids(prompt, "prompt", i) for i, prompt in enumerate(prompts)]
        counts = list(length) if isinstance(length, Iterable) else [length] * len(rows)
        lengths = [_length(count, i) for i, count in enumerate(counts)]
        if len(lengths) != len(rows):
            raise InputError(f"length must be one number or one per prompt ({len(rows)}); got {len(lengths)} numbers.")
        for i, (row, count) in enumerate(zip(rows, lengths, strict=True)):
            if mask_id in row:
                raise InputError(f"a prompt must not hold the mask id {mask_id}; prompt {i} does. Use Canvas.infill.")
            if columns is not None and len(row) + count > columns:
                raise InputError(
                    f"prompt and generation must fit the canvas of {columns} columns; "
                    f"prompt {i} has {len(row)} and asks for {count} more. Shorten one of them."
                )
        return cls.infill([row + [mask_id] * n for row, n in zip(rows, lengths, strict=True)], mask_id)

    @classmethod
    def infill(
        cls, rows: Iterable[Sequence[int] | Tensor], mask_id: int, prompt: Sequence[int] | None = None
    ) -> Canvas:
        """Rows that already hold the mask token wherever something is to be written.

        `prompt`: how many columns of each row are its prompt; unset: all before the first mask.
        """
        if mask_id < 0:
            raise InputError(f"the mask id must be at least 0; got {mask_id}. Read it from the model: model.mask_id.")
        table = [_ids(row, "row", i) for i, row in enumerate(rows)]
        if not table:
            raise InputError("a canvas needs at least one row; got an empty batch.")
        if empty := [i for i, row in enumerate(table) if not row]:
            raise InputError(f"every row needs at least one column; row {empty[0]} has none.")
        length = [len(row) for row in table]
        width = max(length)
        tokens = torch.tensor([row + [PAD] * (width - len(row)) for row in table])
        canvas = cls(tokens, torch.tensor(length), mask_id)
        return canvas if prompt is None else replace(canvas, prompt=canvas._checked_prompt(prompt))

    def _checked_prompt(self, prompt: Sequence[int]) -> Tensor:
        """Prompts that end where a row allows it: none holds a mask."""
        ends, given = _ids(prompt, "prompt", 0), self.prompt.tolist()
        if len(ends) != len(given):
            raise InputError(f"prompt must be one number per row ({len(given)}); got {len(ends)} numbers.")
        for i, (end, most) in enumerate(zip(ends, given, strict=True)):
            if end > most:
                raise InputError(f"a prompt must end before its row's first mask, at {most} in row {i}; got {end}.")
        return torch.tensor(ends)

    def check(self, vocabulary: Vocabulary, most_columns: int | None) -> None:
        """Refuse rows that a model of this vocabulary, whose context takes so many columns, cannot decode."""
        columns, mask_id = self.tokens.shape[1], vocabulary.mask_id
        if self.mask_id != mask_id:
            raise InputError(f"canvas and model must share a mask id; they have {self.mask_id} and {mask_id}.")
        if self.tokens.shape[0] == 0:
            raise InputError("a canvas needs at least one row; got an empty batch.")
        shortest, longest = int(self.length.min()), int(self.length.max())
        if not 1 <= shortest <= longest <= columns:
            raise InputError(f"row lengths must lie between 1 and the canvas's {columns} columns.")
        if not ((self.prompt >= 0) & (self.prompt <= self.length)).all():
            raise InputError("prompts must end between column 0 and the end of their rows; see Canvas.prompt.")
        lowest, highest = int(self.tokens.min()), int(self.tokens.max())
        if lowest < 0 or highest >= vocabulary.size:
            raise InputError(f"token ids must be 0 to {vocabulary.size - 1}; the canvas holds {lowest} to {highest}.")
        if most_columns is not None and longest > most_columns:
            raise ContextError(
                f"rows must fit the model's context of {most_columns} columns; one has {longest}. Shorten it."
            )

    @property
    def inside(self) -> Tensor:
        """Columns that belong to their row. [P, L]"""
        return torch.arange(self.tokens.shape[1], device=self.tokens.device) < self.length[:, None]

    @property
    def masked(self) -> Tensor:
        return (self.tokens == self.mask_id) & self.inside  # [P, L]

    def to(self, device: torch.device) -> Canvas:
        """These rows there; from the host they are sent without waiting."""
        return self._with(x.to(device) if x.is_cuda else upload(x, device) for x in self.parts)

    def take(self, row: Tensor | slice) -> Canvas:
        return self._with(x[row] for x in self.parts)

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The tensors that have an entry for each row: tokens, length, revealed, prompt, guidance."""
        return self.tokens, self.length, self.revealed, self.prompt, self.guidance

    def _with(self, parts: Iterable[Tensor]) -> Canvas:
        """A canvas of other `parts`."""
        tokens, length, *rest = parts
        return Canvas(tokens, length, self.mask_id, *rest)

    def with_guidance(self, weight: float | Sequence[float], shape: str = CONSTANT) -> Canvas:
        """These rows, each with a weight of guidance (one number, or one per row) and the shape that it takes."""
        return replace(self, guidance=guidance_of(weight, shape, len(self.tokens)).to(self.tokens.device))

    def fit(self, columns: int) -> Canvas:
        """These rows in so many columns: padded, or cut where no row reaches."""
        more = columns - self.tokens.shape[1]
        if not more:
            return self
        tokens, revealed = pad(self.tokens, (0, more), value=PAD), pad(self.revealed, (0, more), value=-1)
        return replace(self, tokens=tokens, revealed=revealed)

    def join(self, *others: Canvas) -> Canvas:
        """All canvases as one, the narrower padded."""
        every = (self, *others)
        columns = max(canvas.tokens.shape[1] for canvas in every)
        rows = [canvas.fit(columns).parts for canvas in every]
        return self._with(torch.cat(part) for part in zip(*rows, strict=True))

    def view(self, start: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """The block at each row's start: tokens and masked, both [P, W]; short tails are padded."""
        column = block_columns(start, width)
        inside = column < self.length[:, None]
        tokens = self.tokens.gather(1, column.clamp(max=self.tokens.shape[1] - 1))
        return torch.where(inside, tokens, PAD), inside & (tokens == self.mask_id)

    def write(self, start: Tensor, block: Tensor, revealed: Tensor | None = None) -> Canvas:
        """A new canvas with `block` [P, W] written at each row's start; columns past the row's end stay.

        `revealed` [P, W] says at which step each was written; −1 leaves what was known.
        """
        offset = torch.arange(self.tokens.shape[1], device=self.tokens.device) - start[:, None]  # [P, L]
        within = (offset >= 0) & (offset < block.shape[1]) & self.inside
        source = offset.clamp(0, block.shape[1] - 1)
        tokens = torch.where(within, block.gather(1, source), self.tokens)
        if revealed is None:
            return replace(self, tokens=tokens)
        step = revealed.gather(1, source)
        return replace(self, tokens=tokens, revealed=torch.where(within & (step >= 0), step, self.revealed))

    def rows(self) -> list[list[int]]:
        """The tokens of each row, without padding."""
        pairs = zip(self.tokens.tolist(), self.length.tolist(), strict=True)
        return [row[:length] for row, length in pairs]


def block_columns(start: Tensor, width: int) -> Tensor:
    """The canvas columns of each row's block. [R, W]"""
    return start[:, None] + torch.arange(width, device=start.device)


def split_blocks(masked: list[bool], block: int, aligned: bool) -> tuple[int, dict[int, int]]:
    """Eq. 12: how wide one row's blocks are, and those that hold masks, as start → number of masks, left to right.

    They are as wide as asked for (0: all columns), but no wider than what lies between the row's first mask and its
    last, from where they are counted. Where the model's attention is block-causal (`aligned`), they are counted from
    column 0 and exactly as wide as asked for: the prompt's tail then shares the first block.
    """
    columns = [column for column, is_masked in enumerate(masked) if is_masked]
    span = columns[-1] - columns[0] + 1 if columns else 1
    width = block if aligned and block else min(block or span, span)
    origin = 0 if aligned or not columns else columns[0]
    blocks: dict[int, int] = {}
    for column in columns:
        start = origin + (column - origin) // width * width
        blocks[start] = blocks.get(start, 0) + 1
    return width, blocks


def order_blocks(starts: list[int], order: str, seed: int) -> list[int]:
    """The order in which a row's blocks are filled: as they stand, or "random", which is a function of its seed."""
    if order == "sequence":
        return starts
    shuffled = noise.uniform(torch.tensor(seed), noise.ORDER, torch.tensor(starts, dtype=torch.int64)).argsort()
    return [starts[i] for i in shuffled.tolist()]


def _length(count: object, prompt: int) -> int:
    """How many tokens to write after this prompt; numpy's and torch's whole numbers become Python's."""
    try:
        length = operator.index(count)  # type: ignore[arg-type]
    except TypeError:
        length = 0
    if length < 1:
        raise InputError(f"the length to generate must be a whole number of at least 1; prompt {prompt} got {count!r}.")
    return length


def whole_numbers(values: Iterable[Any], must: str) -> list[int]:
    """These values as Python's own whole numbers of 64 bits, be they numpy's or torch's; `must` says what they are."""
    try:
        numbers = [operator.index(value) for value in values]
        if all(-(2**63) <= number < 2**63 for number in numbers):
            return numbers
    except TypeError:
        pass
    raise InputError(f"{must}; got {values!r:.80}.")


def _ids(row: Sequence[int] | Tensor, what: str, i: int) -> list[int]:
    must = f"{what} {i} must be a flat list of token ids, whole numbers of at least 0"
    ids = whole_numbers(row, must)
    if any(token < 0 for token in ids):
        raise InputError(f"{must}; got {row!r:.80}.")
    return ids
