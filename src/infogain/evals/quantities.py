"""Numbers as people write them: 1,200 or 1 200, −5, 1/2, 1e6, 2 million, $18.00, 160 km/hr."""

from __future__ import annotations

import re
from fractions import Fraction

from infogain.evals.mathematics import ODD_CHARACTERS, REMARK

LONGEST = 100  # characters of a number
SCALES = {"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
DECIMAL = r"(?:[0-9]{1,3}(?:[, ][0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![A-Za-z0-9])\.[0-9]+"
E_NOTATION = r"[eE](?P<exponent>[-+]?[0-9]{1,3})(?![0-9])"
POWER_OF_TEN = r"\s*(?:\*|×|\\times)\s*10\s*(?:\^|\*\*)\s*\{?(?P<power>-?[0-9]{1,3})\}?(?![0-9])"
NUMBER = re.compile(
    r"(?<![0-9])(?<![0-9]\.)"  # not in the middle of another
    r"(?P<sign>(?<![0-9)}])-)?"  # in 10-5 it is no sign
    rf"(?:(?P<whole>[0-9]+) (?P<top>[0-9]+)/(?P<bottom>[0-9]+)"
    rf"|(?P<decimal>{DECIMAL})(?:{E_NOTATION}|{POWER_OF_TEN}|\s?/\s?(?P<below>[0-9]+))?)"
    rf"(?:[\s-]*(?P<scale>(?i:{'|'.join(SCALES)}))s?\b)?+"
)
SPACED_SIGN = re.compile(r"(\A\s*|(?:[=:(]|\b(?:is|was|be|equals))[^\S\n]*)-[^\S\n]+(?=[.0-9])")  # in 5 - 3 it is none
COUNTED = re.compile(rf"\bhow many ({'|'.join(SCALES)})s?\b", re.IGNORECASE)
UNKNOWN = re.compile(r"[0-9] ?[A-Za-z](?! ?[A-Za-z0-9])")  # 3q, and not the x of 5 x 3
AROUND = r"[^0-9\\^*+!<>≤≥]*"  # a name, currency or unit: words, %, km/hr, a full stop
QUANTITY = re.compile(f"{AROUND}?{NUMBER.pattern}(?! ?[xyz](?![A-Za-z])){AROUND}")
WORDS = re.compile(r"\\(?:text|mathrm|textbf|mathbf|mbox)\s*\{([^{}]*)\}")
FRACTION = re.compile(r"\\[dt]?frac\s*\{([0-9]+)\}\s*\{([0-9]+)\}")
POWER_OF_UNIT = re.compile(r"(?<=[A-Za-z])\}?\s*\^\s*\{?[23]\}?")
SPACES = re.compile(r"\\[,;: ]|~")
MARKS = re.compile(r"\\!\s*|\\?[$%€£¥]|\*\*")


def unit_asked(question: str) -> str:
    """The unit that a question asks for, if it is a number word: `dozen` for "How many dozens of eggs?"; else empty."""
    found = COUNTED.search(question)
    return found[1].lower() if found else ""


def last_number(text: str, unit: str = "") -> str | None:
    """A number with its sign, without separators: "$1,200." holds 1200, "2 dozen" 24, unless they are the unit."""
    found = list(NUMBER.finditer(FRACTION.sub(r" \1/\2", SPACED_SIGN.sub(r"\1-", _plain(text)))))
    return _written(found[-1], unit) if found else None


def only_number(text: str, unit: str = "") -> str | None:
    r"""The number of a short answer that is one, whatever its name and unit: "x = 70{,}000\text{ dollars}"."""
    name, _, right = _plain(REMARK.sub("", text)).rpartition("=")
    found = QUANTITY.fullmatch(SPACED_SIGN.sub(r"\1-", right))
    return _written(found, unit) if found and not UNKNOWN.search(name) else None


def is_mixed(text: str) -> bool:
    """Are there words between its numbers? "7 hours 30 minutes" is neither 7 nor 30 nor 7.5, "5 or 6" no number."""
    numbers = re.search("[0-9].*[0-9]", re.sub(r"\\[A-Za-z]+", "", _plain(text.rpartition("=")[2])), re.DOTALL)
    return numbers is not None and any(character.isalpha() for character in numbers[0])


def value(number: str) -> Fraction | None:
    """The value of a number that was found here; None where it has none, such as 1/0."""
    top, _, bottom = number.partition("/")
    below = Fraction(bottom or 1)
    return Fraction(top) / below if below else None


def _plain(text: str) -> str:
    """The text without typesetting, currencies, per cent signs and powers of units."""
    words = WORDS.sub(r" \1", MARKS.sub("", text.translate(ODD_CHARACTERS)).replace("{,}", ","))
    return POWER_OF_UNIT.sub("", SPACES.sub(" ", words))


def _written(found: re.Match[str], unit: str) -> str | None:
    """One number as `value` reads it; None where nobody would write one so long."""
    part = found.groupdict(default="")
    if len(found[0]) > LONGEST:
        return None
    scale = part["scale"].lower()
    number = value(_unscaled(part)) if scale not in ("", unit) else None
    return _unscaled(part) if number is None else str(number * SCALES[scale])


def _unscaled(part: dict[str, str]) -> str:
    if part["whole"]:
        return f"{part['sign']}{int(part['whole']) * int(part['bottom']) + int(part['top'])}/{part['bottom']}"
    exponent = part["exponent"] or part["power"]
    below = f"/{part['below']}" if part["below"] else ""
    return part["sign"] + re.sub("[, ]", "", part["decimal"]) + (f"e{exponent}" if exponent else below)
