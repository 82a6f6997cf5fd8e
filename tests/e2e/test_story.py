"""A story told from a trace ends where the decode ended, whatever the sampler keeps and throws away."""

from __future__ import annotations

from pathlib import Path

import pytest

from infogain import Recipe, Result, StepEvent, Trace, decode
from infogain.algorithm.schedule import TokensPerStep
from infogain.cli.live_canvas import SCALE, LiveCanvas, entropy_style
from infogain.loop.trace import Story
from infogain.models import judgement, one_way, parity
from infogain.samplers import SAMPLERS


def told(result: Result) -> Story:
    assert result.trace is not None
    story = Story(result.trace)
    for step in result.trace.steps:
        story.follow(step)
    return story


def assert_ends_alike(story: Story, result: Result) -> None:
    best = [story.best(prompt) for prompt in range(len(result.seeds))]
    assert [h.cost for h in best] == result.cumulative_entropy.tolist()
    for hypothesis, row in zip(best, result.rows(), strict=True):
        assert hypothesis.tokens[: len(row)] == row


@pytest.mark.parametrize("name", list(SAMPLERS))
@pytest.mark.parametrize("block", [None, 3])
def test_the_story_ends_with_the_result(name: str, block: int | None) -> None:
    toy = judgement()
    result = decode(toy.model, toy.canvas(3), name, schedule=2, block=block)
    assert_ends_alike(told(result), result)


@pytest.mark.parametrize("order", ["sequence", "random"])
@pytest.mark.parametrize("name", ["uniform", "info-gain", "best-of-n", "info-gain-beam"])
def test_hypotheses_that_stop_at_an_eos_are_told_apart(name: str, order: str) -> None:
    if name == "info-gain-beam":
        order = "sequence"  # the only one it takes with an EOS
    toy = parity()
    result = decode(toy.model, toy.canvas(6), name, block=2, eos_ids=1, order=order, seed=1)
    story = told(result)
    costs = [story.best(prompt).cost for prompt in range(6)]
    assert costs == result.cumulative_entropy.tolist()


def test_a_live_story_is_the_saved_one(tmp_path: Path) -> None:
    toy = one_way()
    canvas = toy.canvas(2)
    recipe = Recipe(SAMPLERS.make("info-gain-beam"), TokensPerStep(2))
    live = Story(Trace(recipe.plain(), toy.model.mask_id, canvas.rows()))
    events: list[StepEvent] = []
    result = decode(toy.model, canvas, recipe.sampler, schedule=recipe.schedule, observe=events.append)
    for event in events:
        live.follow(event.record())
    assert result.trace is not None
    result.trace.save(tmp_path / "t.jsonl")
    saved = Story(Trace.load(tmp_path / "t.jsonl"))
    for step in Trace.load(tmp_path / "t.jsonl").steps:
        saved.follow(step)
    assert [live.best(p) for p in range(2)] == [saved.best(p) for p in range(2)]
    assert live.step == saved.step == 7


def test_the_moves_write_every_token_once() -> None:
    toy = one_way()
    result = decode(toy.model, toy.canvas(2), "entropy", schedule=4)
    moves = [candidate for _, candidate in told(result).best(0).moves]
    assert [len(candidate.columns) for candidate in moves] == [4, 4, 4, 2]
    assert [candidate.cost for candidate in moves] == sorted(candidate.cost for candidate in moves)


def test_a_board_shows_holes_until_they_are_written() -> None:
    toy = one_way()
    result = decode(toy.model, toy.canvas(2), "ar", schedule=2)
    assert result.trace is not None
    canvas = LiveCanvas("ar", Story(result.trace), toy.alphabet)
    assert canvas.line(0).plain == "··*··=··········  H̃  0.00"
    canvas.story.follow(result.trace.steps[0])
    assert canvas.line(0).plain[2:16] == "*··=··········"
    assert "·" not in canvas.line(0).plain[:2]
    assert [line.plain for line in canvas.lines(limit=1)][1:] == ["… and 1 more"]


def test_colours_go_from_certain_to_uncertain() -> None:
    styles = [style for _, style in SCALE]
    assert [entropy_style(h) for h in (0.0, 0.5, 1.0, 2.0, 3.0)] == styles
    assert entropy_style(float("inf")) == styles[-1]
