"""Tales: what is told holds together, and the checker says what broke in what does not."""

from __future__ import annotations

import re
from random import Random

import pytest

from infogain.text.alphabet import EOS, MASK
from infogain.zoo.tales.checker import faults
from infogain.zoo.tales.sentences import SENTENCES, read_sentence
from infogain.zoo.tales.teller import PLOTS, Teller, tell
from infogain.zoo.tales.words import KINDS, NAMES, PLACES
from infogain.zoo.tasks import SPLITS, TALES, Task

TOLD = (
    "Long ago a shy fox named Otto lived by the lake. He had a red kite and took it everywhere. "
    "One day he lost it in the forest. Then a girl named Mia found the kite in the forest and brought it to Otto. "
    "Otto shared his bread with her. So he had the red kite at last and was happy."
)
WISHED = (
    "By the lake lived a fox named Otto. All Otto wanted was a red kite. So he went to the mill. "
    "There he met a girl named Mia, who had a red kite. She gave it to him. At last he had it, and he was happy."
)
BROKEN = [  # a tale, what is changed, what it is changed to, and what the checker says of that
    (TOLD, "by the lake", "by the kite", "1: no sentence of this world: Long ago a shy fox"),
    (TOLD, "One day he lost it", "One day she lost it", "3: nobody is meant by she"),
    (TOLD, "One day he lost it", "One day he lost the ball", "3: there is no ball"),
    (TOLD, "he lost it", "he lost the blue kite", "3: the kite is red"),
    (TOLD, "found the kite in the forest", "found the kite by the sea", "4: the kite does not lie there"),
    (TOLD, "a girl named Mia", "a girl named Otto", "4: Otto is known already"),
    (TOLD, "a girl named Mia", "a girl named Max", "4: no girl is named Max"),
    (TOLD, "shared his bread", "shared her bread", "5: her is not Otto"),
    (TOLD, "bread with her", "bread with Anna", "5: Anna is not known"),
    (TOLD, "So he had", "So Mia had", "6: the ending answers no wish"),
    (TOLD, "So he had the red kite at last and was happy.", "But he never saw it again.", "6: Otto has the kite"),
    (TOLD, " Otto shared his bread with her.", " They went home.", "5: no sentence of this world: They went home."),
    (WISHED, "She gave it to him", "He gave it to her", "5: Otto does not have the kite"),
    (WISHED, "who had a red kite", "who had a blue kite", "4: the kite is red"),
    (WISHED, "who had a red kite", "who had the red kite", "4: the red kite: the kite is not there yet"),
    (WISHED, "So he went to the mill", "So he went to the lake", "3: Otto is in that place already"),
    (WISHED, "So he went to the mill. ", "", "3: there: nobody has gone anywhere"),
    (WISHED, " She gave it to him.", "", "5: Otto does not have the kite"),
    (WISHED, "At last he had it, and he was happy.", "But he never got the kite.", "6: Otto had the kite"),
    (WISHED, "So he went", "so he went", "3: no sentence of this world: so he went to the mill."),
    (WISHED, "to the mill. ", "to the mill.. ", "4: no sentence of this world: ."),
    (WISHED, "By the lake lived a fox named Otto. ", "", "1: an opening comes first, and once"),
    (WISHED, " At last he had it, and he was happy.", "", "5: an ending comes last, and once"),
]


@pytest.mark.parametrize("tale", [TOLD, WISHED])
def test_a_tale_that_holds_together_has_no_faults(tale: str) -> None:
    assert faults(tale) == []


@pytest.mark.parametrize(("tale", "old", "new", "said"), BROKEN, ids=[said for *_, said in BROKEN])
def test_what_broke_is_said(tale: str, old: str, new: str, said: str) -> None:
    assert old in tale
    (fault,) = faults(tale.replace(old, new))
    assert fault.startswith(said)


def test_all_that_is_told_holds_together_and_every_wording_is_used() -> None:
    rng, used = Random(0), set[str]()
    for _ in range(1500):
        tale = tell(rng)
        assert faults(tale) == []
        found = [read_sentence(text) for text in re.findall(r"[^ .][^.]*\.", tale)]
        used |= {sentence.wording for sentence in found if sentence}
    assert used == {wording for wordings in SENTENCES.values() for wording in wordings}


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.__name__)
def test_every_plot_has_four_to_six_sentences(plot: object) -> None:
    for seed in range(20):
        teller = Teller(Random(seed))
        plot(teller)  # type: ignore[operator]
        assert 4 <= len(teller.told) <= 6


def test_a_changed_word_is_nearly_always_found() -> None:
    """Names, places and kinds tie sentences together: another one in a single place breaks a tale, or its wording."""
    rng, found = Random(1), list[bool]()
    for _ in range(300):
        tale = tell(rng)
        words = tale.split(" ")
        later = [i for i, word in enumerate(words) if word.strip(".,") in NAMES][1:]
        if later:
            at = rng.choice(later)
            other = rng.choice([name for name in NAMES if name not in tale])
            words[at] = words[at].replace(words[at].strip(".,"), other)
            found.append(bool(faults(" ".join(words))))
    assert len(found) > 250
    assert sum(found) > 0.8 * len(found), "a friend who is named once may have any name"


@pytest.mark.parametrize("task", TALES.values(), ids=TALES)
def test_a_posed_tale_has_its_solution_and_keeps_what_is_given(task: Task) -> None:
    for problem in task.problems(8, "validation"):
        assert len(task.alphabet.encode(problem.canvas)) == task.width
        assert task.check(problem, problem.solution)
        assert MASK in problem.canvas
        assert not task.check(problem, problem.canvas)
        assert task.check_chat(problem, problem.solution.rstrip(EOS))
        assert "[…]" in task.chat(problem)


def test_no_opening_is_in_two_splits() -> None:
    for name, task in TALES.items():
        identities = [{problem.identity for problem in task.problems(20, split)} for split in SPLITS]
        assert all(a.isdisjoint(b) for i, a in enumerate(identities) for b in identities[:i]), name
    openings = {problem.identity for task in TALES.values() for problem in task.problems(20, "test")}
    trained = {problem.identity for problem in TALES["tale"].problems(60, "train")}
    assert openings.isdisjoint(trained), "the texts of one teach all three"
    assert len(NAMES) * len(KINDS) * len(PLACES) > 3000
