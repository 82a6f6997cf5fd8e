"""Distinct-n and self-BLEU, held to what can be counted by hand and to the definition written out."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest

from infogain.evals.repetition import Words, distinct, grouped, ngrams, self_bleu, words_of


def test_words_are_runs_of_letters_and_single_signs() -> None:
    assert words_of("Don't stop,\nÉté 42!") == ["don", "'", "t", "stop", ",", "été", "42", "!"]
    assert words_of(" \n") == []


def test_distinct_counts_over_all_texts_together() -> None:
    texts = [words_of("a b a b"), words_of("a b c")]
    assert distinct(texts, 1) == pytest.approx(3 / 7)
    assert distinct(texts, 2) == pytest.approx(3 / 5)  # ab ba ab | ab bc
    assert distinct(texts, 3) == pytest.approx(3 / 3)
    assert math.isnan(distinct(texts, 5))
    assert distinct([words_of("x " * 50)], 2) == pytest.approx(1 / 49)


def bleu(words: Words, others: list[Words]) -> float:
    """BLEU-4 as its definition has it, one n-gram and one reference at a time."""
    logarithms = []
    for n in range(1, 5):
        own = Counter(ngrams(words, n))
        if own:
            clipped = {g: min(c, max(Counter(ngrams(other, n))[g] for other in others)) for g, c in own.items()}
            logarithms.append(math.log((sum(clipped.values()) or 0.1) / own.total()))
    nearest = min((len(other) for other in others), key=lambda length: (abs(length - len(words)), length))
    penalty = 0.0 if len(words) >= nearest else 1 - nearest / len(words)
    return math.exp(sum(logarithms) / len(logarithms) + penalty)


def test_self_bleu_is_the_mean_bleu_against_the_others() -> None:
    rng = Random(0)
    texts = [[rng.choice("abcdefg") for _ in range(rng.randint(1, 30))] for _ in range(25)]
    expected = [bleu(text, texts[:i] + texts[i + 1 :]) for i, text in enumerate(texts)]
    assert self_bleu([texts]) == pytest.approx(sum(expected) / len(expected), rel=1e-12)


def test_texts_that_are_alike_have_all_in_common_and_unlike_ones_nearly_nothing() -> None:
    text = words_of("once upon a time there was a king")
    assert self_bleu([[text, text]]) == pytest.approx(1)
    assert self_bleu([[text, words_of("purple elephants dance quietly under seven cold moons")]]) < 0.05


def test_texts_that_tell_nothing_are_left_out() -> None:
    text = words_of("once upon a time")
    assert math.isnan(self_bleu([[text]]))
    assert self_bleu([[text, text, []], [text]]) == pytest.approx(1)


def test_texts_are_held_against_those_of_their_prompt_where_it_has_several() -> None:
    a, b, c = ["a"], ["b"], ["c"]
    assert grouped([("p", a), ("q", b), ("p", c)]) == ("prompt", [[a, c], [b]])
    assert grouped([("p", a), ("q", b)]) == ("run", [[a, b]])
