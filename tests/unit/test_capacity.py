"""What cannot fit into memory is refused before anything is asked for, with a number that can."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

import infogain
from infogain import InputError, capacity
from infogain.capacity import check_fits, free_bytes
from infogain.options import MOST, Plain
from infogain.samplers import make
from tests.e2e.test_cli import ok, refused, run


def test_what_is_free_is_known_here() -> None:
    free = free_bytes(torch.device("cpu"))
    assert free is None or 2**20 < free < 2**50


def test_a_count_fits_exactly_as_long_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "free_bytes", lambda device: 4 * 2**30)
    check_fits("it", 4, 2**30, 2**31)
    with pytest.raises(InputError, match=r"it must fit into memory: 5 take at least 5 GiB, and 4.0 are free. About 2 "):
        check_fits("it", 5, 2**30, 2**31)
    monkeypatch.setattr(capacity, "free_bytes", lambda device: None)
    check_fits("it", 10**12, 2**30, 2**31)  # nobody knows


def test_a_container_has_the_memory_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    class File:
        def __init__(self, text: str) -> None:
            self.text = text

        def exists(self) -> bool:
            return True

        def read_text(self) -> str:
            return self.text

    monkeypatch.setattr(capacity, "MEMINFO", File("MemTotal: 99 kB\nMemAvailable: 64 kB\n"))
    for limit, free in (("max\n", 65536), ("4096\n", 4096), ("999999\n", 65536)):
        monkeypatch.setattr(capacity, "LIMIT", File(limit))
        assert free_bytes(torch.device("cpu")) == free


MANY = [(name, {"n": MOST}) for name in ("info-gain", "lookum", "best-of-n")]


@pytest.mark.parametrize(("name", "options"), [*MANY, ("best-of-n", {"n": 2, "base": make("info-gain", n=MOST)})])
def test_more_candidates_than_fit_are_refused_before_any_work(name: str, options: Plain) -> None:
    """2³¹ − 1 of them, the most that an option takes, are terabytes in 14 columns of 100 rows."""
    toy = infogain.models.one_way()
    with pytest.raises(InputError, match=r"n, candidates or copies of 100 prompts in flight, must fit into memory"):
        infogain.decode(toy.model, toy.canvas(100), name, **options)


@pytest.mark.parametrize(
    "command",
    [
        ["toy", "one-way", "--count", 10**9],
        ["toy", "one-way", "--count", 10**30],
        ["toy", "one-way", "--n", MOST, "--count", 100],
        ["toy", "one-way", "--n", 10**11],
        ["toy", "one-way", "--n", 10**30],
        ["toy", "one-way", "--sampler", "best-of-n", "--n", 10**11],
        ["toy", "one-way", "--sampler", "info-gain-beam", "--width", 10**11],
        ["toy", "one-way", "--sampler", "info-gain-beam", "--width", MOST],
        ["generate", "C24,13,6=31:", "--length", 4, "--n", 10**11, "-m", "zoo:tiny-reason"],
        ["demo", "--count", 10**9],
        ["study", "oneway", "--workers", 10**9],
        ["eval", "zoo:countdown", "--limit", 1, "--seeds", 10**9, "-m", "zoo:tiny-reason"],
    ],
)
def test_the_command_line_says_how_many_fit(
    command: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = refused(*command)
    assert "must fit into memory" in said
    fits = re.search(r"About ([\d,]+) fit", said)
    assert fits is not None
    assert int(fits[1].replace(",", "")) >= 1


@pytest.mark.parametrize("flags", [("--top-k",), ("--sampler", "pc", "--top-k"), ("--base", "ar", "--base.top-k")])
def test_no_more_tokens_can_be_drawn_among_than_there_are(flags: tuple[str, ...]) -> None:
    size = infogain.models.parity().model.vocab_size
    sampler = ("--sampler", "best-of-n") if "--base" in flags else ()
    ok("toy", "parity", "--quiet", *sampler, *flags, size)
    for many in (size + 1, 10**11):
        said = refused("toy", "parity", *sampler, *flags, many)
        assert f"top_k must be at most the vocabulary of {size}; got {many}" in said


@pytest.mark.parametrize(
    "error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("[…] can't allocate memory: 9")]
)
def test_memory_that_runs_out_after_all_is_one_clear_line(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("infogain.cli.toy._decode", fails)
    said = refused("toy", "parity")
    assert "memory ran out" in said
    assert "--batch-size" in said
    monkeypatch.undo()
    ok("toy", "parity", "--quiet")


def test_other_errors_of_torch_are_not_dressed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr("infogain.cli.toy._decode", fails)
    assert isinstance(run("toy", "parity").exception, RuntimeError)


def test_one_prompt_is_spoken_of_as_one() -> None:
    toy = infogain.models.parity()
    with pytest.raises(InputError, match="of 1 prompt in flight"):
        infogain.decode(toy.model, toy.canvas(1), "info-gain", n=10**11)
