"""Say whether this machine can run a tier of tests: `tiers.py test-gpu` ends with 0, or with 3 and what is absent.

`make test-…` asks before it runs one, and `.ci/run` before it counts one as passed.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ABSENT = 3
PROBE = Path(__file__).parents[1] / "tests" / "interpreted" / "probe.py"


def sandbox_absent() -> str | None:
    from infogain.sandbox import ready

    refused = ready()
    return refused and f"the sandbox's walls cannot be put up: {refused}"


def endurance_absent() -> str | None:
    return None if Path("/proc/self/statm").exists() else "how much memory a process has is read from Linux's /proc"


def interpreted_absent() -> str | None:
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    tried = subprocess.run([sys.executable, PROBE], env=environment, capture_output=True, text=True)
    said = tried.stderr.strip().splitlines()[-1:]
    return f"Triton's interpreter and this numpy do not fit: {''.join(said)}" if tried.returncode else None


def gpu_absent() -> str | None:
    import torch

    if torch.cuda.is_available():
        return None
    return "there is no CUDA device" if torch.version.cuda else "this torch is built without CUDA"


def coverage_absent() -> str | None:
    return None if importlib.util.find_spec("pytest_cov") else "pytest-cov is not installed"


TIERS: dict[str, Callable[[], str | None]] = {
    "test-sandbox": sandbox_absent,
    "test-endurance": endurance_absent,
    "test-interpreted": interpreted_absent,
    "test-gpu": gpu_absent,
    "test-coverage": coverage_absent,
}


def main(*names: str) -> None:
    if len(names) != 1 or names[0] not in TIERS:
        sys.exit(f"tiers.py takes one of {', '.join(TIERS)}; got {' '.join(names) or 'none'}.")
    (name,) = names
    absent = TIERS[name]()
    if absent:
        print(f"{name}: {absent}; nothing of it was tested")
        sys.exit(ABSENT)


if __name__ == "__main__":
    main(*sys.argv[1:])
