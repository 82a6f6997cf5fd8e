"""Comparison of two answers as mathematics, by math-verify: what the worker of `infogain.evals.math_process` runs.

It imports nothing of the package, so that a worker starts in half a second. A request and a reply are a line of
JSON each. The kernel ends the process at the request's limit of CPU time, also in the middle of one long
multiplication, where Python serves no signal and no thread can.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import warnings
from typing import Any

MEMORY = 4 << 30  # bytes of address space
BASE = re.compile(r"[0-9]_\{?([0-9]+)\}?")  # 40_9 is 36
# 7 hours 30 minutes; and not the list "7 and 30"
UNIT_BETWEEN = re.compile(r"[0-9]\s*\\(?:text|mathrm|mbox)\s*\{(?! *(?:and|or)\b)[^{}]*\}\s*[0-9]")
# 3 (since 1 + 2 = 3): what stands before it is the answer
REMARK = re.compile(r"(?<=\S)\s*(?:\\(?:text|mathrm|mbox)\s*\{\s*)?\((?:since|because|i\.e\.)\s.*", re.DOTALL)
INEQUALITY = re.compile(r"[<>≤≥]|\\(?:[lg]eq?|[lg]t|[lg]eqslant)(?![A-Za-z])")
ODD_CHARACTERS = str.maketrans({**dict.fromkeys("−‐‑–﹣－", "-"), **dict.fromkeys("\u00a0\u2007\u2009\u202f", " ")})
TYPESETTING = re.compile(
    r"(?<!\\)(?:\\?\$|\\[,;:> ()\[\]]|\\(?:displaystyle|textstyle|quad|qquad|[bB]igg?[lr]?)(?![A-Za-z])|~)"
)
GROUPED = re.compile(r"(?<![0-9.])[0-9]{1,3}(?: [0-9]{3})+(?![0-9])|(?:(?<==)|(?<== ))[0-9]{1,3}(?:,[0-9]{3})+$")


def tidy(text: str) -> str:
    r"""An answer without its typesetting: "$\displaystyle 2\,220$." is 2220, 9i is 9 i."""
    plain = re.sub(r"\\!\s*", "", text.translate(ODD_CHARACTERS)).replace("{,}", ",")
    plain = re.sub(r"°|\\degree(?![A-Za-z])", r"^\\circ", plain)
    plain = " ".join(TYPESETTING.sub(" ", plain).split())
    plain = GROUPED.sub(lambda number: re.sub("[ ,]", "", number[0]), plain)
    plain = re.sub(r"(?<=[0-9])i(?![A-Za-z])", " i", plain)
    return re.sub(r"[ *.,;]+(?=\}*$)", "", plain.rstrip("\\")).lstrip(" *")


def judge(gold: str, question: str, answer: str | None, text: str) -> tuple[bool, str | None]:
    """Is the answer the gold one, and which is it? Without an answer the text's last expression is taken."""
    if answer is None:
        found = parse(text.translate(ODD_CHARACTERS))
        answer = next((part for part in found if isinstance(part, str)), None)
    stated = REMARK.sub("", answer or "")
    if not stated or not same_kind(gold, stated):
        return False, answer
    ours, theirs = (parse(rf"\boxed{{{tidy(expression)}}}") for expression in (gold, stated))
    return verify(ours, without_name(ours, theirs, stated, question)), answer


def same_kind(gold: str, answer: str) -> bool:
    """Numbers of one base; both with units between numbers, or neither; both a point or an interval, or neither."""
    lists = is_bracketed_list(tidy(gold)), is_bracketed_list(tidy(answer))
    alike = all(pattern.findall(gold) == pattern.findall(answer) for pattern in (BASE, UNIT_BETWEEN))
    return alike and (None in lists or lists[0] == lists[1])


def is_bracketed_list(text: str) -> bool | None:
    """A point or an interval, and not several numbers; None where it may be either: x = 3, y = 4 or 3 < x < 4."""
    if text.count("=") > 1 or INEQUALITY.search(text):
        return None
    bare = re.sub(r"\\left|\\right|\s|.*=|.*\\in\b", "", text)
    return "," in bare and bare.startswith(("(", "["))


def without_name(ours: list[Any], theirs: list[Any], answer: str, question: str) -> list[Any]:
    """Nothing, where an unsolved equation such as 2x = 10 is given for the number 10.

    AB = 6 or (x, y) = (3, 4) names its value, and so does 2a + b = 7 where the question asks for 2a + b.
    """
    left = getattr(theirs[0], "lhs", None) if theirs else None
    if left is None or hasattr(ours[0] if ours else None, "lhs") or not left.free_symbols or not has_numbers(left):
        return theirs
    name, asked = ("".join(tidy(part).split()) for part in (answer.partition("=")[0], question))
    return theirs if name in asked and f"{name}=" not in asked else []


def has_numbers(expression: Any) -> bool:
    """Does it count or add numbers? Those of exponents, and of what a function is of, belong to its name."""
    if expression.is_Number or expression.is_Function:
        return bool(expression.is_Number)
    parts = expression.args[:1] if expression.is_Pow else expression.args
    return any(has_numbers(part) for part in parts if not (expression.is_Mul and part == -1))


def parse(text: str) -> list[Any]:
    import math_verify

    return list(math_verify.parse(text, parsing_timeout=None))


def verify(ours: list[Any], theirs: list[Any]) -> bool:
    import math_verify

    return bool(math_verify.verify(ours, theirs, allow_set_relation_comp=True, timeout_seconds=None))


def serve() -> None:
    """Say that it is ready, or why it cannot be; then answer requests until there are no more."""
    import resource  # Unix only; what else is here can be used anywhere
    import signal

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # it ends the process
    try:
        import math_verify  # noqa: F401
    except ImportError as error:
        print(json.dumps(str(error)), flush=True)
        return
    print("null", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, request.pop("seconds"))
        verdict = judge(**request)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    serve()
