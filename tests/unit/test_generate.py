"""Text in, text out, on a model that knows one text by heart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
import torch
from torch import Tensor

import infogain
from infogain import (
    ContextError,
    InputError,
    NumericsError,
    Recipe,
    StepEvent,
    TextModel,
    TokensPerStep,
    UnknownName,
    Vocabulary,
)
from infogain.generate import settle, stream
from infogain.models import FullCanvas
from infogain.text.alphabet import fingerprint_of
from infogain.text.tokenizer import Message

LETTERS = "abcdefghijklmnopqrstuvwxyz ,.:^$#_"  # ^ and # frame a text, $ ends it, _ is the mask
MASK, END = LETTERS.index("_"), LETTERS.index("$")


class Letters:
    """One character, one token; a conversation is its messages with a colon after each role."""

    spaces_in_tokens = False
    eos_ids: tuple[int, ...] = (END,)

    def __init__(self, chats: bool = True, framed: bool = False) -> None:
        self.chats = chats
        around = (self.encode("^"), self.encode("#")) if framed else ([], [])
        self.special_tokens_around: tuple[list[int], list[int]] = around

    def encode(self, text: str) -> list[int]:
        return [LETTERS.index(letter) for letter in text]

    def unknown(self, text: str) -> list[str]:
        return []

    @property
    def vocabulary(self) -> str:
        return fingerprint_of({letter: i for i, letter in enumerate(LETTERS)})

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(LETTERS[i] for i in ids).replace("^", "").replace("#", "").replace("$", "")

    def word(self, token: int) -> str:
        return LETTERS[token]

    def chat(self, messages: Sequence[Message]) -> list[int]:
        return self.encode("".join(f"{message['role']}:{message['content']}." for message in messages))


def parrot(text: str, tokenizer: Letters | None = None, sure: float = 9.0) -> TextModel:
    """Writes this text, counted from a row's first column, over and over; less surely towards its end."""
    tokenizer = tokenizer or Letters(chats=False)
    wanted = torch.tensor(tokenizer.encode(text))

    def network(tokens: Tensor, inside: Tensor) -> Tensor:
        column = torch.arange(tokens.shape[1])
        logits = torch.zeros(*tokens.shape, len(LETTERS))
        bonus = (sure - column / 16).expand_as(tokens)[..., None]
        return logits.scatter_add(2, wanted[column % len(wanted)].expand_as(tokens)[..., None], bonus)

    return TextModel(FullCanvas(network, Vocabulary(len(LETTERS), MASK)), tokenizer)


GREEDY = Recipe(infogain.samplers.make("ar", tau_token=0.0), TokensPerStep(2), block=4)


def test_texts_stop_at_their_eos_and_say_what_they_cost() -> None:
    model = parrot("ab the cat$ and so on and on")
    text = infogain.generate(model, "ab", GREEDY, length=20)[0]
    assert (text.text, text.finish) == (" the cat", "eos")
    assert text.committed == 12, "three blocks of four: up to the one that holds the end"
    assert text.forwards == 6
    assert text.revealed == [0, 0, 1, 1, 2, 2, 3, 3]
    assert text.recipe["eos_ids"] == [END]
    assert text.cumulative_entropy > 0
    assert json.loads(json.dumps(text.plain()))["text"] == " the cat"


def test_an_eos_can_be_written_like_any_other_token() -> None:
    model = parrot("ab the cat$ and so on and on")
    text = infogain.generate(model, "ab", GREEDY, length=12, stop_at_eos=False)[0]
    assert (text.finish, text.committed, len(text.tokens)) == ("length", 12, 12)
    assert text.recipe["eos_ids"] == []


@pytest.mark.parametrize("sampler", ["ar", "info-gain-beam"])
def test_stop_strings_cut_the_text_and_open_no_further_block(sampler: str) -> None:
    model = parrot("ab the cat, and so on and on")
    recipe = Recipe(infogain.samplers.make(sampler, tau_token=0.0), TokensPerStep(2), block=4)
    text = infogain.generate(model, "ab", recipe, length=20, stop=["on", ","])[0]
    assert (text.text, text.finish) == (" the cat", "stop")
    assert text.committed == (12 if sampler == "ar" else 20), "beams are cut when they are done"
    assert infogain.generate(model, "ab", recipe, length=20, stop="zzz")[0].finish == "length"


def test_a_text_depends_on_its_seed_and_not_on_its_batch() -> None:
    model = parrot("a quick brown fox jumps over", sure=3.0)
    prompts = ["a", "a qui", "a", "a quick brown f", "a q"]
    lengths = [5, 9, 7, 3, 11]
    recipe = Recipe("entropy", TokensPerStep(1), block=4, seed=7)  # type: ignore[arg-type]
    whole, single = (infogain.generate(model, prompts, recipe, length=lengths, batch_size=size) for size in (5, 1))
    assert [text.text for text in whole] == [text.text for text in single]
    assert [text.prompt for text in whole] == prompts
    assert len({text.seed for text in whole}) == 5
    again = infogain.generate(model, prompts[3], recipe, length=3, seeds=[whole[3].seed])
    assert again[0].text == whole[3].text


def test_the_longest_prompts_go_first_and_the_next_takes_the_place_of_one_that_is_done() -> None:
    model = parrot("a quick brown fox jumps over")
    prompts, lengths = ["a", "a", "a quick", "a quick b"], [4, 6, 8, 4]
    flying: list[set[int]] = []
    done = [
        (i, len(flying))
        for i, _ in stream(
            model,
            prompts,
            GREEDY,
            length=lengths,
            stop_at_eos=False,
            batch_size=2,
            observe=lambda event: flying.append(set(event.rows)),
        )
    ]
    assert flying == [{2, 3}] * 2 + [{2, 1}] * 2 + [{1, 0}] + [{0}]
    assert done == [(3, 2), (2, 4), (1, 5), (0, 6)], "every text comes in the step that finishes it"


def test_when_decoding_breaks_off_the_texts_that_are_done_are_with_the_error() -> None:
    model = parrot("a quick brown fox jumps over")
    whole = infogain.generate(model, ["a quick", "a", "a qu"], GREEDY, length=[12, 4, 4])
    network, calls = model.denoiser.network, 0  # type: ignore[attr-defined]

    def breaks(tokens: Tensor, inside: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        logits: Tensor = network(tokens, inside)
        return logits if calls < 6 else logits * torch.nan

    model.denoiser.network = breaks  # type: ignore[attr-defined]
    with pytest.raises(NumericsError) as caught:
        infogain.generate(model, ["a quick", "a", "a qu"], GREEDY, length=[12, 4, 4], batch_size=2)
    assert caught.value.finished == {1: whole[1], 2: whole[2]}
    assert [(row, int(result.committed)) for _, row, result in caught.value.partial or ()] == [(0, 10)]


def test_chats_use_the_template_and_plain_texts_the_frame() -> None:
    chat = parrot("z", Letters(chats=True, framed=True))
    seen: list[list[int]] = []

    def observe(event: StepEvent) -> None:
        seen.append(event.z.start.tolist())

    infogain.generate(chat, "hi", GREEDY, length=4, observe=observe)
    assert seen.pop() == [len("user:hi.")]
    infogain.generate(chat, "hi", GREEDY, length=4, system="be", observe=observe)
    assert seen.pop() == [len("system:be.user:hi.")]
    infogain.generate(chat, [{"role": "assistant", "content": "so"}], GREEDY, length=4, observe=observe)
    assert seen.pop() == [len("assistant:so.")]
    plain = infogain.generate(chat, "hi", GREEDY, length=4, chat=False, observe=observe, trace=True)[0]
    assert seen.pop() == [len("^hi")]
    assert plain.trace is not None
    assert plain.trace.canvas == [Letters().encode("^hi____#")]


def test_holes_are_filled_where_they_stand() -> None:
    model = parrot("the cat sat")
    text = infogain.infill(model, "the [MASK:3] s[MASK]t", "entropy")[0]
    assert text.text == "the cat sat"
    assert len(text.tokens) == 4
    two = infogain.infill(model, ["the c[MASK]t", "[MASK:2]e cat"], GREEDY)
    assert [text.text for text in two] == ["the cat", "the cat"]
    assert two[0].finish == "length"


def test_each_text_has_its_own_trace() -> None:
    model = parrot("the cat sat on the mat")
    texts = infogain.generate(model, ["the", "the cat s"], GREEDY, length=[5, 3], trace=True)
    for text, prompt in zip(texts, ("the", "the cat s"), strict=True):
        assert text.trace is not None
        assert len(text.trace.canvas) == len(text.trace.rows) == 1
        assert text.trace.rows[0][len(prompt) :] == text.tokens
        assert {row.prompt for step in text.trace.steps for row in step.rows} == {0}
        assert "trace" not in text.plain()


def test_the_default_recipe_is_info_gain_in_blocks() -> None:
    model = parrot("the cat sat on the mat")
    assert settle(Recipe(), model) == Recipe(block=16, eos_ids=model.tokenizer.eos_ids)
    text = infogain.generate(model, "the", length=3)[0]
    assert (text.recipe["sampler"]["name"], text.recipe["block"]) == ("info-gain", 16)
    table = infogain.generate(model, "the", {"sampler": {"name": "eb", "bound": 0.5}, "block": 2}, length=3)[0]
    assert table.recipe["sampler"]["bound"] == 0.5


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"system": "be brief"}, "a system message needs a chat"),
        ({"chat": True}, r"which this checkpoint lacks.*chat=False in Python and --plain"),
        ({"seeds": [1, 2]}, r"seeds must be one per prompt \(1\); got 2"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1"),
        ({"batch_size": 2.0}, "batch_size must be a whole number"),
        ({"stop": ["x", ""]}, "a stop string must hold at least one character; got ''"),
        ({"recipe": 3}, "a recipe is a Recipe, a sampler, a name of either, a path or a plain table; got 3"),
        ({"length": 0}, "at least 1"),
        ({"length": [3, 4]}, "one per prompt"),
    ],
)
def test_what_cannot_be_generated_is_said(options: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        infogain.generate(parrot("the cat"), "the", **{"recipe": GREEDY, **options})  # type: ignore[arg-type]


def test_bad_prompts_are_said() -> None:
    model = parrot("the cat")
    with pytest.raises(InputError, match="a chat template, which this checkpoint lacks"):
        infogain.generate(model, [{"role": "user", "content": "hi"}], GREEDY)
    message = {"role": "user", "content": "hi"}
    several: list[Any] = [3, None, [3], [[]], ["a", {"role": "user"}], message, [[{"role": "user"}]]]
    for wrong in several:
        with pytest.raises(InputError, match="a prompt must be a text, or a list of messages"):
            infogain.generate(model, wrong, GREEDY)
    with pytest.raises(InputError, match="a text to fill must be a string; got 3"):
        infogain.infill(model, [3])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"prompt 1 does\. Holes are filled by infill .*infogain infill"):
        infogain.generate(model, ["the", "the _"], GREEDY)
    with pytest.raises(InputError, match="needs a \\[MASK\\]"):
        infogain.infill(model, "no holes here")
    with pytest.raises(InputError, match="at least one row"):
        infogain.generate(model, [])


def test_conversations_need_the_template_that_is_there_and_one_system_message() -> None:
    model = parrot("z", Letters(chats=True))
    talk = [{"role": "system", "content": "be"}, {"role": "user", "content": "hi"}]
    with pytest.raises(InputError, match=r"chat=False \(--plain\) turns off"):
        infogain.generate(model, talk, GREEDY, chat=False)
    with pytest.raises(InputError, match="this one holds its own, and system came too"):
        infogain.generate(model, talk, GREEDY, system="so")
    assert infogain.generate(model, talk, GREEDY, length=2)[0].text


def test_a_model_with_a_context_refuses_longer_rows() -> None:
    model = parrot("the cat")
    model.denoiser.context = 6
    with pytest.raises(InputError, match="context of 6 columns; prompt 0 takes 3 and asks for 4 more"):
        infogain.generate(model, "the", GREEDY, length=4)
    assert len(infogain.generate(model, "the", GREEDY)[0].tokens) == 3
    with pytest.raises(ContextError, match="context of 6 columns; prompt 1 takes 7"):
        infogain.generate(model, ["the", "the cat"], GREEDY)
    for text in ("[MASK:4]the", "[MASK:9999]", "[MASK:999999999]"):
        with pytest.raises(ContextError, match=r"context of 6 columns; .* takes .* at least"):
            infogain.infill(model, text)
    assert infogain.infill(model, "[MASK:3]the")[0].committed == 3


def test_the_frame_counts_as_part_of_the_context() -> None:
    model = parrot("the cat", Letters(chats=False, framed=True))
    model.denoiser.context = 8
    assert infogain.generate(model, "the", GREEDY)[0].committed == 3
    with pytest.raises(ContextError, match="prompt 0 takes 5 and asks for 4 more"):
        infogain.generate(model, "the", GREEDY, length=4)
    with pytest.raises(ContextError, match="takes 9 at least"):
        infogain.infill(model, "the[MASK:4]")


def test_whether_an_eos_ends_a_text_is_said_in_one_place() -> None:
    model = parrot("ab the cat$ and so on and on")
    with_ends = Recipe(GREEDY.sampler, GREEDY.schedule, block=4, eos_ids=(END,))
    for recipe in (with_ends, with_ends.plain()):
        text = infogain.generate(model, "ab", recipe, length=16, stop_at_eos=False)[0]
        assert (text.committed, text.recipe["eos_ids"]) == (16, [])
        filled = infogain.infill(model, "ab[MASK:16]", recipe)[0]
        assert (filled.committed, filled.finish) == (16, "length")
    other = Recipe(GREEDY.sampler, GREEDY.schedule, block=4, eos_ids=(1,))
    assert infogain.generate(model, "ab", other, length=16)[0].recipe["eos_ids"] == [1]


def test_a_table_leaves_the_rest_to_the_default_recipe() -> None:
    recipe = infogain.generate(parrot("the cat"), "the", {"schedule": 2}, length=3)[0].recipe
    assert (recipe["block"], recipe["sampler"]["name"], recipe["schedule"]["k"]) == (16, "info-gain", 2)


def test_the_model_s_own_mask_token_is_a_hole_too() -> None:
    model = parrot("the cat sat")
    assert infogain.infill(model, "the _a_ s[MASK]t", "entropy")[0].text == "the cat sat"


@pytest.mark.parametrize(
    "hole", ["[MASK:0]", "[MASK:x]", "[MASK:]", "[MASK:-1]", "[MASK:²]", "[MASK:" + "9" * 5000 + "]"]
)
def test_a_hole_of_no_number_is_said(hole: str) -> None:
    with pytest.raises(InputError, match=r"a whole number of at least 1; got '\[MASK:"):
        infogain.infill(parrot("the cat"), f"the {hole}")


def test_stop_strings_end_the_copies_of_best_of_n_each_at_its_own_block() -> None:
    model = parrot("ab the cat, and so on and on")
    recipe = Recipe(infogain.samplers.make("best-of-n", n=3, base="ar"), TokensPerStep(2), block=4)
    done: list[tuple[int, int]] = []
    text = infogain.generate(
        model, "ab", recipe, length=20, stop=",", observe=lambda event: done.append((event.done, event.total))
    )[0]
    assert (text.text, text.finish, text.committed) == (" the cat", "stop", 12)
    assert {total for _, total in done} == {60}, "three copies of twenty"


def test_options_are_suggested_by_what_other_libraries_call_them() -> None:
    for theirs, ours in (("temperature", "tau_token"), ("max_new_tokens", "length")):
        with pytest.raises(UnknownName, match=f"Did you mean '{ours}'"):
            infogain.generate(parrot("abc"), "a", **cast("Any", {theirs: 1}))


def test_a_model_without_its_tokenizer_is_told_so() -> None:
    with pytest.raises(InputError, match=r"texts need a model with its tokenizer, .* got FullCanvas"):
        infogain.generate(parrot("abc").denoiser, "a")  # type: ignore[arg-type]
