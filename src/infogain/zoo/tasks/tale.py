"""Tales of a small world, told from their beginning, from what stands around a hole, or towards an ending."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from infogain.text.alphabet import EOS, MASK, Alphabet
from infogain.zoo.tales.checker import faults
from infogain.zoo.tales.mentions import read_person_new
from infogain.zoo.tales.sentences import read_sentence, vocabulary
from infogain.zoo.tales.teller import tell
from infogain.zoo.tasks.problem import Problem, Task, split_of

WIDTH = 80
ALPHABET = Alphabet((*sorted(set(vocabulary())), EOS, MASK), words=True)


class Tale(Task):
    """Its beginning is given: the first sentence, which says who lives where.

    Training masks any words. Who the first sentence is about, with kind and place, is the identity of a tale.
    """

    alphabet = ALPHABET
    name = "tale"
    about = "tell a tale of four to six sentences that holds together, from its first sentence"
    numbers = ""  # its words are all that there are
    tag = ""
    width = WIDTH
    many = True
    version = 2  # a doubled full stop and a small letter at the beginning of a sentence are faults

    def draw(self, rng: Random) -> Problem:
        while True:
            words = self.alphabet.encode(tale := tell(rng))
            if len(words) <= WIDTH:
                solution = tale + EOS * (WIDTH - len(words))
                return Problem(opening(tale), self.canvas(solution, range(WIDTH)), solution)

    def canvas(self, solution: str, masked: range) -> str:
        """A tale with some of its columns masked."""
        ids = self.alphabet.encode(solution)
        return self.alphabet.decode(self.alphabet.mask_id if i in masked else token for i, token in enumerate(ids))

    def pose(self, problem: Problem, rng: Random) -> Problem:
        return replace(problem, canvas=self.canvas(problem.solution, self.holes(problem.solution, rng)))

    def holes(self, solution: str, rng: Random) -> range:
        """The columns that are to be written."""
        return range(self.ends(solution)[0], WIDTH)

    def ends(self, solution: str) -> list[int]:
        """The columns behind each sentence."""
        stop = self.alphabet.symbols.index(".")
        return [i + 1 for i, token in enumerate(self.alphabet.encode(solution)) if token == stop]

    def right(self, problem: Problem, text: str) -> bool:
        return not self.faults(text)

    def faults(self, text: str) -> list[str]:
        """What is wrong with a tale."""
        return faults(text.rstrip(EOS))

    def split(self, problem: Problem) -> str:
        return split_of("tale", problem.identity)

    def chat(self, problem: Problem) -> str:
        shown = re.sub(rf"(\s*{MASK})+", " […]", problem.canvas.rstrip(EOS)).strip()
        return (
            "Tell a children's tale of four to six short sentences, in which somebody wants or loses something and "
            f"the ending says who has it. Write it in place of […], and repeat what is given: {shown}"
        )

    def check_chat(self, problem: Problem, reply: str) -> bool:
        return not self.alphabet.strange(reply) and not self.faults(reply.strip())


class TaleHole(Tale):
    """A hole in the middle, from the end of the first sentence or later, takes half of the words."""

    name = "tale-hole"
    about = "fill a hole in the middle of a tale, half of its words"
    taught_by = "tale"

    def holes(self, solution: str, rng: Random) -> range:
        first, *_, last = self.ends(solution)
        size = (last + 1) // 2
        start = rng.randrange(first, last - size) if first < last - size else first
        return range(start, min(start + size, last))


class TaleEnding(Tale):
    """The last sentence is given, and where it stands; all before it is to be written."""

    name = "tale-ending"
    about = "tell a tale that leads to its last sentence, which is given"
    taught_by = "tale"

    def holes(self, solution: str, rng: Random) -> range:
        return range(self.ends(solution)[-2])


def opening(tale: str) -> str:
    """Who a tale is about, and where: what tells two tales apart."""
    sentence = read_sentence(tale[: tale.index(".") + 1])
    assert sentence is not None
    slots = dict(sentence.slots)
    return " ".join((*read_person_new(slots["k"]), slots["at"]))
