"""Decode masked diffusion models: one loop, every sampler, the Info-Gain Sampler first.

import infogain

toy = infogain.models.one_way()
result = infogain.decode(toy.model, toy.canvas(4), "info-gain", schedule=2)
print([toy.decode(row) for row in result.rows()], result.cumulative_entropy)
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from infogain import startup  # noqa: F401  # before torch: it minds Ctrl-C while that is being imported
from infogain.version import __version__ as __version__

_VERBS = ("decode", "generate", "load")  # functions, each in a module of its own name

if TYPE_CHECKING:
    from infogain.public import *  # noqa: F403
    from infogain.public import __all__ as __all__
else:

    def __getattr__(name: str) -> Any:
        """Import what is used when it is used: torch takes seconds, and `infogain --help` needs none of it."""
        if name not in _VERBS and not name.startswith("_") and find_spec(f"{__name__}.{name}"):
            return import_module(f"{__name__}.{name}")
        if name == "__all__" or not name.startswith("_"):
            public = import_module(f"{__name__}.public")
            globals().update({known: getattr(public, known) for known in ("__all__", *public.__all__)})
        if name in globals():
            return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})


class _Package(ModuleType):
    """Keeps `infogain.decode` the function: on the first import of a submodule, Python sets its name to the module."""

    def __setattr__(self, name: str, value: object) -> None:
        is_module = name in _VERBS and isinstance(value, ModuleType)
        super().__setattr__(name, getattr(value, name) if is_module else value)


sys.modules[__name__].__class__ = _Package
