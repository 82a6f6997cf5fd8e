"""The viewer's page: self-contained, safe for any token text, and true to the story of its trace."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from infogain import Canvas, InputError, Trace, decode, view
from infogain.cli import main
from infogain.loop.trace import Candidate, Row, TraceStep, tell
from infogain.models import Toy, judgement, one_way, parity
from infogain.provenance import made_with
from infogain.view.data import about, short, top

ONE_WAY = one_way()


def traced(sampler: str, toy: Toy = ONE_WAY, count: int = 2, **options: Any) -> Trace:
    trace = decode(toy.model, toy.canvas(count), sampler, **options).trace
    assert trace is not None
    return trace


def embedded(html: str) -> Any:
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', html, flags=re.DOTALL)
    return json.loads(text)


def replayed(run: Any, prompt: int) -> tuple[list[list[int]], list[float]]:
    """The canvas and H̃ after each step, as the viewer's script follows them."""
    tokens = list(run["prompts"][prompt]["canvas"])
    frames, costs = [tokens], [0.0]
    for step in run["prompts"][prompt]["steps"]:
        taken = step["candidates"][step["taken"]]
        assert taken["kept"]
        tokens = list(tokens)
        for column, token in zip(taken["columns"], taken["tokens"], strict=True):
            assert tokens[column] == run["mask"]
            assert column in step["columns"]
            assert step["block"][0] <= column <= step["block"][1]
            tokens[column] = token
        frames.append(tokens)
        costs.append(taken["cost"])
    return frames, costs


@pytest.mark.parametrize("sampler", ["entropy", "info-gain", "info-gain-beam", "best-of-n"])
@pytest.mark.parametrize("block", [None, 5])
def test_the_page_tells_the_story_of_the_trace(sampler: str, block: int | None) -> None:
    trace = traced(sampler, schedule=2, block=block)
    (run,) = embedded(view.page([("a", trace)]))["runs"]
    story = tell(trace, "a")
    for prompt in range(2):
        best = story.best(prompt)
        frames, costs = replayed(run, prompt)
        assert frames[0] == trace.canvas[prompt]
        assert frames[-1] == best.tokens == trace.rows[prompt]
        assert costs == pytest.approx([0, *(candidate.cost for _, candidate in best.moves)], abs=1e-4)
        for step, (row, _) in zip(run["prompts"][prompt]["steps"], best.moves, strict=True):
            assert step["entropy"] == pytest.approx(row.entropy, abs=1e-4)
            assert [c["score"] for c in step["candidates"]] == pytest.approx(
                sorted((c.score for c in row.candidates), reverse=True), abs=1e-4
            )


def test_the_page_marks_what_was_taken_where_it_is_not_the_best() -> None:
    trace = traced("info-gain", count=1, schedule=2, tau_select=1e9)
    (run,) = embedded(view.page([("a", trace)]))["runs"]
    assert replayed(run, 0)[0][-1] == trace.rows[0]
    places = {step["taken"] for step in run["prompts"][0]["steps"]}
    assert places > {0}


def test_of_greedy_decodes_every_frame_is_what_the_terminal_shows() -> None:
    trace = traced("entropy", schedule=3)
    (run,) = embedded(view.page([("a", trace)]))["runs"]
    for step in range(len(trace.steps) + 1):
        short_trace = Trace(trace.recipe, trace.mask_id, trace.canvas, steps=trace.steps[:step])
        assert replayed(run, 1)[0][step] == tell(short_trace, "a").best(1).tokens


def test_a_page_fetches_nothing() -> None:
    html = view.page([("a", traced("info-gain", schedule=7))], title="<b>")
    assert not re.search(r"https?:|//[a-z]+\.|\b(?:src|href)\s*=|@import|url\(", html)
    assert "<title>&lt;b&gt;</title>" in html
    assert html.count("infogainViewer = ") == 1


def test_no_token_text_breaks_out_of_the_data() -> None:
    evil = {0: "</script><script>alert(1)</script>", 1: "<!--", 2: "é\u2028\"'&"}
    trace = traced("ar", parity(), count=1)
    html = view.fragment([("</script>", trace)], evil.__getitem__)
    assert html.count("<script") == html.count("</script>") == 1
    assert "<!--" not in html
    (run,) = embedded(html)["runs"]
    assert run["title"] == "</script>"
    assert set(run["words"].items()) <= {(str(token), text) for token, text in evil.items()}
    assert run["words"]


def test_words_come_from_the_caller_or_the_trace_and_only_those_shown() -> None:
    trace = traced("entropy", schedule=2)
    assert embedded(view.page([("a", trace)]))["runs"][0]["words"] == {}
    trace.words = {0: "star", 999: "never"}
    assert embedded(view.page([("a", trace)]))["runs"][0]["words"] == {"0": "star"}
    words = embedded(view.page([("a", trace)], ONE_WAY.alphabet.__getitem__))["runs"][0]["words"]
    assert words["0"] == "*"
    assert str(trace.mask_id) not in words


def test_a_page_says_which_models_its_traces_are_of() -> None:
    trace, other, old = (traced("ar", toy, count=1) for toy in (ONE_WAY, parity(), parity()))
    said = f'<p class="made">{html.escape(made_with([trace.provenance]))}</p>'
    assert "toy:one-way" in said
    assert said in view.page([("a", trace), ("b", trace)])
    assert html.escape(made_with([trace.provenance, other.provenance])) in view.page([("a", trace), ("b", other)])
    old.provenance = None
    assert 'class="made"' not in view.page([("a", old)]), "it does not know"


def test_several_traces_share_a_scale() -> None:
    traces = [(name, traced(name, schedule=2)) for name in ("entropy", "info-gain")]
    data = embedded(view.page(traces))
    assert [run["title"] for run in data["runs"]] == ["entropy", "info-gain"]
    assert [run["score"] for run in data["runs"]] == ["score", "J"]
    assert data["top"] == 2.5
    with pytest.raises(InputError, match="at least one trace"):
        view.page([])


def test_a_page_of_several_viewers_holds_the_assets_once() -> None:
    pieces = [view.fragment([("a", traced("ar", schedule=7))]) for _ in range(2)]
    assert all("<style" not in piece and "infogainViewer" not in piece for piece in pieces)
    assert view.assets().count("<script>") == view.assets().count("</script>") == 1


def test_the_block_ends_where_its_last_mask_was() -> None:
    toy = judgement()
    (run,) = embedded(view.page([("a", traced("entropy", toy, schedule=1, block=4))]))["runs"]
    starts = {tuple(step["block"]) for step in run["prompts"][0]["steps"]}
    assert starts == {(11, 14), (15, 17)}


def test_a_recipe_is_told_in_a_few_words() -> None:
    assert about(traced("best-of-n", schedule=2, block=8).recipe) == "best-of-n (confidence), K = 2, blocks of 8"
    assert about({"sampler": {"name": "ar"}, "schedule": {"name": "steps", "count": 9}}) == "ar, 9 steps"
    assert about({"sampler": {"name": "ar"}, "schedule": {"name": "mine:Own"}}) == "ar, mine:Own"


def test_numbers_are_short_and_the_scale_leaves_outliers_out() -> None:
    assert short(1 / 3) == 0.3333
    assert short(float("-inf")) is None
    assert top([]) == top([0.1, None]) == 0.5
    assert top([0.9] * 99 + [11.0]) == 1.0


def test_a_trace_keeps_its_words(tmp_path: Path) -> None:
    trace = traced("ar", schedule=7)
    path = tmp_path / "t.jsonl"
    trace.save(path)
    assert Trace.load(path).words is None
    assert "words" not in path.read_text().splitlines()[0]
    trace.words = dict(enumerate(ONE_WAY.alphabet))
    assert Trace.load(path) != trace
    trace.save(path)
    assert Trace.load(path) == trace
    assert Trace.load(path).words == trace.words
    path.write_text(path.read_text().replace('"words": {"0"', '"words": {"zero"', 1))
    with pytest.raises(InputError, match="must be the JSON lines"):
        Trace.load(path)
    trace.provenance = {"versions": "old"}
    trace.save(path)
    with pytest.raises(InputError, match="its provenance is no table"):
        Trace.load(path)


# infogain view


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def title_of(page: str) -> str:
    (title,) = re.findall(r"<title>(.*?)</title>", page)
    return html.unescape(title)


def test_a_page_is_titled_by_what_was_written() -> None:
    trace = traced("entropy", count=1, schedule=2)
    signs = ONE_WAY.alphabet.__getitem__
    assert title_of(view.page([("a", trace)], signs)) == ONE_WAY.decode(trace.rows[0])
    assert title_of(view.page([("a", trace), ("b", trace)], signs)) == ONE_WAY.decode(trace.rows[0])
    assert title_of(view.page([("a", trace), ("b", trace)])) == "a · b", "ids have no text"
    assert title_of(view.page([("a", trace)], signs, title="mine")) == "mine"


def test_a_title_holds_the_answer_up_to_its_end_and_stays_short() -> None:
    toy = parity()
    prompt, answer, end = [1, 1], [1], 0
    trace = decode(toy.model, Canvas.from_prompts([prompt], [4], toy.model.mask_id), "ar", eos_ids=(end,)).trace
    assert trace is not None
    assert trace.rows[0] == prompt + answer
    assert title_of(view.page([("t", trace)], {0: "<end>", 1: "a  <b>\n"}.__getitem__)) == "a <b>"
    assert title_of(view.page([("t", trace)], lambda token: "word " * 50)) == "word " * 11 + "word…"


def test_a_viewer_opens_on_the_finished_text() -> None:
    """What a prompt became is shown when it is loaded; only a link to a step, or playing, shows anything else."""
    script = view.assets()
    load = script.split("    load(prompt) {\n      this.panes")[1].split("\n    }")[0]
    assert load.count("this.seek(") == load.count("this.seek(this.length);") == 1
    opened = script.split("    constructor(element, data) {")[1].split("\n    }")[0]
    assert [line.strip() for line in opened.splitlines() if "this.seek(" in line] == [
        'if (hash.has("step")) this.seek(Number(hash.get("step")) || 0);'
    ]


CHROMIUM = [
    "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
]
needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")


def opened(page: Path, link: str = "") -> str:
    """The page as the browser shows it, as HTML."""
    call = [*CHROMIUM, "--dump-dom", f"--user-data-dir={page.parent / 'user'}", page.as_uri() + link]
    return subprocess.run(call, capture_output=True, text=True, check=True, timeout=120).stdout


@needs_chromium
def test_a_browser_opens_on_the_finished_text_and_the_choice_that_led_to_it(tmp_path: Path) -> None:
    page = tmp_path / "t.html"
    trace = traced("info-gain", schedule=2, gamma=1.0)
    page.write_text(view.page([("t", trace)], ONE_WAY.alphabet.__getitem__), encoding="utf-8")
    moves = tell(trace, "t").best(0).moves
    for link, done, said, (row, _) in (
        ("", 14, "Step 7 (chose among|had one)", moves[-1]),
        ("#step=1", 2, "Step 2 chooses among", moves[1]),
    ):
        shown = opened(page, link)
        assert f"{done}/14 written" in shown
        assert re.search(said, shown)
        assert shown.count('<tr class="taken"') == 1
        assert len(re.findall(r'<tr class="(?:taken)?" tabindex', shown)) == len(row.candidates)


@needs_chromium
def test_a_column_that_is_written_twice_shows_what_stood_there_in_each_frame(tmp_path: Path) -> None:
    mask, page = 2, tmp_path / "t.html"
    writes = [([0], [0]), ([0, 1], [mask, 1]), ([0], [1])]  # a; its erasure, and b; b in the first column too
    masked = [[0, 1], [1], [0]]
    rows = [
        Row(0, 0, 0, columns, [0.5] * len(columns), [Candidate(*write, 0.0, 1.0 + at, True)])
        for at, (columns, write) in enumerate(zip(masked, writes, strict=True))
    ]
    recipe = {"sampler": {"name": "own"}, "schedule": {"name": "tokens", "k": 1}}
    trace = Trace(recipe, mask, [[mask, mask]], steps=[TraceStep(at, [row]) for at, row in enumerate(rows)])
    page.write_text(view.page([("t", trace)], {0: "a", 1: "b"}.__getitem__), encoding="utf-8")
    for step, text, done in ((0, "··", 0), (1, "a·", 1), (2, "·b", 1), (3, "bb", 2)):
        shown = opened(page, f"#step={step}")
        assert f'aria-label="t: {text}"' in shown
        assert f"{done}/2 written" in shown


def test_the_command_writes_a_page_beside_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    path, page = tmp_path / "t.jsonl", tmp_path / "t.html"
    traced("info-gain", schedule=2).save(path)
    result = run("view", path, "--toy", "one-way")
    assert (result.exit_code, result.stdout) == (0, f"page → {page}\n")
    (data,) = embedded(page.read_text(encoding="utf-8"))["runs"]
    assert (data["title"], data["words"]["0"]) == ("t", "*")
    assert opened == []
    assert run("view", path, path, "--out", tmp_path / "two.html", "--open").exit_code == 0
    assert opened == [(tmp_path / "two.html").as_uri()]
    assert [r["title"] for r in embedded((tmp_path / "two.html").read_text())["runs"]] == [str(path)] * 2


def test_replay_shows_the_words_a_trace_carries(tmp_path: Path) -> None:
    trace = traced("ar", count=1, schedule=7)
    trace.words = {**dict(enumerate(ONE_WAY.alphabet)), 0: "\n"}
    trace.save(tmp_path / "t.jsonl")
    text = run("replay", tmp_path / "t.jsonl").stdout
    assert ONE_WAY.decode(trace.rows[0]).replace("*", "↵") in text


def test_what_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    traced("ar", count=1, schedule=7).save(good)
    bad.write_text("{}\n")

    def refused(*arguments: str | Path) -> str:
        result = run("view", *arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        return result.stderr

    assert f"{bad} is not" in refused(good, bad)
    assert "whose mask has the id 2" in refused(good, "--toy", "parity")
    assert "needs a folder that exists" in refused(good, "--out", tmp_path / "no" / "t.html")
    assert "must not replace a trace" in refused(good, "--out", good)
    row = Row(0, 0, 0, [0], [0.1], [Candidate([99], [1], 0.0, 0.1, True)])
    trace = Trace.load(good)
    Trace(trace.recipe, trace.mask_id, trace.canvas, steps=[TraceStep(0, [row])]).save(bad)
    assert "step 0 of bad does not" in refused(good, bad)
    assert not (tmp_path / "good.html").exists()
