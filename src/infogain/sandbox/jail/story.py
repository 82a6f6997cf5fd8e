"""An exception as text, with the lines of a source that lies in no file."""

from __future__ import annotations

TAIL = 2000  # characters


def tell(error: BaseException, file: str, source: str) -> str:
    """Only the frames of this file: the others are ours, or Python's."""
    import linecache  # costs milliseconds, and most programs need none of it
    import traceback

    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    story = traceback.TracebackException.from_exception(error)
    story.stack = traceback.StackSummary.from_list([frame for frame in story.stack if frame.filename == file])
    return "".join(story.format())[-TAIL:]
