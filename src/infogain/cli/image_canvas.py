"""Draws the decode of an image in the terminal: a line of cells for each row of its grid of codes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.text import Text

from infogain.cli.live_canvas import FRESH, SCALE, LiveCanvas
from infogain.cli.terminal import literal
from infogain.loop.trace import Hypothesis, Story, Trace, TraceImage
from infogain.view.data import asked_for, top

SHADES = ("  ", "··", "::", "░░", "▒▒")  # masked, from certain to uncertain; a cell is two signs wide and so a square
WRITTEN, GIVEN, UNKNOWN = "██", "▚▚", "--"  # unknown: masked, in a block that is not open
GROUNDS = [style.split()[-1] for _, style in SCALE]
COLOURS = [f"{ground} on {ground}" for ground in GROUNDS]  # the signs are seen where there are no colours
REST = 36  # signs of a heading behind what was asked for


class ImageCanvas(LiveCanvas):
    """The grids of a trace's images. Of one with more cells than there is room for every second or third is shown."""

    def __init__(self, title: str, story: Story, trace: Trace, image: TraceImage, width: int) -> None:
        super().__init__(title, story)
        self.trace, self.image, self.width = trace, image, width
        rows = [row for step in trace.steps for row in step.rows]
        self.top = top([entropy for row in rows for entropy in row.entropy if math.isfinite(entropy)])

    def scale(self) -> Text:
        """What the signs mean, on one line."""
        text = Text("masked 0 ")
        for shade, style in zip(SHADES, COLOURS, strict=True):
            text.append(shade, style)
        text.append(f" {self.top:g} nats  {WRITTEN} written  ")
        return text.append(WRITTEN, FRESH).append(f" just written  {GIVEN} given")

    def lines(self, limit: int) -> list[Text]:
        """As many whole images as fit, at least one."""
        images = len(self.story.prompts)
        shown = min(images, max(1, limit // (self.image.height + 1)))
        lines = [line for prompt in range(shown) for line in self.picture(prompt, limit)]
        return [*lines, Text(f"… and {images - shown} more", "dim")] if images > shown else lines

    def picture(self, prompt: int, limit: int) -> list[Text]:
        """One image below what was asked for. Its grid has no more lines than `limit`."""
        best = self.story.best(prompt)
        every = max(1, math.ceil(self.image.height / limit), math.ceil(2 * self.image.width / self.width))
        asked = literal(asked_for(self.trace, prompt)[: max(1, self.width - REST)], "bold")
        heading = asked + Text(f"  H̃ {best.cost:5.2f}")
        if every > 1:
            heading.append(f"  1 cell of {every * every} shown", "dim")
        rows = range(0, self.image.height, every)
        return [heading, *(self._row(prompt, best, self._columns(prompt, row, every)) for row in rows)]

    def _columns(self, prompt: int, row: int, every: int) -> Sequence[int]:
        first = self.image.starts[prompt] + row * self.image.width
        return range(first, first + self.image.width, every)

    def _row(self, prompt: int, best: Hypothesis, columns: Sequence[int]) -> Text:
        return Text("").join(self._draw(prompt, column, best) for column in columns)

    def _draw(self, prompt: int, column: int, hypothesis: Hypothesis) -> Text:
        if self.story.prompts[prompt][column] != self.story.mask_id:
            return Text(GIVEN, "dim")
        if hypothesis.tokens[column] != self.story.mask_id:
            return Text(WRITTEN, FRESH if column in hypothesis.fresh else "")
        if column not in hypothesis.entropy:
            return Text(UNKNOWN, "dim")
        share = min(1.0, max(0.0, hypothesis.entropy[column] / self.top))
        level = min(int(share * len(SHADES)), len(SHADES) - 1)
        return Text(SHADES[level], COLOURS[level])
