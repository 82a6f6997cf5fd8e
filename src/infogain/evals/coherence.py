"""Whether a short English text falls apart: severe repetition and broken grammar, found by rules of thumb.

The rule knows no grammar. It looks for what a masked diffusion model writes where it commits too many tokens at once,
each without knowing the others, and for little else. A text has a fault where

* it has fewer than five words, a special token ("<|endoftext|>", "[MASK]"), or letters that are not Latin;
* a word stands twice in a row ("the the"), or a phrase of two to six words ("of the of the"), with no mark between,
  unless English doubles it ("had had", "very very", "knock knock", "on and on and on"); with marks between, a word may
  stand three times in a row ("run, run, run!") and a phrase twice;
* five neighbouring words come three times, a sentence of five words or more comes twice in a row, fewer than .75 of
  the pairs of neighbouring words are different, or one word is more than a quarter of the
  text (both of texts of 20 words or more);
* marks meet as they do not in English (", ,", ". ,", ",."), a line begins with one, or a sentence with a small letter;
* a word stands before another that never follows it ("a the", "the is", "of and", "was were"), or before a mark that
  cannot ("the ,", "and ."), or "a" and "an" are mixed up;
* eight words stand in a row without one of the small words that hold English together ("the", "of", "was", "she");
* words are glued together ("timeThere", "storystory").

A text may break off anywhere. Subtle errors (agreement, tense, order of words, sense) are not found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from infogain.evals.repetition import distinct, ngrams

FEWEST = 5  # words
ORDER, OFTEN = 5, 3  # n-grams of so many words may not come so often
DISTINCT, SHARE = 0.75, 0.25  # least share of different bigrams, largest share of one word
ENOUGH = 20  # words, for these two shares to mean something
UNHELD = 8  # words in a row without a small word
LONGEST_PHRASE, LONGEST_WORD, SENTENCE = 6, 24, 5

ARTICLES = "a an the"
OWNERS = "my your our their its every"
TO_BE = "is are was were am"
VERBS = f"{TO_BE} has have had does did would could should"  # not "will", "can", "do": these are nouns, or end a clause
JOINTS = "and or but because if than"
WHERE = "of at from with into onto for during among"
I_AND_YOU = "i he she we they"
OTHERS = "it me him her us them you his this that these those there here who which what when where while as by in on"
REST = "to not no so be been being do will can may might must then any some such all"
PLACES = "out up down off over under about after before through until"
SMALL = frozenset(f"{ARTICLES} {OWNERS} {VERBS} {JOINTS} {WHERE} {I_AND_YOU} {OTHERS} {REST} {PLACES}".split())

DOUBLED = {"had", "that", "her"}
SOUNDS = "ha ho hee la na knock tick tock tap drip beep honk quack moo woof meow bang boom choo clip clop buzz chirp"
MORE_SOUNDS = "tweet click clack ding dong pat splish splash"
PLAYFUL = frozenset(f"{SOUNDS} {MORE_SOUNDS} very so no yes bye night hush shh really far long many hop".split())
NEVER_BEFORE = (
    (f"{ARTICLES} {OWNERS}", f"{ARTICLES} {OWNERS} {VERBS} {JOINTS} {WHERE} {I_AND_YOU} it him them us his to"),
    ("his", ARTICLES),
    ("of", "of and or but to by for with from is are was were"),
    (TO_BE, f"{VERBS} will can"),
    ("would could should", f"{TO_BE} has had does did would could should will can"),
    (I_AND_YOU, f"{I_AND_YOU} of"),
    ("and or but", "or but"),
    ("very no", ARTICLES),
    ("very named", f"{VERBS} {JOINTS} {WHERE} {I_AND_YOU}"),
    ("into onto during among", f"{VERBS} {JOINTS} {I_AND_YOU}"),
)
IMPOSSIBLE = frozenset((a, b) for left, right in NEVER_BEFORE for a in left.split() for b in right.split())

WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
BREAK = re.compile(r"\n|_|[^\w\s'’-]|(?<!\w)['’-]|['’-](?!\w)")
SPECIAL = re.compile(r"<\|.*?\|>|\[(?:MASK|PAD|UNK|CLS|SEP)\]|</?s>|<(?:mask|pad|unk|eos|bos)>|\ufffd")
ELLIPSIS = re.compile(r"\.(?:\s?\.){2,}")
ABBREVIATED = re.compile(r"\b(?:etc|vs|Mr|Mrs|Ms|Dr|St|Jr|Sr|Inc|No|[A-Za-z](?:\.[A-Za-z])*)\.")
MARKS = re.compile(r"[,;:]\s*[,;:.!?]|\.\s*[.,;:!?]|[!?]\s*[.,;:]|\"\"|(?m:^)[ \t]*[,;:.!?]")
SMALL_START = re.compile(r"[^\W\d_]\.[ \t]+[a-z]+")
STRANDED = (  # what "of" may end a sentence with: "she had dreamed of."
    r"(?:dream|thought|think|hear|know|spoke|speak|talk|made|afraid|aware|proud|tired|fond|full|part|care|out)\w*"
    "|me|him|her|us|them|it|you"
)
BEFORE_MARK = re.compile(
    rf"\b(?:[Tt]he|[Aa]n|a|{'|'.join(OWNERS.split())}|into|onto|than|named)\s*[,;:.!?]"
    rf"|\b(?:[Aa]nd|or|[Bb]ut|because|very)\s*[.;]|\b(?!(?:{STRANDED})\b)\w+ of\s*[,;:.!?]"
)
A_BEFORE_VOWEL = r"(?:\ba|(?m:^)A|[.!?\"“]\s*A) (?!eu|ewe|one|once)[aeio][a-z]+"
AN_BEFORE_CONSONANT = r"\b[Aa]n (?!hones|hono|hour|heir|herb|hist)[b-dfghj-np-tv-z][a-z]+"
WRONG_ARTICLE = re.compile(f"{A_BEFORE_VOWEL}|{AN_BEFORE_CONSONANT}")
GLUED = re.compile(
    rf"\b[a-z]{{3,}}[A-Z]\w*|\b([^\W\d]{{4,}})\1+\b|\b([a-z]{{3}})\2\2+\b|[^\W\d_]{{{LONGEST_WORD + 1},}}"
)

Words = list[str]
Check = Callable[[str], Iterator[str]]


def faults(text: str) -> list[str]:
    """What is wrong with a text, one line for each kind of fault; nothing where it reads as English."""
    found = [(kind, next(check(text), None)) for kind, check in CHECKS.items()]
    return [f"{kind}: {example}" for kind, example in found if example is not None]


def words_of(text: str) -> Words:
    """The words in small letters; "don't" and "ice-cream" are one each."""
    return WORD.findall(text.lower())


def stretches(text: str) -> list[Words]:
    """The words between any two marks or line ends."""
    return [words_of(part) for part in BREAK.split(text)]


def too_short(text: str) -> Iterator[str]:
    if len(words_of(text)) < FEWEST:
        yield text.strip() or "nothing"


def strange_letters(text: str) -> Iterator[str]:
    return (letter for letter in text if letter.isalpha() and ord(letter) > 0x24F)  # behind Latin Extended-B


def doubled(text: str) -> Iterator[str]:
    """Words or phrases that stand twice in a row with no mark between, and doubled words that stand there thrice."""
    for words in stretches(text):
        for size in range(1, LONGEST_PHRASE + 1):
            yield from (" ".join(phrase * 2) for phrase in in_a_row(words, size, 2) if set(phrase) - DOUBLED)
        yield from (" ".join(phrase * 3) for phrase in in_a_row(words, 1, 3))


def looped(text: str) -> Iterator[str]:
    """Words that stand four times in a row and phrases that stand three times, whatever marks are between."""
    words = words_of(text)
    yield from (" ".join(phrase * 4) for phrase in in_a_row(words, 1, 4))
    for size in range(2, LONGEST_PHRASE + 1):
        yield from (" ".join(phrase * 3) for phrase in in_a_row(words, size, 3))


def in_a_row(words: Words, size: int, times: int) -> Iterator[Words]:
    """Phrases of so many words that stand so many times in a row, but for "knock knock" and "on and on and on"."""
    for at in range(len(words) - size * times + 1):
        phrase = words[at : at + size]
        playful = set(phrase) <= PLAYFUL or (size == 2 and "and" in phrase)
        if not playful and words[at : at + size * times] == phrase * times:
            yield phrase


def comes_often(text: str) -> Iterator[str]:
    counts = Counter(ngrams(words_of(text), ORDER))
    return (" ".join(ngram) for ngram, count in counts.items() if count >= OFTEN)


def sentence_twice(text: str) -> Iterator[str]:
    for line in text.splitlines():
        sentences = [words_of(sentence) for sentence in re.split(r"[.!?]", line)]
        told = [words for words in sentences if words]
        yield from (" ".join(a) for a, b in pairwise(told) if a == b and len(a) >= SENTENCE)


def monotonous(text: str) -> Iterator[str]:
    words = words_of(text)
    if len(words) < ENOUGH:
        return
    if (share := distinct([words], 2)) < DISTINCT:
        yield f"{share:.0%} of its pairs of words are different"
    word, count = Counter(words).most_common(1)[0]
    if count > SHARE * len(words):
        yield f"{count} of {len(words)} words are {word!r}"


def impossible_pair(text: str) -> Iterator[str]:
    """Neighbours that English does not have; an "A" in mid-sentence is a name, as in "Plan A is"."""
    for part in BREAK.split(text):
        words: Words = WORD.findall(part)
        for at, (left, right) in enumerate(pairwise(words)):
            if (left.lower(), right.lower()) in IMPOSSIBLE and not (left == "A" and at):
                yield f"{left} {right}"


def unheld(text: str) -> Iterator[str]:
    for words in stretches(text):
        for at in range(len(words) - UNHELD + 1):
            if SMALL.isdisjoint(words[at : at + UNHELD]):
                yield " ".join(words[at : at + UNHELD])


def found_by(pattern: re.Pattern[str]) -> Check:
    """A check for places that match, once dots that end no sentence are gone."""
    return lambda text: (match[0].strip() for match in pattern.finditer(ABBREVIATED.sub("x", ELLIPSIS.sub("…", text))))


CHECKS: dict[str, Check] = {
    "too short": too_short,
    "special token": found_by(SPECIAL),
    "letters of another script": strange_letters,
    "said twice": doubled,
    "loop": looped,
    "comes three times": comes_often,
    "sentence twice": sentence_twice,
    "monotonous": monotonous,
    "marks": found_by(MARKS),
    "small letter begins a sentence": found_by(SMALL_START),
    "words that do not meet": impossible_pair,
    "word before a mark": found_by(BEFORE_MARK),
    "a or an": found_by(WRONG_ARTICLE),
    "words without small ones": unheld,
    "glued": found_by(GLUED),
}
