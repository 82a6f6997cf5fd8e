"""Statements of a program: what each defines, uses and changes, and which of them a function needs."""

from __future__ import annotations

import ast
import re
import symtable
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

ALWAYS = "*"  # stands for names that nobody can list: those of `from … import *`, the compiler's, the interpreter's
SETS = re.compile("set|seed")  # how the names of functions begin that change a module, as in sys.setrecursionlimit
NONE = frozenset[str]()
Function = ast.FunctionDef | ast.AsyncFunctionDef
Place = ast.Subscript | ast.Attribute


@dataclass(frozen=True)
class Act:
    """A call, or an assignment to an item or an attribute.

    name   what is called: the `f` of `f(x)` and of `a.b.f(x)`
    owner  where it comes from: the `f` and the `a`
    given  names of what it can change: the owner and what it is given
    """

    name: str
    owner: str | None
    given: frozenset[str]


@dataclass(frozen=True)
class Statement:
    """A statement at the top of a program, with the comments before it.

    binds     names that it defines or changes by itself
    uses      names of the module that it needs, at once or when it is called
    stub      is it a function that never returns anything?
    imports   does it nothing but import?
    standard  names that it imports from the standard library
    defines   names of its functions and classes
    values    names that it binds to what is neither a module nor a function
    runs      what it does at once
    calls     what it does at once or when it is called
    """

    source: str
    binds: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    stub: bool = False
    imports: bool = False
    standard: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    runs: frozenset[Act] = frozenset()
    calls: frozenset[Act] = frozenset()

    @property
    def mentions(self) -> frozenset[str]:
        """Names that must be there when it runs, for it calls or changes them."""
        return frozenset(chain.from_iterable((act.name, *act.given) for act in self.runs))


def statements(lines: Sequence[str], nodes: Sequence[ast.stmt]) -> list[Statement]:
    """The statements of a program; those that share a line are one, and what is behind the last one is its too."""
    groups: dict[int, list[ast.stmt]] = {}  # by last line
    for node in nodes:
        shared = groups.pop(node.lineno, [])
        end = len(lines) if node is nodes[-1] else node.end_lineno or node.lineno
        groups[end] = [*shared, node]
    return [_describe("\n".join(lines[a:b]), groups[b]) for a, b in pairwise([0, *groups])]


def _describe(source: str, nodes: Sequence[ast.stmt]) -> Statement:
    try:
        top = symtable.symtable(source, "program", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Statement(source)  # it parses, yet Python would not compile it
    if all(isinstance(node, ast.AnnAssign) and not node.value for node in nodes):
        return Statement(source)  # `largest: the first one` is as good as words
    tables = list(_tables(top))
    symbols = [symbol for table in tables for symbol in table.get_symbols()]
    imported = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_imported()}
    bound = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned()} | imported
    uses = {symbol.get_name() for symbol in symbols if symbol.is_global()}
    shared = {symbol.get_name() for symbol in symbols if symbol.is_declared_global() and symbol.is_assigned()}
    now, ever = list(_parts(nodes, inside=False)), list(_parts(nodes, inside=True))
    functions = {part.name for part in now if isinstance(part, Function)}
    classes = {part.name for part in now if isinstance(part, ast.ClassDef)}
    return Statement(
        source,
        binds=frozenset(bound).union(*map(_stored, now)),
        uses=frozenset(uses),
        stub=all(isinstance(node, Function) and not returns(node) for node in nodes),
        imports=all(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes),
        standard=frozenset(name for part in now for name in _standard(part)),
        defines=frozenset(functions | classes),
        values=frozenset(bound - imported - functions | shared),
        runs=frozenset(_acts(now, uses)),
        calls=frozenset({*_acts(ever, uses), Act("", None, frozenset(shared))}),
    )


def _tables(top: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    todo = [top]
    while todo:
        yield (table := todo.pop())
        todo += table.get_children()


def _parts(nodes: Iterable[ast.AST], inside: bool) -> Iterator[ast.AST]:
    """All nodes below these that do something: none of an assertion, and of a definition the inside if so asked."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, Function | ast.ClassDef) and not inside:
            todo += node.decorator_list
        elif not isinstance(node, ast.Assert):
            todo += ast.iter_child_nodes(node)


def _standard(part: ast.AST) -> Iterator[str]:
    if isinstance(part, ast.Import | ast.ImportFrom):
        for alias in part.names:
            module = (part.module or "") if isinstance(part, ast.ImportFrom) else alias.name
            if module.partition(".")[0] in sys.stdlib_module_names:
                yield alias.asname or alias.name.partition(".")[0]


def _stored(part: ast.AST) -> set[str]:
    """The `x` of `x[i] = …`, `x.a = …` and `del x[i]`; and names that nobody can list."""
    if isinstance(part, ast.ImportFrom) and (part.module == "__future__" or part.names[0].name == "*"):
        return {ALWAYS}
    return {root} if _is_stored(part) and (root := _root(part)) else set()


def _is_stored(part: ast.AST) -> bool:
    return isinstance(part, Place) and not isinstance(part.ctx, ast.Load)


def _acts(parts: Iterable[ast.AST], names: set[str]) -> Iterator[Act]:
    """Calls, also by decorators, and assignments, with those of the names that they can change."""
    for part in parts:
        if isinstance(part, ast.Call):
            yield _call(part.func, [*part.args, *(keyword.value for keyword in part.keywords)], names)
        elif isinstance(part, Function | ast.ClassDef):
            yield from (_call(decorator, [], names) for decorator in part.decorator_list)
        elif _is_stored(part):
            direct = _root(part)
            owner = None if direct else _root(part, calls=True)  # of `getcontext().prec = 50` what is called
            yield Act("setattr", owner, frozenset(names & {direct}))


def _call(function: ast.expr, given: Sequence[ast.expr], names: set[str]) -> Act:
    owner = _root(function)
    name = function.attr if isinstance(function, ast.Attribute) else owner
    return Act(name or "", owner, frozenset(names & {owner, *map(_root, given)}))


def _root(part: ast.AST, calls: bool = False) -> str | None:
    """The `x` of `x.a[i].b` and `*x`, and of `x().a` if calls are to be seen through."""
    while isinstance(part, Place | ast.Starred) or (calls and isinstance(part, ast.Call)):
        part = part.func if isinstance(part, ast.Call) else part.value
    return part.id if isinstance(part, ast.Name) else None


def returns(tree: ast.Module | Function) -> bool:
    """Does it return or yield, itself and not in a function inside it?"""
    todo: list[ast.AST] = [*tree.body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            todo.extend(ast.iter_child_nodes(node))
    return False


def needed(program: Sequence[Statement], names: frozenset[str], function: str | None) -> list[Statement]:
    """The statements that define or change these names, and those that they use in turn.

    function  what is asked for: calls of it, and of what calls it, are examples and change nothing
    """
    changes = changed(program, function)
    while True:
        found = [s for s, others in zip(program, changes, strict=True) if (s.binds | others) & names]
        more = names.union(*(s.uses for s in found))
        if more == names:
            return found
        names = more


def changed(program: Sequence[Statement], function: str | None) -> list[frozenset[str]]:
    """What each statement changes by calls: what it gives them, what their functions change, and Python's settings."""
    examples = callers(program, function) | {"print"}
    values = NONE.union(*(s.values for s in program)) - examples
    standard = NONE.union(*(s.standard for s in program))
    calls: dict[str, set[Act]] = {}  # what calling a name does
    same: dict[str, set[str]] = {}  # values that may be one, or parts of each other
    for s in program:
        for name in s.binds:
            calls.setdefault(name, set()).update(s.calls)
        for name in s.values if examples.isdisjoint(s.mentions) else ():
            same.setdefault(name, set()).update((s.binds | s.uses) & values)

    def by(act: Act) -> Iterator[str]:
        yield from chain.from_iterable(same.get(name, [name]) for name in act.given & values)
        if act.owner in standard and SETS.match(act.name):
            yield ALWAYS

    return [frozenset(chain.from_iterable(map(by, _reached(s.runs, calls, examples)))) for s in program]


def _reached(acts: Iterable[Act], calls: Mapping[str, Iterable[Act]], examples: frozenset[str]) -> set[Act]:
    """These, and what the functions do that they call, at any remove."""
    found, todo = set[Act](), list(acts)
    while todo:
        act = todo.pop()
        if act not in found and act.name not in examples:
            found.add(act)
            todo += calls.get(act.name, ())
    return found


def callers(program: Sequence[Statement], function: str | None) -> frozenset[str]:
    """The function, and the functions and classes that use it, at any remove."""
    names = frozenset({function} if function else ())
    while (more := names.union(*(s.defines for s in program if s.uses & names))) != names:
        names = more
    return names
