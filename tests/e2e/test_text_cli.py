"""Text on the command line, with a tiny checkpoint of each family."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.exceptions import Exit
from click.testing import CliRunner

from infogain import Generation, Trace
from infogain.cli import main
from infogain.cli.chat import Talk, _ask
from infogain.cli.text_output import _to_terminal
from infogain.load import zoo_folder
from tests.e2e.test_cli import TERMINAL, ok, refused, run
from tests.parity.checkpoints import FAMILIES, write_checkpoint


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {family: write_checkpoint(tmp_path_factory.mktemp("models") / family, family) for family in FAMILIES}


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# generate


@pytest.mark.parametrize("family", FAMILIES)
def test_generate_writes_a_json_line_per_prompt(family: str, folders: dict[str, Path]) -> None:
    output = lines(ok("generate", "the cat", "hello dogs said", "-m", folders[family], "--length", 6, "-k", 2))
    assert sorted(line["number"] for line in output) == [0, 1]
    assert {line["prompt"] for line in output} == {"the cat", "hello dogs said"}
    for line in output:
        assert line["recipe"]["schedule"]["k"] == 2
        assert line["recipe"]["block"] == (4 if family == "sdar" else 16)
        assert len(line["tokens"]) == len(line["revealed"]) <= line["committed"] <= 6
        assert line["forwards"] > 0 < line["token_forwards"]


def test_prompts_come_from_files_and_pipes(folders: dict[str, Path], tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "hello"}]}
    text = f"the cat\n\n{json.dumps({'prompt': 'dogs'})}\n{json.dumps(chat)}\n"
    (tmp_path / "prompts.txt").write_text(text)
    flags = ["-m", folders["dream"], "--length", 3, "--sampler", "entropy"]
    named = lines(ok("generate", "--file", tmp_path / "prompts.txt", *flags))
    assert {json.dumps(line["prompt"]) for line in named} == {'"the cat"', '"dogs"', json.dumps(chat["messages"])}
    assert lines(ok("generate", *flags, input=text)) == named
    assert lines(ok("generate", "--file", "-", *flags, input=text)) == named


def test_texts_and_traces_go_to_files_and_files_are_not_overwritten(folders: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "texts.jsonl"
    flags = ["generate", "the cat", "-m", folders["llada"], "--length", 4, "--out", out, "--traces", tmp_path / "t"]
    ok(*flags)
    kept = out.read_text()
    trace = Trace.load(tmp_path / "t" / "0000.jsonl")
    assert trace.words is not None
    assert [trace.words[token] for token in trace.rows[0]]
    assert "1 of 1 texts are there and kept" in run(*flags).stderr
    assert "texts.jsonl exists, and what it holds would be lost" in refused(*flags, "--seed", 1)
    assert out.read_text() == kept
    message = refused("view", out)
    assert "holds texts, as generate writes them" in message
    assert "--traces" in message
    assert "holds texts" in refused("replay", out)
    out.unlink()
    assert "0000.jsonl exists, and what it holds would be lost" in refused(*flags)
    assert "needs a folder that exists" in refused(
        "generate", "x", "-m", "nowhere", "--out", tmp_path / "no" / "x.jsonl"
    )
    ok(*flags, "--overwrite")
    ok("view", tmp_path / "t" / "0000.jsonl", "--out", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ('ok\n{"prompt": 3}', "line 2: needs"),
        ('{"messages": [{"role": "user"}]}', "line 1: needs"),
        ('a\nb\n{"prompt"', "line 3: a line that begins with { must be JSON"),
    ],
)
def test_bad_prompt_files_name_their_line(text: str, message: str, folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text(text)
    assert message in refused("generate", "--file", tmp_path / "p.txt", "-m", folders["llada"])


def test_mistakes_are_found_before_the_model_is_loaded() -> None:
    assert "unknown sampler" in refused("generate", "hi", "-m", "nowhere", "--sampler", "entropi")
    assert "is none of them" in refused("generate", "hi", "-m", "nowhere")
    assert "got both" in refused("generate", "hi", "--file", "x.txt", "-m", "nowhere")
    assert "must be UTF-8" not in refused("generate", "--file", "no-such-file", "-m", "nowhere")


def test_a_file_that_is_no_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "p.bin").write_bytes(b"\xff\xfe\x00")
    assert "must be UTF-8" in refused("generate", "--file", tmp_path / "p.bin", "-m", "nowhere")


def test_another_block_width_of_a_block_causal_model_is_noted(folders: dict[str, Path]) -> None:
    result = run("generate", "the cat", "-m", folders["sdar"], "--length", 6, "--block", 8)
    assert result.exit_code == 0
    assert "blocks of 8 columns; the checkpoint was trained with 4" in result.stderr


def test_the_model_may_come_from_the_environment(folders: dict[str, Path]) -> None:
    environment = {"INFOGAIN_MODEL": str(folders["llada"]), "COLUMNS": "80"}
    assert lines(ok("generate", "hi", "--length", 2, "--ignore-eos", env=environment))[0]["finish"] == "length"


def test_a_model_that_nobody_named_is_said() -> None:
    result = run("generate", "S14", "--length", 2)
    assert result.exit_code == 0
    assert result.stderr == "model: zoo:tiny-reason, which comes with the package; --model names another\n"
    assert "model:" not in run("generate", "S14", "--length", 2, "-m", "zoo:tiny-reason").stderr


def test_stop_strings_batches_and_chats_have_flags(folders: dict[str, Path], tmp_path: Path) -> None:
    flags = ["-m", folders["llada"], "--length", 6, "--ignore-eos", "--sampler", "entropy"]
    asked = ("generate", "the cat", "hello", "dogs")
    texts = {line["number"]: line for line in lines(ok(*asked, *flags))}
    alone = {line["number"]: line for line in lines(ok(*asked, *flags, "--batch-size", 1))}
    assert {i: line["tokens"] for i, line in texts.items()} == {i: line["tokens"] for i, line in alone.items()}
    letter = texts[0]["text"][1]
    stopped = lines(ok(*asked[:2], *flags, "--stop", letter, "--stop", "no such text"))[0]
    assert (stopped["text"], stopped["finish"]) == (texts[0]["text"].partition(letter)[0], "stop")
    assert "at least one character" in refused(*asked, "-m", "nowhere", "--stop", "")
    columns = []
    for flag in (["--plain"], ["--chat"], ["--system", "be"]):
        ok(*asked[:2], *flags, *flag, "--traces", tmp_path, "--overwrite")
        columns.append(len(Trace.load(tmp_path / "0000.jsonl").canvas[0]))
    assert columns[0] < columns[1] < columns[2]


def test_a_terminal_shows_texts_in_order_even_when_a_job_breaks_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    def done(text: str) -> Generation:
        return Generation("p", text, "length", [1], [0], 0.5, 1, 2, 1, 0, {}, {})

    def broken_off() -> None:
        with _to_terminal(3) as write:
            write(1, done("second"))
            write(0, done("first"))
            raise KeyboardInterrupt

    with pytest.raises(Exit):
        broken_off()
    shown, said = capsys.readouterr()
    assert "interrupted. 2 of 3 texts are done. With --out FILE the same command would go on from there." in said
    assert shown.index("first") < shown.index("second")
    assert "[1 tokens, length; H̃ 0.50, forwards 1, token-forwards 2]" in shown


# infill, compare, inspect, drift


def test_infill_keeps_what_was_given(folders: dict[str, Path]) -> None:
    (line,) = lines(ok("infill", "the [MASK:3] sat on", "-m", folders["llada"], "--sampler", "entropy"))
    assert line["text"].startswith("the")
    assert line["text"].endswith(" sat on")
    assert len(line["tokens"]) == 3
    assert "needs a [MASK]" in refused("infill", "no hole", "-m", folders["llada"])
    chat = '{"messages": [{"role": "user", "content": "hello"}]}'
    assert "a conversation has no place" in refused("infill", "-m", folders["llada"], input=chat)
    assert "here none does" in refused("infill", "[MASK]", "-m", folders["llada"], "--eos-ids", 3)
    assert "infogain infill" in refused("generate", "the <|mdm_mask|>", "-m", folders["llada"])
    assert lines(ok("infill", "S14_____1_13_2__4", "--sampler", "entropy"))[0]["text"].startswith("S14")


def test_ignoring_eos_wins_over_a_recipe(folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("block = 2\neos_ids = [5, 6]\n")
    flags = ["-m", folders["llada"], "--length", 4, "--recipe", tmp_path / "r.toml"]
    assert lines(ok("generate", "hi", *flags))[0]["recipe"]["eos_ids"] == [5, 6]
    assert lines(ok("generate", "hi", *flags, "--ignore-eos"))[0]["recipe"]["eos_ids"] == []


def test_help_tells_what_unset_means() -> None:
    text = " ".join(ok("generate", "--help").split())
    assert "unset: 16, or the width a block-causal model was trained with" in text
    assert "unset: dual, for zoo models none" in text
    assert "unset: all of them (global)" in " ".join(ok("toy", "--help").split())


@pytest.mark.parametrize("sampler", [["entropy"], ["best-of-n", "--n", 3]])
def test_the_bar_moves_to_its_end(
    sampler: list[object], folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    totals: list[float] = []
    done: list[float] = []
    monkeypatch.setattr("rich.progress.Progress.add_task", lambda self, text, total: totals.append(total))
    monkeypatch.setattr("rich.progress.Progress.update", lambda self, task, completed: done.append(completed))
    ok(
        "generate",
        "the cat",
        "a",
        "dogs",
        "-m",
        folders["llada"],
        "--length",
        6,
        "--batch-size",
        2,
        "--sampler",
        *sampler,
    )
    assert totals == [18 * (1 if len(sampler) == 1 else 3)]
    assert done == sorted(done)
    assert done[-1] == totals[0]


@pytest.mark.parametrize("columns", ["120", "70"])
def test_compare_shows_texts_and_costs(columns: str, folders: dict[str, Path], tmp_path: Path) -> None:
    names = ["entropy", "info-gain", "eb"]
    out = tmp_path / "c.json"
    shown = ok(
        *("compare", "the cat", "--samplers", ",".join(names), "-m", folders["dream"], "--length", 8),
        *("--bound", 0.5, "-k", 2, "--out", out),
        env={"COLUMNS": columns},
    )
    saved = json.loads(out.read_text())
    assert [line["recipe"]["sampler"]["name"] for line in saved] == names
    assert saved[2]["recipe"]["sampler"]["bound"] == 0.5
    assert all(line["recipe"]["schedule"]["k"] == 2 and line["seconds"] > 0 for line in saved)
    assert "token-forwards" in shown
    for name in names:
        assert name in shown


def test_compare_refuses_flags_that_nobody_takes() -> None:
    assert "unknown sampler" in refused("compare", "x", "--samplers", "entropy,inf", "-m", "nowhere")
    assert "none of entropy takes --bound" in refused("compare", "x", "--samplers", "entropy", "--bound", 1, "-m", "n")
    assert "none of entropy takes --base" in refused("compare", "x", "--samplers", "entropy", "--base", "eb", "-m", "n")
    assert "No such option '--sampler'" in run("compare", "x", "--sampler", "entropy", "-m", "nowhere").stderr
    assert "--sampler " not in ok("compare", "--help")


def test_compare_passes_on_what_each_sampler_takes(folders: dict[str, Path], tmp_path: Path) -> None:
    """Options without a default too, those of a recipe file's sampler, and the base of the one that has one."""
    recipe, out = tmp_path / "r.toml", tmp_path / "c.json"
    recipe.write_text('block = 4\n[sampler]\nname = "eb"\nbound = 0.25\n')
    flags = [
        "--top-p",
        0.9,
        "--top-k",
        7,
        "--variant",
        "original",
        "--epsilon",
        0.5,
        "--base",
        "entropy",
        "--base.top-k",
        3,
    ]
    names = "eb,klass,best-of-n"
    shown = ["compare", "the cat", "--samplers", names, "-m", folders["llada"], "--length", 4, "--recipe", recipe]
    ok(*shown, *flags, "--out", out)
    eb, klass, best = (line["recipe"]["sampler"] for line in json.loads(out.read_text()))
    assert (eb["bound"], eb["top_p"], eb["top_k"]) == (0.25, 0.9, 7)
    assert (klass["epsilon"], klass["top_k"]) == (0.5, 7)
    assert (best["base"]["name"], best["base"]["top_k"]) == ("entropy", 3)
    assert "would be lost" in refused(*shown, *flags, "--out", out)
    assert "needs a folder that exists" in refused(*shown, *flags, "--out", tmp_path / "no" / "c.json")
    ok(*shown, *flags, "--out", out, "--overwrite")


@pytest.mark.parametrize("family", FAMILIES)
def test_inspect_says_what_a_checkpoint_is(family: str, folders: dict[str, Path]) -> None:
    text = ok("inspect", folders[family], env={"COLUMNS": "120"})
    assert {"llada": "LLaDA", "mmada": "MMaDA", "dream": "Dream", "sdar": "SDAR"}[family] in text
    assert ("block-causal" in text) == (family == "sdar")
    assert ("shifted" in text) == (family == "dream")
    assert "chat template" in text
    assert text.count("fits") == 2


def test_inspect_tells_what_is_missing(folders: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text((folders["llada"] / "config.json").read_text())
    text = ok("inspect", tmp_path)
    assert text.count("missing:") == 2
    (tmp_path / "config.json").write_text('{"architectures": ["BertForMaskedLM"], "vocab_size": 30522}')
    assert "masked LM of transformers (BertForMaskedLM)" in ok("inspect", tmp_path, env={"COLUMNS": "120"})
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    assert "supported are LLaDA" in refused("inspect", tmp_path)


def test_drift_reports_by_age_and_draws(folders: dict[str, Path], tmp_path: Path) -> None:
    flags = ["drift", "the cat", "-m", folders["llada"], "--length", 6, "--block", 3, "--sampler", "entropy"]
    text = ok(*flags, "--out", tmp_path)
    assert "drift.json exists" in refused(*flags, "--out", tmp_path)
    ok(*flags, "--out", tmp_path, "--overwrite")
    report = json.loads((tmp_path / "drift.json").read_text())
    assert list(report["by_age"]) == ["1", "2"]
    assert report["by_age"]["1"]["canvases"] == 2
    assert report["by_age"]["2"]["mean_gap"] > 0
    assert "of 1 texts" in text
    assert (tmp_path / "drift.png").exists()
    assert "loaded without one" in refused(*flags, "--cache", "none")
    assert "Against no cache, dual changed" in ok("drift", "C24,13,6=31:", "--length", 3)
    kept = ("--length", 4, "--block", 2, "--refresh", 2, "-m", zoo_folder("tiny-reason"))
    assert "dual (rows read every 2 blocks) changed" in ok("drift", "C24,13,6=31:", *kept)
    assert "cache is exact" in refused("drift", "the cat", "-m", folders["sdar"], "--length", 4)


# chat


def test_chat_answers_what_is_piped_in(folders: dict[str, Path]) -> None:
    said = "the cat\n/seed 4\n/sampler entropy\n/sampler nobody\n/seed x\n/help\nhello\n/reset\n/exit\n"
    said = said.replace("/help", "/seed --5\n/seed ²\n/seed 99999999999999999999\n/hlep\n/help")
    text = ok("chat", "-m", folders["sdar"], "--length", 5, "--system", "be", input=said)
    assert text.count("whole number of 64 bits") == 4
    assert "unknown command '/hlep'; /help lists" in text
    assert text.count("tokens,") == 2
    for part in ("The seed is 4.", "From now on: entropy.", "unknown sampler", "whole number", "forgotten"):
        assert part in text


def test_what_is_no_text_ends_no_conversation(folders: dict[str, Path]) -> None:
    said = b"caf\xe9\nthe cat\n"
    result = CliRunner().invoke(main, ["chat", "-m", str(folders["sdar"]), "--length", "3"], input=said)
    assert result.exit_code == 0, result.output
    assert "error: a message must be UTF-8 text; 'caf\\udce9' is not." in result.output
    assert result.output.count("[3 tokens") == 1


def test_chat_shows_the_text_on_its_way(folders: dict[str, Path]) -> None:
    text = ok("chat", "-m", folders["llada"], "--length", 5, input="the cat\n", env=TERMINAL)
    assert "\x1b[" in text
    assert text.count("·") > 3


def test_a_talk_remembers_what_was_said(folders: dict[str, Path]) -> None:
    from rich.console import Console

    from infogain import Recipe, load

    model = load(folders["llada"], device="cpu")
    talk = Talk(Console(quiet=True), model, Recipe("entropy", block=4), 4, None)  # type: ignore[arg-type]
    assert talk.turn("hello")
    assert talk.turn("  ")
    assert [message["role"] for message in talk.messages] == ["user", "assistant"]
    assert talk.turn("the cat")
    assert len(talk.messages) == 4
    assert not talk.turn("/exit")


def test_a_full_context_and_an_interrupt_leave_the_talk_as_it_was(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    from infogain import Recipe, load

    talk = Talk(Console(width=200), load(folders["llada"], device="cpu"), Recipe("ar", block=4), 100, None)  # type: ignore[arg-type]
    talk.turn("hello " * 30)
    shown = capsys.readouterr().out
    assert "/reset forgets" in shown
    assert "--length" in shown
    assert "prompt 0" not in shown
    talk.length = 4
    talk.turn("hello")
    before = list(talk.messages)

    def interrupted(*_: object, **__: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("infogain.cli.chat.decode_job", interrupted)
    assert talk.turn("the cat")
    assert talk.messages == before
    assert "Stopped." in capsys.readouterr().out
    monkeypatch.setattr("builtins.input", interrupted)
    assert _ask(Console()) == "/exit"
    assert capsys.readouterr().out == "\n"


def test_chat_needs_a_template(folders: dict[str, Path], tmp_path: Path) -> None:
    for path in folders["llada"].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    del settings["chat_template"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert "has none. Use generate --plain" in refused("chat", "-m", tmp_path)
    assert "such as GSAI-ML/LLaDA-8B-Instruct" in refused("chat")
    assert "default: (zoo:tiny-reason)" in ok("generate", "--help")
    assert "default: (zoo:tiny-reason)" not in ok("chat", "--help")
    assert "--plain on the command line" in refused("generate", "the", "-m", tmp_path, "--chat")
    assert lines(ok("generate", "the", "-m", tmp_path, "--length", 2))
