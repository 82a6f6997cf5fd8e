"""The paper's own numbers, beside which ours are set. Models and tasks differ: only the order can be compared."""

from __future__ import annotations

# Table 2 (Dream-7B-Instruct) and Table 3 (SDAR-8B-Chat, TraDo-8B-Instruct): average accuracy %, H̃, by K and sampler.
Pair = tuple[float, float]
DREAM: dict[int, dict[str, Pair]] = {
    2: {
        "uniform": (21.1, 389.2),
        "ar": (31.1, 273.1),
        "entropy": (38.6, 247.8),
        "confidence (top-1)": (43.5, 249.2),
        "margin": (41.7, 287.5),
        "klass": (46.2, 239.3),
        "pc": (49.8, 158.3),
        "lookum": (50.3, 134.9),
        "info-gain": (53.4, 104.3),
    },
    1: {
        "uniform": (27.2, 199.3),
        "ar": (49.2, 121.7),
        "entropy": (54.4, 95.6),
        "confidence (top-1)": (55.9, 99.5),
        "margin": (53.6, 107.3),
        "klass": (52.4, 99.6),
        "pc": (59.1, 78.4),
        "lookum": (58.2, 61.4),
        "info-gain": (62.0, 48.6),
    },
}
SDAR: dict[int, dict[str, Pair]] = {
    2: {
        "entropy": (28.4, 238.6),
        "confidence (top-1)": (32.1, 204.1),
        "margin": (26.7, 230.9),
        "klass": (35.0, 210.3),
        "lookum": (45.0, 103.2),
        "info-gain": (55.8, 74.1),
    },
    1: {
        "entropy": (50.0, 120.4),
        "confidence (top-1)": (51.9, 117.4),
        "margin": (45.3, 138.2),
        "klass": (51.1, 105.3),
        "lookum": (54.6, 53.7),
        "info-gain": (66.2, 41.0),
    },
}
TRADO: dict[int, dict[str, Pair]] = {
    2: {
        "entropy": (22.8, 419.5),
        "confidence (top-1)": (29.3, 334.1),
        "margin": (22.7, 398.0),
        "klass": (35.0, 334.3),
        "lookum": (50.2, 119.2),
        "info-gain": (55.3, 98.0),
    },
    1: {
        "entropy": (45.2, 171.4),
        "confidence (top-1)": (51.9, 163.5),
        "margin": (44.5, 208.0),
        "klass": (48.5, 180.3),
        "lookum": (56.9, 60.8),
        "info-gain": (68.2, 52.1),
    },
}
# Table 1: accuracy %, H̃.
JUDGEMENT: dict[str, Pair] = {
    "entropy": (67.0, 32.75),
    "confidence (top-1)": (73.0, 31.68),
    "margin": (66.0, 35.60),
    "ar": (90.0, 25.19),
}
# App. F: time of Info-Gain (N = 8) over baselines, per cent more and its spread, by shape and K; from the table in the
# paper's source. TraDo-8B has SDAR-8B's shape.
OVERHEAD: dict[tuple[str, int], dict[str, Pair]] = {
    ("dream-7b", 1): {"Dream-7B": (15, 9)},
    ("dream-7b", 2): {"Dream-7B": (64, 26)},
    ("sdar-8b", 1): {"SDAR-8B": (45, 18), "TraDo-8B": (42, 2)},
}
# App. F: memory of N = 8 over that of greedy decoding, per cent more (TraDo-8B, 512 tokens, block 16).
MEMORY = 24
