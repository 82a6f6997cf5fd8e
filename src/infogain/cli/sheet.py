"""A text on its way: the columns being written, as flowing words coloured by their entropy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from infogain.cli.board import HOLE, shade
from infogain.cli.terminal import harmless
from infogain.loop.story import Story


def sheet(story: Story, word: Callable[[int], str], eos_ids: Sequence[int] = ()) -> Text:
    """What prompt 0 has become, without what was given; masks after the last word written are not drawn."""
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
            text.append(harmless(word(tokens[column])), shade(best.entropy[column]) + fresh)
    return text
