"""Info-Gain and its beam against a second implementation: one row, plain Python, no tensors but the noise's."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch

import infogain
from infogain import Canvas, noise
from infogain.models import Tabular, random_joint
from infogain.samplers import InfoGainBeam

Row = list[int]


class Reference:
    """Listing 2 as one would write it on a blackboard."""

    def __init__(self, model: Tabular, sampler: InfoGainBeam, k: int, seed: int, eos_id: int | None) -> None:
        self.mask, self.sampler, self.k, self.seed, self.eos_id = model.mask_id, sampler, k, seed, eos_id
        self.table = list(zip(model.sequences.tolist(), model.weights.tolist(), strict=True))
        self.words = range(model.vocab_size - 1)

    def marginals(self, row: Row) -> list[list[float]]:
        fits = [(s, w) for s, w in self.table if all(t in (self.mask, x) for t, x in zip(row, s, strict=True))]
        columns = []
        for c in range(len(row)):
            mass = [sum(w for s, w in fits if s[c] == v) for v in self.words]
            if not fits:  # every token the column ever holds
                mass = [float(any(s[c] == v for s, _ in self.table)) for v in self.words]
            columns.append([m / sum(mass) for m in mass])
        return columns

    def uniform(self, seed: int, *index: int) -> float:
        return float(noise.uniform(torch.tensor(seed), *index))

    def draw(self, p: list[float], u: float) -> int:
        if self.sampler.tau_token == 0:
            return max(self.words, key=lambda v: p[v])
        tempered = [x ** (1 / self.sampler.tau_token) for x in p]
        ahead = 0.0
        for v in self.words:
            ahead += tempered[v] / sum(tempered)
            if ahead > u:
                return v
        raise AssertionError("u is below 1")

    def certainty(self, p: list[float], token: int) -> float:
        first, second = sorted(p)[-1], sorted(p)[-2]
        return {"drawn": p[token], "top1": first, "entropy": -entropy(p), "margin": first - second}[self.sampler.phi]

    def actions(self, row: Row, masks: list[int], seed: int, step: int) -> list[dict[int, int]]:
        """The distinct candidates of one hypothesis; one only where they end the block."""
        p = self.marginals(row)
        pinned = [c for c in masks if max(p[c]) > self.sampler.gamma]
        candidates: list[dict[int, int]] = []
        for n in range(self.sampler.n if self.k < len(masks) else 1):
            u = {c: self.uniform(seed, noise.TOKEN, step, 0 if c in pinned else n, c) for c in masks}
            token = {c: self.draw(p[c], u[c]) for c in masks}
            key = {c: self.certainty(p[c], token[c]) for c in masks}
            if n:
                for c in masks:
                    gumbel = -math.log(-math.log(self.uniform(seed, noise.POSITION, step, n, c)))
                    key[c] += self.sampler.tau_pos * gumbel
            order = sorted(pinned, key=lambda c: -max(p[c])) + sorted(set(masks) - set(pinned), key=lambda c: -key[c])
            action = {c: token[c] for c in order[: self.k]}
            if action not in candidates:
                candidates.append(action)
        return candidates

    def uncertainty(self, row: Row, block: range) -> float:
        masks = [c for c in block if row[c] == self.mask]
        p = self.marginals(row)
        mean: float = sum(entropy(p[c]) for c in masks) / max(len(masks), 1) ** self.sampler.gain_power
        return mean

    def place_seed(self, place: int) -> int:
        return int(noise.fork(torch.tensor(self.seed), noise.PLACE, torch.tensor(place)))

    def step(self, beam: list[tuple[Row, float]], block: range, step: int) -> list[tuple[Row, float]]:
        after: dict[tuple[int, ...], float] = {}
        for place, (row, spent) in enumerate(beam):
            p = self.marginals(row)
            masks = [c for c in block if row[c] == self.mask]
            for action in self.actions(row, masks, self.place_seed(place), step):
                canvas = tuple(action.get(c, token) for c, token in enumerate(row))
                cost = spent + sum(entropy(p[c]) for c in action)
                if canvas not in after or cost < after[canvas] - 1e-12:
                    after.pop(canvas, None)  # the cheaper history takes the later place
                    after[canvas] = cost
        reached = [(list(canvas), cost) for canvas, cost in after.items()]
        worth = [round(-(cost + self.uncertainty(row, block)), 10) for row, cost in reached]
        best = sorted(range(len(reached)), key=lambda i: (-worth[i], i))[: self.sampler.width]
        return [reached[i] for i in sorted(best)]

    def decode(self, row: Row, width: int) -> tuple[list[Row], float]:
        """The least H̃ and the rows that reach it: more than one where rounding decides."""
        generated = [c for c, token in enumerate(row) if token == self.mask]
        starts = range(generated[0], len(row), width)
        beam, finished = [(row, 0.0)], []
        for block in (range(start, min(start + width, len(row))) for start in starts):
            for step in range(len(row)):
                if beam and any(beam[0][0][c] == self.mask for c in block):
                    beam = self.step(beam, block, step)
            ends = [(r, h) for r, h in beam if any(r[c] == self.eos_id and c in generated for c in block)]
            finished += ends
            beam = [hypothesis for hypothesis in beam if hypothesis not in ends]
        least = min(cost for _, cost in finished + beam)
        best = [r for r, cost in finished + beam if cost < least + 1e-9]
        filler = self.mask if self.eos_id is None else self.eos_id
        return [[filler if token == self.mask else token for token in r] for r in best], least


def entropy(p: list[float]) -> float:
    return -sum(x * math.log(x) for x in p if x > 0)


def random_case(rng: random.Random) -> dict[str, Any]:
    options = {
        "width": rng.choice([1, 2, 3]),
        "n": rng.choice([3, 5]),
        "gamma": rng.choice([1.0, 0.6]),
        "phi": rng.choice(["drawn", "top1", "entropy", "margin"]),
        "tau_pos": rng.choice([0.1, 0.5]),
        "gain_power": rng.choice([0.0, 0.5, 1.0]),
        "tau_token": rng.choice([0.7, 1.0]),
    }
    return {
        "options": options,
        "k": rng.choice([1, 1, 2]),
        "block": rng.choice([3, 6]),
        "eos_ids": rng.choice([None, 1]),
    }


@pytest.mark.parametrize("number", range(60))
def test_the_loop_is_the_blackboard(number: int) -> None:
    rng = random.Random(number)
    model = random_joint(6, 3, seed=number, support=rng.choice([None, 40]))
    row = [model.mask_id if rng.random() < 0.8 else rng.randrange(3) for _ in range(6)]
    row[rng.randrange(6)] = model.mask_id
    case, seed = random_case(rng), rng.randrange(10**6)
    sampler = InfoGainBeam(**case["options"])
    canvas = Canvas.infill([row], model.mask_id)
    result = infogain.decode(
        model, canvas, sampler, schedule=case["k"], block=case["block"], eos_ids=case["eos_ids"], seeds=[seed]
    )
    rows, cost = Reference(model, sampler, case["k"], seed, case["eos_ids"]).decode(row, case["block"])
    assert float(result.cumulative_entropy) == pytest.approx(cost, abs=1e-9)
    assert result.tokens[0].tolist() in rows
