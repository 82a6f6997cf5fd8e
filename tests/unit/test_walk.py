"""The walk through the code is true: docs/walk.md names the modules that real calls cross, and the forms of a row."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

import infogain
from infogain import Lane, StepEvent, TextModel
from infogain.algorithm import reference
from infogain.generate import settle
from infogain.loop.batch import Batch
from infogain.resolve import as_recipe
from infogain.text.prompts import completions

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "walk.md").read_text(encoding="utf-8")
SOURCE = f"{Path(infogain.__file__).parent}/"
NETWORK = "models/"
CALLS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
MOST_MODULES, MOST_FORMS = 12, 10
VERBS = {  # where each verb of the page begins
    ("loop/batch", "open_blocks"): "open_blocks",
    ("loop/batch", "_propose"): "propose",
    ("loop/step", "read_back"): "read_back",
    ("loop/batch", "_settle"): "settle",
    ("loop/batch", "evaluate"): "evaluate",
    ("loop/step", "score"): "score",
    ("loop/step", "survivors"): "survivors",
    ("loop/batch", "_transition"): "transition",
}
PROMPTS, LENGTHS = ["C38,11,72=99:", "S1", "J38*8+96*9+52*4=1376?"], [10, 8, 12]


@dataclass
class Walk:
    """The modules whose functions are called, in order, and by verb; what the network calls is left out."""

    crossed: dict[str, list[str]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    verbs: list[str] = field(default_factory=lambda: ["step"])
    depth: int = 0  # of calls inside the network

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(SOURCE):
            return
        module = code.co_filename.removeprefix(SOURCE).removesuffix(".py")
        if module.startswith(NETWORK):
            self.depth += 1 if event == "call" else -1
        elif not self.depth:
            self._cross(module, VERBS.get((module, code.co_name)), event == "call")

    def _cross(self, module: str, verb: str | None, enters: bool) -> None:
        if verb and not enters:
            self.verbs.pop()
        elif enters:
            self.verbs += [verb] if verb else []
            for found in (self.order, self.crossed.setdefault(self.verbs[-1], [])):
                found += [] if module in found else [module]

    @property
    def modules(self) -> set[str]:
        return {module for found in self.crossed.values() for module in found}


@contextmanager
def walking(walk: Walk) -> Iterator[None]:
    before = sys.getprofile()
    sys.setprofile(walk)
    try:
        yield
    finally:
        sys.setprofile(before)


@cache
def model() -> TextModel:
    return infogain.load("zoo:tiny-reason", device="cpu")


def steps(
    prompts: Sequence[str] = PROMPTS, lengths: Sequence[int] = LENGTHS, trace: bool = False, sampler: str = "info-gain"
) -> Iterator[tuple[StepEvent, Walk]]:
    """A walk through each step of a decode.

    Small tensors that are made once and then looked up do not count: the decode is done once before.
    """
    for walked in (False, True):
        batch = Batch(model().denoiser, trace=trace)
        canvas = infogain.Canvas.infill(completions(model(), prompts, lengths).rows, model().denoiser.mask_id)
        batch.open(Lane(canvas, settle(as_recipe(sampler), model())))
        while batch.live:
            walk = Walk()
            with walking(walk):
                (event,) = batch.step()
            if walked:
                yield event, walk


def is_middle(event: StepEvent, rows: int) -> bool:
    """No block opens, none ends, and no row waits between two blocks."""
    return len(event.z.left) == rows and bool((event.z.step > 0).all()) and bool((event.z.left > 1).all())


def middle(rows: int, **options: Any) -> Walk:
    """All middle steps of a decode as one."""
    walks = [walk for event, walk in steps(**options) if is_middle(event, rows)]
    assert len(walks) > 3
    crossed: dict[str, list[str]] = {}
    for walk in walks:
        for verb, modules in walk.crossed.items():
            found = crossed.setdefault(verb, [])
            found += [module for module in modules if module not in found]
    return Walk(crossed)


def table(head: str) -> list[list[str]]:
    """The lines of the page's table whose first cell of the head is this."""
    (body,) = re.findall(rf"^\| {head} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE, flags=re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in body.splitlines()]


def named(cell: str) -> list[str]:
    """The modules that a cell links to."""
    return re.findall(r"\]\(\.\./src/infogain/([^)]+)\.py\)", cell)


def step_modules() -> set[str]:
    return {module for line in table("verb") for module in named(line[-1])}


def test_each_verb_of_a_middle_step_crosses_the_modules_that_the_page_names() -> None:
    crossed = middle(len(PROMPTS), trace=True).crossed
    assert set(crossed.pop("step")) <= step_modules()  # the frame around the verbs
    # uploads come when they are needed, so `device` stands last
    assert {verb: sorted(found, key="device".__eq__) for verb, found in crossed.items()} == {
        line[0].strip("`"): named(line[-1]) for line in table("verb")
    }


def test_a_middle_step_crosses_few_modules_with_and_without_a_trace() -> None:
    assert middle(len(PROMPTS)).modules == step_modules()
    assert len(step_modules()) <= MOST_MODULES


def test_steps_that_cross_more_cross_what_the_page_says() -> None:
    found = {
        "many rows draw": middle(7, prompts=PROMPTS * 2 + PROMPTS[:1], lengths=[10] * 7).modules,
        "a beam is kept": middle(4, prompts=["C50,55,77,30=52:"], lengths=[32], sampler="info-gain-beam").modules,
        "a block opens": set(),
        "a block ends": set(),
    }
    for event, walk in steps(PROMPTS[:1], [21]):  # two blocks
        opens, ends = int(event.z.step) == 0, int(event.z.left) == 1
        found["a block opens"] |= walk.modules if opens else set()
        found["a block ends"] |= walk.modules if ends else set()
        assert opens or ends or walk.modules <= step_modules()
    more = {line[0]: set(named(line[-1])) for line in table("where")}
    assert {where: modules - step_modules() for where, modules in found.items()} == more


def test_generate_crosses_the_modules_that_the_page_names() -> None:
    walk, loaded = Walk(), model()
    with walking(walk):
        infogain.generate(loaded, PROMPTS[0], "info-gain", length=21)
    assert walk.order == [module for line in table("module") for module in named(line[0])]


def test_the_example_is_what_happens(capsys: pytest.CaptureFixture[str]) -> None:
    call = CALLS[0]
    exec(call, {})
    said, printed = re.search(r"text\) +# (.+)", call), capsys.readouterr().out.strip()
    assert said is not None
    assert said[1] == printed == "38-11=27,72+27=99"
    (text,) = infogain.generate(model(), PROMPTS[0], "info-gain", length=21, trace=True)
    assert (text.forwards, text.finish) == (21, "eos")
    assert text.trace is not None
    (row,) = text.trace.steps[12].rows
    cost = dict(zip(row.columns, row.entropy, strict=True))
    found = [(*c.columns, *c.tokens, cost[c.columns[0]], c.score, c.kept) for c in row.candidates]
    lines = [[cell.strip("`").replace("−", "-") for cell in line] for line in table("column")]
    told = [(int(c), *model().tokenizer.encode(t), float(h), float(j), kept == "yes") for c, t, h, j, kept in lines]
    assert [line[:2] + line[4:] for line in found] == [line[:2] + line[4:] for line in told]
    assert torch.allclose(torch.tensor(found), torch.tensor(told), rtol=0, atol=0.01)


def test_the_loop_runs_in_a_process_of_your_own(capsys: pytest.CaptureFixture[str]) -> None:
    _, own = CALLS
    exec(own, {})
    lines = capsys.readouterr().out.splitlines()
    said = re.search(r"left.error\) +# (.+)", own)
    assert said is not None
    assert said[1] in lines
    assert len([line for line in lines if line.endswith(" None")]) == 2
    assert "S1_" in lines[0], "a snapshot shows masks"


def test_the_forms_of_a_row_are_where_the_page_says() -> None:
    forms = table("form")
    assert 1 <= len(forms) <= MOST_FORMS
    for line in forms:
        (name, module), *_ = re.findall(r"\[`(\w+)`\]\(\.\./src/infogain/([^)]+)\.py\)", line[0])
        kind = getattr(importlib.import_module(f"infogain.{module.replace('/', '.')}"), name)
        assert isinstance(kind, type)
        assert kind.__module__ == f"infogain.{module.replace('/', '.')}"


def test_the_equations_are_where_the_page_says() -> None:
    plain = Path(reference.__file__).read_text(encoding="utf-8")
    for _, here, there in table("paper"):
        module = named(here)[0]
        code = importlib.import_module(f"infogain.{module.replace('/', '.')}")
        first, *rest = re.findall(r"`([\w.]+)`", here)[0].split(".")
        assert all(hasattr(getattr(code, first), name) for name in rest)
        assert all(name in plain for name in re.findall(r"`([^`]+)`", there))
