"""What requests over HTTP may hold: the fields of OpenAI's API that are honoured, those that are refused, and ours."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from infogain.errors import InputError
from infogain.options import MOST
from infogain.serve.asked import TOP_LOGPROBS

WHOLE = 2**63 - 1  # the largest seed
DEEPEST = 6  # tables in tables of `infogain`: a sampler in a sampler takes two


class Body(BaseModel):
    """A JSON object whose fields are all known, and of the type they must have: "3" is no number."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class StreamOptions(Body):
    include_usage: bool | None = None
    include_denoising: bool | None = None  # chunks that show every step


class TextPart(Body):
    type: Literal["text"]
    text: str


class ChatMessage(Body):
    role: Literal["system", "user", "assistant"]
    content: str | list[TextPart]

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class ModelBody(Body):
    """What every request holds: which model is asked, and how it decodes."""

    model: str | None = None  # unset: the only one that is served
    seed: int | None = Field(None, ge=-(2**63), le=WHOLE)
    infogain: dict[str, Any] | None = None  # options of sampler and recipe, as in a recipe; reveal_steps; seconds


class SamplingBody(ModelBody):
    """What completions and chats have in common."""

    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int | None = Field(None, ge=1, le=MOST)
    n: int | None = Field(None, ge=1, le=MOST)
    stop: str | list[str] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    diffusing: bool | None = None  # each chunk of a stream holds the whole draft
    # taken where they change nothing, see `NEUTRAL`
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None

    @property
    def length(self) -> int | None:
        """Tokens to write, where it is said."""
        return self.max_tokens

    @property
    def top_logprobs_asked(self) -> int | None:
        """Alternatives at each token; None: no log-probabilities at all."""
        raise NotImplementedError


class CompletionBody(SamplingBody):
    """A request to /v1/completions."""

    prompt: str | list[str]
    logprobs: int | None = Field(None, ge=0, le=TOP_LOGPROBS)
    echo: bool | None = None
    best_of: int | None = None
    suffix: str | None = None

    @property
    def top_logprobs_asked(self) -> int | None:
        return self.logprobs


class ChatBody(SamplingBody):
    """A request to /v1/chat/completions."""

    messages: list[ChatMessage] = Field(min_length=1)
    max_completion_tokens: int | None = Field(None, ge=1, le=MOST)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=TOP_LOGPROBS)
    response_format: dict[str, Any] | None = None
    tools: list[Any] | None = None

    @property
    def length(self) -> int | None:
        if self.max_tokens is not None and self.max_completion_tokens is not None:
            raise InputError("max_completion_tokens is the newer name of max_tokens; got both. Drop one of them.")
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def top_logprobs_asked(self) -> int | None:
        if self.top_logprobs is not None and not self.logprobs:
            raise InputError("top_logprobs needs logprobs: true. Set it, or drop top_logprobs.")
        return (self.top_logprobs or 0) if self.logprobs else None


class InfillBody(ModelBody):
    """A request to /v1/infill: texts in which [MASK] stands for one token, [MASK:8] for eight."""

    text: str | list[str]
    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)


class SlotBody(Body):
    """The allowed answers of a slot: a choice of texts, yes or no, or a whole number from `low` to `high`."""

    type: Literal["choice", "yes_no", "score"]
    answers: list[str] | None = None
    low: int | None = Field(None, ge=-MOST, le=MOST)
    high: int | None = Field(None, ge=-MOST, le=MOST)

    def listed(self, most: int) -> list[str]:
        """All answers, which are texts of the model."""
        if self.type != "choice" and self.answers is not None:
            raise InputError(f"answers belong to a choice; this slot is of type {self.type}. Drop them.")
        if self.type != "score" and (self.low, self.high) != (None, None):
            raise InputError(f"low and high belong to a score; this slot is of type {self.type}. Drop them.")
        if self.type == "yes_no":
            return ["yes", "no"]
        if self.type == "choice":
            if not self.answers or len(set(self.answers)) < len(self.answers):
                raise InputError("a choice needs answers that differ. Give a list of texts.")
            return self.answers
        if self.low is None or self.high is None or not 0 < self.high - self.low < most:
            raise InputError(
                f"a score needs low and high, with 2 to {most} whole numbers; got {self.low}, {self.high}."
            )
        return [str(number) for number in range(self.low, self.high + 1)]


class DecisionBody(Body):
    """A request to /v1/decisions: a text with slots, such as "The sky is {color}.", and the answers of each."""

    model: str | None = None
    template: str
    slots: dict[str, SlotBody] = Field(min_length=1)


# Fields of OpenAI's that are not honoured: values under which they change nothing, and what to do instead.
NEUTRAL: dict[str, tuple[tuple[Any, ...], str]] = {
    "frequency_penalty": ((0,), "Leave it out."),
    "presence_penalty": ((0,), "Leave it out."),
    "logit_bias": (({},), "Leave it out."),
    "echo": ((False,), "Put the prompt before the text yourself."),
    "best_of": ((1,), 'Ask for "infogain": {"sampler": "best-of-n", "n": 4}.'),
    "suffix": (("",), "Use /v1/infill, where [MASK:8] stands for what is to be written."),
    "response_format": (({"type": "text"},), "Leave it out."),
    "tools": (([],), "Leave it out."),
}


def check_depth(value: Any, left: int = DEEPEST) -> None:
    """Refuse tables and lists that lie too deep in each other."""
    if not left:
        raise InputError(f"tables in infogain must lie at most {DEEPEST} deep in each other; these lie deeper.")
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inside:
        if isinstance(each, dict | list):
            check_depth(each, left - 1)


def check_neutral(body: Body) -> None:
    """Refuse fields that would have to change the answer, and cannot."""
    for name, (values, advice) in NEUTRAL.items():
        value = getattr(body, name, None)
        if value is not None and value not in values:
            raise InputError(f"{name} is not supported here: it must be unset or {values[0]!r}. {advice}")
