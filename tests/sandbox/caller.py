"""A process that runs the program on its input in the sandbox, without the rest of the package: it starts at once."""

from __future__ import annotations

import sys
from types import ModuleType


def sandbox_alone(sources: str) -> None:
    """Make `infogain.sandbox` importable without the rest of the package, which would load torch."""
    package = ModuleType("infogain")
    package.__path__ = [f"{sources}/infogain"]
    sys.modules["infogain"] = package


if __name__ == "__main__":
    sandbox_alone(sys.argv[1])
    from infogain.sandbox import ready, run_code

    print(ready(), flush=True)  # so that every process after this line is the program's
    run_code(sys.stdin.read(), time_limit=60)
