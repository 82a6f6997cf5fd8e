from __future__ import annotations

import itertools
import math

import pytest
import torch

import infogain
from infogain import Canvas, ContextError, InputError, UnknownName
from infogain.kernels import MaskedColumns
from infogain.models import Tabular, judgement, load_toy, one_way, parity, random_joint
from infogain.models.context_rows import ContextRows
from tests.cases import draft_of, marginals


def test_conditionals_are_exact() -> None:
    """Against sums in plain Python, for every partly known canvas of a small joint."""
    model = random_joint(3, 2, seed=1, support=5)
    table = list(zip(model.sequences.tolist(), model.weights.tolist(), strict=True))
    canvases = list(itertools.product([0, 1, 2], repeat=3))
    canvas = Canvas.infill(canvases, mask_id=2)
    _, logits = model.prefill(canvas, [0] * len(canvases), 3)
    p = marginals(logits, 2).logits.softmax(-1)
    for row, tokens in enumerate(canvases):
        fits = [(s, w) for s, w in table if all(t in (2, known) for t, known in zip(tokens, s, strict=True))]
        for column in range(3):
            for token in (0, 1):
                mass = sum(w for s, w in fits if s[column] == token)
                possible = {s[column] for s, _ in table}
                expected = mass / sum(w for _, w in fits) if fits else (token in possible) / len(possible)
                assert float(p[row, column, token]) == pytest.approx(expected)
        assert float(p[row, :, 2].sum()) == 0


def test_evaluating_a_candidate_is_prefilling_its_canvas() -> None:
    """Cached equals uncached, at any block, for rows of any length."""
    model = random_joint(6, 3, seed=2, support=100)
    canvas = Canvas.infill([[0, 3, 3, 3, 3, 1], [3, 3, 2, 3], [3, 1, 3, 3, 3]], mask_id=3)
    start = torch.tensor([1, 2, 0])
    context, _ = model.prefill(canvas, start.tolist(), 3)
    block = torch.tensor([[1, 3, 3], [2, 0, 0], [3, 1, 2]])
    row = torch.tensor([2, 0, 1, 0])
    candidates = block[row]
    candidates[3] = torch.tensor([3, 3, 0])
    cached = model(candidates, context, row, max_per_row=2)
    for m in range(4):
        whole = canvas.take(row[m : m + 1]).write(start[row[m : m + 1]], candidates[m : m + 1])
        _, exact = model.prefill(whole, start[row[m : m + 1]].tolist(), 3)
        inside = start[row[m]] + torch.arange(3) < canvas.length[row[m]]
        assert torch.equal(cached[m][inside], exact[0][inside])


def test_contexts_take_and_join() -> None:
    model = random_joint(4, 2, seed=2)
    canvas = Canvas.infill([[0, 2, 2, 2], [1, 2, 2]], mask_id=2)
    a, _ = model.prefill(canvas, [1, 1], 2)
    b, _ = model.prefill(canvas, [2, 2], 2)
    joined = a.take([1]).join(b)
    assert joined.length.tolist() == [3, 4, 3]
    tokens = torch.tensor([[2, 2]])
    assert torch.equal(
        model(tokens, joined, torch.tensor([0]), max_per_row=1), model(tokens, a, torch.tensor([1]), max_per_row=1)
    )
    assert torch.equal(
        model(tokens, joined, torch.tensor([2]), max_per_row=1), model(tokens, b, torch.tensor([1]), max_per_row=1)
    )


def test_rows_and_their_context_come_and_go_together() -> None:
    """Each candidate is evaluated on the row that it stands on, whichever rows were kept and joined before."""
    model = random_joint(5, 2, seed=3)
    rows, start = ContextRows(model), [1, 0, 2, 3]
    rows.width = 2
    canvas = Canvas.infill([[0, 2, 2, 2, 1], [2, 2, 1], [1, 0, 2, 2], [0, 1, 1, 2, 2]], mask_id=2)
    first, last = canvas.take(slice(0, 3)), canvas.take(slice(3, 4))
    assert rows.join(first, rows.prefill(first, start[:3], [at + 2 for at in start[:3]])[0]) == 0
    rows.keep([2, 0])
    assert rows.join(last, rows.prefill(last, start[3:], [5])[0]) == 2
    assert (len(rows), rows.calls) == (3, 2)
    now_at = {2: 0, 0: 1, 3: 2}
    stands_on, tokens = [3, 0, 2, 3], torch.tensor([[0, 2], [1, 2], [2, 0], [2, 1]])  # of each candidate
    row, begins = torch.tensor([now_at[r] for r in stands_on]), [start[r] for r in stands_on]
    draft = draft_of(tokens, tokens == 2, row=row, start=torch.tensor(begins))
    whole = canvas.take(torch.tensor(stands_on)).write(draft.start, tokens)
    assert torch.equal(rows.written(draft).tokens, whole.tokens)
    logits = rows.at_masks(tokens, MaskedColumns(draft.masked, int(draft.masked.sum())), row, 2)
    assert isinstance(logits, torch.Tensor)
    assert torch.equal(logits, model.prefill(whole, begins, 2)[1][draft.masked])
    rows.clear()
    assert len(rows) == 0
    assert rows.canvas is rows.context is None


def test_entropy_of_the_joint() -> None:
    assert parity(5).model.entropy() == pytest.approx(4 * math.log(2))
    assert one_way(9).model.entropy() == pytest.approx(math.log(81))


@pytest.mark.parametrize(
    ("sequences", "weights", "mask_id", "text"),
    [
        ([[0, 1]], [1, 1], 5, "sequences \\[S, L\\]"),
        ([[0, 1]], [0], 5, "at least 1"),
        ([[0, 1]], [0.5], 5, "whole numbers"),
        ([[0, 1]], [1], 1, "none of the sequences"),
        ([[0, 1]], [1], -1, "at least 0"),
    ],
)
def test_bad_tables_are_refused(sequences: list[list[int]], weights: list[float], mask_id: int, text: str) -> None:
    with pytest.raises(InputError, match=text):
        Tabular(torch.tensor(sequences), torch.tensor(weights), mask_id)


def test_a_canvas_wider_than_the_table_is_refused() -> None:
    model, canvas = random_joint(4, 2), Canvas.from_prompts([[]], 5, 2)
    with pytest.raises(ContextError, match="context of 4 columns; one has 5"):
        infogain.decode(model, canvas, "ar")
    with pytest.raises(InputError, match="holds 4 columns; the canvas has 5"):
        model.prefill(canvas, [0], 5)


def test_one_way_is_arithmetic() -> None:
    toy = one_way()
    assert "07*13=0001011011" in toy.solutions
    assert len(toy.solutions) == 31 * 31
    assert toy.decode(toy.canvas(1).rows()[0]) == "__*__=__________"
    assert "002*100=00000011001000" in one_way(100).solutions


def test_judgement_reasons_in_either_order() -> None:
    toy = judgement()
    assert {"2*3+4*7=34?A06B28Y", "2*3+4*7=34?B28A06Y", "2*3+4*7=35?B28A06N"} <= toy.solutions
    assert "2*3+4*7=34?A06B28N" not in toy.solutions
    questions = {toy.decode(row) for row in toy.canvas(50).rows()}
    assert len(questions) > 30
    assert all(question.endswith("?_______") for question in questions)


def test_accuracy_counts_solutions() -> None:
    toy = parity(4)
    assert toy.accuracy([toy.encode("0110"), toy.encode("0111")]) == 0.5


def test_toys_load_by_name() -> None:
    assert load_toy("parity").name == "parity"
    with pytest.raises(UnknownName, match="Did you mean 'one-way'"):
        load_toy("oneway")
