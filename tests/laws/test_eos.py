"""Laws of stopping: EOS is decided at block ends only, nothing skipped is counted, nothing is penalised."""

from __future__ import annotations

import pytest
import torch

import infogain
from infogain import Canvas
from infogain.loop.trace import tell
from infogain.models import Tabular, random_joint
from infogain.samplers import Sampler, make
from tests.cases import ALL, label

EOS = 1
MODEL = random_joint(8, 3, seed=7, support=400)


@pytest.mark.parametrize("order", ["sequence", "random"])
@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_blocks_right_of_an_eos_are_skipped(sampler: Sampler, order: str) -> None:
    canvas = Canvas.from_prompts([[EOS], [], [0, EOS]], [7, 8, 6], MODEL.mask_id)
    if order == "random" and sampler.traits.beam > 1:
        with pytest.raises(infogain.OptionError, match="one hypothesis"):
            infogain.decode(MODEL, canvas, sampler, block=2, order=order, eos_ids=EOS)
        return
    skipped = 0
    for seed in range(6):
        result = infogain.decode(MODEL, canvas, sampler, block=2, order=order, eos_ids=EOS, seed=seed)
        assert not (result.tokens[result.generated] == MODEL.mask_id).any()
        for i, row in enumerate(result.rows()):
            prompt, tokens = [1, 0, 2][i], result.tokens[i, : [8, 8, 8][i]].tolist()
            ends = [column for column in range(prompt, 8) if tokens[column] == EOS]
            assert row == tokens[: ends[0] if ends else 8], "cut at the first EOS that was generated, not a prompt's"
            assert result.text_lengths[i] == len(row) - prompt
            last = prompt + (ends[0] - prompt) // 2 * 2 + 2 if ends else 8  # end of the block with the first EOS
            if order == "sequence":
                assert result.committed[i] == min(last, 8) - prompt
            assert result.committed[i] >= min(last, 8) - prompt
            skipped += 8 - prompt - int(result.committed[i])
    assert skipped > 0


def test_skipped_columns_add_nothing_to_h() -> None:
    """A joint whose second block is pure noise unless the first says EOS."""
    table = torch.tensor([[EOS, EOS, 0, 0], *[[0, 0, a, b] for a in (0, 1) for b in (0, 1)]])
    model = Tabular(table, torch.tensor([4, 1, 1, 1, 1]), mask_id=2)
    canvas = Canvas.from_prompts([[]] * 50, 4, 2)
    result = infogain.decode(model, canvas, make("entropy", tau_token=1.0), block=2, eos_ids=EOS)
    stopped = (result.tokens[:, :2] == EOS).all(-1)
    assert 0 < int(stopped.sum()) < 50
    assert (result.committed[stopped] == 2).all()
    assert result.forwards[stopped].max() == 2
    assert torch.allclose(result.cumulative_entropy[stopped], torch.tensor(2.0).log().double())
    assert (result.tokens[stopped][:, 2:] == EOS).all(), "skipped columns are filled with the EOS"


@pytest.mark.parametrize("sampler", ALL, ids=label)
def test_without_an_eos_id_an_eos_is_a_token_like_any_other(sampler: Sampler) -> None:
    canvas = Canvas.from_prompts([[]] * 3, 8, MODEL.mask_id)
    result = infogain.decode(MODEL, canvas, sampler, block=2, seed=2)
    assert result.committed.tolist() == [8, 8, 8]
    assert all(len(row) == 8 for row in result.rows())


def test_block_causal_models_align_blocks_to_column_0() -> None:
    """The prompt's tail shares the first block, and later text is not seen."""
    model = Tabular(MODEL.sequences, MODEL.weights.long(), MODEL.mask_id, attention_block=2)
    canvas = Canvas.from_prompts([[0] * 3, [1] * 5, []], [5, 3, 8], MODEL.mask_id)
    result = infogain.decode(model, canvas, make("info-gain", n=3), block=4, schedule=2)
    starts = {(row.prompt, row.start) for step in result.trace.steps for row in step.rows}  # type: ignore[union-attr]
    assert starts == {(0, 0), (0, 4), (1, 4), (2, 0), (2, 4)}
    assert result.committed.tolist() == [5, 3, 8]
    tail = Canvas.infill([[MODEL.mask_id] * 4 + [0] * 4, [MODEL.mask_id] * 4 + [1] * 4], MODEL.mask_id)
    blind = infogain.decode(model, tail, "entropy", block=4, seeds=[1, 1])
    assert torch.equal(blind.tokens[0, :4], blind.tokens[1, :4]), "what comes later is not seen"
    assert infogain.decode(model, canvas, "entropy").recipe["block"] == 2, "the model's own width by default"
    with pytest.raises(infogain.OptionError, match="sequence"):
        infogain.decode(model, canvas, "entropy", block=4, order="random")


def test_an_eos_in_a_neighbouring_block_does_not_stop_this_one() -> None:
    """A lane with wider blocks widens the view; what a narrow lane sees past its block is not its own."""
    narrow = infogain.Lane(
        Canvas.from_prompts([[]] * 40, 8, MODEL.mask_id),
        infogain.Recipe("entropy", block=2, order="random", eos_ids=EOS, seed=3),  # type: ignore[arg-type]
    )
    wide = infogain.Lane(Canvas.from_prompts([[]], 8, MODEL.mask_id), infogain.Recipe("ar"))  # type: ignore[arg-type]
    together, _ = infogain.decode_lanes(MODEL, [narrow, wide])
    (alone,) = infogain.decode_lanes(MODEL, [narrow])
    assert torch.equal(together.tokens, alone.tokens)
    assert torch.equal(together.committed, alone.committed)


def test_an_eos_that_was_given_stops_nothing() -> None:
    """Infilling: the EOS of the text around the masks is not the decoder's."""
    model = Tabular(torch.tensor([[0, EOS, 0, 0], [2, EOS, 2, 2]]), torch.tensor([1, 1]), mask_id=3)
    canvas = Canvas.infill([[3, EOS, 3, 3]] * 4, 3)
    result = infogain.decode(model, canvas, "entropy", block=2, eos_ids=EOS)
    assert result.committed.tolist() == [3] * 4
    assert all(len(row) == 4 for row in result.rows())


def test_an_eos_skips_what_is_right_of_it_only() -> None:
    """In random order a late block may come first; its EOS leaves the blocks before it to be written."""
    model = Tabular(torch.tensor([[0, 0, EOS, 0], [2, 2, EOS, 2]]), torch.tensor([1, 1]), mask_id=3)
    canvas = Canvas.from_prompts([[]] * 8, 4, 3)
    result = infogain.decode(model, canvas, "entropy", block=2, order="random", eos_ids=EOS)
    assert result.committed.tolist() == [4] * 8
    assert result.text_lengths == [2] * 8


def test_any_of_several_eos_ends_the_text() -> None:
    model = random_joint(6, 3, seed=4)
    canvas = Canvas.from_prompts([[]] * 12, 6, model.mask_id)
    result = infogain.decode(model, canvas, make("ar", tau_token=1.0), block=2, eos_ids=(1, 2))
    for row, tokens in zip(result.rows(), result.tokens.tolist(), strict=True):
        ends = [i for i, token in enumerate(tokens) if token in (1, 2)]
        assert row == (tokens[: ends[0]] if ends else tokens)
    assert result.tokens[result.skipped].unique().tolist() == [1], "skipped columns hold the first of them"


@pytest.mark.parametrize("sampler", [s for s in ALL if s.traits.beam == 1], ids=label)
def test_a_lane_may_say_where_its_texts_end(sampler: Sampler) -> None:
    """Asked at block ends, with all that the row has written; what comes after is skipped, and no mask is left."""
    canvas = Canvas.infill([[0, *[MODEL.mask_id] * 6], [MODEL.mask_id, 1, *[MODEL.mask_id] * 5]], MODEL.mask_id)
    asked: list[tuple[int, int]] = []

    def stop(row: int, written: list[int]) -> bool:
        asked.append((row, len(written)))
        return row == 1 and len(written) >= 3

    lane = infogain.Lane(canvas, infogain.Recipe(sampler, block=2), stop=stop)
    result = infogain.decode_lanes(MODEL, [lane])[0]
    assert {size for row, size in asked if row == 0} >= {2, 4}
    assert {size for row, size in asked if row == 1} == {1, 3}
    assert [len(row) for row in result.rows()] == [7, 4]
    assert result.committed.tolist() == [6, 3]
    assert result.skipped.sum(-1).tolist() == [0, 3]
    assert not (result.tokens == MODEL.mask_id).any()


def test_a_stop_needs_one_hypothesis_in_sequence() -> None:
    canvas = Canvas.from_prompts([[]], 4, MODEL.mask_id)
    for recipe in (infogain.Recipe(make("info-gain-beam")), infogain.Recipe(make("ar"), block=2, order="random")):
        with pytest.raises(infogain.OptionError, match="keeps one hypothesis"):
            infogain.decode_lanes(MODEL, [infogain.Lane(canvas, recipe, stop=lambda row, written: True)])


def test_a_story_knows_an_eos_that_was_given() -> None:
    """A beam's hypotheses end at different times: who takes a given EOS for an end loses one that goes on."""
    canvas = Canvas.infill([[0, 0, *[MODEL.mask_id] * 5, EOS]], MODEL.mask_id)
    for seed in range(5):
        result = infogain.decode(MODEL, canvas, make("info-gain-beam", width=3), block=2, eos_ids=EOS, seed=seed)
        assert result.trace is not None
        best = tell(result.trace, "a trace").best(0)
        assert best.cost == result.cumulative_entropy[0]
        assert [best.tokens[c] for c in range(8) if not result.skipped[0, c]] == result.tokens[~result.skipped].tolist()
