"""Rows as they are being written, for whoever streams them or asks for log-probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile

import torch
from torch import Tensor

from infogain.generate import Generation, as_stops
from infogain.kernels import at_least_float32
from infogain.loop.step import StepEvent
from infogain.serve.asked import Committed, Drafted, Event, Revealed, TextRequest, TokenLogprob
from infogain.text.tokenizer import Tokenizer

UNWRITTEN = "▒"  # a mask, in a draft
UNDECODED = "\N{REPLACEMENT CHARACTER}"  # what a tokenizer gives for bytes whose character is not whole yet


@dataclass(frozen=True)
class RowWriting:
    """What one step wrote into one row; the mask token where it erased something."""

    start: int  # of the block
    columns: list[int]
    tokens: list[int]
    entropy: list[float]
    logprobs: list[TokenLogprob]  # empty where nobody asks


@torch.inference_mode()
def read_writings(event: StepEvent, wanted: Mapping[int, int | None]) -> dict[int, RowWriting]:
    """What a step wrote into these rows, each with the number of log-probabilities that are asked for beside its own.

    For lanes whose sampler keeps one hypothesis: of each row one candidate survives.
    """
    parent, kept = event.a.parent.tolist(), event.kept.tolist()
    picked = [m for m in kept if event.rows[parent[m]] in wanted]
    if not picked:
        return {}
    rows = [event.rows[parent[m]] for m in picked]
    index = torch.tensor(picked, device=event.kept.device)
    hypothesis = event.a.parent[index]
    chosen, tokens = event.a.chosen[index], event.a.tokens[index]
    start, entropy = event.z.start[hypothesis], event.z.p.entropy[hypothesis]
    asked = [wanted[row] for row in rows]
    told = _logprobs(event, hypothesis, chosen, tokens, asked)
    found = {}
    columns = zip(rows, start.tolist(), chosen.tolist(), tokens.tolist(), entropy.tolist(), told, strict=True)
    for row, first, marks, words, uncertain, logprobs in columns:
        where = [w for w, marked in enumerate(marks) if marked]
        found[row] = RowWriting(
            first, [first + w for w in where], [words[w] for w in where], [uncertain[w] for w in where], logprobs
        )
    return found


def _logprobs(
    event: StepEvent, hypothesis: Tensor, chosen: Tensor, tokens: Tensor, asked: Sequence[int | None]
) -> list[list[TokenLogprob]]:
    """log p of what each candidate writes, and of the likeliest tokens there; nothing for rows that do not ask."""
    if all(count is None for count in asked):
        return [[] for _ in asked]
    p = event.z.p[hypothesis]
    log_p = at_least_float32(p.logits[chosen]) - p.log_z[chosen][:, None]  # [X, V]
    first = p.vocabulary.first
    column = (tokens[chosen] - first).clamp(0, log_p.shape[1] - 1)  # an erasing writes the mask, which is left out
    own = log_p.gather(1, column[:, None])[:, 0].tolist()
    best, which = log_p.topk(min(max(count or 0 for count in asked), log_p.shape[1]))
    tops = zip((which + first).tolist(), best.tolist(), strict=True)
    each = iter(zip(tokens[chosen].tolist(), own, tops, strict=True))
    told = []
    for count, written in zip(asked, chosen.sum(-1).tolist(), strict=True):
        these = [next(each) for _ in range(written)]
        some = [
            TokenLogprob(token, logp, tuple(zip(ids[: count or 0], values[: count or 0], strict=True)))
            for token, logp, (ids, values) in these
        ]
        told.append([] if count is None else some)
    return told


@dataclass(eq=False)
class WatchedRow:
    """One row that is watched: its tokens so far, and how much of its text has been told."""

    asked: TextRequest
    number: int  # of the row, in its request
    tokenizer: Tokenizer
    mask_id: int
    tokens: list[int] = field(init=False)
    steps: int = 0
    steps_told: int = 0  # more than `steps` where the row is decoded again
    sent: str = ""
    logprobs: dict[int, TokenLogprob] = field(default_factory=dict)  # by column

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Decoding begins, or begins again; what was told stays told."""
        self.tokens, self.steps = list(self.asked.job.rows[self.number]), 0
        self.columns = [column for column, token in enumerate(self.tokens) if token == self.mask_id]  # to be written

    def follow(self, writing: RowWriting) -> list[Event]:
        """What a step that wrote this tells a listener."""
        for column, token in zip(writing.columns, writing.tokens, strict=True):
            self.tokens[column] = token
        if writing.logprobs:
            self.logprobs |= dict(zip(writing.columns, writing.logprobs, strict=True))
        events: list[Event] = []
        if self.asked.reveals and self.steps >= self.steps_told:
            events.append(Revealed(self.number, self.steps, writing.columns, writing.tokens, writing.entropy))
        self.steps += 1
        self.steps_told = max(self.steps_told, self.steps)
        if self.asked.drafts:
            events.append(Drafted(self.number, self._draft()))
        elif self.asked.stream and (more := self._more_of(self._final_text(writing.start))):
            events.append(Committed(self.number, more))
        return events

    def _final_text(self, block: int) -> str:
        """The text of the finished prefix that no later step can change; `block` is where the present block begins."""
        recipe = self.asked.recipe
        columns = self.columns
        if recipe.sampler.traits.erases and self._block_is_open(block):
            columns = [column for column in columns if column < block]
        ends = {self.mask_id, *(recipe.eos_ids or ())}
        prefix = list(takewhile(lambda token: token not in ends, (self.tokens[column] for column in columns)))
        text = self.tokenizer.decode(prefix)
        return held_back(text.rstrip(UNDECODED), self.asked.stop)

    def _draft(self) -> str:
        """The text as it stands. What follows an EOS or a stop string will be cut, whatever is written before it."""
        ends = self.asked.recipe.eos_ids or ()
        tokens = takewhile(lambda token: token not in ends, (self.tokens[column] for column in self.columns))
        runs = [(masked, list(run)) for masked, run in groupby(tokens, self.mask_id.__eq__)]
        text = "".join(UNWRITTEN * len(run) if masked else self.tokenizer.decode(run) for masked, run in runs)
        found = [text.index(stop) for stop in as_stops(self.asked.stop) if stop in text]
        return text[: min(found)] if found else text

    def _block_is_open(self, block: int) -> bool:
        width = self.asked.recipe.block or len(self.tokens)
        return self.mask_id in self.tokens[block : block + width]

    def _more_of(self, text: str) -> str:
        """What of a text has not been told; nothing, where decoding again has not come so far yet."""
        if not text.startswith(self.sent):
            return ""
        more, self.sent = text[len(self.sent) :], text
        return more

    def rest_of(self, text: str) -> str | None:
        """What is left to tell of the finished text; None where it is not the text that was told."""
        return self._more_of(text) if text.startswith(self.sent) else None

    def logprobs_of(self, text: Generation) -> list[TokenLogprob] | None:
        """Those of the text's tokens, where they are asked for."""
        if self.asked.logprobs is None:
            return None
        return [self.logprobs[column] for column in self.columns[: len(text.tokens)]]


def held_back(text: str, stop: str | Sequence[str]) -> str:
    """A text up to where a stop string begins, or may begin once more of the text is known."""
    stops = [stop] if isinstance(stop, str) else stop
    end = len(text)
    for one in stops:
        found = text.find(one)
        longest = min(len(one) - 1, len(text))
        begun = next((len(text) - n for n in range(longest, 0, -1) if text.endswith(one[:n])), len(text))
        end = min(end, begun if found < 0 else found)
    return text[:end]
