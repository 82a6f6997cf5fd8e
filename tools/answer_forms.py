"""Sweep the golds of GSM8K and MATH-500 through many forms: which does our scoring take, which math-verify alone?

python tools/answer_forms.py --data FOLDER [--limit 100]

Forms of the right answer should be taken, forms of a wrong one refused. FOLDER holds gsm8k.jsonl and
math500.jsonl, as for `infogain eval`. Prints two Markdown tables, and names what math-verify takes and we do not.
"""

from __future__ import annotations

import argparse
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from infogain.evals.task import EvalTask, Item
from infogain.evals.tasks import load_task

Form = Callable[[str], str | None]  # the text that gives a gold in this form; None where it cannot
WHOLE = re.compile(r"-?[0-9]+")
PLAIN = re.compile(r"-?[0-9.]+|-?\\d?frac\{[0-9]+\}\{[0-9]+\}")
POINT = re.compile(r"\([^()\[\]]+,[^()\[\]]+\)")


class Count(NamedTuple):
    task: str
    form: str
    golds: int
    ours: int
    alone: int
    missed: list[str]  # texts that math-verify alone takes and we do not


def when(fits: Callable[[str], object], text: str, change: Callable[[str], str] = str) -> Form:
    """A form of the golds that fit: the text, with the changed gold for its G."""
    return lambda gold: text.replace("G", change(gold)) if fits(gold) else None


def is_value(gold: str) -> bool:
    r"""Neither words nor an equation; what can stand behind a name and "="."""
    return not re.search(r"\\text|\\mbox|=|\\in|\\pm|_|^[^({\\]*,[^!]", gold)


def is_thousand(gold: str) -> bool:
    return WHOLE.fullmatch(gold) is not None and len(gold.lstrip("-")) > 3


def is_negative(gold: str) -> bool:
    return PLAIN.fullmatch(gold) is not None and gold.startswith("-")


def is_turnable(gold: str) -> bool:
    return POINT.fullmatch(gold) is not None and gold != turned(gold)


def is_nonzero(gold: str) -> bool:
    return is_value(gold) and gold != "0" and "cup" not in gold and "," not in gold and "begin" not in gold


def grouped(separator: str) -> Callable[[str], str]:
    return lambda gold: f"{int(gold):,}".replace(",", separator)


def turned(gold: str) -> str:
    return "(" + ",".join(reversed(gold.strip("()").split(","))) + ")"


def named(gold: str) -> str:
    return f"({', '.join('xyzw'[: gold.count(',') + 1])}) = {gold}"


def more(gold: str) -> str:
    return str(int(gold) + 1) if WHOLE.fullmatch(gold) else f"{gold} + 1"


def opposite(gold: str) -> str:
    return gold[1:] if PLAIN.fullmatch(gold) and gold.startswith("-") else f"-({gold})" if "+" in gold else f"-{gold}"


RIGHT: dict[str, Form] = {
    "in a box": when(bool, r"So it is $\boxed{G}$."),
    "a full stop": when(bool, r"\boxed{G.}"),
    "dollars": when(bool, r"\boxed{$G$}"),
    "displaystyle": when(bool, r"\boxed{\displaystyle G}"),
    "spaces": when(bool, r"\boxed{\, G~}"),
    "a unit": when(PLAIN.fullmatch, r"\boxed{G\text{ units}}"),
    "a unit after ~": when(PLAIN.fullmatch, r"\boxed{G~\text{cm}}"),
    "x = ": when(is_value, r"\boxed{x = G}"),
    "AB = ": when(PLAIN.fullmatch, r"\boxed{AB=G}"),
    "(x, y) = ": when(POINT.fullmatch, r"\boxed{G}", named),
    "a sentence": when(bool, "The answer is $G$."),
    "a plain sentence": when(PLAIN.fullmatch, "The answer is G."),
    "behind ####": when(PLAIN.fullmatch, "#### G"),
    "bold": when(WHOLE.fullmatch, "**G**"),
    "a comma": when(is_thousand, r"\boxed{G}", grouped(",")),
    "{,}": when(is_thousand, r"\boxed{G}", grouped("{,}")),
    "a thin space": when(is_thousand, r"\boxed{G}", grouped(r"\,")),
    "U+2212": when(is_negative, r"\boxed{G}", lambda gold: gold.replace("-", "−")),
}
WRONG: dict[str, Form] = {
    "plus one": when(is_nonzero, r"\boxed{G}", more),
    "the other sign": when(is_nonzero, r"\boxed{G}", opposite),
    "the other sign, U+2212": when(lambda gold: WHOLE.fullmatch(gold) and int(gold) > 0, "\\boxed{\u2212G}"),
    "the other order": when(is_turnable, r"\boxed{G}", turned),
    "x = plus one": when(is_nonzero, r"\boxed{x = G}", more),
    "without the last digit": when(
        lambda gold: WHOLE.fullmatch(gold) and int(gold) > 9, r"\boxed{G}", lambda g: g[:-1]
    ),
    "without the denominator": when(
        re.compile(r"\\d?frac\{.*\}\{.*\}").fullmatch, r"\boxed{G}", lambda g: g[:-1].rpartition("}")[0] + "}{1}"
    ),
    "the first part alone": when(POINT.fullmatch, r"\boxed{G}", lambda gold: gold.strip("()").split(",")[0]),
    "without its base": when(re.compile(".*_.*").fullmatch, r"\boxed{G}", lambda gold: gold.partition("_")[0]),
    "two numbers": when(WHOLE.fullmatch, r"\boxed{G\text{ hours }30\text{ minutes}}"),
    "unsolved": when(WHOLE.fullmatch, r"\boxed{3q = G}"),
}


def alone(gold: str, text: str) -> bool:
    """The verdict of math-verify with its defaults."""
    from math_verify import parse, verify

    return bool(verify(parse(rf"\boxed{{{gold}}}"), parse(text)))


def sweep(task: EvalTask, items: Sequence[Item], forms: dict[str, Form]) -> Iterator[Count]:
    for name, form in forms.items():
        texts = [(item, text) for item in items if (text := form(item.gold)) is not None]
        ours = [task.score(item, text).right is True for item, text in texts]
        theirs = [alone(item.gold, text) for item, text in texts]
        missed = [text for (_, text), right, other in zip(texts, ours, theirs, strict=True) if other and not right]
        if texts:
            yield Count(task.name, name, len(texts), sum(ours), sum(theirs), missed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of gsm8k.jsonl and math500.jsonl")
    parser.add_argument("--limit", type=int, help="golds of each task; all unless given")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    tasks = [(load_task(name), load_task(name).items(asked.data)[1][: asked.limit]) for name in ("gsm8k", "math500")]
    for title, forms in {"right": RIGHT, "wrong": WRONG}.items():
        print(f"\n| task | {title} answers | golds | taken | by math-verify alone |\n|---|---|---|---|---|")
        for task, items in tasks:
            for count in sweep(task, items, forms):
                print(f"| `{count.task}` | {count.form} | {count.golds} | {count.ours} | {count.alone} |", flush=True)
                for text in count.missed if title == "right" else []:
                    print(f"<!-- missed: {text} -->")


if __name__ == "__main__":
    main()
