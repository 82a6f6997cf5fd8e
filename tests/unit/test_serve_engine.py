"""The engine: requests from many threads come out as `infogain.generate` writes them, whatever else goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any

import pytest
import torch

import infogain
from infogain import Canvas, InputError, NumericsError, TextModel
from infogain.errors import DeadlinePassed, Draining, QueueFull, RequestCancelled
from infogain.models import Wrapper
from infogain.samplers import make
from infogain.serve import Engine
from infogain.serve.asked import Committed, Ended, Event, Revealed, RowDone
from infogain.serve.fair_queue import FairQueue
from infogain.serve.watched import held_back
from tests.ailing import Ailing, Fault, Faulty, unruly
from tests.laws.test_backbone import model_of
from tests.served import LETTERS, alone, letter_model, text_of, text_request

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("entropy", {"k": 2, "tau_token": 0.8}),
    ("info-gain", {"n": 3, "k": 2, "block": 4}),
    ("best-of-n", {"n": 2, "base": "confidence"}),
    ("eb", {"bound": 1.0, "block": 8}),
    ("info-gain-beam", {"width": 2, "block": 4}),
    ("uniform", {"tau_token": 1.0, "order": "random", "block": 4}),
]
MARK = "b"  # the first letter of rows that fall ill


@pytest.fixture(scope="module")
def model() -> TextModel:
    return letter_model()


@pytest.fixture
def engine(model: TextModel) -> Iterator[Engine]:
    engine = Engine(model, max_in_flight=4, max_waiting=60)
    yield engine
    engine.close()


class Held:
    """Holds an engine between two steps, so that a test can hand in requests before any begins."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.free, self.here = engine, threading.Event(), threading.Event()

    def __enter__(self) -> None:
        def wait() -> None:
            self.here.set()
            self.free.wait(30)

        self.engine.call(wait)
        assert self.here.wait(30)

    def __exit__(self, *_: object) -> None:
        self.free.set()


def kinds(events: Sequence[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


# what comes out


@pytest.mark.parametrize("family", ["llada", "dream", "sdar"])
def test_concurrent_requests_come_out_as_generate_writes_them(family: str) -> None:
    """Mixed samplers, lengths and seeds, from four threads at a time, watched and not."""
    cache = None if family == "sdar" else "none"
    model = letter_model(model_of(family, cache))
    causal = model.denoiser.attention_block
    engine = Engine(model, max_in_flight=5)
    cases = []
    for i in range(24):
        sampler, options = SETTINGS[i % len(SETTINGS)]
        options = {**options, "seed": i}
        if causal:
            options = {name: value for name, value in options.items() if name not in ("block", "order")}
        cases.append((LETTERS[i % 9 :][: 1 + i % 5], sampler, 5 + i % 11, options))

    def ask(case: tuple[str, str, int, dict[str, Any]]) -> Any:
        prompt, sampler, length, options = case
        asked = text_request(model, prompt, sampler, length=length, stream=length % 2 == 0, **options)
        ticket = engine.submit(asked)
        (answer,) = ticket.result(30)
        told = "".join(event.text for event in ticket.events(5) if isinstance(event, Committed))
        assert told == (answer.generation.text if asked.stream else "")
        return answer.generation

    with ThreadPoolExecutor(4) as threads:
        texts = list(threads.map(ask, cases))
    engine.close()
    for (prompt, sampler, length, options), text in zip(cases, texts, strict=True):
        expected = alone(model, prompt, sampler, length, **options)
        for field in fields(expected):
            if field.name != "cumulative_entropy":  # whose last digits may differ
                assert getattr(text, field.name) == getattr(expected, field.name), (sampler, field.name)
        assert text.cumulative_entropy == pytest.approx(expected.cumulative_entropy)


def test_the_answers_of_a_request_have_the_seeds_that_generate_gives_them(engine: Engine, model: TextModel) -> None:
    asked = text_request(model, ["ab"] * 6, "uniform", tau_token=1.0, seed=7)
    texts = [answer.generation for answer in engine.submit(asked).result(30)]
    expected = infogain.generate(model, ["ab"] * 6, "uniform", length=12, chat=False, tau_token=1.0, seed=7)
    assert [text.text for text in texts] == [text.text for text in expected]
    assert len({text.text for text in texts}) > 1


def test_equal_recipes_share_a_lane_and_lanes_without_rows_go(engine: Engine, model: TextModel) -> None:
    most: list[int] = []
    real = engine._rows.batch.step

    def step(*given: Any) -> Any:
        most.append(len(engine._rows.batch.lanes))
        return real(*given)

    engine._rows.batch.step = step  # type: ignore[method-assign, assignment]
    with Held(engine):
        alike = [engine.submit(text_request(model, "ab", stop=["q."], seed=i)) for i in range(4)]
    for ticket in alike:
        ticket.result(30)
    assert max(most) == 1
    with Held(engine):
        others = [engine.submit(text_request(model, "ab", k=1 + i)) for i in range(4)]
    for ticket in others:
        ticket.result(30)
    assert max(most) == 4
    assert not engine._rows.batch.lanes
    assert engine.drain(5)


def test_what_is_streamed_is_the_text_and_tells_every_step(engine: Engine, model: TextModel) -> None:
    asked = text_request(model, "abc", "ar", block=4, stream=True, reveals=True, length=12, eos_ids=[])
    events = list(engine.submit(asked).events(30))
    assert kinds(events)[-2:] == ["RowDone", "Ended"]
    done = next(event for event in events if isinstance(event, RowDone))
    text = done.answer.generation
    chunks = [event.text for event in events if isinstance(event, Committed)]
    assert "".join(chunks) == text.text
    assert len(chunks) == len(text.text), "one letter each, as ar writes them"
    steps = [event for event in events if isinstance(event, Revealed)]
    assert [column for event in steps for column in event.columns] == list(range(3, 15))
    assert [token for event in steps for token in event.tokens] == text.tokens
    assert [event.step for event in steps] == text.revealed
    assert sum(entropy for event in steps for entropy in event.entropy) == pytest.approx(text.cumulative_entropy)


def log_p_of_replayed_steps(model: TextModel, row: list[int], steps: Sequence[Revealed]) -> dict[int, float]:
    """log p of every token, by a forward over the canvas as it stood before the token's step."""
    found = {}
    for step in steps:
        _, logits = model.denoiser.prefill(Canvas.infill([row], model.denoiser.mask_id), [0], len(row))
        logits[..., model.denoiser.mask_id] = -torch.inf
        log_p = logits[0].log_softmax(-1)
        for column, token in zip(step.columns, step.tokens, strict=True):
            found[column] = float(log_p[column, token])
            row = [*row[:column], token, *row[column + 1 :]]
    return found


@pytest.mark.parametrize(("sampler", "options"), [("entropy", {"k": 2}), ("info-gain", {"n": 3}), ("threshold", {})])
def test_a_logprob_is_that_of_the_state_in_which_the_token_was_committed(
    engine: Engine, model: TextModel, sampler: str, options: dict[str, Any]
) -> None:
    asked = text_request(model, "ab", sampler, logprobs=2, reveals=True, tau_token=0.9, length=8, eos_ids=[], **options)
    ticket = engine.submit(asked)
    ((answer,), steps) = ticket.result(30), [e for e in ticket.events(5) if isinstance(e, Revealed)]
    expected = log_p_of_replayed_steps(model, asked.job.rows[0], steps)
    assert answer.logprobs is not None
    assert [one.token for one in answer.logprobs] == answer.generation.tokens
    assert [one.logprob for one in answer.logprobs] == pytest.approx([expected[column] for column in range(2, 10)])
    for one in answer.logprobs:
        assert len(one.top) == 2
        assert one.top[0][1] >= one.top[1][1] >= -30
        assert one.logprob <= one.top[0][1]


def test_stop_strings_are_held_back_until_it_is_clear_that_they_are_none(engine: Engine, model: TextModel) -> None:
    whole = alone(model, "abc", "ar", 14, eos_ids=[]).text
    stop = whole[6:9]
    asked = text_request(model, "abc", "ar", length=14, stream=True, stop=["zz", stop], eos_ids=[])
    ticket = engine.submit(asked)
    told = "".join(event.text for event in ticket.events(30) if isinstance(event, Committed))
    assert told == whole[: whole.index(stop)] == ticket.result()[0].generation.text
    assert ticket.result()[0].generation.finish == "stop"
    assert [held_back("xab", stops) for stops in (["ab", "xaby"], ["b"], ["q"], ["abc", "b."])] == [
        "",
        "xa",
        "xab",
        "x",
    ]


def test_what_several_hypotheses_cannot_tell_is_refused(model: TextModel) -> None:
    for sampler in ("best-of-n", "info-gain-beam"):
        for asked in ({"reveals": True}, {"logprobs": 0}):
            with pytest.raises(InputError, match="one hypothesis"):
                text_request(model, "ab", sampler, **asked)
    for wrong in ({"logprobs": 21}, {"seconds": 0}, {"seeds": [1, 2]}, {"stop": [""]}):
        with pytest.raises(InputError):
            text_request(model, "ab", **wrong)


# what fails, fails alone


def test_a_row_whose_logits_are_no_numbers_fails_alone(model: TextModel) -> None:
    ill = LETTERS.index(MARK)
    engine = Engine(letter_model(Ailing(model.denoiser, ill, lambda start, left: left == 3)))
    with Held(engine):
        tickets = [engine.submit(text_request(model, first + "cd", stream=True)) for first in ("a", MARK, "c")]
    with pytest.raises(NumericsError):
        tickets[1].result(30)
    last = list(tickets[1].events(5))[-1]
    assert isinstance(last, Ended)
    assert isinstance(last.error, NumericsError)
    for ticket, first in ((tickets[0], "a"), (tickets[2], "c")):
        assert ticket.result(30)[0].generation.text == alone(model, first + "cd").text
    assert (engine.counts.failed, engine.counts.answered) == (1, 2)
    engine.close()


class Refusing(Wrapper):
    """A model that raises whenever a row that begins with the mark is read."""

    def prefill(self, canvas: Canvas, *rest: Any) -> Any:
        if (canvas.tokens[:, 0] == LETTERS.index(MARK)).any():
            raise Fault("out of memory, say")
        return self.inner.prefill(canvas, *rest)


def test_an_error_of_the_model_fails_the_request_that_causes_it_and_no_other(model: TextModel) -> None:
    engine = Engine(letter_model(Refusing(model.denoiser)))
    with Held(engine):
        tickets = {
            first: engine.submit(text_request(model, first + "cd", seed=3, stream=True)) for first in ("a", MARK, "c")
        }
    with pytest.raises(Fault):
        tickets[MARK].result(30)
    for first in ("a", "c"):
        assert tickets[first].result(30)[0].generation.text == alone(model, first + "cd", seed=3).text
        told = [event.text for event in tickets[first].events(5) if isinstance(event, Committed)]
        assert "".join(told) == tickets[first].result()[0].generation.text, "nothing is told twice"
    engine.close()


def test_an_error_of_the_model_that_goes_away_fails_nobody(model: TextModel) -> None:
    engine = Engine(letter_model(Faulty(model.denoiser, at=[4])))
    with Held(engine):
        tickets = [
            engine.submit(text_request(model, "abcd"[i:], block=4, eos_ids=[], stream=True, reveals=True))
            for i in range(3)
        ]
    for i, ticket in enumerate(tickets):
        text = ticket.result(30)[0].generation
        assert text.text == alone(model, "abcd"[i:], block=4, eos_ids=[]).text
        events = list(ticket.events(5))
        assert "".join(event.text for event in events if isinstance(event, Committed)) == text.text
        steps = [event.step for event in events if isinstance(event, Revealed)]
        assert steps == list(range(len(steps))), "no step is told twice"
    engine.close()


def test_a_sampler_that_raises_for_one_row_spares_its_lane(model: TextModel) -> None:
    def spoil(z: Any, a: Any) -> Any:
        if (z.start == 1).any():
            raise Fault("not after one letter")
        return a

    sampler = unruly(make("ar"), propose=spoil)
    asked = [text_request(model, prompt, eos_ids=[]) for prompt in ("ac", MARK, "dc")]
    engine = Engine(model)
    with Held(engine):
        tickets = [engine.submit(replace(one, recipe=replace(one.recipe, sampler=sampler))) for one in asked]
    with pytest.raises(Fault):
        tickets[1].result(30)
    texts = [tickets[i].result(30)[0].generation.text for i in (0, 2)]
    assert texts == [alone(model, prompt, "ar", eos_ids=[]).text for prompt in ("ac", "dc")]
    engine.close()


# coming and going


def test_the_queue_has_a_limit_and_says_when_to_come_again(model: TextModel) -> None:
    engine = Engine(model, max_in_flight=2, max_waiting=2)
    with Held(engine):
        tickets = [engine.submit(text_request(model, ["ab", "ac"])) for _ in range(2)]
        with pytest.raises(QueueFull) as full:
            engine.submit(text_request(model, "ab"))
        assert full.value.retry_after >= 1
        assert engine.waiting == 4
    for ticket in tickets:
        ticket.result(30)
    assert text_of(engine, text_request(model, "ab")) == alone(model, "ab").text
    with pytest.raises(InputError, match="1 to 4 texts"):
        engine.submit(text_request(model, ["ab"] * 5))
    assert engine.counts.turned_away == 1
    engine.close()


def test_clients_take_turns() -> None:
    waiting: FairQueue[str] = FairQueue()
    waiting.put("greedy", [f"g{i}" for i in range(4)])
    waiting.put("modest", ["m0"])
    waiting.put("third", ["t0", "t1"])
    waiting.drop("t0".__eq__)
    assert len(waiting) == 6
    assert [waiting.take() for _ in range(6)] == ["g0", "m0", "t1", "g1", "g2", "g3"]
    assert len(waiting) == 0


def test_a_client_with_many_rows_does_not_hold_up_another(model: TextModel) -> None:
    order: list[str] = []
    engine = Engine(model, max_in_flight=1)
    with Held(engine):
        for client, rows in (("greedy", 5), ("modest", 1)):
            asked = text_request(model, ["ab"] * rows, length=2, client=client)
            engine.submit(asked, lambda event, client=client: order.append(client))  # type: ignore[misc]
    assert engine.drain(30)
    assert order.index("modest") == 1, "after the greedy one's first row"
    engine.close()


def test_a_request_whose_time_is_over_ends_and_its_place_is_free(model: TextModel) -> None:
    engine = Engine(model, max_in_flight=1)
    with Held(engine):
        late = engine.submit(text_request(model, ["ab"] * 3, seconds=0.01))
        other = engine.submit(text_request(model, "ac"))
        time.sleep(0.03)
    with pytest.raises(DeadlinePassed, match=r"0\.01 s"):
        late.result(30)
    assert other.result(30)[0].generation.text == alone(model, "ac").text
    assert engine.counts.late == 1
    engine.close()


def test_cancelling_frees_the_rows_at_the_next_step(model: TextModel) -> None:
    engine = Engine(model, max_in_flight=2)
    seen = threading.Event()
    ticket = engine.submit(text_request(model, ["ab", "ac"], "ar", length=60, stream=True), lambda event: seen.set())
    assert seen.wait(30)
    with Held(engine):
        steps = engine.counts.steps
        engine.cancel(ticket)
        other = engine.submit(text_request(model, "ad"))
    with pytest.raises(RequestCancelled):
        ticket.result(30)
    assert other.result(30)[0].generation.text == alone(model, "ad").text
    assert engine.counts.steps - steps < 20
    engine.cancel(ticket)  # again: no harm
    engine.cancel(other)
    assert engine.drain(5)
    assert other.result()[0].generation.text
    assert engine.counts.cancelled == 1
    engine.close()


def test_a_listener_that_raises_loses_its_request_and_no_other(engine: Engine, model: TextModel) -> None:
    def broken(event: Event) -> None:
        raise Fault("nobody there")

    with Held(engine):
        gone = engine.submit(text_request(model, "ab", "ar", length=40, stream=True), broken)
        other = engine.submit(text_request(model, "ac"))
    with pytest.raises(RequestCancelled):
        gone.result(30)
    assert other.result(30)[0].generation.text == alone(model, "ac").text


def test_draining_answers_what_was_taken_and_takes_no_more(model: TextModel) -> None:
    engine = Engine(model, max_in_flight=2)
    with Held(engine):
        tickets = [engine.submit(text_request(model, "ab", seed=i)) for i in range(5)]
        assert engine.drain(0.01) is False
        with pytest.raises(Draining):
            engine.submit(text_request(model, "ab"))
    assert engine.drain(30)
    assert all(ticket.future.done() and not ticket.future.exception() for ticket in tickets)
    engine.close()


def test_closing_cancels_what_is_not_answered(model: TextModel) -> None:
    engine = Engine(model)
    hold = Held(engine)
    with hold:
        ticket = engine.submit(text_request(model, "ab", length=50))
        closing = threading.Thread(target=engine.close)
        closing.start()
        while not engine._closed:
            time.sleep(0.001)
    closing.join(30)
    with pytest.raises(RequestCancelled):
        ticket.result(30)
    with pytest.raises(Draining):
        engine.call(lambda: None)


def test_with_nothing_to_do_the_engine_sleeps(engine: Engine, model: TextModel) -> None:
    text_of(engine, text_request(model, "ab"))
    clock = time.clock_gettime(time.pthread_getcpuclockid(engine._thread.ident or 0))
    time.sleep(0.2)
    assert time.clock_gettime(time.pthread_getcpuclockid(engine._thread.ident or 0)) - clock < 0.02


def test_what_the_model_cannot_decode_is_refused_before_it_waits(engine: Engine, model: TextModel) -> None:
    with pytest.raises(InputError, match="guidance"):
        engine.submit(text_request(model, "ab", guidance=1.0))
    causal = letter_model(model_of("sdar", None))
    strict = Engine(causal)
    with pytest.raises(InputError, match="one block width, 4"):
        strict.submit(text_request(causal, "ab", block=8))
    strict.close()
    assert engine.counts.requests == 0
    for wrong in ({"max_in_flight": 0}, {"max_waiting": 1.5}):
        with pytest.raises(InputError, match="at least 1"):
            Engine(model, **wrong)


def test_a_mistake_in_the_engine_itself_leaves_nobody_waiting(
    model: TextModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    engine = Engine(model)
    monkeypatch.setattr(engine, "_admit", lambda: 1 / 0)
    ticket = engine.submit(text_request(model, "ab"))
    with pytest.raises(ZeroDivisionError):
        ticket.result(30)
    assert isinstance(engine.failure, ZeroDivisionError)
    with pytest.raises(RuntimeError, match="ended because of an error of its own"):
        engine.submit(text_request(model, "ab"))
