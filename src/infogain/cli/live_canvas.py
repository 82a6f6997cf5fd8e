"""Draws a decode while it runs: every token is coloured by the entropy it was written at."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from infogain.cli.terminal import harmless
from infogain.loop.trace import Hypothesis, Story

# Entropy in nats below each bound, and its colours: cividis, which reads the same with any colour vision.
SCALE = (
    (0.1, "#000000 on #fee838"),
    (0.7, "#000000 on #bcae6c"),
    (1.4, "#ffffff on #7d7c78"),
    (2.1, "#ffffff on #434e6c"),
    (float("inf"), "#ffffff on #00224e"),
)
HOLE = "·"  # a column still masked
FRESH = "bold magenta"  # a cell of an image that was just written


def entropy_style(entropy: float) -> str:
    """The rich style of a token that was written at this entropy."""
    return next(style for bound, style in SCALE if entropy < bound or bound == float("inf"))


def entropy_scale() -> Text:
    """What the colours mean, on one line."""
    text = Text("uncertainty ")
    for bound, style in SCALE:
        text.append(" more " if bound == float("inf") else f" <{bound:g} ", style)
    return text + Text(f" nats   {HOLE} masked   ") + Text("just written", "bold underline")


class LiveCanvas:
    """The canvas of a decode, one line per prompt.

    `alphabet` gives each token id its character; without one the ids are shown.
    """

    def __init__(self, title: str, story: Story, alphabet: str | Mapping[int, str] | None = None) -> None:
        self.title, self.story = title, story
        self.alphabet = dict(enumerate(alphabet)) if isinstance(alphabet, str) else alphabet
        highest = max((token for row in story.prompts for token in row), default=0)
        self._cell = 1 if alphabet else len(str(highest))

    def scale(self) -> Text:
        """What the colours mean, on one line."""
        return entropy_scale()

    def lines(self, limit: int) -> list[Text]:
        prompts = self.story.prompts
        lines = [self.line(prompt) for prompt in range(min(len(prompts), limit))]
        if len(prompts) > limit:
            lines.append(Text(f"… and {len(prompts) - limit} more", "dim"))
        return lines

    def line(self, prompt: int) -> Text:
        hypothesis = self.story.best(prompt)
        gap = "" if self.alphabet else " "
        cells = (self._draw(prompt, column, hypothesis) for column in range(len(hypothesis.tokens)))
        return Text(gap).join(cells) + Text(f"  H̃ {hypothesis.cost:5.2f}")

    def _draw(self, prompt: int, column: int, hypothesis: Hypothesis) -> Text:
        token = hypothesis.tokens[column]
        given = self.story.prompts[prompt][column] != self.story.mask_id
        if given:
            return Text(self._character(token), "bold")
        style = entropy_style(hypothesis.entropy[column]) if column in hypothesis.entropy else "dim"
        new = " bold underline" if column in hypothesis.fresh else ""
        return Text(self._character(token), style + new)

    def _character(self, token: int) -> str:
        if token == self.story.mask_id:
            return HOLE * self._cell
        if self.alphabet and token in self.alphabet:
            return harmless(self.alphabet[token]).replace("\n", "↵")
        return str(token).rjust(self._cell)


def live_text(story: Story, word: Callable[[int], str], eos_ids: Sequence[int] = ()) -> Text:
    """What is written after prompt 0 so far, as flowing text; masks after the last token written are not drawn."""
    best, given = story.best(0), story.prompts[0]
    written = [c for c, token in enumerate(given) if token == story.mask_id]
    tokens = {column: best.tokens[column] for column in written}
    ends = [column for column in written if tokens[column] in eos_ids]
    last = max((column for column in written if tokens[column] != story.mask_id), default=-1)
    text = Text()
    for column in written:
        if column > last or (ends and column >= ends[0]):
            break
        if tokens[column] == story.mask_id:
            text.append(f" {HOLE}", "dim")
        else:
            fresh = " bold underline" if column in best.fresh else ""
            text.append(harmless(word(tokens[column])), entropy_style(best.entropy[column]) + fresh)
    return text


class Screen:
    """Canvases side by side, redrawn in place on a terminal; elsewhere every step is printed plainly."""

    def __init__(self, console: Console, canvases: Sequence[LiveCanvas], delay: float) -> None:
        self.console, self.canvases, self.delay = console, canvases, delay
        self._live = Live(self._frame(), console=console, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start(refresh=True)
            time.sleep(self.delay)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def show(self, canvas: LiveCanvas) -> None:
        """Show this canvas after a step. Canvases take turns within the delay of one step."""
        if self._live:
            self._live.update(self._frame(), refresh=True)
            time.sleep(self.delay / len(self.canvases))
            return
        wide = max(10, *(len(each.title) for each in self.canvases))
        for line in canvas.lines(limit=self._height):
            self.console.print(f"step {canvas.story.step:3}  {canvas.title:<{wide}}", line, soft_wrap=True)

    @property
    def _height(self) -> int:
        return max(1, self.console.height - 8)

    def _frame(self) -> RenderableType:
        return Group(
            self.canvases[0].scale(), Columns([self._panel(canvas) for canvas in self.canvases], padding=(0, 4))
        )

    def _panel(self, canvas: LiveCanvas) -> Group:
        title = Text(f"{canvas.title}, step {canvas.story.step}", "bold")
        return Group(title, *canvas.lines(self._height))
