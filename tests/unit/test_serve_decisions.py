"""Decisions are exact: held to a model that knows every probability, and to what decoding from left to right says."""

from __future__ import annotations

import asyncio
import itertools
import math
import threading
import time
from typing import Any

import httpx
import pytest
import torch

from infogain import Recipe, TextModel
from infogain.generate import settle
from infogain.models import Tabular, random_joint
from infogain.serve import Engine, TextRequest
from infogain.serve.bodies import DecisionBody
from infogain.serve.decision_paths import decide, decision_of
from infogain.serve.decisions import Decision
from infogain.serve.served_model import ServedModel, ServerLimits
from infogain.text.alphabet import Alphabet
from infogain.text.prompts import infills
from tests.laws.test_backbone import model_of
from tests.served import letter_model
from tests.unit.test_serve_app import post, serving
from tests.unit.test_serve_engine import Held

JOINT = random_joint(6, 4, seed=3)  # all texts of six letters a, b, c, ~; the mask is 4
EXACT = TextModel(JOINT, Alphabet("abc~_"), "exact")
DIGITS = TextModel(model_of("llada", "none"), Alphabet("0123456789.yesnoabcpqx~_"), "digits")
NEVER_AB = TextModel(
    Tabular(torch.tensor([[0, 0], [1, 0], [1, 1]]), torch.tensor([1, 2, 3]), mask_id=2), Alphabet("ab_~"), "never"
)
SLOTS = {
    "x": {"type": "choice", "answers": ["aa", "ab", "cb"]},
    "y": {"type": "choice", "answers": ["bc", "ba"]},
}
TEMPLATE = "a{x}c{y}"


def decided(model: TextModel, template: str, slots: dict[str, Any], **limits: Any) -> dict[str, Any]:
    engine = Engine(model, max_in_flight=3)
    served = ServedModel("it", model, engine, Recipe(), ServerLimits(**limits))
    body = DecisionBody(model="it", template=template, slots=slots)
    try:
        return asyncio.run(decide(served, decision_of(served, body)))
    finally:
        engine.close()


def exact(text: str) -> float:
    """The probability that the slots hold what this text has there, given what stands around them."""
    ids = EXACT.tokenizer.encode(text)
    sequences, weights = JOINT.sequences, JOINT.weights.double()
    given = (sequences[:, 0] == ids[0]) & (sequences[:, 3] == ids[3])
    whole = given & (sequences == sequences.new_tensor(ids)).all(1)
    return float(weights[whole].sum() / weights[given].sum())


def test_probabilities_are_those_of_the_joint() -> None:
    told = decided(EXACT, TEMPLATE, SLOTS)
    expected = {(x, y): exact(f"a{x}c{y}") for x in SLOTS["x"]["answers"] for y in SLOTS["y"]["answers"]}
    found = {tuple(each["answers"].values()): each for each in told["joint"]}
    assert found.keys() == expected.keys()
    for answers, p in expected.items():
        assert math.exp(found[answers]["logprob"]) == pytest.approx(p)
        assert found[answers]["probability"] == pytest.approx(p / sum(expected.values()))
    for i, slot in enumerate(("x", "y")):
        for answer, p in told["slots"][slot]["probabilities"].items():
            own = sum(q for answers, q in expected.items() if answers[i] == answer)
            assert p == pytest.approx(own / sum(expected.values()))
        best = max(told["slots"][slot]["probabilities"].items(), key=lambda one: one[1])
        assert told["slots"][slot]["answer"] == best[0]


def test_each_distinct_prefix_is_evaluated_once() -> None:
    told = decided(EXACT, TEMPLATE, SLOTS)
    x, y = SLOTS["x"]["answers"], SLOTS["y"]["answers"]
    prefixes = {(a + b)[:n] for a, b in itertools.product(x, y) for n in range(4)}
    assert told["infogain"]["states"] == len(prefixes) == 1 + 2 + 3 + 3
    assert told["infogain"]["forwards"] == 4, "by the number of tokens written, three texts at a time"
    assert told["infogain"]["token_forwards"] == 6 * len(prefixes)


@pytest.mark.parametrize(
    ("family", "cache"), [("llada", "none"), ("llada", "dual"), ("dream", "prefix"), ("sdar", None)]
)
def test_an_answer_is_as_likely_as_decoding_it_from_left_to_right_says(family: str, cache: str | None) -> None:
    """Cached K/V are exact where they are computed for the block that is asked about."""
    model = letter_model(model_of(family, cache))
    engine = Engine(model)
    block = model.denoiser.attention_block or 1
    recipe = settle(Recipe("ar", block=block), model, stop_at_eos=False)  # type: ignore[arg-type]
    job = infills(model, ["abc[MASK:3] d[MASK:2]."])
    (answer,) = engine.submit(TextRequest(job, recipe, logprobs=0)).result(30)
    engine.close()
    text, logprobs = answer.generation.text, answer.logprobs
    assert logprobs is not None
    (first, second) = ("".join(model.tokenizer.word(t) for t in answer.generation.tokens[i : i + 3]) for i in (0, 3))
    slots = {"one": {"type": "choice", "answers": [first, "aaa"]}, "two": {"type": "choice", "answers": [second]}}
    told = decided(model, "abc{one} d{two}.", slots)
    assert told["joint"][0]["logprob"] == pytest.approx(sum(one.logprob for one in logprobs)), text
    assert told["joint"][0]["answers"] == {"one": first, "two": second}


def test_answers_of_other_lengths_stand_on_as_many_columns() -> None:
    model = letter_model()
    slots = {"x": {"type": "choice", "answers": ["a", "bc"]}}
    told = decided(model, "d{x}.", slots)
    alone = [decided(model, "d{x}.", {"x": {"type": "choice", "answers": [one]}}) for one in ("a", "bc")]
    assert [each["logprob"] for each in told["joint"]] == pytest.approx([one["joint"][0]["logprob"] for one in alone])
    assert told["infogain"]["states"] == 3


def test_scores_are_numbers_and_a_choice_that_cannot_be_has_no_answer() -> None:
    told = decided(DIGITS, "a{s}.{ok}", {"s": {"type": "score", "low": 1, "high": 5}, "ok": {"type": "yes_no"}})
    assert list(told["slots"]["s"]["probabilities"]) == ["1", "2", "3", "4", "5"]
    assert sum(told["slots"]["s"]["probabilities"].values()) == pytest.approx(1)
    assert list(told["slots"]["ok"]["probabilities"]) == ["yes", "no"]
    never = decided(NEVER_AB, "{x}", {"x": {"type": "choice", "answers": ["ab"]}})
    assert never["slots"]["x"] == {"answer": None, "probabilities": {"ab": 0.0}}
    assert never["joint"][0]["logprob"] == -9999.0


def test_work_that_would_never_end_is_refused() -> None:
    model = letter_model()
    answers = ["a" * 150 + letter for letter in "abcdefghij"]
    with pytest.raises(ValueError, match="times tokens of answers"):
        decided(model, "b" * 5000 + "{x}", {"x": {"type": "choice", "answers": answers}}, columns=10_000)
    with pytest.raises(ValueError, match="1 to 5 combinations"):
        Decision.of(model, "{x}", {"x": list("abcdef")}, 5)


def test_decisions_over_http_go_on_while_the_server_drains() -> None:
    with serving(EXACT) as server:
        body = {"model": "exact", "template": TEMPLATE, "slots": SLOTS}
        expected = post(server, "/v1/decisions", body).json()
        replies: list[httpx.Response] = []
        engine = server[1]["exact"]
        with Held(engine):
            asking = threading.Thread(target=lambda: replies.append(post(server, "/v1/decisions", body)))
            asking.start()
            while not engine._calls:
                time.sleep(0.005)
            assert engine.drain(0.01) is False
        assert engine.drain(10)
        asking.join(10)
        assert replies[0].json() == expected
        assert post(server, "/v1/decisions", body).status_code == 503
