"""Finished texts as OpenAI's API sends them, whole or in chunks, with what they cost."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from infogain.options import Plain
from infogain.serve.asked import Revealed, TextAnswer, TokenLogprob
from infogain.text.prompts import Job
from infogain.text.tokenizer import Tokenizer

FINISH = {"eos": "stop", "stop": "stop", "length": "length"}  # what OpenAI calls the ends of texts


def as_json(value: object) -> bytes:
    """JSON in UTF-8; half a surrogate pair, which UTF-8 does not know, stays an escape."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class TextReply:
    """One answer over HTTP, of a completion or a chat."""

    chat: bool
    model: str
    tokenizer: Tokenizer
    prompt_tokens: int
    reveal_steps: bool = False
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, answers: Sequence[TextAnswer]) -> Plain:
        """All answers in one object."""
        choices = [self._choice(i, answer) for i, answer in enumerate(answers)]
        return {
            **self._head("chat.completion" if self.chat else "text_completion"),
            "choices": choices,
            "usage": self.usage(answers),
            "infogain": costs_of(answers),
        }

    def _head(self, kind: str) -> Plain:
        prefix = "chatcmpl" if self.chat else "cmpl"
        return {"id": f"{prefix}-{self.id}", "object": kind, "created": self.created, "model": self.model}

    def _choice(self, index: int, answer: TextAnswer) -> Plain:
        text = answer.generation.text
        said: Plain = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        return {"index": index, **said, **self._ending(answer)}

    def _ending(self, answer: TextAnswer) -> Plain:
        """How a text ended, its log-probabilities where they are asked for, and what it cost."""
        return {
            "finish_reason": FINISH[answer.generation.finish],
            "logprobs": self._logprobs(answer),
            "infogain": told_of(answer, self.reveal_steps),
        }

    # chunks of a stream

    def first(self, index: int) -> Plain | None:
        """The chunk that begins a choice, which chats have."""
        return self._chunk([self._part(index, {"role": "assistant", "content": ""})]) if self.chat else None

    def more(self, index: int, text: str) -> Plain:
        """Committed text."""
        return self._chunk([self._part(index, {"content": text}, text)])

    def step(self, event: Revealed) -> Plain:
        """What a step wrote: an empty delta, and the field `infogain`."""
        words = [self.tokenizer.word(token) for token in event.tokens]
        told = {"index": event.row, "step": event.step, "columns": event.columns, "tokens": event.tokens}
        about = {**told, "words": words, "entropy": event.entropy}
        return {**self._chunk([self._part(event.row, {})]), "infogain": about}

    def last(self, index: int, answer: TextAnswer) -> Plain:
        """The chunk that ends a choice."""
        return self._chunk([{**self._part(index, {}), **self._ending(answer)}])

    def costs(self, answers: Sequence[TextAnswer]) -> Plain:
        """What all cost: the last chunk, where usage is asked for."""
        return {**self._chunk([]), "usage": self.usage(answers), "infogain": costs_of(answers)}

    def _chunk(self, choices: list[Plain]) -> Plain:
        return {**self._head("chat.completion.chunk" if self.chat else "text_completion"), "choices": choices}

    def _part(self, index: int, delta: Plain, text: str = "") -> Plain:
        said: Plain = {"delta": delta} if self.chat else {"text": text}
        return {"index": index, **said, "finish_reason": None, "logprobs": None}

    # numbers

    def usage(self, answers: Sequence[TextAnswer]) -> Plain:
        return usage_of(self.prompt_tokens, answers)

    def _logprobs(self, answer: TextAnswer) -> Plain | None:
        if answer.logprobs is None:
            return None
        shown = self._within_text(answer, answer.logprobs)
        if self.chat:
            return {"content": [self._chat_logprob(one) for one in shown]}
        words = [self.tokenizer.word(one.token) for one in shown]
        return {
            "tokens": words,
            "token_logprobs": [_finite(one.logprob) for one in shown],
            "top_logprobs": [{self.tokenizer.word(token): _finite(value) for token, value in one.top} for one in shown],
            "text_offset": [
                len(self.tokenizer.decode([before.token for before in shown[:i]])) for i in range(len(shown))
            ],
        }

    def _within_text(self, answer: TextAnswer, logprobs: list[TokenLogprob]) -> list[TokenLogprob]:
        """Those of tokens that begin within the text, which a stop string may have cut."""
        if answer.generation.finish != "stop":
            return logprobs
        ids = answer.generation.tokens
        end = len(answer.generation.text)
        return [one for i, one in enumerate(logprobs) if len(self.tokenizer.decode(ids[:i])) < end]

    def _chat_logprob(self, one: TokenLogprob) -> Plain:
        tops = [self._token(token, value) for token, value in one.top]
        return {**self._token(one.token, one.logprob), "top_logprobs": tops}

    def _token(self, token: int, logprob: float) -> Plain:
        word = self.tokenizer.word(token)
        return {"token": word, "logprob": _finite(logprob), "bytes": list(word.encode("utf-8", "replace"))}


def _finite(logprob: float) -> float:
    """A log-probability as JSON can hold it, which knows no infinity: OpenAI's −9999 for tokens that cannot come."""
    return max(logprob, -9999.0)


def prompt_tokens_of(job: Job, mask_id: int, n: int = 1) -> int:
    """Tokens that are given, where each prompt stands `n` times; it is counted once."""
    return sum(sum(token != mask_id for token in row) for row in job.rows[::n])


def usage_of(prompt_tokens: int, answers: Sequence[TextAnswer]) -> Plain:
    written = sum(len(answer.generation.tokens) for answer in answers)
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": written,
        "total_tokens": prompt_tokens + written,
    }


def costs_of(answers: Sequence[TextAnswer]) -> Plain:
    """What all texts of a request cost, and the recipe and model that give them again."""
    texts = [answer.generation for answer in answers]
    return {
        "forwards": sum(text.forwards for text in texts),
        "token_forwards": sum(text.token_forwards for text in texts),
        "recipe": texts[0].recipe,
        "provenance": texts[0].provenance,
    }


def told_of(answer: TextAnswer, reveal_steps: bool) -> Plain:
    """What one text cost: H̃, forwards, columns; its seed; on request the step that wrote each token."""
    text = answer.generation
    told: Plain = {
        "seed": text.seed,
        "cumulative_entropy": text.cumulative_entropy,
        "forwards": text.forwards,
        "token_forwards": text.token_forwards,
        "committed": text.committed,
    }
    if reveal_steps:
        told |= {"tokens": text.tokens, "reveal_steps": text.revealed}
    return told
