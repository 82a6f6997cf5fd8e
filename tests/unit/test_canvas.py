from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infogain import Canvas, InputError
from infogain.canvas import split_blocks


def test_ragged_prompts_become_rows() -> None:
    canvas = Canvas.from_prompts([[5, 6], torch.tensor([7])], [1, 3], mask_id=0)
    assert canvas.rows() == [[5, 6, 0], [7, 0, 0, 0]]
    assert canvas.masked.tolist() == [[False, False, True, False], [False, True, True, True]]


def test_numpy_prompts_are_prompts() -> None:
    prompts = [np.array([5, 6]), np.array([7], dtype=np.int32)]
    assert Canvas.from_prompts(prompts, np.array([1, 2]), 0).rows() == [[5, 6, 0], [7, 0, 0]]  # type: ignore[arg-type]


def test_padding_is_no_mask_even_where_the_mask_id_is_0() -> None:
    assert Canvas.infill([[1, 0], [1]], mask_id=0).masked.tolist() == [[False, True], [False, False]]


def test_view_and_write_are_inverse_and_pad_short_tails() -> None:
    canvas = Canvas.infill([[1, 9, 9, 9], [2, 9]], mask_id=9)
    start = torch.tensor([2, 1])
    tokens, masked = canvas.view(start, 3)
    assert tokens.tolist() == [[9, 9, 0], [9, 0, 0]]
    assert masked.tolist() == [[True, True, False], [True, False, False]]
    written = canvas.write(start, torch.tensor([[4, 5, 6], [7, 8, 8]]))
    assert written.rows() == [[1, 9, 4, 5], [2, 7]]
    assert written.tokens[1, 2:].tolist() == [0, 0], "columns past the row's end stay"
    assert canvas.rows() == [[1, 9, 9, 9], [2, 9]], "the old canvas is untouched"


def test_join_pads_the_narrower() -> None:
    joined = Canvas.infill([[1, 2, 3]], 9).join(Canvas.infill([[4]], 9))
    assert joined.rows() == [[1, 2, 3], [4]]


@given(masked=st.lists(st.booleans(), min_size=1, max_size=30), width=st.integers(1, 8), aligned=st.booleans())
def test_blocks_hold_every_mask_once(masked: list[bool], width: int, aligned: bool) -> None:
    blocks = split_blocks(masked, width, aligned)
    assert sum(blocks.values()) == sum(masked)
    assert list(blocks) == sorted(blocks)
    for start, masks in blocks.items():
        assert masks == sum(masked[start : start + width]) > 0
        assert (start - (0 if aligned else masked.index(True))) % width == 0


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: Canvas.from_prompts([], 4, 9), "empty batch"),
        (lambda: Canvas.infill([], 9), "empty batch"),
        (lambda: Canvas.infill([[]], 9), "at least one column"),
        (lambda: Canvas.from_prompts([[1]], 0, 9), "at least 1; prompt 0 got 0"),
        (lambda: Canvas.from_prompts([[1], [2]], [1], 9), "one per prompt"),
        (lambda: Canvas.from_prompts([[1, 9]], 2, 9), "Canvas.infill"),
        (lambda: Canvas.from_prompts([[1]], 2, -1), "mask id must be at least 0"),
        (lambda: Canvas.from_prompts([[1, 2, 3]], 2, 9, columns=4), "fit the canvas of 4 columns"),
        (lambda: Canvas.from_prompts([[1] * 9], 2, 9 + 1, columns=8), "prompt 0 has 9"),
        (lambda: Canvas.infill([[1, -2]], 9), "whole numbers of at least 0"),
        (lambda: Canvas.infill([["a"]], 9), "flat list of token ids"),  # type: ignore[list-item]
        (lambda: Canvas.infill([[1, 1.5]], 9), "flat list of token ids"),  # type: ignore[list-item]
        (lambda: Canvas.infill([1, 2], 9), "flat list of token ids"),  # type: ignore[list-item]
        (lambda: Canvas.from_prompts([[1]], 2.5, 9), "at least 1; prompt 0 got 2.5"),  # type: ignore[arg-type]
    ],
)
def test_bad_canvases_are_refused(build: object, text: str) -> None:
    with pytest.raises(InputError, match=text):
        build()  # type: ignore[operator]
