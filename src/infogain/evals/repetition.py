"""How much texts repeat themselves and each other: distinct-n and self-BLEU, of words, without a judge.

Words are runs of letters, digits and underscores in lower case, and every other sign but white space is a word of its
own: "Don't!" has the words don, ', t and !. Both measures depend on how long the texts are and how many there are, so
they compare runs of the same prompts and equally many texts only.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from infogain.evals.means import mean

ORDER = 4  # of BLEU: n-grams of one to four words
UNMATCHED = 0.1  # counts for the matches of an n that has none (Chen and Cherry's first smoothing)
WORD = re.compile(r"\w+|[^\w\s]")

Words = list[str]
Ngram = tuple[str, ...]


def words_of(text: str) -> Words:
    return WORD.findall(text.lower())


def ngrams(words: Words, n: int) -> list[Ngram]:
    """Every n neighbouring words, in their order; none where there are fewer."""
    return list(zip(*(words[i:] for i in range(n)), strict=False))


def distinct(texts: Iterable[Words], n: int) -> float:
    """Distinct-n: different n-grams over all n-grams, of all texts together; not a number where there are none."""
    every = [ngram for words in texts for ngram in ngrams(words, n)]
    return len(set(every)) / len(every) if every else math.nan


def self_bleu(groups: Iterable[Sequence[Words]]) -> float:
    """Self-BLEU-4: the mean BLEU of each text against the other texts of its group; 1 where all are alike.

    BLEU is the geometric mean of the precisions of n-grams for n from 1 to 4, times the penalty of a text that is
    shorter than the others. An n without a match counts as a tenth of a match, so that a single one does not make
    everything 0. An n that is longer than the text is left out. So are texts without words and groups with one text;
    without any left it is not a number.
    """
    return mean([value for group in groups for value in _bleus([words for words in group if words])])


def _bleus(group: Sequence[Words]) -> list[float]:
    if len(group) < 2:
        return []
    counts = [[Counter(ngrams(words, n)) for words in group] for n in range(1, ORDER + 1)]
    most = [_most(of_texts) for of_texts in counts]
    lengths = sorted(len(words) for words in group)
    return [_bleu([of_texts[i] for of_texts in counts], most, i, lengths) for i in range(len(group))]


def _most(counts: Sequence[Counter[Ngram]]) -> dict[Ngram, tuple[int, int, int]]:
    """For each n-gram: the text that has it most often, how often, and how often the next one has it."""
    found: dict[Ngram, tuple[int, int, int]] = {}
    for i, of_text in enumerate(counts):
        for ngram, count in of_text.items():
            first, largest, second = found.get(ngram, (-1, 0, 0))
            found[ngram] = (i, count, largest) if count > largest else (first, largest, max(second, count))
    return found


def _bleu(
    counts: Sequence[Counter[Ngram]], most: Sequence[dict[Ngram, tuple[int, int, int]]], text: int, lengths: list[int]
) -> float:
    """BLEU of a text, from its n-grams for each n, and from what the texts of its group have of each."""
    logarithms = []
    for own, of_group in zip(counts, most, strict=True):
        if total := own.total():
            matches = sum(min(count, _elsewhere(of_group[ngram], text)) for ngram, count in own.items())
            logarithms.append(math.log((matches or UNMATCHED) / total))
    return math.exp(mean(logarithms) + min(0.0, 1 - _nearest(counts[0].total(), lengths) / counts[0].total()))


def _elsewhere(most: tuple[int, int, int], text: int) -> int:
    """How often an n-gram is found in the text that has it most often, other than this one."""
    first, largest, second = most
    return second if first == text else largest


def _nearest(length: int, lengths: list[int]) -> int:
    """The length of the other text whose length is nearest, the shorter of two; `lengths` are sorted."""
    own = bisect_left(lengths, length)
    return min([*lengths[max(own - 1, 0) : own], *lengths[own + 1 : own + 2]], key=lambda other: abs(other - length))


def grouped(texts: Sequence[tuple[str, Words]]) -> tuple[str, list[list[Words]]]:
    """Groups of texts that could repeat each other, given each with its prompt; and what a group is.

    A prompt's texts are a group where some prompt has several. Else all texts of the run are one.
    """
    of_prompts = defaultdict[str, list[Words]](list)
    for prompt, words in texts:
        of_prompts[prompt].append(words)
    if any(len(group) > 1 for group in of_prompts.values()):
        return "prompt", list(of_prompts.values())
    return "run", [[words for _, words in texts]]
