"""The characters every task is written in."""

from infogain.text.alphabet import EOS, MASK, Alphabet

# Capitals are tags and verdicts, so that no word is mistaken for them.
ALPHABET = Alphabet(" 0123456789abcdefghijklmnopqrstuvwxyzACJNSWY*+-/=,.?:;" + EOS + MASK)

__all__ = ["ALPHABET", "EOS", "MASK", "Alphabet"]
