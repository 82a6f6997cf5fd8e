"""The app on a real port: the official client unmodified, honest streams, clear refusals, and no 500."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import openai
import pytest

import infogain
from infogain import InputError, TextModel
from infogain.recipe import Recipe
from infogain.serve import Engine
from infogain.serve.app import make_app
from infogain.serve.guards import BodyGuard, Message
from infogain.serve.run_server import PromptHeaders, find_token, is_loopback, listen, make_server, shown_address
from infogain.serve.served_model import ServedModel, ServerLimits
from tests.ailing import Ailing
from tests.laws.test_backbone import model_of
from tests.served import LETTERS, alone, letter_model
from tests.unit.test_serve_engine import Held

ROOT = Path(__file__).parents[2]
RECIPE = Recipe("entropy", seed=4)  # type: ignore[arg-type]  # Recipe parses names
LIMITS = ServerLimits(body_bytes=20_000, columns=120, max_tokens=100, texts=6, candidates=16, per_client=20, seconds=30)


@contextmanager
def serving(
    *models: TextModel, token: str | None = None, most: ServerLimits = LIMITS, **limits: int
) -> Iterator[tuple[str, dict[str, Engine]]]:
    """Models on a free port: the address, and their engines."""
    engines = {model.name or "": Engine(model, **limits) for model in models}
    served = {
        name: ServedModel(name, model, engines[name], RECIPE, most, 12)
        for name, model in zip(engines, models, strict=True)
    }
    server, bound = make_server(make_app(served, most, token), engines.values()), listen("127.0.0.1", 0)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([bound])))
    thread.start()
    try:
        yield f"http://{shown_address(bound)}", engines
    finally:
        server.should_exit = True
        thread.join(10)
        bound.close()
        for engine in engines.values():
            engine.close()


@pytest.fixture(scope="module")
def models() -> dict[str, TextModel]:
    causal = letter_model(model_of("sdar", None), "causal", chats=False)
    return {"letters": letter_model(), "causal": causal}


@pytest.fixture(scope="module")
def server(models: dict[str, TextModel]) -> Iterator[tuple[str, dict[str, Engine]]]:
    with serving(*models.values(), max_in_flight=6, max_waiting=64) as found:
        yield found


@pytest.fixture(scope="module")
def client(server: tuple[str, dict[str, Engine]]) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server[0]}/v1", api_key="none", max_retries=0) as client:
        yield client


def post(server: tuple[str, dict[str, Engine]], path: str, body: Any, **more: Any) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **more.pop("headers", {})}
    return httpx.post(f"{server[0]}{path}", content=content, headers=headers, timeout=30, verify=False, **more)


def extra(value: Any) -> dict[str, Any]:
    """What the client's values hold besides OpenAI's fields."""
    return cast("dict[str, Any]", value.model_extra["infogain"])


# texts


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["letters", "causal"]
    assert extra(client.models.retrieve("letters"))["recipe"]["sampler"]["name"] == "entropy"
    with pytest.raises(openai.NotFoundError, match="Did you mean 'letters'"):
        client.models.retrieve("leters")


def test_a_completion_is_what_generate_writes(client: openai.OpenAI, models: dict[str, TextModel]) -> None:
    reply = client.completions.create(
        model="letters",
        prompt=["abc", "de"],
        n=2,
        temperature=0.8,
        top_p=0.9,
        max_tokens=14,
        seed=11,
        extra_body={"infogain": {"sampler": "uniform", "k": 2, "block": 8, "reveal_steps": True}},
    )
    expected = infogain.generate(
        models["letters"],
        ["abc", "abc", "de", "de"],
        "uniform",
        chat=False,
        length=14,
        tau_token=0.8,
        top_p=0.9,
        seed=11,
        k=2,
        block=8,
    )
    assert [choice.text for choice in reply.choices] == [text.text for text in expected]
    assert [choice.index for choice in reply.choices] == [0, 1, 2, 3]
    for choice, text in zip(reply.choices, expected, strict=True):
        told = extra(choice)
        assert choice.finish_reason == {"eos": "stop", "length": "length"}[text.finish]
        assert told["cumulative_entropy"] == pytest.approx(text.cumulative_entropy)
        same = ("seed", "forwards", "token_forwards", "committed", "tokens")
        assert {name: told[name] for name in same} == {name: getattr(text, name) for name in same}
        assert told["reveal_steps"] == text.revealed
    assert reply.usage is not None
    written = sum(len(text.tokens) for text in expected)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (5, written)
    assert extra(reply)["forwards"] == sum(text.forwards for text in expected)
    assert extra(reply)["recipe"] == expected[0].recipe
    assert extra(reply)["provenance"] == models["letters"].provenance


def test_what_a_request_leaves_out_comes_from_the_servers_recipe(
    client: openai.OpenAI, models: dict[str, TextModel]
) -> None:
    reply = client.completions.create(model="causal", prompt="ab")
    assert reply.choices[0].text == alone(models["causal"], "ab", RECIPE).text
    assert extra(reply)["recipe"]["seed"] == 4
    assert extra(reply)["recipe"]["block"] == 4


def test_temperature_goes_down_into_best_of_n(client: openai.OpenAI, models: dict[str, TextModel]) -> None:
    asked = {"sampler": "best-of-n", "n": 3, "base": "confidence"}
    reply = client.completions.create(model="letters", prompt="ab", temperature=0.5, extra_body={"infogain": asked})
    base = {"name": "confidence", "tau_token": 0.5}
    sampler = {"name": "best-of-n", "n": 3, "base": base}
    assert reply.choices[0].text == alone(models["letters"], "ab", sampler, seed=4).text
    assert extra(reply)["recipe"]["sampler"]["base"]["tau_token"] == 0.5


def test_a_chat_is_what_generate_writes(client: openai.OpenAI, models: dict[str, TextModel]) -> None:
    messages = [{"role": "system", "content": "be"}, {"role": "user", "content": "abc"}]
    parts = [messages[0], {"role": "user", "content": [{"type": "text", "text": "ab"}, {"type": "text", "text": "c"}]}]
    (expected,) = infogain.generate(models["letters"], [messages], RECIPE, length=9)
    for said in (messages, parts):
        reply = client.chat.completions.create(
            model="letters",
            messages=cast("Any", said),
            max_completion_tokens=9,
            logprobs=True,
            top_logprobs=2,
        )
        assert reply.choices[0].message.content == expected.text
        assert reply.choices[0].logprobs is not None
        told = reply.choices[0].logprobs.content or []
        assert "".join(one.token for one in told) == expected.text
        assert all(len(one.top_logprobs) == 2 and one.logprob <= 0 and bytes(one.bytes or []) for one in told)
    assert reply.usage is not None
    assert reply.usage.prompt_tokens == len("be abc ")


def test_logprobs_of_a_completion(client: openai.OpenAI, models: dict[str, TextModel]) -> None:
    text = alone(models["letters"], "abc", RECIPE).text
    stop = text[4:6]
    reply = client.completions.create(model="letters", prompt="abc", logprobs=3, stop=stop)
    (choice,) = reply.choices
    assert choice.text == text[: text.index(stop)]
    assert choice.finish_reason == "stop"
    assert choice.logprobs is not None
    assert "".join(choice.logprobs.tokens or []) == choice.text, "as far as the text goes"
    assert choice.logprobs.text_offset == list(range(len(choice.text)))
    assert all(len(top) == 3 for top in choice.logprobs.top_logprobs or [])


@pytest.mark.parametrize(
    "options", [{}, {"sampler": "info-gain", "n": 2, "block": 4}, {"sampler": "info-gain-beam", "n": 4}]
)
def test_streams_hold_the_same_texts(client: openai.OpenAI, options: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"model": "letters", "n": 2, "stop": ["q"], "extra_body": {"infogain": options}}
    whole = client.completions.create(prompt="abc", **asked)
    texts, ends = ["", ""], {}
    chunks = list(client.completions.create(prompt="abc", stream=True, stream_options={"include_usage": True}, **asked))
    for chunk in chunks:
        for choice in chunk.choices:
            texts[choice.index] += choice.text
            if choice.finish_reason:
                ends[choice.index] = choice.finish_reason
    assert texts == [choice.text for choice in whole.choices]
    assert ends == {choice.index: choice.finish_reason for choice in whole.choices}
    assert chunks[-1].usage == whole.usage
    said: list[Any] = [{"role": "user", "content": "abc"}]
    answer = client.chat.completions.create(messages=said, **asked)
    texts = ["", ""]
    for part in client.chat.completions.create(messages=said, stream=True, **asked):
        for one in part.choices:
            texts[one.index] += one.delta.content or ""
    assert texts == [choice.message.content for choice in answer.choices]


def test_a_stream_can_be_watched_and_has_no_named_events(
    server: tuple[str, dict[str, Engine]], client: openai.OpenAI, models: dict[str, TextModel]
) -> None:
    asked = {"model": "letters", "messages": [{"role": "user", "content": "abc"}], "stream": True}
    shown = {**asked, "stream_options": {"include_denoising": True}}
    lines = post(server, "/v1/chat/completions", shown).text.splitlines()
    assert {line.partition(":")[0] for line in lines if line} == {"data"}
    assert lines[-2:] == ["data: [DONE]", ""]
    steps = [
        extra(chunk)
        for chunk in client.chat.completions.create(extra_body=shown, **cast("Any", asked))
        if chunk.model_extra and "infogain" in chunk.model_extra
    ]
    (expected,) = infogain.generate(models["letters"], [cast("Any", asked["messages"])], RECIPE, length=12)
    written: dict[int, tuple[int, int]] = {}
    for each in steps:
        written |= {
            column: (token, each["step"]) for column, token in zip(each["columns"], each["tokens"], strict=True)
        }
    first = len("abc ")
    assert [written[first + i] for i in range(len(expected.tokens))] == list(
        zip(expected.tokens, expected.revealed, strict=True)
    )
    assert all(each["words"] == [LETTERS[token] for token in each["tokens"]] for each in steps)
    assert all(min(each["entropy"]) >= 0 for each in steps)


def test_drafts_come_whole(client: openai.OpenAI, models: dict[str, TextModel]) -> None:
    expected = alone(models["letters"], "abc", RECIPE)
    parts = client.completions.create(**TEXT, stream=True, extra_body={"diffusing": True})
    drafts = [choice.text for part in parts for choice in part.choices if not choice.finish_reason]
    assert drafts[-1] == expected.text
    masks = [draft.count("▒") for draft in drafts]
    assert masks == sorted(masks, reverse=True)
    assert masks[0] > masks[-1] == 0
    for draft in drafts[:-1]:
        shown = zip(draft, expected.text, strict=False)
        assert all(letter in ("▒", final) for letter, final in shown), "what is written stays"


def test_infills_are_what_infill_writes(server: tuple[str, dict[str, Engine]], models: dict[str, TextModel]) -> None:
    texts = ["ab[MASK:3]cd[MASK]", "[MASK:2] q"]
    body = {"model": "letters", "text": texts, "temperature": 0.9, "seed": 2, "infogain": {"sampler": "margin"}}
    reply = post(server, "/v1/infill", body).json()
    expected = infogain.infill(models["letters"], texts, "margin", tau_token=0.9, seed=2)
    assert [choice["text"] for choice in reply["choices"]] == [text.text for text in expected]
    assert reply["usage"] == {"prompt_tokens": 6, "completion_tokens": 6, "total_tokens": 12}


def test_many_mixed_requests_at_once_come_out_as_each_alone(
    client: openai.OpenAI, models: dict[str, TextModel]
) -> None:
    samplers: list[dict[str, Any]] = [
        {"sampler": "entropy", "k": 2},
        {"sampler": "info-gain", "n": 3},
        {"sampler": "eb", "bound": 0.7},
        {"sampler": "best-of-n", "n": 2},
    ]

    def ask(i: int) -> bool:
        model, prompt = ("letters", "causal")[i % 2], LETTERS[i % 7 :][: 1 + i % 4]
        sampler = samplers[i % 4]
        asked: dict[str, Any] = {"model": model, "prompt": prompt, "max_tokens": 3 + i % 13, "seed": i}
        asked["extra_body"] = {"infogain": sampler}
        if i % 3:
            text = client.completions.create(**asked).choices[0].text
        else:
            parts = client.completions.create(stream=True, **asked)
            text = "".join(choice.text for part in parts for choice in part.choices)
        options = {name: value for name, value in sampler.items() if name != "sampler"}
        expected = alone(models[model], prompt, sampler["sampler"], 3 + i % 13, seed=i, **options)
        return bool(text == expected.text)

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(ask, range(48)))


# refusals

CHAT: dict[str, Any] = {"model": "letters", "messages": [{"role": "user", "content": "abc"}]}
TEXT: dict[str, Any] = {"model": "letters", "prompt": "abc"}
FILL: dict[str, Any] = {"model": "letters", "text": "a[MASK]"}
YES: dict[str, Any] = {"x": {"type": "choice", "answers": ["ab", "c"]}}
ASK: dict[str, Any] = {"model": "letters", "template": "a{x}d", "slots": YES}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({**TEXT, "temprature": 1}, "Did you mean 'temperature'"),
    ({**CHAT, "stream": True, "stream_options": {"include_denoise": True}}, "Did you mean 'include_denoising'"),
    ({**CHAT, "messages": [{"role": "user", "content": "a", "nam": "b"}]}, "unknown field 'nam'"),
    ({**TEXT, "infogain": {"samplr": "ar"}}, "Did you mean 'sampler'"),
    ({**TEXT, "infogain": {"sampler": "entropie"}}, "Did you mean 'entropy'"),
    ({**TEXT, "infogain": {"reveal_step": True}}, "Did you mean 'reveal_steps'"),
    ({**TEXT, "infogain": {"reveal_steps": 1}}, "true or false"),
    ({**TEXT, "infogain": {"seconds": -1}}, "above 0"),
    ({**TEXT, "infogain": {"sampler": "info-gain", "n": 1000}}, "at most 16"),
    ({**TEXT, "infogain": {"k": 0}}, "at least 1"),
    ({**TEXT, "infogain": {"guidance": 2.0}}, "guidance"),
    ({**TEXT, "model": "causal", "infogain": {"block": 8}}, "one block width, 4"),
    ({**TEXT, "model": None}, "must name its model"),
    ({**TEXT, "temperature": 1, "infogain": {"tau_token": 1.0}}, "got both"),
    ({**TEXT, "seed": 1, "infogain": {"seed": 1}}, "seed was given twice"),
    ({**TEXT, "temperature": "1"}, "temperature: "),
    ({**TEXT, "temperature": -1}, "temperature: "),
    ({**TEXT, "top_p": 0}, "top_p: "),
    ({**TEXT, "max_tokens": 101}, "at most 100"),
    ({**TEXT, "n": 10**6}, "at most 6"),
    ({**TEXT, "n": 10**400}, "n: "),
    ({**TEXT, "prompt": ["a"] * 7}, "at most 6"),
    ({**TEXT, "prompt": []}, "at least one prompt"),
    ({**TEXT, "prompt": "abc" * 40}, "at most 120"),
    ({**TEXT, "prompt": "ABC"}, "letters must be of"),
    ({**TEXT, "prompt": [1, 2]}, "prompt"),
    ({**TEXT, "prompt": "a_"}, "must not hold the mask token"),
    ({**TEXT, "stop": ["q"] * 17}, "at most 16"),
    ({**TEXT, "stop": [""]}, "at least one character"),
    ({**TEXT, "echo": True}, "echo is not supported"),
    ({**TEXT, "suffix": "q"}, "/v1/infill"),
    ({**TEXT, "frequency_penalty": 0.5}, "frequency_penalty is not supported"),
    ({**TEXT, "stream_options": {"include_usage": True}}, "needs stream: true"),
    ({**TEXT, "diffusing": True}, "diffusing needs stream"),
    ({**TEXT, "diffusing": True, "stream": True, "infogain": {"sampler": "best-of-n", "n": 2}}, "one hypothesis of"),
    ({**TEXT, "logprobs": 1, "infogain": {"sampler": "info-gain-beam", "n": 2}}, "one hypothesis"),
    ({**CHAT, "top_logprobs": 1}, "needs logprobs"),
    ({**CHAT, "max_tokens": 1, "max_completion_tokens": 1}, "Drop one of them"),
    ({**CHAT, "tools": [{}]}, "tools is not supported"),
    ({**CHAT, "model": "causal"}, "Use /v1/completions"),
    ({**CHAT, "messages": []}, "messages: "),
    ({**FILL, "text": "abc"}, "needs a [MASK]"),
    ({**FILL, "text": "[MASK:999999999]"}, "at most 100"),
    ({**FILL, "infogain": {"eos_ids": [1]}}, "Drop it"),
    ({**FILL, "stream": True}, "unknown field 'stream'"),
    ({**ASK, "slot": {}}, "Did you mean 'slots'"),
    ({**ASK, "template": "a{y}d"}, "unknown slot 'y'"),
    ({**ASK, "template": "ad"}, "each slot once"),
    ({**ASK, "template": "a{x}{x}"}, "each slot once"),
    ({**ASK, "template": "a_{x}"}, "mask token"),
    ({**ASK, "template": "a" * 119 + "{x}"}, "at most 120"),
    ({**ASK, "slots": {}}, "slots: "),
    ({**ASK, "slots": {"x": {"type": "choice", "answer": ["a"]}}}, "Did you mean 'answers'"),
    ({**ASK, "slots": {"x": {"type": "choice", "answers": ["a", "a"]}}}, "answers that differ"),
    ({**ASK, "slots": {"x": {"type": "choice", "answers": ["", "a"]}}}, "at least one token"),
    ({**ASK, "slots": {"x": {"type": "choice", "answers": [10 * "a"] * 300}}}, "answers that differ"),
    ({**ASK, "slots": {"x": {"type": "yes_no", "answers": ["a"]}}}, "belong to a choice"),
    ({**ASK, "slots": {"x": {"type": "choice", "answers": ["a"], "low": 1}}}, "belong to a score"),
    ({**ASK, "slots": {"x": {"type": "score", "low": 1, "high": 10**6}}}, "2 to 256"),
    ({**ASK, "slots": {"x": {"type": "yes_no"}}}, "letters must be of"),
]


@pytest.mark.parametrize(("body", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_cannot_be_honoured_is_refused_with_a_reason(
    server: tuple[str, dict[str, Engine]], body: dict[str, Any], said: str
) -> None:
    paths = {"messages": "chat/completions", "text": "infill", "template": "decisions", "prompt": "completions"}
    path = next(paths[field] for field in paths if field in body)
    reply = post(server, f"/v1/{path}", body)
    assert reply.status_code == 400, reply.text
    assert said in reply.json()["error"]["message"]


def test_what_changes_nothing_is_taken(client: openai.OpenAI) -> None:
    plain = client.completions.create(**TEXT)
    same = client.completions.create(
        **TEXT,
        frequency_penalty=0,
        presence_penalty=0,
        logit_bias={},
        echo=False,
        best_of=1,
        suffix="",
        user=openai.omit,
    )
    assert plain.choices[0].text == same.choices[0].text


HOSTILE: dict[str, bytes] = {
    "deep": b'{"prompt":' + b"[" * 9000 + b"]" * 9000 + b"}",
    "no UTF-8": b'{"model":"letters","prompt":"\xff\xfe"}',
    "no JSON": b"{",
    "nothing": b"",
    "a list": b"[]",
    "NaN": b'{"model":"letters","prompt":"a","temperature":NaN}',
    "half a pair": b'{"model":"letters","prompt":"\\ud800"}',
    "half a pair as a field": b'{"model":"letters","prompt":"a","\\ud800":1}',
    "half a pair as an option": b'{"model":"letters","prompt":"a","infogain":{"\\ud800":1,"sampler":"\\udfff"}}',
    "half a pair as a model": b'{"model":"\\ud800","prompt":"a"}',
    "odd options": b'{"model":"letters","prompt":"a","infogain":{"sampler":{"name":{}},"schedule":[],"base":3}}',
    "deep options": b'{"model":"letters","prompt":"a","infogain":{"sampler":' + b'{"name":"best-of-n","base":' * 300
    + b'"ar"' + b"}" * 300 + b"}}",
    "a path": b'{"model":"../../etc/passwd","prompt":"a"}',
    "a path as a sampler": b'{"model":"letters","prompt":"a","infogain":{"sampler":"/etc/passwd"}}',
    "ten thousand stops": b'{"model":"letters","prompt":"a","stop":[' + b'"a",' * 4000 + b'"b"]}',
    "large": b'{"model":"letters","prompt":"' + b"a" * 30_000 + b'"}',
    "many digits": b'{"model":"letters","prompt":"a","n":' + b"9" * 10_000 + b"}",
}  # fmt: skip


@pytest.mark.parametrize("path", ["completions", "chat/completions", "infill", "decisions"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bodies_get_a_reason_and_no_stack_trace(
    server: tuple[str, dict[str, Engine]], name: str, path: str
) -> None:
    reply = post(server, f"/v1/{path}", HOSTILE[name])
    assert 400 <= reply.status_code < 500, reply.text
    assert reply.json()["error"]["message"]
    assert "Traceback" not in reply.text
    assert httpx.get(f"{server[0]}/health", verify=False).json() == {"status": "ok"}


def test_only_what_is_there_is_there(server: tuple[str, dict[str, Engine]]) -> None:
    for path in ("/", "/docs", "/v1/embeddings", "/v1/../etc/passwd", "/v1/models/..%2f..%2fetc%2fpasswd"):
        reply = httpx.get(server[0] + path)
        assert reply.status_code == 404
        assert reply.json()["error"]["message"]
    assert httpx.get(f"{server[0]}/v1/completions").status_code == 405
    wrong = post(server, "/v1/completions", TEXT, headers={"Content-Type": "text/plain", "Origin": "http://evil"})
    assert wrong.status_code == 400
    assert "access-control-allow-origin" not in wrong.headers


# coming and going


def test_metrics_and_readiness(server: tuple[str, dict[str, Engine]], client: openai.OpenAI) -> None:
    client.completions.create(**TEXT)
    page = httpx.get(f"{server[0]}/metrics").text
    found = re.search(r'^infogain_answered_total\{model="letters"\} (\S+)$', page, re.MULTILINE)
    assert found is not None
    assert float(found[1]) == server[1]["letters"].counts.answered >= 1
    assert 'infogain_in_flight{model="causal"} 0.0' in page
    assert httpx.get(f"{server[0]}/ready").json() == {"status": "ready"}


def test_full_queues_deadlines_draining_and_failures_have_their_status(models: dict[str, TextModel]) -> None:
    ill = letter_model(Ailing(models["letters"].denoiser, 1, lambda start, left: left > 0), "ill")
    with serving(ill, max_in_flight=1, max_waiting=1) as server, ThreadPoolExecutor(4) as threads:
        engine, body = server[1]["ill"], {"model": "ill", "prompt": "abc"}
        with Held(engine):
            taken = threads.submit(post, server, "/v1/completions", body)
            late = threads.submit(post, server, "/v1/completions", {**body, "infogain": {"seconds": 0.01}})
            while engine.waiting < 2:
                time.sleep(0.005)
            full = post(server, "/v1/completions", body)
            assert full.status_code == 429
            assert int(full.headers["Retry-After"]) >= 1
            assert full.json()["error"]["type"] == "rate_limit_error"
            time.sleep(0.02)
        assert taken.result(30).status_code == 200
        assert late.result(30).status_code == 504
        failed = post(server, "/v1/completions", {"model": "ill", "prompt": "bcd"})
        assert failed.status_code == 500
        assert "NumericsError" in failed.json()["error"]["message"]
        assert "row" not in failed.json()["error"]["message"]
        broken = post(server, "/v1/completions", {"model": "ill", "prompt": "bcd", "stream": True})
        assert "[DONE]" not in broken.text
        with (
            openai.OpenAI(base_url=f"{server[0]}/v1", api_key="none", max_retries=0) as client,
            pytest.raises(openai.APIError, match="NumericsError"),
        ):
            list(client.completions.create(model="ill", prompt="bcd", stream=True))
        engine.drain(5)
        turned = post(server, "/v1/completions", body)
        assert turned.status_code == 503
        assert turned.headers["Retry-After"]
        assert httpx.get(f"{server[0]}/ready").status_code == 503
        assert httpx.get(f"{server[0]}/health", verify=False).status_code == 200


@pytest.mark.parametrize("streamed", [False, True])
def test_a_client_that_goes_away_frees_its_rows(
    server: tuple[str, dict[str, Engine]], models: dict[str, TextModel], streamed: bool
) -> None:
    engine = server[1]["letters"]
    before = engine.counts.cancelled
    with Held(engine):
        body = {**TEXT, "stream": streamed}
        with (
            pytest.raises(httpx.ReadTimeout),
            httpx.Client(timeout=0.2) as client,
            client.stream("POST", f"{server[0]}/v1/completions", json=body) as reply,
        ):
            reply.read()
        deadline = time.monotonic() + 10
        while not all(ticket.cancelled for ticket in engine._tickets) and time.monotonic() < deadline:
            time.sleep(0.01)
    text = post(server, "/v1/completions", TEXT).json()["choices"][0]["text"]
    assert text == alone(models["letters"], "abc", RECIPE).text
    assert engine.counts.cancelled == before + 1


def test_a_client_may_have_so_many_requests_open(models: dict[str, TextModel]) -> None:
    with serving(models["letters"]) as server, ThreadPoolExecutor(LIMITS.per_client) as threads:
        engine = server[1]["letters"]
        with Held(engine):
            taken = [threads.submit(post, server, "/v1/completions", TEXT) for _ in range(LIMITS.per_client)]
            while engine.waiting < LIMITS.per_client:
                time.sleep(0.005)
            full = post(server, "/v1/completions", TEXT)
            assert full.status_code == 429
            assert full.headers["Retry-After"]
            assert httpx.get(f"{server[0]}/health", verify=False).status_code == 200
        assert [reply.result(30).status_code for reply in taken] == [200] * LIMITS.per_client
        assert post(server, "/v1/completions", TEXT).status_code == 200


def test_headers_that_never_end_close_the_connection(
    models: dict[str, TextModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PromptHeaders, "seconds", 0.3)
    head = b"GET /health HTTP/1.1\r\nHost: it\r\n"
    with serving(models["letters"]) as server:
        address = server[0].removeprefix("http://").split(":")
        for whole, begun in ((b"", b""), (b"", head), (head + b"\r\n", head)):
            with socket.create_connection((address[0], int(address[1])), 10) as connection:
                connection.sendall(whole)
                assert not whole or b"200 OK" in connection.recv(4096)
                connection.sendall(begun)
                began = time.monotonic()
                while connection.recv(4096):
                    pass
                assert 0.2 < time.monotonic() - began < 5
        with socket.create_connection((address[0], int(address[1])), 10) as connection:
            connection.sendall(head + b"X: " + b"y" * 10**6 + b"\r\n\r\n")
            assert b" 400 " in connection.recv(4096)
        with ThreadPoolExecutor(1) as threads:
            with Held(server[1]["letters"]):
                answer = threads.submit(post, server, "/v1/completions", TEXT)
                time.sleep(0.5)  # an answer may take longer than headers
            assert answer.result(10).status_code == 200


def test_a_token_is_asked_for_where_there_is_one(models: dict[str, TextModel]) -> None:
    with serving(models["letters"], token="open-sesame") as server:
        url = f"{server[0]}/v1/models"
        for wrong in ({}, {"Authorization": "Bearer open"}, {"Authorization": "Basic open-sesame"}):
            reply = httpx.get(url, headers=wrong)
            assert reply.status_code == 401
            assert "Bearer" in reply.headers["WWW-Authenticate"]
        assert httpx.get(f"{server[0]}/health", verify=False).status_code == 200
        assert httpx.get(f"{server[0]}/metrics").status_code == 401
        with openai.OpenAI(base_url=f"{server[0]}/v1", api_key="open-sesame", max_retries=0) as client:
            assert client.completions.create(model="letters", prompt="ab").choices[0].text


def test_other_addresses_than_loopback_need_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INFOGAIN_TOKEN", raising=False)
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")] == [
        *[True] * 3,
        *[False] * 2,
    ]
    assert find_token("127.0.0.1", None, no_auth=False) is None
    with pytest.raises(InputError, match="--no-auth lets everybody in"):
        find_token("0.0.0.0", None, no_auth=False)
    assert find_token("0.0.0.0", None, no_auth=True) is None
    (tmp_path / "token").write_text("abc\n")
    assert find_token("0.0.0.0", tmp_path / "token", no_auth=False) == "abc"
    with pytest.raises(InputError, match="Drop one"):
        find_token("0.0.0.0", tmp_path / "token", no_auth=True)
    monkeypatch.setenv("INFOGAIN_TOKEN", " ")
    with pytest.raises(InputError, match="one word"):
        find_token("127.0.0.1", None, no_auth=False)
    with listen("127.0.0.1", 0) as busy, pytest.raises(InputError, match="must be able to listen"):
        listen("127.0.0.1", busy.getsockname()[1])


def test_a_body_that_never_ends_is_given_up() -> None:
    sent: list[Message] = []

    async def never() -> Message:
        await asyncio.sleep(30)
        return {}

    async def send(message: Message) -> None:
        sent.append(message)

    async def app(*_: Any) -> None:
        raise AssertionError("not reached")

    asyncio.run(BodyGuard(app, 100, seconds=0.01)({"type": "http", "headers": []}, never, send))
    assert sent[0]["status"] == 408


@pytest.mark.slow
def test_the_command_runs_the_examples_and_sigterm_answers_what_was_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """Under load, too: everything accepted is answered, and the process ends by itself."""
    over_http, in_python = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "serve.md").read_text(), flags=re.DOTALL)
    command = [sys.executable, "-m", "infogain", "serve", "--model", "zoo:tiny-reason", "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process,
        ExitStack() as ending,
    ):
        assert process.stderr is not None
        ending.callback(process.kill)
        line = next(line for line in process.stderr if "serving" in line)
        url = line.split()[3]
        exec(compile(over_http.replace("http://127.0.0.1:8000/v1", url), "serve.md", "exec"), {})
        assert capsys.readouterr().out == "\n".join(re.findall(r"print\(.*\)  # (.*)", over_http))
        body = {"prompt": "C93,3,63=33:", "max_tokens": 24}
        with ThreadPoolExecutor(8) as threads:
            replies = [
                threads.submit(httpx.post, f"{url}/completions", json={**body, "seed": i}, timeout=30) for i in range(8)
            ]
            page, deadline = url.replace("/v1", "/metrics"), time.monotonic() + 20
            taken = 'infogain_requests_total{model="zoo:tiny-reason"} 10.0'  # the examples' two among them
            while taken not in httpx.get(page, verify=False).text and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            assert [reply.result().status_code for reply in replies] == [200] * 8
        assert process.wait(20) in (0, -signal.SIGTERM)
        assert "Traceback" not in process.stderr.read()
    exec(compile(in_python, "serve.md", "exec"), {})
    said = re.findall(r"^\w+", capsys.readouterr().out, re.MULTILINE)
    assert list(dict.fromkeys(said)) == ["Committed", "RowDone", "Ended"]
