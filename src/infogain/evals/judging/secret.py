"""A key that reaches the server it is for and nothing else: no file, no log, no error and no traceback."""

from __future__ import annotations

import os

from infogain.errors import InputError

HIDDEN = "(key)"


class Secret:
    """A key, read from the environment. Its text form does not show it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @classmethod
    def from_environment(cls, name: str, required: bool = False) -> Secret:
        """The key in this variable. A key that may be left out is empty without one, as a local server's is."""
        value = os.environ.get(name, "").strip()
        if required and not value:
            raise InputError(
                f"the key of the judge is read from the variable {name}; it is not set. Set it, or drop it."
            )
        if not value.isascii() or any(sign.isspace() or not sign.isprintable() for sign in value):
            raise InputError(f"the key in {name} must be one word of plain letters and signs; it is not. Set it again.")
        return cls(value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"Secret({HIDDEN if self._value else ''})"

    def headers(self) -> dict[str, str]:
        """The headers that show the key to the server."""
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def hide(self, text: str) -> str:
        """The text without the key, which a server may repeat in what it says."""
        return text.replace(self._value, HIDDEN) if self._value else text
