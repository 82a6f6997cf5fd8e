"""A sampler knows whether another seed may choose other positions of the same canvas."""

from __future__ import annotations

from typing import Any

import pytest

import infogain
from infogain import Canvas
from infogain.algorithm.schedule import TokensPerStep
from infogain.samplers import Sampler, make
from tests.cases import ALL, LENGTH, MODEL, label

DECODES = 64
MORE: list[tuple[str, dict[str, Any]]] = [
    ("info-gain", {"n": 1, "phi": "top1"}),
    ("info-gain", {"tau_pos": 0, "phi": "top1"}),
    ("info-gain", {"tau_pos": 0, "gamma": 1.0}),
    *(("info-gain", {"tau_pos": 0, "draws": draws, "tau_select": 1}) for draws in ("fresh", "shared", "fixed")),
    *(("info-gain", {"tau_pos": 0, "phi": "top1", "draws": draws, "tau_select": 1}) for draws in ("fresh", "fixed")),
    ("info-gain", {"tau_token": 0, "phi": "top1", "tau_select": 1}),
    ("info-gain", {"tau_pos": 0, "phi": "top1", "bypass_of": "drawn", "gamma": 0.3}),
    ("info-gain", {"tau_pos": 0, "phi": "top1", "bypass_of": "drawn", "gamma": 1.0}),
    ("confidence", {"of": "drawn", "draws": "fixed"}),
    ("entropy", {"draws": "fixed"}),
    ("best-of-n", {"n": 2, "base": {"name": "confidence", "of": "drawn"}}),
    ("confidence", {"of": "drawn", "top_k": 1}),
]


@pytest.mark.parametrize("sampler", [*ALL, *(make(name, **options) for name, options in MORE)], ids=label)
def test_first_positions_vary_where_a_sampler_draws_them_and_only_there(sampler: Sampler) -> None:
    canvas = Canvas.infill([[MODEL.mask_id] * LENGTH] * DECODES, MODEL.mask_id)
    result = infogain.decode(MODEL, canvas, sampler, schedule=TokensPerStep(1), trace=False)
    first = {tuple(row) for row in (result.revealed == 0).tolist()}
    assert (len(first) > 1) is sampler.traits.draws_positions
