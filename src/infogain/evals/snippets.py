"""Programs read from texts: the runs of lines that Python can parse and, of these, what the function asked for needs.

Fences, prose, tests and broken ends need no rules of their own: they do not parse, or nothing needs them.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

from infogain.evals.statements import ALWAYS, Statement, needed, returns, statements

LONGEST = 300  # lines of a snippet, so that the time a text takes grows with its length alone
TRIES = 20  # cuts until a run parses: one at the mistake, one for each `if …:` or `@…` that it leaves open
FENCE = "\n```\n"  # never parses, so it ends a snippet
INDENT = "    "
BEGINS = re.compile(r"[ \t]*(?:(?:async|def|class|import|from)[ \t]|[@#]|try:|\w[\w., \[\]]*(?::[^=]+)?=(?!=))")
MARKS = re.compile(
    r"^[ \t]*(?:`{3,}|~{3,})\w*(?=\s|$)"  # a fence opens
    r"|(?:`{3,}|~{3,})[ \t]*$"  # or closes, perhaps behind code
    r"|<\|[^|\n]*\|>|(?:</\w+>)+[ \t]*$|\[/?(?:BEGIN|DONE|PYTHON)\]",  # tokens and tags of chats and prompts
    re.MULTILINE,
)
CONSOLE = re.compile(r"^(?:>>>|\.\.\.) ", re.MULTILINE)
SPACES = {0: None, 0x200B: None, 0xFEFF: None, 0xA0: " ", 0x202F: " ", 0x3000: " "}


@dataclass(frozen=True)
class Snippet:
    """A run of lines of a text that Python can parse.

    inside  is it the inside of a function, which returns?
    broken  does it end before its last statement does?
    """

    statements: Sequence[Statement]
    inside: bool
    broken: bool

    @property
    def names(self) -> frozenset[str]:
        """Names that it defines by more than a stub."""
        return frozenset[str]().union(*(s.binds for s in self.statements if not s.stub))

    @property
    def length(self) -> int:
        """Lines that are not blank."""
        return sum(bool(line.strip()) for s in self.statements for line in s.source.split("\n"))


def read_program(text: str, name: str | None, before: str = "") -> str:
    """The function `name` as the text has it, with the statements it needs; the text itself where it has no code.

    Several snippets may define it: one that does not break off goes before one that does, then the longest counts, as
    with EvalPlus, and the first of equals. In one snippet the last definition counts, as in Python; stubs never do.

    before  code that the text goes on from; it may end inside the function
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the parser thinks of a model's escape sequences
        given = snippets(before)
        best = _best_reading(text, name, before)
    if not best:
        return text
    main, found = best
    asked = {name} if name in main.names else main.names | {name}
    roots = frozenset({ALWAYS, *filter(None, asked)}).union(*(snippet.names for snippet in given))
    return "\n".join(s.source for s in needed(joined(main, found), roots, name)).strip("\n")


def _best_reading(text: str, name: str | None, before: str) -> tuple[Snippet, list[Snippet]] | None:
    """The snippet with the function, and all snippets, of the first reading that has it whole or comes nearest."""

    def rank(snippet: Snippet) -> tuple[bool, bool, bool]:
        return name in snippet.names, not snippet.inside, not snippet.broken

    best = None
    for found in _readings(text, before):
        main = max(found, key=lambda snippet: (rank(snippet), snippet.length))
        if best is None or rank(main) > rank(best[0]):
            best = main, found
        if all(rank(main)):
            break
    return best


def _readings(text: str, before: str) -> Iterator[list[Snippet]]:
    """The text's own snippets, beside those it makes when it, or what may be a body in it, goes on from a signature."""
    apart = snippets(text)
    for version in chain([text], bodies(text)) if before else [""]:
        if found := snippets(before + version) + apart:
            yield found


def bodies(text: str) -> Iterator[str]:
    """Parts of a text that may be the body of a function, indented as one: between fences, or there behind words."""
    for part in filter(str.strip, tidy(text).split(FENCE)):
        yield INDENT + part.lstrip()  # only the first line has lost its indent
        lines = part.strip("\n").split("\n")
        words = list(takewhile(lambda line: not _indent(line) and not BEGINS.match(line), lines))
        for body in [lines, lines[len(words) :]] if words[-1:] == [""] else [lines]:
            yield textwrap.indent("\n".join(unindented(body)), INDENT)


def unindented(lines: Sequence[str]) -> list[str]:
    """The lines without the indent of the first one that has words; what is left of it moves to the margin."""
    margin = _indent(next(filter(str.strip, lines), ""))
    return [line.removeprefix(margin) if not margin.startswith(_indent(line)) else line.lstrip() for line in lines]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def tidy(text: str) -> str:
    """Line ends and spaces as Python has them, and all marks of chats made fences."""
    text = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n").translate(SPACES)
    return MARKS.sub(FENCE, CONSOLE.sub("", text))


def snippets(text: str) -> list[Snippet]:
    """All runs of lines that parse, from lines on that can begin a definition, each at its own indent."""
    lines, found, at = tidy(text).split("\n"), list[Snippet](), 0
    while at < len(lines):
        if not BEGINS.match(lines[at]):
            at += 1
            continue
        margin = len(_indent(lines[at]))
        run = unindented(lines[at : at + LONGEST])
        end, mistake = parsed(run)
        at += end or max(mistake, 1)
        cut = _cut(run[:end], broken=at < len(lines) and len(_indent(lines[at])) > margin)
        found += cut
        while (cut or not end) and at < len(lines) and (not lines[at].strip() or len(_indent(lines[at])) > margin):
            at += 1  # what is left of a broken statement
    return found


def parsed(lines: Sequence[str]) -> tuple[int, int]:
    """How many of the first lines parse, and how many stand before the first mistake: cut there until it parses."""
    end = before = len(lines)
    for attempt in range(TRIES):
        try:
            ast.parse("\n".join(lines[:end]))
        except SyntaxError as error:
            end = max(min(error.lineno or 1, end) - 1, 0)
        except (ValueError, RecursionError, MemoryError):  # these name no line
            end //= 2
        else:
            return end, before
        before = before if attempt else end
    return 0, before


def _cut(lines: Sequence[str], broken: bool) -> list[Snippet]:
    """One snippet, or two where the last statement breaks off or only begins to repeat another."""
    tree = ast.parse("\n".join(lines))
    found = statements(lines, tree.body)
    sources = [s.source.strip() for s in found]
    repeats = any(source.startswith(sources[-1]) for source in sources[:-1])
    end = len(found) - (broken or repeats)
    parts = Snippet(found[:end], returns(tree), broken=False), Snippet(found[end:], returns(tree), broken=True)
    return [part for part in parts if part.statements]


def joined(main: Snippet, found: Iterable[Snippet]) -> list[Statement]:
    """One program of a snippet and what others add: their imports, and what they define and it does not. No stubs.

    Others do nothing to what the snippet has, for it is not there yet when they run.
    """
    bound = frozenset[str]().union(*(s.binds for s in main.statements))
    others = dict.fromkeys(s for snippet in found if snippet != main for s in snippet.statements)
    more = [s for s in others if s.imports or not (s.binds & main.names or s.mentions & bound)]
    program = [*more, *main.statements]
    defined = frozenset[str]().union(*(s.binds for s in program if not s.stub))
    program = [s for s in program if not (s.stub and s.binds <= defined)]
    return sorted(program, key=lambda s: not (s.imports and "__future__" in s.source))  # Python wants those first
