"""Case studies as the paper poses them: canvases for any checkpoint, the order of their parts, and GSM8K."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from infogain import InputError
from infogain.cli import main
from infogain.evals.tasks.gsm8k import GSM8K
from infogain.options import Plain
from infogain.studies import STUDIES, run_cells
from infogain.studies.benchmark import Benchmark, check_data
from infogain.studies.cell import Cell, CellResult
from infogain.studies.decoding import run_cell
from infogain.studies.extras import order_interval, order_numbers
from infogain.studies.judgement import ORDERS, ceiling
from infogain.studies.methods import METHODS, method_cell, recipe
from infogain.studies.posed import EQUATION, REASONING, judgement_canvas, oneway_canvas, parts_of, pose
from infogain.studies.run import main as run_program
from infogain.studies.subject import Subject
from infogain.studies.temperature import LABELS, sensitivities, temperature_cell
from infogain.text.text_model import TextModel
from infogain.zoo.characters import ALPHABET
from infogain.zoo.tasks import Problem, load_task
from infogain.zoo.tasks.judgement import is_true
from infogain.zoo.tasks.oneway import FACTORS, PRODUCT
from tests.parity.checkpoints import write_checkpoint

pytest.importorskip("transformers")
CONTEXT = {"llada": "max_sequence_length", "sdar": "max_position_embeddings"}
QUESTIONS = [{"question": f"What is {a} + 2?", "answer": f"Add.\n#### {a + 2}"} for a in (3, 5, 9)]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def checkpoint(folder: Path, family: str) -> Path:
    """A tiny checkpoint whose context holds a question and its answer."""
    path = write_checkpoint(folder, family)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, CONTEXT[family]: 1024}))
    return path


@pytest.fixture(scope="module")
def llada(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return Subject(checkpoint(tmp_path_factory.mktemp("llada"), "llada"), "cpu")


@pytest.fixture(scope="module")
def sdar(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """A checkpoint with attention blocks of its own."""
    return Subject(checkpoint(tmp_path_factory.mktemp("sdar"), "sdar"), "cpu")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("benchmarks") / "gsm8k.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in QUESTIONS))
    return path.parent


def first(task: str) -> Problem:
    return load_task(task).problems(1, "test")[0]


class Words:
    """A tokenizer whose tokens are words with the space before them, numbers too."""

    def encode(self, text: str) -> list[str]:
        return re.findall(r" ?\w+| ?[^\w\s]+|\s", text)


def test_a_judgement_is_the_papers_template(llada: Subject) -> None:
    model, problem = llada.text, first("judgement")
    mask, words = model.denoiser.mask_id, model.tokenizer
    posed = pose(model, "judgement", problem)
    prompt = words.chat([{"role": "user", "content": load_task("judgement").chat(problem)}])
    lead = words.encode(" The answer is (Yes/No):")
    verdict = len(words.encode("Yes"))  # in letters: the tiny tokenizer has no such word
    assert posed.row == prompt + [mask] * REASONING + lead + [mask] * verdict
    at = len(prompt) + REASONING
    assert list(posed.parts["reasoning"]) == list(range(len(prompt), at))
    assert list(posed.parts["verdict"]) == list(range(at + len(lead), len(posed.row)))
    assert judgement_canvas(Words())[-1] == 1  # type: ignore[arg-type]  # where Yes is one token, one mask


def test_an_equation_has_masks_for_each_number(llada: Subject) -> None:
    model = llada.text
    posed = pose(model, "oneway", first("oneway"))
    (digit,) = model.tokenizer.encode("7")
    text = model.tokenizer.decode([digit if token == model.denoiser.mask_id else token for token in posed.row])
    assert text.endswith(f"assistant\n\n77 × 77 = {'7' * 14}")
    assert [len(posed.parts[name]) for name in ("factors", "product")] == [4, 14]
    assert oneway_canvas(model.tokenizer) == [2, " × ", 2, " = ", 14]
    assert oneway_canvas(Words()) == [1, " ×", 1, " =", 1]  # type: ignore[arg-type]  # the number holds the space


def test_without_a_template_the_question_is_a_plain_line(llada: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    model, problem = llada.text, first("oneway")
    monkeypatch.setattr(model.tokenizer.tokenizer, "chat_template", None)  # type: ignore[attr-defined]
    posed = pose(model, "oneway", problem)
    said = model.tokenizer.decode(posed.row[: posed.parts["factors"][0]])
    assert said == f"{load_task('oneway').chat(problem)}\n"


@pytest.mark.parametrize(("product", "right"), [(EQUATION[2], True), ("00000110011001", False)])
def test_an_equation_is_judged_as_it_stands(llada: Subject, product: str, right: bool) -> None:
    problem, words = first("oneway"), llada.text.tokenizer
    posed = pose(llada.text, "oneway", problem)
    text = posed.read([*words.encode("12"), *words.encode("34"), *words.encode(product)], words)
    assert text == f"12 × 34 = {product}"
    assert load_task("oneway").check_chat(problem, text) is right


def test_the_verdict_decides_and_not_what_the_reasoning_says(llada: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, words = first("judgement"), llada.text.tokenizer
    said, other = ("Yes", "No") if is_true(problem) else ("No", "Yes")
    reasoning = words.encode(f" The answer is (Yes/No): {said}")
    monkeypatch.setattr("infogain.studies.posed.REASONING", len(reasoning))
    posed = pose(llada.text, "judgement", problem)
    size = len(posed.parts["verdict"])
    for verdict, right in ((said, True), (other, False), ("?", False)):
        tokens = words.encode(verdict)
        text = posed.read([*reasoning, *tokens, *words.encode("." * (size - len(tokens)))], words)
        assert load_task("judgement").check_chat(problem, text) is right, text


def rows_of(text: str) -> list[int]:
    return ALPHABET.encode(text)


def test_parts_of_the_zoo_are_found_the_same_way() -> None:
    canvas = {task: rows_of(first(task).canvas) for task in ("oneway", "judgement", "sudoku")}
    parts = parts_of("oneway", canvas["oneway"], ALPHABET.mask_id)
    assert (tuple(parts["factors"]), tuple(parts["product"])) == (FACTORS, PRODUCT)
    verdict = parts_of("judgement", canvas["judgement"], ALPHABET.mask_id)["verdict"]
    assert list(verdict) == [len(canvas["judgement"]) - 1]
    assert parts_of("sudoku", canvas["sudoku"], ALPHABET.mask_id) == {}


def test_the_order_of_parts_is_read_from_their_columns(llada: Subject) -> None:
    """Verdict first, then last; product first, then half of it, then the factors."""
    for model_parts in (
        pose(llada.text, "judgement", first("judgement")).parts,
        parts_of("judgement", rows_of(first("judgement").canvas), ALPHABET.mask_id),
    ):
        columns = [*model_parts["verdict"], *model_parts["reasoning"]]
        revealed = torch.full([2, max(columns) + 1], -1)
        revealed[0, columns] = torch.arange(len(columns))
        revealed[1, columns[::-1]] = torch.arange(len(columns))
        found = order_numbers("judgement", revealed, model_parts)
        ended = (len(model_parts["verdict"]) - 1) / (len(columns) - 1)
        assert found["verdict_at"].tolist() == pytest.approx([ended, 1.0])
        assert found["verdict_last"].tolist() == [False, True]
    parts = {"factors": [0, 1], "product": [2, 3]}
    equations = torch.tensor([[2, 3, 0, 1], [0, 1, 0, 2], [0, 1, 2, 3]])
    found = order_numbers("oneway", equations, parts)
    assert found["factors_begun"].tolist() == [0.0, 0.5, 1.0]
    assert found["factors_finished"].tolist() == [False, True, True]
    assert order_numbers("sudoku", equations, {}) == {}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less reasoning than the paper's, for a test's patience."""
    monkeypatch.setattr("infogain.studies.posed.REASONING", 24)


def judged(label: str, problems: int = 2, **rest: Any) -> Cell:
    return method_cell(label, "judgement", 1, 0.7, problems, (0, 1), **rest)


@pytest.mark.usefixtures("short")
def test_a_checkpoint_fills_the_whole_canvas_in_one_block(llada: Subject, sdar: Subject) -> None:
    """A random order reaches the verdict before the end; left to right never does, nor do blocks of the model's own."""
    free, left_to_right, blocks = (
        run_cell(subject, judged(label)) for subject, label in ((llada, "uniform"), (llada, "ar"), (sdar, "uniform"))
    )
    assert free["verdict_last"] < 1
    assert free["verdict_at_95"][0] < free["verdict_at"] < free["verdict_at_95"][1] <= 1
    assert left_to_right["verdict_at"] == left_to_right["verdict_last"] == blocks["verdict_last"] == 1
    assert left_to_right["committed"] == 24 + len(llada.text.tokenizer.encode("Yes"))
    assert "canvas" in free["note"]


def test_the_model_sees_what_was_posed(llada: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right answers are counted from what the masks hold: a decode that writes them is right every time."""

    def solved(model: TextModel, job: Any, recipe: Any, stop: Any, seeds: Any, *_: Any) -> Any:
        words, numbers = model.tokenizer, [*EQUATION[:2], EQUATION[2]]
        tokens = [token for number in numbers for token in words.encode(number)]
        costs = dict.fromkeys(("cumulative_entropy", "forwards", "token_forwards", "committed"), 1.0)
        steps = [*range(14, 18), *range(14)]  # the product first
        return ((i, type("Filled", (), {"tokens": tokens, "revealed": steps, **costs})) for i in range(len(job.rows)))

    monkeypatch.setattr("infogain.studies.decoding.decode_job", solved)
    found = run_cell(llada, method_cell("info-gain", "oneway", 1, 0.7, 3, (0, 1)))
    assert found["accuracy"] == 1
    assert found["factors_begun"] == found["factors_finished"] == 0
    assert run_cell(llada, replace(method_cell("info-gain", "oneway", 1, 0.7, 3, (0,)), kind="diversity", draws=4))[
        "distinct"
    ] == pytest.approx(0.25)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("task", ["judgement", "sudoku"])
def test_an_observer_sees_rows_that_come_and_go(task: str, llada: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """Canvases and free replies alike: J of every action, the bypass, and H̃ over the steps."""
    monkeypatch.setattr("infogain.studies.decoding.CHAT_LENGTH", 20)
    cell = method_cell("info-gain", task, 1, 0.7, 2, (0, 1), keep=("path", "scores"))
    together = run_cell(llada, cell)
    monkeypatch.setattr("infogain.studies.decoding.CHAT_BATCH", 3)
    apart = run_cell(llada, cell)
    for found in (together, apart):
        assert found["path"][-1] == pytest.approx([found["committed"], found["entropy"]], abs=1e-4)
        assert found["scores"]["count"] == 4 * found["committed"]
        assert 0 <= found["bypassed"] <= 1
    for one, other in zip(apart["path"], together["path"], strict=True):
        assert one == pytest.approx(other, abs=1e-3)


def test_orders_have_intervals_over_problems() -> None:
    drawn, values = judged("entropy", 20), [1.0] * 10 + [0.0] * 10
    last = order_interval(drawn, "verdict_last", values)
    assert last == pytest.approx((0.5, 0.299, 0.701), abs=2e-3)  # 20 problems, however many seeds
    place = order_interval(drawn, "verdict_at", [0.2, 0.4] * 10)
    assert place == pytest.approx((0.3, 0.252, 0.348), abs=1e-3)
    assert order_interval(drawn, "verdict_at", [1.0] * 19 + [0.9]).high == 1
    one = method_cell("entropy", "oneway", 1, 0.7, 20, (0, 1))
    assert order_interval(one, "factors_begun", [0.0] * 20).high > 0.7  # one canvas, one first choice
    assert order_interval(one, "factors_finished", [0.0] * 20).high < 0.2
    once = method_cell("entropy", "oneway", 1, 0.0, 20, (0,))
    assert order_interval(once, "factors_finished", [0.0] * 20).high > 0.7  # one decode


def judged_row(label: str, accuracy: float, entropy: float, last: float, spread: float = 0.05) -> CellResult:
    """A finished cell of 100 problems."""
    numbers: Plain = {
        "accuracy": accuracy,
        "accuracy_95": [accuracy - spread, accuracy + spread],
        "sound": accuracy,
        "hits": "2" * round(100 * accuracy) + "0" * (100 - round(100 * accuracy)),
        "entropy": entropy,
        "entropy_95": [entropy - spread, entropy + spread],
        "forwards": 30.0,
        "verdict_at": last,
        "verdict_at_95": [last - spread, last + spread],
        "verdict_last": last,
        "verdict_last_95": [last - spread, last + spread],
    }
    return CellResult({"K": 1, "τ_token": 0.7, "sampler": label}, judged(label, 100), numbers)


def test_left_to_right_is_held_against_each_greedy_order() -> None:
    rows = [
        judged_row("ar", 0.9, 1.0, 1.0),
        judged_row("entropy", 0.6, 2.0, 0.1),
        judged_row("margin", 0.9, 1.02, 0.48),
    ]
    rows += [judged_row("confidence (top-1)", 0.97, 0.5, 0.9), judged_row("confidence (drawn)", 0.89, 1.0, 0.2)]
    study = STUDIES["judgement"]
    held = {check.claim: check for check in study.checks(rows)}
    claims = ("Left to right is more accurate than {}", "Left to right has lower H̃ than {}")
    assert len(held) == 3 * len(ORDERS)
    expected = {"entropy": (True, True), "margin": (None, None), "confidence (top-1)": (False, False)}
    for label, verdicts in expected.items():
        assert tuple(held[claim.format(label)].holds for claim in claims) == verdicts
    early = {label: held[f"{label.capitalize()} writes the verdict before the reasoning is done"] for label in ORDERS}
    assert [early[label].holds for label in ORDERS] == [True, False, True, None]
    assert early["entropy"].evidence.startswith("in 90.0 [85.0, 95.0] % of decodes")
    (table,) = study.tables(rows)
    assert table.rows[1][-2:] == ["0.10 [0.05, 0.15]", "10.0 [5.0, 15.0]"]
    said = study.summary(rows)
    assert said[-1] == "K = 1: No sampler compared is above 98 %; the best is confidence (top-1) with 97.0 %."
    assert ceiling([*rows, judged_row("lookum", 0.99, 1.0, 1.0)]) == "Above 98 %: lookum (99.0 %)."


def heated(label: str, pos: float, token: float, accuracy: float, entropy: float) -> CellResult:
    cell = temperature_cell("countdown", label, 1, token, pos, 100, 1)
    row = judged_row("ar", accuracy, entropy, 1.0)
    return CellResult({"sampler": label, "τ_pos": pos, "τ_token": token}, cell, {**row.numbers, "hits": hits(accuracy)})


def hits(accuracy: float) -> str:
    return "1" * round(100 * accuracy) + "0" * (100 - round(100 * accuracy))


def grid(label: str, cold: tuple[float, float], hot: tuple[float, float]) -> list[CellResult]:
    """A sampler over two temperatures of each kind; the worst is not in the hottest corner."""
    worst = (hot[0] - 0.1, hot[1] + 0.5)
    settings = {(0.0, 0.0): cold, (0.0, 1.0): worst, (1.0, 0.0): cold, (1.0, 1.0): hot}
    return [heated(label, *setting, *numbers) for setting, numbers in settings.items()]


def test_sensitivity_is_measured_from_the_coldest_setting() -> None:
    rows = [*grid("entropy", (0.9, 1.0), (0.5, 3.0)), *grid("info-gain", (0.9, 0.9), (0.9, 1.0))]
    found = sensitivities(rows)
    assert (found["entropy"].rise.value, found["entropy"].fall.value) == pytest.approx((2.5, 0.5))
    assert (found["info-gain"].rise.value, found["info-gain"].fall.value) == pytest.approx((0.6, 0.1))
    table = STUDIES["temperature"].tables(rows)[0]
    assert table.title.startswith("Table 6: temperature sensitivity, measured")
    assert [row[:2] for row in table.rows] == [["info-gain", "Low"], ["entropy", "High"]]
    assert [row[5] for row in table.rows] == ["1", "2"]
    assert table.rows[1][2].startswith("1.00 [")
    assert table.rows[1][3].startswith("3.00 [")
    assert table.rows[1][4].startswith("2.50 [")
    assert [check.holds for check in STUDIES["temperature"].checks(rows)] == [True, True, True]
    assert STUDIES["temperature"].summary(rows)[1].startswith("entropy (High in the paper): H̃ rises by 2.50 [")
    assert " at most (rank 2 of 2 by that) and falls nowhere; accuracy falls by 50.0 [" in "".join(
        STUDIES["temperature"].summary(rows)
    )


def test_entropy_that_falls_with_temperature_is_no_rise() -> None:
    """The coldest setting is not held against itself: its H̃, less the same H̃, would be a rise of 0.00 ± something."""
    rows = [*grid("entropy", (0.9, 9.0), (0.5, 3.0)), *grid("info-gain", (0.9, 1.0), (0.9, 2.0))]
    rows = [row for row in rows if row["sampler"] != "entropy" or (row["τ_pos"], row["τ_token"]) != (1.0, 0.0)]
    found = sensitivities(rows)["entropy"]
    assert found.rise == (0.0, 0.0, 0.0)
    assert found.drop.value == pytest.approx(6.0)
    assert found.drop.low > 0
    said = next(line for line in STUDIES["temperature"].summary(rows) if line.startswith("entropy (High"))
    assert said.startswith("entropy (High in the paper): H̃ rises nowhere and falls by 6.00 [")
    assert "rank" not in said
    table = STUDIES["temperature"].tables(rows)[0]
    assert table.columns[4:7] == ["H̃: largest rise", "H̃: rank", "H̃: largest fall"]
    assert table.rows[0][4:6] == ["0.00 [0.00, 0.00]", "1"]
    assert table.rows[0][6].startswith("6.00 [")


def test_samplers_that_intervals_do_not_tell_apart_are_not_ranked_by_a_claim() -> None:
    rows = [*grid("lookum", (0.9, 1.0), (0.9, 1.1)), *grid("info-gain", (0.9, 1.0), (0.9, 1.11))]
    lowest, cost, right = STUDIES["temperature"].checks(rows)
    assert (lowest.holds, cost.holds, right.holds) == (None, None, None)
    assert cost.evidence.count("[") == 1
    better = [*grid("lookum", (0.9, 1.0), (0.9, 1.1)), *grid("info-gain", (0.9, 1.0), (0.4, 3.0))]
    assert [check.holds for check in STUDIES["temperature"].checks(better)] == [False, False, False]
    assert STUDIES["temperature"].checks(rows[:4]) == []


def test_every_sampler_of_table_6_is_heated() -> None:
    points = STUDIES["temperature"].points("full")
    assert {point.labels["sampler"] for point in points} == set(LABELS)
    words = [point.cell.recipe.sampler.sensitivity for point in points[: len(LABELS)]]
    assert words == ["High"] * 5 + ["Moderate"] * 2 + ["Low"]
    uniform = {point.cell for point in points if point.labels["sampler"] == "uniform"}
    assert len(uniform) == 4  # it draws positions at any temperature


def test_the_case_studies_keep_their_size() -> None:
    for name in ("oneway", "judgement"):
        assert all(p.cell.problems >= 500 and len(p.cell.seeds) == 5 for p in STUDIES[name].points("full"))


def asked(subject: Subject, data: Path | None) -> Subject:
    return Subject(subject.folder, "cpu", data)


def gsm8k_cells(subject: Subject) -> list[Cell]:
    cells = [point.cell for point in STUDIES["utility"].points_for("small", subject)]
    return [cell for cell in cells if cell.task == "gsm8k"]


def test_a_cell_on_a_benchmark_is_known_by_its_content(llada: Subject, data: Path, tmp_path: Path) -> None:
    (tmp_path / "gsm8k.jsonl").write_bytes((data / "gsm8k.jsonl").read_bytes())
    here, there = (gsm8k_cells(asked(llada, path)) for path in (data, tmp_path / "gsm8k.jsonl"))
    assert here == there
    assert [cell.problems for cell in here] == [2]
    (tmp_path / "gsm8k.jsonl").write_text(json.dumps(QUESTIONS[0]) + "\n")
    (other,) = gsm8k_cells(asked(llada, tmp_path))
    assert other.problems == 1
    assert other.key("model") != replace(here[0], problems=1).key("model")
    drawn = Cell("sudoku", recipe(METHODS["ar"], 1), 1)
    assert "data" not in drawn.plain()


def test_the_zoo_is_asked_its_own_tasks_and_others_gsm8k(llada: Subject, data: Path) -> None:
    study, zoo = STUDIES["utility"], Subject("zoo:tiny-reason", "cpu")
    assert study.points_for("full", zoo) == study.points("full")
    points = study.points_for("full", asked(llada, data))
    assert {point.cell.task for point in points} == {"gsm8k", "toy:one-way", "toy:judgement"}
    check_data(data, points)
    with pytest.raises(InputError, match="--data is for cells on gsm8k"):
        check_data(data, study.points_for("full", zoo))
    check_data(None, study.points_for("full", zoo))


def test_a_benchmark_is_scored_by_its_own_scorer(data: Path) -> None:
    benchmark = Benchmark("gsm8k", data)
    problem = benchmark.problems(3)[1]
    assert [benchmark.right(problem, text) for text in (r"So \boxed{7}.", "it is 7", r"\boxed{8}", "")] == [
        *(True, True),
        *(False, False),
    ]


def test_without_the_benchmark_an_error_says_where_to_put_it(
    llada: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"gsm8k is read from gsm8k\.jsonl; there is none in"):
        gsm8k_cells(asked(llada, tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(InputError, match=r"--data"):
        gsm8k_cells(asked(llada, None))


def test_workers_read_the_same_benchmark(llada: Subject, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infogain.studies.run_cells.signal.signal", lambda *_: None)
    monkeypatch.setattr(run_cells, "_subject", None)
    run_cells._start(llada.name, "cpu", data)
    assert run_cells._subject is not None
    assert len(run_cells._subject.benchmark("gsm8k").items) == 3


def test_utility_runs_on_gsm8k(
    llada: Subject, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(GSM8K, "length", 12)
    flags = ["--model", str(llada.folder), "--out", str(tmp_path), "--size", "small", "--device", "cpu"]
    run_program(["utility", *flags, "--data", str(data)])
    assert "utility: 3 of 3 points" in capsys.readouterr().out
    run_program(["utility", *flags, "--data", str(data), "--plan"])
    assert "0 cells to do" in capsys.readouterr().out
    done = CliRunner().invoke(main, ["study", "utility", *flags, "--data", str(data)])
    assert done.exit_code == 0, done.output
    assert "gsm8k: 5th percentile of J" in done.output
    record = json.loads((tmp_path / "utility.json").read_text())
    assert record["points"] == record["expected"] == 3
    table = record["tables"][0]
    line = dict(zip(table["columns"], table["rows"][0], strict=True))
    assert line["task"] == "gsm8k"
    assert line["actions"] == "24"
    assert {"5th percentile", "J ≥ −5e-4 %"} <= set(line)
    ignored = CliRunner().invoke(main, ["study", "oneway", *flags, "--data", str(data)])
    assert ignored.exit_code != 0
    assert "--data is for cells on gsm8k" in str(ignored.output) + str(ignored.exception)


@pytest.mark.usefixtures("short")
def test_the_case_studies_tell_the_order_of_any_checkpoint(llada: Subject, tmp_path: Path) -> None:
    flags = ["--model", str(llada.folder), "--out", str(tmp_path), "--size", "small", "--device", "cpu"]
    done = CliRunner().invoke(main, ["study", "oneway", "judgement", *flags])
    assert done.exit_code == 0, done.output
    for name, columns in (
        ("oneway", ("factors begun first %", "factors finished first %")),
        ("judgement", ("verdict written at", "verdict last %")),
    ):
        record = json.loads((tmp_path / f"{name}.json").read_text())
        table = record["tables"][0]
        shown = [row[table["columns"].index(column)] for row in table["rows"] for column in columns]
        assert all(re.fullmatch(r"[\d.]+ \[[\d.]+, [\d.]+\]", cell) for cell in shown), shown
