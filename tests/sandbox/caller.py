"""A process that runs the program on its input in the sandbox, in a set-up of `drive`, and can be killed meanwhile."""

from __future__ import annotations

import sys

from tests.sandbox.drive import SETUPS, sandbox_alone

if __name__ == "__main__":
    sources, setup = sys.argv[1:]
    SETUPS[setup]()
    sandbox_alone(sources)
    from infogain.sandbox import ready, run_code

    print(ready(), flush=True)  # so that every process after this line is the program's
    run_code(sys.stdin.read(), time_limit=60)
