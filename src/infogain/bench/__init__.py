"""Speed and memory: cases of shape × sampler × batch × cache, timed through the very loop that decodes.

`python -m infogain.bench --suite judged --out DIR` runs with torch alone; `infogain bench` has more comfort.
"""

from infogain.bench.cases import Case, grid
from infogain.bench.measure import Bench
from infogain.bench.suites import SUITES, load_suite

__all__ = ["SUITES", "Bench", "Case", "grid", "load_suite"]
