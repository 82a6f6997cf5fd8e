"""The bench on a CUDA device: memory is counted there, and the limits are captured."""

from __future__ import annotations

from dataclasses import replace

from infogain.bench import Bench, Case
from infogain.samplers import Entropy, InfoGain


def test_memory_grows_by_activations_and_the_cache_does_not() -> None:
    case = Case("tiny", Entropy(), context=64, length=32)
    bench = Bench("cuda")
    greedy, wide = bench.run(case), bench.run(replace(case, sampler=InfoGain(gamma=1.0)))
    assert wide["kv_bytes"] == greedy["kv_bytes"]
    assert wide["peak_bytes"] > greedy["peak_bytes"] > greedy["held_bytes"] > 0
    assert 0 < greedy["limits"]["reading_ms"] <= greedy["limits"]["reading_each_ms"]
    assert greedy["forward_ms"] > 0
