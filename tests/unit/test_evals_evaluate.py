"""Evaluations: what a line says is what the one decode path gives, whatever the batch, the limit or an interruption."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import infogain
from infogain import InfoGainError, Recipe, Trace
from infogain.algorithm.schedule import TokensPerStep
from infogain.errors import UnsupportedTask
from infogain.evals.evaluate import BATCHES_PER_JOB, Plan, evaluate, is_whole, prepare
from infogain.evals.runs import Run
from infogain.evals.summary import summary
from infogain.evals.tasks import TASKS, load_task
from infogain.generate import settle
from infogain.loop.step import StepEvent
from infogain.samplers import make
from infogain.text.text_model import TextModel
from infogain.zoo.tasks.sudoku import is_grid
from tests.parity.checkpoints import write_checkpoint

TIMES = ("seconds",)
TWO, FOUR = TokensPerStep(2), TokensPerStep(4)


@pytest.fixture(scope="module")
def model() -> TextModel:
    return infogain.load("zoo:tiny-reason", device="cpu")


@pytest.fixture(scope="module")
def dream(tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    """A tiny Dream whose context holds prompts of nearly one token per letter."""
    folder = write_checkpoint(tmp_path_factory.mktemp("dream"), "dream")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 4096}))
    return infogain.load(folder, device="cpu")


def plan(model: TextModel, task: str = "zoo:sudoku", recipe: Recipe | None = None, **asked: Any) -> Plan:
    kind = load_task(task)
    protocol = kind.protocol(model.tokenizer, **{"seeds": 1, "limit": 4, **asked})
    return prepare(kind, model, {"name": "m"}, protocol, recipe or Recipe(make("entropy"), FOUR))


def timeless(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = [{name: value for name, value in line.items() if name not in TIMES} for line in lines]
    return sorted(kept, key=lambda line: (int(line["key"]["item"]), line["key"]["seed"]))


def test_a_line_is_what_infill_gives_for_the_same_seed(model: TextModel, tmp_path: Path) -> None:
    recipe = Recipe(make("info-gain", n=4), TWO)
    for line in evaluate(plan(model, recipe=recipe, seeds=2), tmp_path):
        text = infogain.infill(model, line["prompt"], recipe, seeds=[line["seed"]])[0]
        assert line["text"] == text.text
        assert (line["forwards"], line["token_forwards"]) == (text.forwards, text.token_forwards)
        assert line["committed"] == line["prompt"].count("_") == text.committed
        assert line["cumulative_entropy"] == pytest.approx(text.cumulative_entropy, abs=1e-4)
        assert line["score"] == is_grid(line["text"][1:])


def test_texts_do_not_depend_on_limit_or_seeds(model: TextModel, tmp_path: Path) -> None:
    small = timeless(list(evaluate(plan(model, limit=2), tmp_path / "a", batch_size=1)))
    large = timeless(list(evaluate(plan(model, limit=6, seeds=3), tmp_path / "b", batch_size=4)))
    texts = {(line["key"]["item"], line["key"]["seed"]): line["text"] for line in large}
    assert len(texts) == 18
    assert [line["text"] for line in small] == [texts["0", 0], texts["1", 0]]
    seeds = {line["seed"] for line in large}
    assert len(seeds) == 18


def test_a_run_goes_on_where_it_stopped_and_grows(model: TextModel, tmp_path: Path) -> None:
    recipe, size = Recipe(make("info-gain", n=2), FOUR), 1
    whole = plan(model, recipe=recipe, limit=2 * BATCHES_PER_JOB + 1)
    timed = list(evaluate(whole, tmp_path / "whole", size))
    stopped = evaluate(whole, tmp_path / "parts", size)
    first = [next(stopped) for _ in range(BATCHES_PER_JOB + 2)]
    stopped.close()
    rest = list(evaluate(whole, tmp_path / "parts", size))
    assert timeless(first + rest) == timeless(timed) == timeless(Run(tmp_path / "parts" / whole.name).items())
    assert list(evaluate(whole, tmp_path / "parts", size)) == []
    more = plan(model, recipe=recipe, limit=2 * BATCHES_PER_JOB + 1, seeds=2)
    assert more.name == whole.name
    assert {line["key"]["seed"] for line in evaluate(more, tmp_path / "parts", size)} == {1}


def test_a_run_that_grows_says_of_new_lines_how_they_were_made(model: TextModel, tmp_path: Path) -> None:
    begun = plan(model, limit=1)
    list(evaluate(begun, tmp_path))
    path = tmp_path / begun.name / "run.json"
    held = json.loads(path.read_text())
    assert held["provenance"] == model.provenance
    path.write_text(json.dumps({**held, "provenance": {**model.provenance, "device": "cuda:0"}}))
    given = list(evaluate(plan(model, limit=2), tmp_path))
    first, second = Run(path.parent).items()
    assert "provenance" not in first
    assert [second["provenance"]] == [line["provenance"] for line in given] == [model.provenance]
    assert Run(path.parent).about["provenance"]["device"] == "cuda:0"


def test_only_pieces_with_something_missing_are_decoded(model: TextModel, tmp_path: Path) -> None:
    asked, steps = plan(model, limit=3 * BATCHES_PER_JOB), list[StepEvent]()
    stopped = evaluate(asked, tmp_path, 1)
    done = [next(stopped) for _ in range(2 * BATCHES_PER_JOB)]
    stopped.close()
    rest = list(evaluate(asked, tmp_path, 1, observe=steps.append))
    assert len(done) + len(rest) == 3 * BATCHES_PER_JOB
    assert len({int(event.z.seed[0]) for event in steps}) == BATCHES_PER_JOB


def test_the_bypass_is_counted_for_each_text_alone(model: TextModel, tmp_path: Path) -> None:
    counts = []
    for size in (1, 5):
        recipe = Recipe(make("info-gain", n=3, gamma=0.6))
        lines = timeless(list(evaluate(plan(model, recipe=recipe, limit=5), tmp_path / str(size), size)))
        assert all(0 < line["choices"] == line["committed"] - 1 >= line["bypassed"] for line in lines)
        counts.append([line["bypassed"] for line in lines])
    assert counts[0] == counts[1]
    assert 0 < sum(counts[0]) < sum(line["choices"] for line in lines)
    beam = list(evaluate(plan(model, recipe=Recipe(make("info-gain-beam", n=3, width=2))), tmp_path))
    assert all(line["choices"] >= line["committed"] - 1 for line in beam)
    greedy = list(evaluate(plan(model), tmp_path))
    assert {line["choices"] for line in greedy} == {line["bypassed"] for line in greedy} == {None}
    assert summary(greedy)["bypass_rate"] is None


def test_texts_of_one_step_are_scored_together_and_written_before_the_next(
    model: TextModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, together, on_disk = plan(model, limit=6), list[int](), list[int]()
    score = made.task.scores

    def scores(given: Any, style: str) -> Any:
        together.append(len(given))
        return score(given, style)

    def observe(event: StepEvent) -> None:
        on_disk.append(len(Run(tmp_path / made.name).items()))

    monkeypatch.setattr(made.task, "scores", scores, raising=False)
    lines = list(evaluate(made, tmp_path, 4, observe=observe))
    assert sum(together) == len(lines) == 6
    assert max(together) > 1
    assert on_disk[-1] == 6 - together[-1] > 0


def test_gamma_of_one_bypasses_nothing(model: TextModel, tmp_path: Path) -> None:
    lines = list(evaluate(plan(model, recipe=Recipe(make("info-gain", n=2, gamma=1.0))), tmp_path))
    assert [line["bypassed"] for line in lines] == [0] * 4


def test_traces_are_kept_for_the_viewer(model: TextModel, tmp_path: Path) -> None:
    asked = plan(model, limit=2)
    for line in evaluate(asked, tmp_path, traces=True):
        trace = Trace.load(tmp_path / asked.name / line["trace"])
        assert trace.words is not None
        assert "".join(trace.words[token] for token in trace.rows[0]) == line["text"]


def test_a_checkpoint_is_asked_in_chat_and_stops_at_its_end(dream: TextModel, tmp_path: Path) -> None:
    for task in ("zoo:judgement", "countdown"):
        asked = plan(dream, task, limit=2, length=6)
        assert asked.protocol.style == "chat"
        (first, second) = evaluate(asked, tmp_path)
        roles = [message["role"] for message in first["prompt"]]
        assert roles == ["user", "assistant"] * asked.protocol.shots + ["user"]
        assert first["score"] == second["score"] == 0
    plain = list(evaluate(plan(dream, "countdown", limit=2, length=6, style="plain"), tmp_path))
    assert all(line["prompt"].endswith("Output: ") and "\n" not in line["text"] for line in plain)
    filled = list(evaluate(plan(dream, "sudoku", limit=1), tmp_path))
    assert filled[0]["committed"] == filled[0]["prompt"].count("[MASK]")
    assert len(filled[0]["answer"]) != 16 or filled[0]["score"] == 0


def test_planning_and_infilling_are_decoded_in_one_block(model: TextModel, dream: TextModel) -> None:
    blocks = {}
    for task in ("gsm8k", "countdown", "sudoku"):
        kind = load_task(task)
        blocks[task] = settle(Recipe(), dream, whole=is_whole(kind, kind.protocol(dream.tokenizer))).block
    assert blocks == {"gsm8k": 16, "countdown": 0, "sudoku": 0}
    kind = load_task("zoo:arithmetic")
    assert settle(Recipe(), model, whole=is_whole(kind, kind.protocol(model.tokenizer))).block == 0


def test_a_block_causal_model_keeps_its_blocks(tmp_path: Path) -> None:
    sdar = infogain.load(write_checkpoint(tmp_path, "sdar"), device="cpu")
    kind = load_task("countdown")
    assert settle(Recipe(), sdar, whole=is_whole(kind, kind.protocol(sdar.tokenizer))).block == 4


def test_a_model_that_cannot_be_asked_is_told_so(model: TextModel) -> None:
    with pytest.raises(UnsupportedTask, match=r"^m cannot be asked gsm8k: it does not know the characters \['\\n', "):
        plan(model, "gsm8k")


def line(item: int, seed: int, score: int, **rest: Any) -> dict[str, Any]:
    costs = {"cumulative_entropy": 2.0, "forwards": 4, "token_forwards": 8, "committed": 10, "seconds": 0.5}
    return {
        "key": {"item": str(item), "seed": seed},
        "prompt": f"{item}?",
        "text": str(score),
        "score": score,
        "choices": None,
        "bypassed": None,
        **costs,
        **rest,
    }


def test_a_summary_averages_problems_not_lines() -> None:
    lines = [line(0, 0, 1), line(0, 1, 1), line(0, 2, 0), line(1, 0, 0, cumulative_entropy=4.0)]
    found = summary(lines)
    assert found["accuracy"] == pytest.approx((2 / 3 + 0) / 2)
    assert (found["problems"], found["seeds"], found["lines"]) == (2, 3, 4)
    assert found["entropy"] == 3.0
    assert found["tokens_per_second"] == 40 / 2
    low, high = found["accuracy_95"]
    assert 0.0 <= low < 0.1
    assert 0.8 < high <= 1.0  # two problems tell next to nothing
    with pytest.raises(InfoGainError, match="at least one finished line"):
        summary([])


def test_where_all_agree_the_interval_still_has_a_width() -> None:
    found = summary([line(i, 0, 1, choices=10, bypassed=i) for i in range(4)])
    assert found["accuracy_95"][0] == pytest.approx(0.45, abs=0.01)  # of four problems
    assert found["accuracy_95"][1] == pytest.approx(1.0)
    assert found["bypass_rate"] == 6 / 40


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "evaluate.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    try:
        exec(compile(example, "evaluate.md", "exec"), {"__name__": "guide"})
    finally:
        TASKS.pop("one-given", None)
    accuracy, kept = capsys.readouterr().out.split()
    assert float(accuracy) > 0.5
    assert kept == "True"
    assert len(example.splitlines()) < 100
