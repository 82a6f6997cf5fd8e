"""An exception as text, with the lines of a source that lies in no file."""

from __future__ import annotations

TAIL = 2000  # characters


def tell(error: BaseException, file: str, source: str) -> str:
    import linecache  # costs milliseconds, and most programs need none of it
    import traceback

    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    own = error.__traceback__.tb_next if error.__traceback__ else None  # without the frame that caught it
    return "".join(traceback.format_exception(type(error), error, own))[-TAIL:]
