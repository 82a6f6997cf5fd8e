from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infogain import Canvas, InputError
from infogain.algorithm.canvas import split_blocks


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
    own, blocks = split_blocks(masked, width, aligned)
    columns = [column for column, is_masked in enumerate(masked) if is_masked] or [0]
    assert own == (width if aligned else min(width, columns[-1] - columns[0] + 1))
    assert split_blocks(masked, 0, False) == (
        columns[-1] - columns[0] + 1,
        {columns[0]: sum(masked)} if sum(masked) else {},
    )
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
        (lambda: Canvas.from_prompts([[1]], -1, 9), "whole number of at least 1; prompt 0 got -1"),
        (lambda: Canvas.from_prompts([[1], [2]], [3, -1], 9), "whole number of at least 1; prompt 1 got -1"),
        (lambda: Canvas.from_prompts([[1], [2]], [1], 9), "one per prompt"),
        (lambda: Canvas.from_prompts([[1, 9]], 2, 9), "Canvas.infill"),
        (lambda: Canvas.from_prompts([[1]], 2, -1), "mask id must be at least 0"),
        (lambda: Canvas.from_prompts([[1, 2, 3]], 2, 9, columns=4), "fit the canvas of 4 columns"),
        (lambda: Canvas.from_prompts([[1] * 9], 2, 9 + 1, columns=8), "prompt 0 has 9"),
        (lambda: Canvas.infill([[1, -2]], 9), "whole numbers of at least 0"),
        (lambda: Canvas.infill([["a"]], 9), "flat list of token ids"),  # type: ignore[list-item]
        (lambda: Canvas.infill([[1, 1.5]], 9), "flat list of token ids"),  # type: ignore[list-item]
        (lambda: Canvas.infill([1, 2], 9), "flat list of token ids"),  # type: ignore[list-item]
        (lambda: Canvas(torch.zeros(3), torch.tensor([3]), 9), r"tokens \[rows, columns\] .* got \(3,\) and \(1,\)"),
        (lambda: Canvas(torch.zeros(1, 3), torch.tensor(3), 9), r"got \(1, 3\) and \(\)"),
        (lambda: Canvas([[1, 9]], [2], 9), "got list and list"),  # type: ignore[arg-type]
        (lambda: Canvas.from_prompts([[1]], 2.5, 9), "at least 1; prompt 0 got 2.5"),  # type: ignore[arg-type]
    ],
)
def test_bad_canvases_are_refused(build: object, text: str) -> None:
    with pytest.raises(InputError, match=text):
        build()  # type: ignore[operator]


def test_a_canvas_knows_where_each_prompt_ends() -> None:
    prompted = Canvas.from_prompts([[5, 6], [], [7]], [1, 3, 2], mask_id=0)
    assert prompted.prompt.tolist() == [2, 0, 1]
    holes = [[1, 2, 9, 3, 9], [1, 2], [9, 1], [4, 5, 6, 9]]
    assert Canvas.infill(holes, 9).prompt.tolist() == [2, 2, 0, 3], "what stands before the first mask, or all of it"
    assert Canvas.infill(holes, 9, prompt=[1, 0, 0, 3]).prompt.tolist() == [1, 0, 0, 3]
    assert Canvas(torch.tensor([[0, 0, 1]]), torch.tensor([2]), 1).prompt.tolist() == [2], "padding belongs to no row"


def test_whatever_is_made_of_a_canvas_keeps_its_prompts() -> None:
    canvas = Canvas.infill([[1, 2, 9, 9], [3, 9], [4, 5, 6, 9]], 9, prompt=[1, 1, 2])
    start, block = torch.tensor([2, 1, 3]), torch.tensor([[7], [7], [7]])
    assert canvas.take(torch.tensor([2, 0, 0])).prompt.tolist() == [2, 1, 1]
    assert canvas.take(slice(1, 3)).prompt.tolist() == [1, 2]
    for other in (canvas.fit(7), canvas.to(torch.device("cpu")), canvas.write(start, block)):
        assert other.prompt.tolist() == [1, 1, 2]
    written = canvas.write(start, block, torch.zeros_like(block))
    assert written.prompt.tolist() == [1, 1, 2], "also where the first mask has moved"
    assert written.join(canvas, canvas.take(slice(0, 1))).prompt.tolist() == [1, 1, 2, 1, 1, 2, 1]


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ([1], r"one number per row \(2\); got 1"),
        ([3, 1], "must end before its row's first mask, at 2 in row 0; got 3"),
        ([0, -1], "whole numbers of at least 0"),
        ([0, 0.5], "whole numbers of at least 0"),
    ],
    ids=str,
)
def test_a_prompt_that_holds_a_mask_is_refused(prompt: list[int], why: str) -> None:
    with pytest.raises(InputError, match=why):
        Canvas.infill([[1, 2, 9, 9], [3, 9]], 9, prompt=prompt)
