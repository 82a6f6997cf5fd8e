"""When the next request may be sent: so many a minute, and none while the server asks for patience."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Pace:
    """A clock that many threads wait at; `stop` lets all of them go at once.

    per_minute  requests that may be sent in a minute, evenly spaced; unset: any number
    now, sleep  the clock, and what waits on it for some seconds; unset: the system's
    """

    def __init__(
        self,
        per_minute: float | None = None,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self._spacing = 60 / per_minute if per_minute else 0.0
        self._stopped, self._lock = threading.Event(), threading.Lock()
        self._now, self._sleep = now, sleep or self._stopped.wait
        self._next = self._resumes = now()

    def wait(self) -> bool:
        """Wait for the turn of a request; False if there will be none."""
        with self._lock:
            turn = max(self._now(), self._next)
            self._next = turn + self._spacing
        while not self._stopped.is_set() and (left := max(turn, self._resumes) - self._now()) > 0:
            self._sleep(left)
        return not self._stopped.is_set()

    def pause(self, seconds: float) -> None:
        """Let no request begin for this long."""
        with self._lock:
            self._resumes = max(self._resumes, self._now() + seconds)

    def stop(self) -> None:
        """Let no further request begin, and end all waiting."""
        self._stopped.set()
