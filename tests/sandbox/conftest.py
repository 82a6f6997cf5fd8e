"""What the tier's tests share: the sandbox where every user may read it, and a copy of this Python."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from infogain import sandbox

HERE = Path(__file__).parent
NEEDED = [f"tests/{n}.py" for n in ("__init__", "processes", "sandbox/__init__", "sandbox/drive", "sandbox/caller")]
LEFT_OUT = ("test", "*-packages", "idlelib", "lib2to3", "ensurepip", "turtledemo", "tkinter", "config-*", "*.opt-?.pyc")


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """The driver and the sandbox, where every user may read them."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        for file in NEEDED:
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(HERE.parents[1] / file, place / file)
        package, sources = place / "infogain", Path(sandbox.__file__).parents[1]
        shutil.copytree(sources / "sandbox", package / "sandbox", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(sources / "errors.py", package)
        yield place


@pytest.fixture
def python_in_tmp() -> Iterator[Path]:
    """A copy of this Python, with its library, below /tmp: a folder that the walls replace by an empty one."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        copy, library = Path(name), Path(os.__file__).parent
        (copy / "bin").mkdir()
        shutil.copy(os.path.realpath(sys.executable), copy / "bin" / version)
        shutil.copytree(library, copy / "lib" / version, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        yield copy / "bin" / version
