"""Alphabets: characters, pieces of several characters, words."""

from __future__ import annotations

from pathlib import Path

import pytest

from infogain.errors import InputError
from infogain.text.alphabet import Alphabet

PIECES = Alphabet(("C", "Cl", "N", "n", "[nH]", "(", ")", "~", "_"))
WORDS = Alphabet((*["Once", "once", "upon", "a", "time", "Mia", "had", "it's"], ".", ",", "~", "_"), words=True)


def test_the_longest_piece_is_one_token() -> None:
    assert PIECES.encode("CCl[nH]_~") == [0, 1, 4, 8, 7]
    assert PIECES.decode([0, 1, 4, 8, 7]) == "CCl[nH]_~"
    with pytest.raises(InputError, match=r"also has \['\[', 'l'\]"):
        PIECES.encode("Cl[l")


def test_words_are_parted_by_spaces_and_signs_stand_close() -> None:
    text = "Once upon a time, Mia had _ it's _.~~"
    assert WORDS.decode(WORDS.encode(text)) == text
    assert WORDS.encode("Mia had __") == WORDS.encode("Mia had _ _"), "every mask is a token"


def test_capitals_do_not_matter_where_a_word_has_one_form() -> None:
    assert WORDS.encode("mia HAD") == WORDS.encode("Mia had")
    assert WORDS.encode("Once") != WORDS.encode("once")
    assert WORDS.encode("ONCE") == WORDS.encode("once")
    with pytest.raises(InputError, match=r"knows the words .* also has \['dog'\]"):
        WORDS.encode("Mia had a dog")


@pytest.mark.parametrize("alphabet", [PIECES, WORDS, Alphabet("abc~_")])
def test_a_saved_alphabet_is_the_same(alphabet: Alphabet, tmp_path: Path) -> None:
    alphabet.save(tmp_path)
    assert Alphabet.load(tmp_path) == alphabet


def test_many_tokens_take_wider_integers() -> None:
    many = Alphabet((*(f"w{i}" for i in range(300)), "~", "_"), words=True)
    assert many.tensor(["w299 w0", "w1 _"]).tolist() == [[299, 0], [1, 301]]
    assert PIECES.tensor(["CCl", "nN"]).tolist() == [[0, 1], [3, 2]]
