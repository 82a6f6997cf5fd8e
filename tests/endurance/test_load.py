"""Load on the zoo: 500 mixed requests, 32 at a time, some of which go away or run out of time; none is mixed up."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx

import infogain
from infogain.algorithm.noise import row_seeds
from infogain.serve.served_model import ServerLimits
from infogain.text.text_model import TextModel
from tests.unit.test_serve_app import serving

REQUESTS, AT_A_TIME = 500, 32
PROMPTS = {
    "zoo:tiny-reason": ["C93,3,63=33:", "C12,5,7=24:", "C50,2,4=100:"],
    "zoo:tiny-tales": ["the cat", "once upon a time", "a dog"],
}
SAMPLERS: list[dict[str, Any]] = [
    {"sampler": "entropy", "k": 2},
    {"sampler": "info-gain", "n": 4, "k": 2},
    {"sampler": "confidence", "tau_token": 0.7},
    {"sampler": "eb", "bound": 0.5},
    {"sampler": "ar"},
]


@dataclass
class Asked:
    """One request of the load, and what came of it."""

    seed: int
    model: str
    prompt: str
    options: dict[str, Any]
    length: int
    how: str  # whole, streamed; goes away; runs out of time
    status: int | None = None  # None: it went away
    text: str = ""
    seconds: float = 0.0
    first: list[float] = field(default_factory=list)  # seconds up to each chunk

    @property
    def body(self) -> dict[str, Any]:
        late = {"seconds": 0.001} if self.how == "late" else {}
        asked = {"model": self.model, "prompt": self.prompt, "max_tokens": self.length, "seed": self.seed}
        return {**asked, "stream": self.how == "streamed", "infogain": {**self.options, **late}}

    def ask(self, url: str) -> None:
        began = time.monotonic()
        patience = 0.01 + 0.1 * random.Random(self.seed).random() if self.how == "gone" else 60
        try:
            with (
                httpx.Client(timeout=patience, verify=False) as client,
                client.stream("POST", f"{url}/v1/completions", json=self.body) as reply,
            ):
                self.status = reply.status_code
                if self.how == "streamed":
                    for line in reply.iter_lines():
                        if line.startswith("data: {"):
                            self.text += "".join(choice["text"] for choice in json.loads(line[6:])["choices"])
                            self.first.append(time.monotonic() - began)
                elif self.status == 200:
                    self.text = json.loads(reply.read())["choices"][0]["text"]
        except httpx.TimeoutException:
            self.status = None
        self.seconds = time.monotonic() - began


def load(count: int) -> list[Asked]:
    chance = random.Random(3)
    found = []
    for seed in range(count):
        model = chance.choice(list(PROMPTS))
        prompt, options = chance.choice(PROMPTS[model]), chance.choice(SAMPLERS)
        how = chance.choice(["whole", "whole", "streamed", "gone", "late"])
        found.append(Asked(seed, model, prompt, options, chance.randint(4, 20), how))
    return found


def test_under_load_none_is_lost_and_every_text_is_the_one_of_its_seed() -> None:
    models = {name: infogain.load(name) for name in PROMPTS}
    every = load(REQUESTS)
    with serving(*models.values(), most=ServerLimits(), max_in_flight=16, max_waiting=256) as (url, engines):
        began = time.monotonic()
        with ThreadPoolExecutor(AT_A_TIME) as threads:
            list(threads.map(lambda one: one.ask(url), every))
        took = time.monotonic() - began
        assert all(engine.drain(30) for engine in engines.values())
        counts = [engine.counts for engine in engines.values()]
    ended = Counter(one.status for one in every)
    print(f"{ended} in {took:.1f} s; p99 {sorted(one.seconds for one in every)[-5]:.2f} s")
    firsts = sorted(one.first[0] for one in every if one.first)
    print(f"first chunk after {firsts[len(firsts) // 2]:.2f} s, p99 {firsts[-1 - len(firsts) // 100]:.2f} s")
    assert set(ended) <= {200, 504, None}
    assert sum(c.answered + c.cancelled + c.late for c in counts) == sum(c.requests for c in counts)
    assert sum(c.failed for c in counts) == 0
    answered = [one for one in every if one.status == 200]
    assert len(answered) > REQUESTS / 3
    for one in answered:
        alone = written_beside(0, one, models[one.model])
        assert alone == one.text or one.text in {written_beside(n, one, models[one.model]) for n in (1, 3, 7, 15)}, one


def written_beside(others: int, one: Asked, model: TextModel) -> str:
    """The text of a request beside so many rows of its own kind.

    Sums in float32 depend on how many rows are multiplied together, so that a choice between equals may fall otherwise
    in company. Such a text, and no other that differs from the one written alone, comes out here too.
    """
    options = {name: value for name, value in one.options.items() if name != "sampler"}
    seeds = [row_seeds(one.seed, 1)[0], *range(others)]
    prompts = [one.prompt] * len(seeds)
    texts = infogain.generate(model, prompts, one.options["sampler"], length=one.length, seeds=seeds, **options)
    return texts[0].text
