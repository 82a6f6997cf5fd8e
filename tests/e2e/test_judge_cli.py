"""`infogain judge` and `infogain eval writing` on the command line, with a judge on this machine."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

import infogain
import infogain.cli.judge_flags as module
from infogain.evals.judging.asking import ask
from infogain.evals.runs import list_runs
from infogain.report.paper import PaperTable, load_table
from tests.e2e.test_cli import flowing, ok, refused, run
from tests.judges import Answer, Asked, ScriptedJudge, completion, judging
from tests.parity.checkpoints import write_checkpoint

SOURCE = Path(infogain.__file__).parents[1]
KEY = "sk-secret-0123456789"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return tmp_path


def outputs(name: str, texts: list[str]) -> str:
    """A file in AlpacaEval's format."""
    made = [{"instruction": f"Write {i}.", "output": text, "generator": name} for i, text in enumerate(texts)]
    Path(f"{name}.json").write_text(json.dumps(made))
    return f"{name}.json"


def flags(judge: ScriptedJudge) -> tuple[str, ...]:
    return ("--judge-url", judge.url, "--judge-model", "scripted-1")


def found() -> dict[str, Any]:
    return dict(json.loads(Path("judged/a-vs-b.json").read_text()))


def sides(count: int = 20) -> tuple[str, str]:
    return outputs("a", [f"a{i}" for i in range(count)]), outputs("b", [f"b{i}" for i in range(count)])


def prefers_a(asked: Asked, of: set[str]) -> str:
    """Prefer A's text of these instructions, and else B's."""
    a_first = asked.first.startswith("a")
    return "first" if a_first == (asked.instruction in of) else "second"


def test_a_known_preference_is_the_win_rate() -> None:
    won = {f"Write {i}." for i in range(13)}
    ties = {"Write 18.", "Write 19."}
    with judging(lambda asked: "tie" if asked.instruction in ties else prefers_a(asked, won)) as judge:
        text = ok("judge", *sides(), *flags(judge))
    assert len(judge.asked) == 40
    told = found()
    assert told["win_rate"] == pytest.approx((13 + 1) / 20)
    assert told["ties"] == pytest.approx(0.1)
    assert told["first_place"] == 0.5
    assert told["win_rate_95"][0] < 0.7 < told["win_rate_95"][1]
    assert (told["counts"]["won"], told["counts"]["lost"], told["counts"]["even"]) == (13, 5, 2)
    assert told["usage"] == {"prompt_tokens": 4000, "completion_tokens": 120}
    assert "70.0" in text
    assert "first place preferred" in text
    assert "Judge: scripted-1 at 127.0.0.1:" in text
    assert told["judge"]["template"] == "1"
    assert told["versions"]["infogain"] in text
    for ending in ("md", "tex", "html"):
        assert "70.0" in Path(f"judged/a-vs-b.{ending}").read_text()


def test_a_bias_for_a_place_is_cancelled_and_measured() -> None:
    with judging(lambda asked: "first") as judge:
        ok("judge", *sides(), *flags(judge))
    told = found()
    assert told["win_rate"] == 0.5
    assert told["first_place"] == 1.0
    assert told["counts"]["order_changed"] == 20
    better = {f"Write {i}." for i in range(10)}
    with judging(lambda asked: prefers_a(asked, better) if asked.instruction in better else "first") as judge:
        ok("judge", *sides(), *flags(judge), "--rulings", "other.jsonl")
    assert found()["win_rate"] == 0.75


def test_a_bias_for_length_is_cancelled() -> None:
    """The judge likes longer texts, by a chance that depends on the texts alone; A's are longer by 150 on average."""
    lengths = [(500 + 150 + int(200 * math.sin(7 * i)), 500 + int(200 * math.cos(11 * i))) for i in range(300)]
    a = outputs("a", [f"a{i} ".ljust(one, "x") for i, (one, _) in enumerate(lengths)])
    b = outputs("b", [f"b{i} ".ljust(two, "x") for i, (_, two) in enumerate(lengths)])

    def longer(asked: Asked) -> str:
        a_first = asked.first.startswith("a")
        a_text, b_text = (asked.first, asked.second) if a_first else (asked.second, asked.first)
        chance = 1 / (1 + math.exp(-2.5 * math.tanh((len(a_text) - len(b_text)) / 200)))
        draw = int.from_bytes(blake2b(asked.instruction.encode(), digest_size=6).digest()) / 2**48
        return "first" if (draw < chance) == a_first else "second"

    with judging(longer) as judge:
        ok("judge", a, b, *flags(judge), "--parallel", 16)
    told = found()
    assert told["win_rate"] > 0.62
    assert told["win_rate_95"][0] > 0.5
    assert told["length_controlled"] == pytest.approx(0.5, abs=0.08)
    assert told["length_controlled_95"][0] < 0.5 < told["length_controlled_95"][1]
    assert told["length_coefficient"] > 1


def test_refusals_and_malformed_replies_are_counted_and_not_guessed() -> None:
    odd: dict[str, Answer] = {
        "Write 0.": completion(None, refusal="no"),
        "Write 1.": completion("Both are fine, the first perhaps."),
        "Write 2.": completion("Verdict: none"),
    }
    with judging(lambda asked: odd.get(asked.instruction) or prefers_a(asked, {"Write 3."})) as judge:
        text = ok("judge", *sides(5), *flags(judge))
        told = found()
        assert (told["counts"]["refused"], told["counts"]["malformed"], told["counts"]["judged"]) == (4, 2, 2)
        assert told["win_rate"] == 0.5
        said = "Left out: 3 pairs without a verdict in both orders (refusals: 4, malformed replies: 2, not asked: 0)."
        assert said in text
        ok("judge", *sides(5), *flags(judge))
        assert len(judge.asked) == 10, "they are kept as they are"
        odd.clear()
        ok("judge", *sides(5), *flags(judge), "--ask-again")
        assert len(judge.asked) == 16
    assert found()["counts"]["judged"] == 5
    assert found()["win_rate"] == 0.2


def test_the_dry_run_counts_and_sends_nothing() -> None:
    with judging(lambda asked: "first") as judge:
        text = flowing(ok("judge", *sides(), *flags(judge), "--dry-run"))
        assert judge.asked == []
        assert "20 pairs, each in both orders: 40 requests to send, 0 verdicts in" in text
        assert "4 characters counted as one" in text
        assert not Path("judged").exists()
        ok("judge", *sides(12), *flags(judge))
        text = flowing(ok("judge", *sides(), *flags(judge), "--dry-run"))
        assert "16 requests to send, 24 verdicts in judged/rulings.jsonl" in text
        assert len(judge.asked) == 24


def test_the_key_is_in_no_output_and_no_file() -> None:
    """The server repeats what it was sent, in replies and in errors."""
    echo = completion(f"Your key is {KEY}.\nVerdict: first")
    with judging(lambda asked: echo) as judge:
        said = run("judge", *sides(3), *flags(judge))
        assert said.exit_code == 0
        assert all(asked.headers["Authorization"] == f"Bearer {KEY}" for asked in judge.asked)
        judge.decide = lambda asked: Answer({"error": {"message": f"{KEY} is not known"}}, 403)
        failed = run("judge", *sides(4), *flags(judge))
    assert failed.exit_code == 2
    assert "(key) is not known" in failed.stderr
    files = [path for path in Path().rglob("*") if path.is_file()]
    assert len(files) >= 7
    for text in (said.output, failed.output, *(path.read_text() for path in files)):
        assert KEY not in text


def test_a_killed_command_goes_on_without_asking_again(folder: Path) -> None:
    def slow(asked: Asked) -> str:
        time.sleep(0.02)
        return "first"

    with judging(slow) as judge:
        command = [sys.executable, "-m", "infogain", "judge", *sides(200), *flags(judge), "--parallel", "2"]
        here = {**os.environ, "PYTHONPATH": str(SOURCE)}
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=here)
        rulings = folder / "judged" / "rulings.jsonl"
        begun = time.monotonic()
        while (not rulings.exists() or rulings.read_bytes().count(b"\n") < 5) and time.monotonic() < begun + 60:
            time.sleep(0.01)
        process.kill()
        process.wait()
        kept = rulings.read_bytes().count(b"\n")
        assert 5 <= kept < 400
        with rulings.open("ab") as file:
            file.write(b'{"key": "half a li')  # as a kill in mid-line leaves it
        time.sleep(0.2)
        judge.decide, before = lambda asked: "first", len(judge.asked)
        text = ok("judge", *sides(200), *flags(judge))
    assert len(judge.asked) - before == 400 - kept
    assert "200 pairs of 200 prompts" in text
    assert rulings.read_bytes().count(b"\n") == 400
    assert all(json.loads(line) for line in rulings.read_text().splitlines())


def test_ctrl_c_says_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any) -> Iterator[Any]:
        yield next(ask(*given))
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "ask", interrupted)
    with judging(lambda asked: "tie") as judge:
        stopped = run("judge", *sides(4), *flags(judge), "--parallel", 1)
    assert stopped.exit_code == 130
    assert "Kept: 1 of 8 verdicts in judged/rulings.jsonl. The same command goes on" in stopped.stderr


def test_swapped_sides_ask_nothing_new_and_a_record_of_another_question_stays() -> None:
    with judging(lambda asked: prefers_a(asked, {"Write 0."})) as judge:
        ok("judge", *sides(4), *flags(judge))
        assert found()["win_rate"] == 0.25
        ok("judge", "b.json", "a.json", *flags(judge))
        assert len(judge.asked) == 8
        assert json.loads(Path("judged/b-vs-a.json").read_text())["win_rate"] == 0.75
        ok("judge", "a.json", "b.json", *flags(judge))
        other = ("judge", "a.json", "b.json", "--judge-url", judge.url, "--judge-model", "scripted-2")
        assert "it is of another question.judge" in refused(*other)
        assert len(judge.asked) == 8
        ok(*other, "--overwrite")
        assert len(judge.asked) == 16


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["a.json", "absent", "--judge-url", "http://x/v1"], "'absent': none has it"),
        (["a.json", "b.json", "--judge-url", "x/v1"], "the address of a judge must be such as"),
        (["a.json", "b.json", "--judge-url", "http://u:p@x/v1"], "neither a name, a password nor a query"),
        (["a.json", "c.json", "--judge-url", "http://x/v1"], "have none in common"),
        (["a.json", "b.json", "--judge-url", "http://x/v1", "--judge-option", "model=x"], "cannot be set"),
        (
            ["a.json", "b.json", "--judge-url", "http://x/v1", "--judge-key-env", "NONE_SUCH"],
            "NONE_SUCH; it is not set",
        ),
        (["a.json", "b.json", "--judge-url", "http://x/v1", "--rulings", "no/such/r.jsonl"], "a folder that exists"),
    ],
)
def test_mistakes_are_named_before_anything_is_sent(given: list[str], message: str) -> None:
    sides(3)
    Path("c.json").write_text('[{"instruction": "Else.", "output": "x"}]')
    assert message in refused("judge", *given, "--judge-model", "m")
    assert not Path("judged").exists()


# writing, from prompts to win rates


@pytest.fixture
def checkpoint(folder: Path) -> Path:
    (folder / "prompts.txt").write_text("Write of the sea.\nWrite of the sky.\nWrite of the sun.\n")
    return write_checkpoint(folder / "model", "sdar")


def wrote(checkpoint: Path, *more: object) -> str:
    asked = (
        "eval",
        "writing",
        "-m",
        checkpoint,
        "--data",
        "prompts.txt",
        "--device",
        "cpu",
        "--length",
        8,
        "--block",
        4,
    )
    return ok(*asked, "--tau-token", 1, *more)


def test_texts_are_written_judged_and_exported(checkpoint: Path) -> None:
    text = wrote(checkpoint, "--sampler", "entropy", "-k", 2, "--limit", 2)
    assert "writing: the first 2 of 3 prompts" in text
    assert "No text is right or wrong here." in text
    assert "pass@1" not in text
    assert "self-BLEU" in text
    wrote(checkpoint, "--sampler", "ar", "-k", 2)
    one, two = list_runs("runs")
    assert {each.about["protocol"]["limit"] for each in (one, two)} == {2, 200}
    a, b = sorted((one, two), key=lambda each: each.about["recipe"]["sampler"]["name"])
    shown = ok("results", a.name, b.name)
    assert f"infogain judge {a.folder} {b.folder}" in shown
    assert "are neither" in refused("results", a.name, "--wrong")
    ok("results", a.name, "--model-outputs", "outputs.json")
    made = json.loads(Path("outputs.json").read_text())
    assert [set(each) for each in made] == [{"instruction", "output", "generator"}] * 3
    assert [each["instruction"] for each in made] == ["Write of the sea.", "Write of the sky.", "Write of the sun."]
    assert "outputs.json exists" in refused("results", a.name, "--model-outputs", "outputs.json")
    assert "got 0. Name one" in refused("results", "--model-outputs", "other.json")
    with judging(lambda asked: "tie") as judge:
        told = ok("judge", a.name[-6:], str(b.folder), *flags(judge))
        assert len(judge.asked) == 4
        assert "Left out, as one side lacks them: 1 text." in told
        assert f"A: {a.name} (" in told
        assert "infogain" in told
        again = ok("judge", "outputs.json", str(b.folder), *flags(judge), "--dry-run")
        assert " 0 requests to send, 4 verdicts" in flowing(again)
    (record,) = Path("judged").glob("ar-*-vs-entropy-*.json")
    assert json.loads(record.read_text())["a"]["provenance"]["model"] == str(checkpoint)


def test_a_model_of_the_zoo_is_not_asked_to_write(checkpoint: Path) -> None:
    said = refused("eval", "writing", "-m", "zoo:tiny-reason", "--data", "prompts.txt")
    assert "zoo:tiny-reason cannot be asked writing: it knows the zoo's problems and no words." in said


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Table 5 with texts of eight tokens."""

    def load(name: str) -> PaperTable:
        table = load_table(name)
        return replace(table, models={key: replace(model, length=8) for key, model in table.models.items()})

    monkeypatch.setattr("infogain.cli.reproduce.load_table", load)


@pytest.mark.usefixtures("short")
def test_table_5_is_made_with_and_without_a_judge(checkpoint: Path) -> None:
    asked = ("reproduce", "table5", "-m", checkpoint, "--data", "prompts.txt", "--device", "cpu")
    rows = ("--only", "t1.5-k2-entropy", "--only", "t1.5-k2-ar", "--only", "t1.5-k2-info-gain")
    text = ok(*asked, *rows)
    assert "80.3" in text
    assert "here" not in [line.split()[0] for line in text.splitlines() if line.split()]
    commands = [line for line in text.splitlines() if line.startswith("infogain judge runs/writing-model-info-gain-")]
    assert len(commands) == 2
    told = json.loads(Path("reproduced/table5.json").read_text())
    assert told["judge"] is None
    assert told["rows"][0]["paper"] == {"AR": 69.7, "Entropy": 80.3}
    with judging(lambda asked: "tie") as judge:
        text = ok(*asked, *rows, *flags(judge))
        assert len(judge.asked) == 12
        ok(*asked, *rows, *flags(judge))
        assert len(judge.asked) == 12
        ok(*asked, *rows, *flags(judge), "--limit", 2)
        (few,) = json.loads(Path("reproduced/table5.json").read_text())["rows"]
        assert few["cells"]["AR"]["counts"]["pairs"] == 2, "what the runs hold beyond what is asked for is left aside"
        ok(*asked, *rows, *flags(judge))
    told = json.loads(Path("reproduced/table5.json").read_text())
    assert told["rows"][0]["here"] == {"AR": pytest.approx(50), "Entropy": pytest.approx(50)}
    assert told["rows"][0]["difference"]["Entropy"] == pytest.approx(50 - 80.3)
    assert "−30.3" in text
    assert "Judge: scripted-1 at 127.0.0.1" in text
    assert "infogain judge runs" not in text


def test_flags_of_a_judge_that_would_do_nothing_are_refused(checkpoint: Path) -> None:
    one = ("-m", checkpoint, "--judge-model", "m")
    assert "--judge-model: a judge is asked for table5; table2 needs none" in refused("reproduce", "table2", *one)
    assert "--judge-url and --judge-model together" in refused("reproduce", "table5", *one)
    assert "hold no such pair. Add --only info-gain" in refused("reproduce", "table5", "-m", checkpoint, "--only", "ar")
