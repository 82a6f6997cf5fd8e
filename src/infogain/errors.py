"""The exception tree, and the words every error uses: what must hold, what came, what to do.

InfoGainError
├── InputError (ValueError)          a canvas, prompt or argument that cannot be decoded
│   ├── ContextError                 a text longer than the model's context
│   ├── UnsupportedTask              a task that this model cannot be asked
│   └── OptionError                  an option of a sampler, schedule or recipe
│       └── UnknownName              a name nobody registered; suggests the nearest
├── ContractError (RuntimeError)     a sampler or model broke the promise it makes to the loop
├── JudgeError (RuntimeError)        a judge of texts could not be asked, or gave no answer
├── SandboxError (RuntimeError)      the system refuses the walls that generated code must run behind
├── ServeError (RuntimeError)        a request that a server took or turned away, and did not answer
│   ├── QueueFull                    as many requests wait as may
│   ├── Draining                     the server ends, and takes no more
│   ├── DeadlinePassed               the request's time was over
│   └── RequestCancelled             who asked has gone, or said so
└── NumericsError (ArithmeticError)  the model returned NaN or an impossible distribution
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class InfoGainError(Exception):
    """Everything this package raises on purpose.

    `partial` is what a decode that had begun was at (else None): of `decode_lanes` a Result per lane; of
    `decode_stream`, on which `generate` stands, a (lane, row, Result) for each row in flight.
    `finished` holds the texts that `generate` or `infill` had finished, by their prompts' numbers.
    """

    partial: list[Any] | None = None
    finished: dict[int, Any] | None = None


class InputError(InfoGainError, ValueError):
    """Input that cannot be decoded; raised before any model call."""


class ContextError(InputError):
    """A text, with what is to be written, that has more columns than the model's context."""


class UnsupportedTask(InputError):
    """A task that this model cannot be asked; others can."""


class OptionError(InputError):
    """An option outside its range, or one that does not belong where it was set."""


# What other libraries call our options.
ELSEWHERE = {
    "temperature": "tau_token",
    "max_new_tokens": "length",
    "max_tokens": "length",
    "max_length": "length",
    "num_beams": "width",
    "block_size": "block",
    "block_length": "block",
    "gen_length": "length",
    "guidance_scale": "guidance",
    "num_inference_steps": "steps",
    "num_images_per_prompt": "count",
}


class UnknownName(OptionError):
    """A name nobody registered."""

    def __init__(self, kind: str, name: str, known: Iterable[str], note: str = "") -> None:
        known = sorted(known)
        near = [ours for ours in (ELSEWHERE.get(name),) if ours in known]
        near = near or difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown {kind} {name!r}{note}.{guess} Available: {', '.join(known) or 'none'}.")


class ContractError(InfoGainError, RuntimeError):
    """A sampler or model broke the promise it makes to the loop."""


class JudgeError(InfoGainError, RuntimeError):
    """A judge of texts that could not be asked, or gave no answer; what it said before is kept."""


class SandboxError(InfoGainError, RuntimeError):
    """The system refuses the walls that generated code must run behind."""


class NumericsError(InfoGainError, ArithmeticError):
    """The model returned logits that are no distribution."""


class ServeError(InfoGainError, RuntimeError):
    """A request that a server turned away, or took and did not answer."""


class QueueFull(ServeError):
    """As many requests wait as may; `retry_after` says in how many seconds there may be a place."""

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Draining(ServeError):
    """The server ends: it answers what it has taken, and takes no more."""


class DeadlinePassed(ServeError):
    """A request whose time was over before its texts were done."""


class RequestCancelled(ServeError):
    """A request that whoever asked has given up."""
