"""Training the zoo's models: texts and masks from the seed, a falling loss, exact resume, a folder that loads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import torch

import infogain
from infogain import Canvas, InputError, NumericsError, UnknownName
from infogain.models.backbone.transformer import Transformer
from infogain.zoo import ALPHABET, TASKS, Alphabet, load_task
from infogain.zoo.characters import MASK
from infogain.zoo.elbo import choose_masks, elbo_loss
from infogain.zoo.folder import load_zoo_model, save_model
from infogain.zoo.pool import Pool, fill
from infogain.zoo.score import CARD, score
from infogain.zoo.train import main, train
from infogain.zoo.trainer import LEARNT, Trainer, TrainingSettings

SMALL = TrainingSettings(
    tasks="sudoku,countdown", layers=2, width=32, heads=2, intermediate=64, rows=16, steps=20, pool=200
)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def pools() -> dict[str, Pool]:
    return fill(list(SMALL.shares), "train", SMALL.pool, seed=0)


def test_a_pool_holds_solutions_and_says_what_is_given(pools: dict[str, Pool]) -> None:
    task = load_task("countdown")
    pool = pools["countdown"]
    assert pool.tokens.shape == (200, task.width)
    text = ALPHABET.decode(pool.tokens[0].tolist())
    given = "".join(character for character, hole in zip(text, pool.holes[0], strict=True) if not hole)
    assert text.startswith(given)
    assert given.endswith(":")


WHOLE = {"oneway": 18, "sudoku": 16, "sudoku6": 36}


@pytest.mark.parametrize("name", LEARNT)
def test_a_pool_may_mask_what_its_task_leaves_open(name: str) -> None:
    """Every cell of a Sudoku and every digit of an equation, whatever is given where they are posed."""
    task, rng = load_task(name), Random(f"{name} train pool 0 0")
    pool = fill([name], "train", 20, seed=0)[name]
    for row, holes in zip(pool.tokens.tolist(), pool.holes.tolist(), strict=True):
        problem = task.sample(rng, "train", posed=False)
        assert ALPHABET.decode(row) == problem.solution
        assert holes == [mark == MASK for mark in problem.canvas]
        assert sum(holes) == WHOLE.get(name, problem.canvas.count(MASK))


def test_workers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infogain.zoo.pool.CHUNK", 15)
    alone, together = (fill(["oneway", "countdown"], "train", 40, 1, workers) for workers in (1, 2))
    for name in alone:
        assert torch.equal(alone[name].tokens, together[name].tokens)
        assert torch.equal(alone[name].holes, together[name].holes)


def test_masks_are_uniform_in_number_and_only_in_holes(pools: dict[str, Pool]) -> None:
    holes = torch.zeros(4000, 6, dtype=torch.bool)
    holes[:, 2:] = True
    masked = choose_masks(holes, torch.tensor(0), step=3)
    assert not (masked & ~holes).any()
    assert masked.sum(1).bincount().tolist() == [0, 1000, 1000, 1000, 1000]  # stratified
    assert masked[:, 2:].float().mean(0).tolist() == pytest.approx([0.625] * 4, abs=0.03)
    assert torch.equal(masked, choose_masks(holes, torch.tensor(0), step=3))
    assert not torch.equal(masked, choose_masks(holes, torch.tensor(0), step=4))


def test_the_loss_reads_masked_columns_only() -> None:
    """What stands under a mask is not seen, and a given column costs nothing."""
    transformer = Trainer(SMALL, {}, CPU).averaged
    tokens = torch.tensor([[1, 2, 3, 4]])
    masked = torch.tensor([[False, True, False, True]])
    x = transformer(torch.tensor([[1, 55, 3, 55]]), torch.arange(4)[None], torch.ones(1, 1, 4, dtype=torch.bool))
    expected = -transformer.logits(x).log_softmax(-1)[0, [1, 3], [2, 4]].mean()
    assert ALPHABET.mask_id == 55
    assert float(elbo_loss(transformer, tokens, masked)) == pytest.approx(float(expected), rel=1e-5)


def test_training_lowers_the_loss(pools: dict[str, Pool]) -> None:
    trainer = Trainer(SMALL, pools, CPU)
    before = trainer.validate(pools)
    first = trainer.train_step()
    while trainer.progress < 1:
        last = trainer.train_step()
    assert (last < first - 0.3).all()
    assert all(loss < before[name] - 0.3 for name, loss in trainer.validate(pools).items())


def test_a_share_multiplies_the_rows_of_a_task() -> None:
    settings = TrainingSettings(tasks="sudoku:0.16,countdown,oneway:4", rows=100)
    assert settings.shares == {"sudoku": 0.16, "countdown": 1.0, "oneway": 4.0}
    assert list(settings.shares) == ["sudoku", "countdown", "oneway"]
    assert [settings.rows_of(name) for name in settings.shares] == [16, 100, 400]
    assert replace(settings, rows=2).rows_of("sudoku") == 1  # a task that is learnt is never without a row
    assert set(TrainingSettings().shares.values()) == {1.0}


def test_a_share_multiplies_the_loss_of_a_task(pools: dict[str, Pool]) -> None:
    """The gradient of a step is that of the tasks' losses, each by its share of all shares."""
    settings = replace(SMALL, tasks="sudoku:3,countdown:0.5", clip=1e9, rows=4)
    weighed: list[tuple[float, int]] = []

    def loss(transformer: Transformer, tokens: torch.Tensor, masked: torch.Tensor) -> torch.Tensor:
        found = elbo_loss(transformer, tokens, masked)
        found.register_hook(lambda gradient: weighed.append((float(gradient), len(tokens))))
        return found

    losses = Trainer(settings, pools, CPU, loss).train_step()
    assert losses.shape == (2,)
    assert [rows for _, rows in weighed] == [12, 2]
    assert [weight for weight, _ in weighed] == pytest.approx([3 / 3.5, 0.5 / 3.5])


def test_a_model_knows_what_it_learns_and_what_that_teaches() -> None:
    def known(tasks: str) -> list[str]:
        return [task.name for task in TrainingSettings(tasks=tasks).known]

    assert known("sudoku:0.5,countdown") == ["sudoku", "countdown"]
    assert known("countdown,oneway:2") == ["oneway", "oneway-given", "countdown"]
    assert [task.name for task in TrainingSettings().known] == list(TASKS)
    assert set(TrainingSettings().shares) == set(TASKS) - {"oneway-given"}


def test_a_resumed_run_is_the_uninterrupted_one(pools: dict[str, Pool], tmp_path: Path) -> None:
    whole, half = Trainer(SMALL, pools, CPU), Trainer(SMALL, pools, CPU)
    for _ in range(8):
        whole.train_step()
    for _ in range(4):
        half.train_step()
    half.save(tmp_path / "state.pt")
    resumed = Trainer(SMALL, pools, CPU)
    resumed.restore(tmp_path / "state.pt")
    for _ in range(4):
        resumed.train_step()
    for name in ("transformer", "averaged"):
        pairs = zip(getattr(whole, name).parameters(), getattr(resumed, name).parameters(), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)


def test_a_run_does_not_go_on_with_other_settings(pools: dict[str, Pool], tmp_path: Path) -> None:
    Trainer(SMALL, pools, CPU).save(tmp_path / "state.pt")
    other = TrainingSettings(tasks="sudoku", layers=2, width=32, heads=2, intermediate=64)
    with pytest.raises(InputError, match="another rows, tasks, pool"):
        Trainer(other, pools, CPU).restore(tmp_path / "state.pt")


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match="multiple of twice the heads"):
        TrainingSettings(width=30, heads=4)
    with pytest.raises(UnknownName, match="sudoku"):
        TrainingSettings(tasks="sudoko:2")
    with pytest.raises(InputError, match=r"got sudoku twice\. Write sudoku:2\."):
        TrainingSettings(tasks="sudoku,countdown,sudoku:3")
    with pytest.raises(InputError, match=r"those of oneway teach it\. Learn oneway instead\."):
        TrainingSettings(tasks="oneway-given")
    for share in ("0", "-1", "nan", "inf", "two", ""):
        with pytest.raises(InputError, match=f"must be a number above 0; got {share!r} for sudoku"):
            TrainingSettings(tasks=f"sudoku:{share}")


def test_a_loss_that_is_no_number_ends_the_run(
    pools: dict[str, Pool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infogain.zoo.train.REPORT_EVERY", 0.0)
    broken = Trainer(SMALL, pools, CPU, loss=lambda *_: torch.tensor(float("nan"), requires_grad=True))
    with pytest.raises(NumericsError, match="Lower --rate"):
        train(broken, {}, tmp_path)
    assert not (tmp_path / "state.pt").exists()


def test_an_interrupted_run_is_saved(pools: dict[str, Pool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> torch.Tensor:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(Trainer(SMALL, pools, CPU, loss=interrupt), {}, tmp_path)
    Trainer(SMALL, pools, CPU).restore(tmp_path / "state.pt")


def test_the_rate_rises_falls_and_follows_the_clock() -> None:
    trainer = Trainer(TrainingSettings(steps=1000, minutes=1.0, layers=1, width=16, heads=2, intermediate=16), {}, CPU)
    assert trainer.rate == pytest.approx(1e-3 / 20)
    trainer.step = 500
    assert trainer.rate == pytest.approx(0.5e-3)
    trainer.seconds = 45.0  # further by the clock than by steps
    assert trainer.progress == 0.75
    trainer.seconds = 90.0
    assert (trainer.progress, trainer.rate) == (1.0, 0.0)


def test_a_saved_folder_loads_like_a_large_checkpoint_and_decodes(tmp_path: Path) -> None:
    transformer = Trainer(SMALL, {}, CPU).averaged
    save_model(tmp_path, transformer, SMALL.alphabet, columns=34)
    model = infogain.models.load_model(tmp_path, dtype=torch.float32)
    assert model.spec == replace(SMALL.spec, context=34)
    for name, weight in transformer.named_parameters():
        assert torch.equal(model.transformer.get_parameter(name), weight.half().float())
    problem = load_task("countdown").problems(1, "validation")[0]
    canvas = Canvas.infill([ALPHABET.encode(problem.canvas)], model.mask_id)
    text = Alphabet.load(tmp_path).decode(infogain.decode(model, canvas, "entropy", schedule=2).rows()[0])
    assert text.startswith(problem.prompt)


def test_the_shipped_shape_fits_sixteen_mebibytes() -> None:
    assert 6.2e6 < TrainingSettings().spec.parameters < 6.5e6
    assert TrainingSettings().spec.parameters * 2 < 16 * 2**20


def test_a_folder_without_an_alphabet_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs its characters in alphabet\.json"):
        Alphabet.load(tmp_path)


def test_scores_do_not_depend_on_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_model(tmp_path, Trainer(SMALL, {}, CPU).averaged, SMALL.alphabet, columns=30)
    model, alphabet = load_zoo_model(tmp_path)
    task = load_task("sudoku")
    problems = task.problems(5, "validation")
    together = score(model, alphabet, task, problems, CARD[0])
    monkeypatch.setattr("infogain.zoo.score.BATCH", 2)
    apart = score(model, alphabet, task, problems, CARD[0])
    assert apart.entropy == pytest.approx(together.entropy)
    assert (apart.k, apart.problems, apart.sampler, apart.forwards) == (1, 5, "ar", together.forwards)


def test_the_program_trains_saves_resumes_and_writes_a_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("infogain.zoo.train.REPORT_EVERY", 0.0)
    monkeypatch.setattr("infogain.zoo.train.SAVE_EVERY", 0.0)
    monkeypatch.setattr("infogain.zoo.train.VALIDATION_TEXTS", 20)
    shape = ["--tasks", "sudoku", "--layers", "1", "--width", "16", "--heads", "2", "--intermediate", "16"]
    run = [
        "--out",
        str(tmp_path),
        "--device",
        "cpu",
        "--workers",
        "1",
        "--problems",
        "3",
        "--pool",
        "50",
        "--rows",
        "4",
    ]
    main([*run, *shape, "--steps", "6"])
    card = json.loads((tmp_path / "card.json").read_text())
    assert (card["steps"], card["tokens"], card["device"]) == (6, 6 * 4 * 17, "CPU")
    assert len(card["validation_scores"]) == len(CARD)
    assert {score["sampler"] for score in card["validation_scores"]} == {"ar", "entropy", "confidence", "margin"}
    main([*run, *shape, "--steps", "8"])
    assert json.loads((tmp_path / "card.json").read_text())["steps"] == 8
    shown = capsys.readouterr().out
    assert "going on at step 6" in shown
    assert "step 6 (100.0%)  sudoku" in shown
