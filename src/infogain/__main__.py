"""`python -m infogain`: the command line, where the `infogain` script is not on the path."""

from __future__ import annotations

from infogain.cli import main

if __name__ == "__main__":
    main(prog_name="infogain")
