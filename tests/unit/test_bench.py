"""The bench: what it counts is what the loop did, and its tables say what the numbers say."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from torch import Tensor

import infogain
from infogain import InputError, OptionError, UnknownName
from infogain.algorithm.canvas import Canvas
from infogain.bench import Bench, Case, grid, load_suite, measure, records
from infogain.bench.__main__ import main as program
from infogain.bench.bypass import ForcedBypass
from infogain.bench.cases import CANVAS, named
from infogain.bench.forward_alone import forward_alone
from infogain.bench.limits import columns_in_balance, operations
from infogain.bench.measure import build, make_canvas, play
from infogain.bench.picture import draw
from infogain.bench.shapes import SHAPES, make_transformer, random_transformer
from infogain.bench.speed_page import MARK
from infogain.bench.speed_page import build as build_page
from infogain.bench.suites import TRAINED_BYPASS, images
from infogain.bench.timed import Log, Timed
from infogain.cli import main
from infogain.models.backbone.transformer import Transformer
from infogain.models.families.spec import Spec
from infogain.provenance import provenance
from infogain.samplers import Entropy, InfoGain, InfoGainBeam
from infogain.studies.study_files import read_record
from infogain.zoo import load_task
from tests.parity.checkpoints import write_checkpoint

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")
CASE = Case("tiny", InfoGain(gamma=1.0), context=24, block=8, length=16)
SHIFTED = Spec("dream", 40, 16, 1, 2, 1, 8, 24, 1e4, 1e-5, mask_id=39, qkv_bias=True, shift=True)
BLOCKS = replace(SHIFTED, qkv_bias=False, shift=False, block=4)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench("cpu", decodes=1)


def test_cases_of_images_count_what_guidance_and_codes_change(bench: Bench) -> None:
    cases = images("tiny", codes=32, cells=24)
    found = {name: bench.run(case) for name, case in cases.items()}
    one, ahead, plain = found["greedy"], found["info-gain"], found["info-gain, without guidance"]
    assert (one["tokens"], ahead["tokens"]) == (24, 24)
    assert one["token_forwards"] == 24 * 2 * (24 + 24)  # a step for each mask, and rows without their prompts
    few = bench.run(replace(cases["info-gain"], steps=6))  # as many as `plain` has
    guided, unguided = (run["flops_per_step"] / run["candidates_per_row"] for run in (few, plain))
    assert guided == pytest.approx(2 * unguided, rel=0.05)
    assert found["greedy, all ids"]["logits_bytes"] == 16 * one["logits_bytes"]  # 512 ids, not 32
    assert found["greedy, four images"]["tokens"] == 4 * 6
    assert ahead["case"]["guidance"] == 3.5


@pytest.fixture(scope="module")
def numbers(bench: Bench) -> dict[str, Any]:
    return bench.run(CASE)


def test_shapes_are_as_large_as_the_published_files() -> None:
    published = {"dream-7b": 15231233024, "llada-8b": 16031162368, "sdar-8b": 16381470720}  # bytes in bfloat16
    assert {name: 2 * SHAPES[name].parameters for name in published} == published


def test_what_is_counted_is_what_the_loop_did(numbers: dict[str, Any]) -> None:
    transformer = make_transformer("tiny", CPU)
    model, canvas = infogain.models.Backbone(transformer), make_canvas(CASE, transformer)
    result = infogain.decode(model, canvas, CASE.sampler, block=8)
    assert canvas.tokens.shape == (1, 32)
    assert numbers["calls"] == result.calls == 16
    assert numbers["token_forwards"] == int(result.token_forwards.sum())
    assert numbers["tokens"] == 16
    assert numbers["provenance"] == {**provenance(model), "model": "tiny"}
    assert numbers["steps"] == 12  # of 8 in a block one opens it and one, the last, needs no forward
    assert numbers["kv_bytes"] == 4 * SHAPES["tiny"].kv_numbers(32)
    assert numbers["logits_bytes"] == 4 * 8 * 7 * 512  # N candidates, the 7 masks that a step leaves
    assert 7 < numbers["candidates_per_row"] <= 8


def test_times_are_of_one_clock(numbers: dict[str, Any]) -> None:
    assert 0 < numbers["loop_forward_ms"] < numbers["ms_per_step"]
    assert 0 < numbers["outside_share"] < 1
    assert numbers["tokens_per_s"] == pytest.approx(1e3 / numbers["ms_per_token"])
    assert numbers["over_reading"] == pytest.approx(numbers["ms_per_step"] / numbers["limits"]["reading_ms"])
    assert numbers["peak_bytes"] is None  # a CPU counts none, and none is made up
    assert numbers["start_up_s"] >= 0


def test_the_forward_alone_reads_every_column_of_every_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    logits = Transformer.logits

    def counted(transformer: Transformer, x: Tensor, *rest: Any) -> Tensor:
        read.append(x[..., 0].numel())
        return logits(transformer, x, *rest)

    transformer = make_transformer("tiny", CPU)
    model, canvas = build(CASE, transformer), make_canvas(CASE, transformer)
    monkeypatch.setattr(Transformer, "logits", counted)
    assert forward_alone(model, canvas, CASE)["forward_ms"] > 0
    opening, *forwards = read
    assert opening == CASE.block
    assert {*forwards} == {8 * CASE.block}


def test_operations_count_the_columns_that_the_head_read() -> None:
    transformer = make_transformer("tiny", CPU)
    steps = play(build(CASE, transformer), make_canvas(CASE, transformer), CASE).whole_steps
    assert [step.read // step.candidates for step in steps] == [6, 5, 4, 3, 2, 1] * 2  # masks that a step leaves


def test_a_case_may_stop_early(bench: Bench) -> None:
    found = bench.run(replace(CASE, steps=5))
    assert found["tokens"] == 5
    assert found["calls"] == 6
    with pytest.raises(InputError, match="open no block"):
        bench.run(replace(CASE, steps=1))


def test_beams_and_batches_keep_a_cache_for_each_row(bench: Bench) -> None:
    found = bench.run(replace(CASE, sampler=InfoGainBeam(gamma=1.0, n=2, width=3), batch=2))
    assert found["kv_bytes"] == 6 * 4 * SHAPES["tiny"].kv_numbers(32)
    assert found["tokens"] == 2 * 16  # of what is returned


def test_prompts_may_differ_in_length() -> None:
    transformer = make_transformer("tiny", CPU)
    case = replace(CASE, batch=4, ragged=2)
    lengths = make_canvas(case, transformer).length - case.length
    assert lengths.tolist() == [case.prompt - cut for cut in (0, 1, 2, 0)]
    with pytest.raises(OptionError, match="ragged must be 0 or more and leave a prompt"):
        replace(CASE, ragged=CASE.prompt)
    steps = play(build(case, transformer), make_canvas(case, transformer), case).whole_steps
    assert {step.prompts for step in steps} == {4}  # where all columns see all, blocks begin with the masks
    causal = replace(case, block=4, length=8, context=60)
    model = build(causal, random_transformer(replace(transformer.spec, block=4), CPU, torch.float32))
    steps = play(model, make_canvas(causal, transformer), causal).whole_steps
    assert {step.prompts for step in steps} > {4}  # else a row that has filled its first block waits for the others
    with pytest.raises(OptionError, match="prompts of one text are equally long"):
        replace(CASE, ragged=1, text="C1")


def test_a_row_may_be_read_less_often(bench: Bench) -> None:
    greedy = replace(CASE, sampler=Entropy())
    often, once = bench.run(greedy), bench.run(replace(greedy, refresh=2))
    assert once["token_forwards"] == often["token_forwards"] - 32 + 16  # the second block opens with two blocks run
    assert once["calls"] == often["calls"]
    with pytest.raises(OptionError, match="needs a cache that is kept"):
        replace(CASE, cache=CANVAS, refresh=2)
    with pytest.raises(OptionError, match="refresh must be at least 1"):
        replace(CASE, refresh=0)


def test_a_decode_that_recorded_something_is_timed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    case = replace(CASE, engine="graphs")
    transformer = make_transformer("tiny", CPU)
    model, canvas, seeds = build(case, transformer), make_canvas(case, transformer), list[int]()

    def counted(model: Timed, canvas: Canvas, case: Case, seed: int) -> Log:
        seeds.append(seed)
        return play(model, canvas, case, seed)

    monkeypatch.setattr(measure, "play", counted)
    for seed in (3, 3):
        assert measure.play_steadily(model, canvas, case, seed).result is not None
    assert seeds == [3, 3, 3]


def test_a_block_causal_shape_is_timed_on_its_own_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHAPES, "blocks", BLOCKS)
    found = Bench("cpu", 1).run(replace(CASE, shape="blocks", context=26))
    assert found["kv_bytes"] == 4 * BLOCKS.kv_numbers(32)  # all before the last block
    with pytest.raises(OptionError, match="block-causal"):
        build(replace(CASE, shape="blocks", cache=CANVAS), random_transformer(BLOCKS, CPU, torch.float32))


@pytest.mark.parametrize("spec", [SHAPES["tiny"], SHIFTED], ids=lambda spec: spec.family)
def test_the_whole_canvas_decodes_as_no_cache_does(spec: Spec) -> None:
    transformer = random_transformer(spec, CPU, torch.float32)
    tokens = []
    for cache in ("none", CANVAS):
        case = replace(CASE, cache=cache)
        result = play(build(case, transformer), make_canvas(case, transformer), case).result
        assert result is not None
        tokens.append(result.tokens)
    assert torch.equal(*tokens)


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.8, 1.0])
def test_the_forced_bypass_rate_is_met(rate: float) -> None:
    transformer = make_transformer("tiny", CPU)
    case = replace(CASE, sampler=ForcedBypass(rate=rate), batch=24)
    steps = play(build(case, transformer), make_canvas(case, transformer), case).whole_steps
    expanded = sum(step.candidates - step.rows for step in steps) / sum(7 * step.rows for step in steps)
    assert 1 - expanded == pytest.approx(rate, abs=0.06)


def test_a_rate_of_nothing_is_info_gain() -> None:
    transformer = make_transformer("tiny", CPU)
    canvas = make_canvas(CASE, transformer)
    model = infogain.models.Backbone(transformer)
    forced, plain = (infogain.decode(model, canvas, s, block=8) for s in (ForcedBypass(rate=0.0), CASE.sampler))
    assert torch.equal(forced.tokens, plain.tokens)


def test_the_trained_rate_is_the_one_the_committed_study_found() -> None:
    record = read_record(ROOT / "docs/results/first-edition", "samplers")
    assert record is not None
    rows = record["rows"]
    for k, rate in TRAINED_BYPASS.items():
        wanted = {"sampler": "info-gain", "K": k, "τ_token": 0.7}
        found = [row["numbers"]["bypassed"] for row in rows if wanted.items() <= row["labels"].items()]
        assert len(found) == len({row["labels"]["task"] for row in rows}) == 5
        assert sum(found) / len(found) == pytest.approx(rate, abs=5e-4)


def test_the_small_case_is_a_problem_that_the_model_knows() -> None:
    small = load_suite("judged")["cpu, greedy"]
    assert small.text is not None
    assert (small.prompt, small.prompt + small.length) == (len(small.text), load_task("countdown").width)
    assert small.block == small.length


def test_operations_are_two_for_each_weight_and_column() -> None:
    spec = replace(SHIFTED, qkv_bias=False, shift=False)
    before, after = 16 * 16 + 16 * 8 * 2 + 2 * 16, 16 * 16 + 3 * 16 * 24  # a layer's attention: one layer, the last
    assert operations(spec, 3, 2, 10) == 2 * (3 * (before + 16) + 3 * 2 * 16 * 10 + 2 * (after + 40 * 16))
    two = replace(spec, layers=2)
    assert operations(two, 3, 2, 10) - operations(spec, 3, 2, 10) == 2 * 3 * (before + after + 2 * 16 * 10)
    limits = {"reading_ms": 2.0, "matmul_flops_per_s": 1e12}
    assert columns_in_balance(SHAPES["dream-7b"], limits) == pytest.approx(2e-3 * 1e12 / 14.14e9, rel=1e-3)


def test_a_grid_has_every_combination_once() -> None:
    cases = grid(["tiny"], ["entropy", "info-gain"], {"n": (1, 8), "bypass": (0.5,)}, {"batch": (1, 2)})
    assert len(cases) == 2 + 4  # N means nothing to entropy
    assert set(named(cases)) == {
        f"{sampler}, batch {batch}"
        for sampler in ("entropy", "info-gain(n=1, rate=0.5)", "info-gain(n=8, rate=0.5)")
        for batch in (1, 2)
    }
    with pytest.raises(InputError, match="none of entropy takes n"):
        grid(["tiny"], ["entropy"], {"n": (1,)}, {})


def test_mistakes_are_told(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="prompt needs a column"):
        replace(CASE, length=32)
    with pytest.raises(OptionError, match="at least 1"):
        replace(CASE, batch=0)
    with pytest.raises(OptionError, match="without an engine"):
        replace(CASE, cache=CANVAS, engine="graphs")
    with pytest.raises(UnknownName, match="judged"):
        load_suite("judge")
    with pytest.raises(InputError, match="a shape is tiny"):
        bench.run(replace(CASE, shape="huge"))
    monkeypatch.setattr("infogain.bench.shapes.free_bytes", lambda _: 1000)
    with pytest.raises(InputError, match="weights must fit"):
        Bench("cpu").run(CASE)
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(InputError, match="is none"):
        records.load(tmp_path / "other.json")


def test_a_checkpoint_is_timed_too(bench: Bench, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "llada", "llada")
    assert bench.run(replace(CASE, shape=str(folder), steps=4))["tokens"] == 4
    found = bench.run(Case("zoo:tiny-reason", Entropy(), context=8, block=8, length=8, steps=4))
    assert (found["tokens"], found["kv_bytes"]) == (4, 0)  # without a cache, as it is loaded
    with pytest.raises(OptionError, match=r"fit the 124 columns of zoo:tiny-reason; got 512 \+ 16\. Use .* 108 or"):
        bench.run(Case("zoo:tiny-reason", Entropy()))


def test_a_report_says_what_ran_and_what_is_not_to_be_trusted(numbers: dict[str, Any]) -> None:
    found = records.record(
        {"a": numbers, "b": {**numbers, "ms_per_step": 9 * numbers["median_ms_per_step"]}}, {}, None, CPU
    )
    assert "thread" in records.heading(found)
    assert "shape tiny, k 1, block 8, batch 1, context 24, length 16" in records.heading(found)
    assert [line.split(":")[0] for line in records.warnings(found) if line.startswith("b")] == ["b"]


def test_a_case_that_does_not_fit_the_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError(said)

    monkeypatch.setattr("infogain.bench.measure.play", fails)
    said = "[enforce fail] DefaultCPUAllocator: can't allocate memory"
    with pytest.raises(InputError, match=r"must fit the memory; tiny, .*batch 1"):
        Bench("cpu").run(CASE)
    said = "another"
    with pytest.raises(RuntimeError, match="another"):
        Bench("cpu").run(CASE)


def test_the_page_is_what_the_numbers_say(tmp_path: Path, numbers: dict[str, Any]) -> None:
    page = ROOT / "docs" / "speed.md"
    text = page.read_text(encoding="utf-8")
    assert build_page(text, ROOT / "benchmarks" / "results") == text
    assert "No results are here yet" in build_page(MARK, tmp_path)
    found = records.record({"greedy": numbers}, {"other": "no room"}, "judged", CPU)
    records.save(found, tmp_path / "bench-cpu.json")
    made = build_page(f"Words.\n{MARK}stale", tmp_path)
    assert made.startswith("Words.\n")
    assert "stale" not in made
    assert "tiny (float32): weights read in" in made
    assert "| greedy step over reading each matrix once | ≤ 1.4 |" in made
    assert "other was left out: no room" in made


def test_it_runs_with_torch_alone(tmp_path: Path) -> None:
    lacking = "click", "rich", "matplotlib", "tomli_w", "jinja2"
    words = (
        f"import sys; sys.modules.update(dict.fromkeys({lacking!r})); from infogain.bench.__main__ import main; main()"
    )
    arguments = ["--suite", "quick", "--only", "uncached", "--device", "cpu", "--out", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", words, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "info-gain, uncached" in done.stdout
    assert json.loads((tmp_path / records.FILE).read_text())["cases"]["info-gain, uncached"]["tokens"] == 8


def test_the_program_says_what_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "make_transformer", lambda *_: (_ for _ in ()).throw(InputError("no room")))
    flags = ["--suite", "judged", "--only", "wide", "--device", "cpu", "--out", str(tmp_path)]
    program(flags)
    assert "skipped: no room" in capsys.readouterr().out
    with pytest.raises(InputError, match="add --overwrite"):
        program(flags)
    program([*flags, "--overwrite"])
    assert set(json.loads((tmp_path / records.FILE).read_text())["skipped"]) == {"greedy, wide", "info-gain, wide"}
    program(["--compare", *[str(write_record(tmp_path / name, 1.0)) for name in "ab"]])
    assert "1.000" in capsys.readouterr().out


def write_record(path: Path, ms: float) -> Path:
    path.write_text(json.dumps({"cases": {"a": {"ms_per_step": ms}}}))
    return path


def test_the_command(tmp_path: Path) -> None:
    def bench(*flags: object) -> Any:
        return CliRunner().invoke(main, ["bench", *map(str, flags)])

    small = ("--context", 24, "--block", 8, "--length", 8, "--device", "cpu", "--decodes", 1)
    done = bench("--n", "1,2", *small, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in ("entropy", "info-gain(n=1)", "info-gain(n=2)", "GPU only"))
    assert (tmp_path / "out" / "bench.png").read_bytes().startswith(b"\x89PNG")
    again = bench(*small, "--out", tmp_path / "out")
    assert again.exit_code == 2
    assert "--overwrite" in again.output
    traced = bench(*small, "--profile", tmp_path / "trace.json")
    assert traced.exit_code == 0, traced.output
    assert "traceEvents" in (tmp_path / "trace.json").read_text()
    compared = bench("--compare", write_record(tmp_path / "a", 1.0), write_record(tmp_path / "b", 2.0))
    assert "worse" in compared.output
    assert "does not go with it" in bench("--suite", "quick", "--batch", 2).output
    assert "one engine" in bench("--suite", "quick", "--engine", "eager,graphs").output
    assert "unknown engine 'warp'" in bench("--engine", "warp", *small).output
    assert "commas" in bench("--batch", "two").output


def test_without_matplotlib_there_is_no_picture(
    tmp_path: Path, numbers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert not draw({"one": numbers}, tmp_path / "bench.png")
