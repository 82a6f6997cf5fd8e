"""An exception as text, with the lines of a source that lies in no file."""

from __future__ import annotations

TAIL = 2000  # characters


def traceback_text(error: BaseException, file: str, source: str) -> str:
    """The traceback, with the frames of this file only: the others are ours, or Python's."""
    import linecache  # costs milliseconds, and most programs need none of it
    import traceback

    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    found = traceback.TracebackException.from_exception(error)
    found.stack = traceback.StackSummary.from_list([frame for frame in found.stack if frame.filename == file])
    return "".join(found.format())[-TAIL:]
