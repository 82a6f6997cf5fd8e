"""What is asked of an engine, what it tells meanwhile, and the ticket that is given for it."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from infogain.algorithm import noise
from infogain.errors import InputError
from infogain.generate import Generation, as_stops
from infogain.recipe import Recipe
from infogain.text.prompts import Job

TOP_LOGPROBS = 20  # alternatives that may be asked for at each token


@dataclass(frozen=True)
class TextRequest:
    """Rows to decode with one recipe, which `generate.settle` has filled in."""

    job: Job
    recipe: Recipe
    seeds: Sequence[int] | None = None  # one per row; unset: made from the recipe's seed, as `generate` makes them
    stop: str | Sequence[str] = ()
    stream: bool = False  # tell of text as it is committed
    drafts: bool = False  # tell of the whole draft after every step, in place of committed text
    reveals: bool = False  # tell of every step: columns, tokens, entropies
    logprobs: int | None = None  # keep log p of every token, and of so many of the likeliest ones there
    seconds: float | None = None  # it may take, waiting included; unset: as long as it takes
    client: str = ""  # who asks; clients take turns

    def __post_init__(self) -> None:
        """Refuse what cannot be told of several hypotheses: which one wins is known at the end."""
        as_stops(self.stop)
        traits = self.recipe.sampler.traits
        if traits.beam * traits.copies > 1 and (self.reveals or self.drafts or self.logprobs is not None):
            what = "steps can be shown" if self.reveals or self.drafts else "log-probabilities can be told"
            raise InputError(
                f"{what} where a sampler decodes one hypothesis of each text; {self.recipe.sampler.name} has several. "
                "Leave them out, or use another sampler."
            )
        if self.logprobs is not None and not 0 <= self.logprobs <= TOP_LOGPROBS:
            raise InputError(f"logprobs must be 0 to {TOP_LOGPROBS}; got {self.logprobs}.")
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"a request must be given more than 0 seconds; got {self.seconds}.")
        if (self.stream or self.drafts) and self.job.whole:
            raise InputError("a text with holes has no finished prefix to stream. Ask for it without stream.")
        if self.seeds is not None and len(self.seeds) != len(self.job.rows):
            raise InputError(f"seeds must be one per row ({len(self.job.rows)}); got {len(self.seeds)}.")

    @property
    def row_seeds(self) -> Sequence[int]:
        rows = len(self.job.rows)
        return noise.row_seeds(self.recipe.seed, rows) if self.seeds is None else self.seeds

    @property
    def watched(self) -> bool:
        """Whether its rows are looked at while they are written."""
        traits = self.recipe.sampler.traits
        one_hypothesis = traits.beam * traits.copies == 1
        return one_hypothesis and (self.stream or self.drafts or self.reveals or self.logprobs is not None)


@dataclass(frozen=True)
class TokenLogprob:
    """log p of a token in the state in which it was committed, at temperature 1."""

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()  # the likeliest tokens there, and their log p


@dataclass(frozen=True)
class TextAnswer:
    """One finished text; `logprobs` holds one for each of its tokens, where they were asked for."""

    generation: Generation
    logprobs: list[TokenLogprob] | None = None


@dataclass(frozen=True)
class Committed:
    """More of a row's text, which will not change any more."""

    row: int
    text: str


@dataclass(frozen=True)
class Drafted:
    """A row's whole text as it stands, with a sign for each mask."""

    row: int
    text: str


@dataclass(frozen=True)
class Revealed:
    """One step of a row: what was written where, and how uncertain the model was there."""

    row: int
    step: int
    columns: list[int]
    tokens: list[int]
    entropy: list[float]


@dataclass(frozen=True)
class RowDone:
    """A row's text is done; all of it has been told, where it is streamed."""

    row: int
    answer: TextAnswer


@dataclass(frozen=True)
class Ended:
    """The last event of a request: all is answered, or there is an error."""

    error: Exception | None = None


Event = Committed | Drafted | Revealed | RowDone | Ended
Listener = Callable[[Event], None]


@dataclass(eq=False)
class Ticket:
    """A request that was taken: its `future` holds all answers, and events come meanwhile.

    Without a listener the events wait here, see `events`; with one they go there, from the engine's thread.
    """

    asked: TextRequest
    listener: Listener | None = None
    future: Future[list[TextAnswer]] = field(default_factory=Future)
    answers: dict[int, TextAnswer] = field(default_factory=dict)  # of rows that are done
    began: float = field(default_factory=time.monotonic)
    cancelled: bool = False
    _events: queue.SimpleQueue[Event] = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        """Mark the future as running: it is cancelled by the engine, and by nobody else."""
        self.future.set_running_or_notify_cancel()

    @property
    def late(self) -> bool:
        seconds = self.asked.seconds
        return seconds is not None and time.monotonic() > self.began + seconds

    def tell(self, event: Event) -> None:
        """Pass an event on. A listener that raises is gone: the request is given up, and nobody else is troubled."""
        if self.listener is None:
            self._events.put(event)
            return
        try:
            self.listener(event)
        except Exception:
            self.cancelled = True

    def events(self, timeout: float | None = None) -> Iterator[Event]:
        """The events as they come, up to and with `Ended`; queue.Empty where none comes for so many seconds."""
        while True:
            event = self._events.get(timeout=timeout)
            yield event
            if isinstance(event, Ended):
                return

    def result(self, timeout: float | None = None) -> list[TextAnswer]:
        """Wait for all answers; raises what the request failed with."""
        return self.future.result(timeout)
