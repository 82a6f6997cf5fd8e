"""Settings go round: flags, the recipe file they make, and Python's keywords decode alike, whatever is left open."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import infogain
from infogain import InputError, OptionError, Recipe, TextModel, UnknownName, recipe_files
from infogain.cli.flags import RecipeFlags
from infogain.cli.model import Source
from infogain.evals.runs import list_runs
from infogain.generate import BLOCK
from infogain.models.backbone.backbone import random_backbone
from infogain.options import fields, option, plain
from infogain.recipe_files import load_recipe, recipe_names
from infogain.recipe_writer import dump_recipe
from infogain.resolve import SCHEDULE, as_recipe
from infogain.samplers import SAMPLERS, Entropy, InfoGain, make
from tests.e2e.test_cli import ok, refused
from tests.laws.test_backbone import SPECS
from tests.unit.test_generate import LETTERS, MASK, Letters

PROMPT, LENGTH = "the cat", 20  # more than a block
HOLES = "the cat[MASK:20]"
# what is asked for, as flags and as keywords
ASKED: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("-k", 4), {"k": 4}),
    (("-k", 4, "--block", 0), {"k": 4, "block": 0}),
    (("--steps", 5, "--shape", "cosine", "--block", 8), {"steps": 5, "shape": "cosine", "block": 8}),
    (("-k", 4, "--order", "random", "--seed", 7), {"k": 4, "order": "random", "seed": 7}),
]


@pytest.fixture(scope="module")
def model() -> TextModel:
    spec = replace(SPECS["llada"], vocab_size=len(LETTERS), mask_id=MASK)
    return TextModel(random_backbone(spec, cache="none"), Letters(chats=False))


@pytest.fixture
def loaded(model: TextModel, monkeypatch: pytest.MonkeyPatch) -> TextModel:
    monkeypatch.setattr(Source, "load", lambda self: model)
    return model


def written(tmp_path: Path, *flags: object) -> Path:
    path = tmp_path / "r.toml"
    path.write_text(ok("recipe", *flags))
    return path


def line(*arguments: object) -> dict[str, Any]:
    return dict(json.loads(ok(*arguments)))


@pytest.mark.parametrize("sampler", list(SAMPLERS))
@pytest.mark.parametrize(("flags", "keywords"), ASKED, ids=["k", "global", "steps", "random"])
def test_flags_files_and_keywords_write_the_same_text(
    sampler: str, flags: tuple[Any, ...], keywords: dict[str, Any], loaded: TextModel, tmp_path: Path
) -> None:
    asked = ("--sampler", sampler, *flags)
    command = ("generate", PROMPT, "--length", LENGTH)
    if sampler == "info-gain-beam" and "random" in flags:  # hypotheses would go through other blocks
        assert refused(*command, *asked) == refused(*command, "--recipe", written(tmp_path, *asked))
        return
    by_flags = line(*command, *asked)
    by_file = line(*command, "--recipe", written(tmp_path, *asked))
    (text,) = infogain.generate(loaded, PROMPT, sampler, length=LENGTH, **keywords)
    in_python = json.loads(json.dumps(text.plain()))
    assert by_flags == by_file == {**by_flags, **in_python}
    assert by_flags["recipe"]["block"] == keywords.get("block", BLOCK)


@pytest.mark.parametrize("sampler", ["eb", "best-of-n", "info-gain"])
def test_holes_and_toys_go_round(sampler: str, loaded: TextModel, tmp_path: Path) -> None:
    asked = ("--sampler", sampler, "-k", 4)
    file = written(tmp_path, *asked)
    (filled,) = infogain.infill(loaded, HOLES, sampler, k=4)
    assert ok("infill", HOLES, *asked) == ok("infill", HOLES, "--recipe", file)
    assert filled.text in ok("infill", HOLES, *asked)
    toys = [tmp_path / "flags.json", tmp_path / "file.json"]
    for out, flags in zip(toys, (asked, ("--recipe", file)), strict=True):
        ok("toy", "parity", *flags, "--quiet", "--out", out)
    toy = infogain.models.toys.load_toy("parity")
    again = infogain.decode(toy.model, toy.canvas(8), sampler, k=4)
    assert json.loads(toys[0].read_text()) == json.loads(toys[1].read_text()) == json.loads(json.dumps(again.plain()))
    assert again.recipe["block"] == 0, "what was left open is told"


def test_a_task_s_runs_go_round(tmp_path: Path) -> None:
    asked = ("--sampler", "eb", "-k", 4)
    for flags in (asked, ("--recipe", written(tmp_path, *asked))):
        ok("eval", "zoo:countdown", "--limit", 2, "--seeds", 1, "--runs", tmp_path / "runs", *flags)
    (run,) = list_runs(tmp_path / "runs")
    assert run.about["recipe"]["block"] == 0, "a task to be filled in is decoded whole"


@pytest.mark.parametrize("sampler", list(SAMPLERS))
def test_a_text_s_recipe_writes_it_again(sampler: str, model: TextModel) -> None:
    (text,) = infogain.generate(model, PROMPT, sampler, length=LENGTH, k=5)
    for again in (
        infogain.generate(model, PROMPT, text.recipe, length=LENGTH),
        infogain.generate(model, PROMPT, length=LENGTH, **text.recipe),
        infogain.generate(model, PROMPT, Recipe.of(text.recipe), length=LENGTH),
    ):
        assert again == [text]


def test_a_block_causal_model_keeps_its_width_unless_another_is_asked_for() -> None:
    joint = infogain.models.Tabular
    toy = infogain.models.toys.load_toy("parity")
    causal = joint(toy.model.sequences, toy.model.weights.long(), toy.model.mask_id, attention_block=2)
    for given, block in ((None, 2), (0, 2), (3, 3)):
        assert infogain.decode(causal, toy.canvas(1), "ar", block=given).recipe["block"] == block


# what a call takes


@pytest.mark.parametrize("name", ["info-gain", "info-gain:paper"])
def test_a_name_stands_for_its_own_settings_and_not_for_those_of_the_default(name: str) -> None:
    """The default is a preset of the same sampler; whoever names the sampler must get what the paper prints."""
    paper, ours = InfoGain(), make("info-gain:validated")
    assert Recipe().sampler == as_recipe().sampler == ours != paper
    for given, options in ((name, {}), ({"name": name}, {}), (None, {"sampler": name})):
        assert as_recipe(given, options).sampler == paper
    assert as_recipe(name, {"n": 4}).sampler == InfoGain(n=4)
    assert as_recipe(None, {"n": 4}).sampler == make("info-gain:validated", n=4)
    assert RecipeFlags(sampler={"name": name}).over(Recipe()).sampler == paper
    assert RecipeFlags(sampler={"name": name, "n": 4}).over(Recipe()).sampler == InfoGain(n=4)
    assert RecipeFlags(sampler={"n": 4}).over(Recipe()).sampler == make("info-gain:validated", n=4)


def test_a_recipe_that_says_nothing_of_its_sampler_has_none_to_keep(tmp_path: Path) -> None:
    path = tmp_path / "silent.toml"
    path.write_text("block = 8\n")
    for given in ({"block": 8}, Recipe(block=8), path):
        found = as_recipe(given, {"sampler": "info-gain"})
        assert (found.sampler, found.block) == (InfoGain(), 8)
    flags = RecipeFlags(file={"name": str(path)}, sampler={"name": "info-gain", "n": 4})
    assert flags.over(Recipe()) == Recipe(InfoGain(n=4), block=8)


def test_a_recipe_keeps_the_settings_of_a_sampler_that_is_named_again() -> None:
    """As before there was a default with settings of its own."""
    given = Recipe(InfoGain(tau_pos=0.3))
    assert as_recipe(given, {"sampler": "info-gain", "n": 4}).sampler == InfoGain(tau_pos=0.3, n=4)
    assert RecipeFlags(sampler={"name": "info-gain", "n": 4}).over(given).sampler == InfoGain(tau_pos=0.3, n=4)
    assert RecipeFlags(sampler={"name": "entropy"}).over(given).sampler == make("entropy")


def test_every_way_to_name_a_sampler_is_one(model: TextModel, tmp_path: Path) -> None:
    made = InfoGain(n=4, tau_pos=0.2)
    path = tmp_path / "mine.toml"
    infogain.save_recipe(Recipe(made), path)
    ways: list[tuple[Any, dict[str, Any]]] = [
        (made, {}),
        (plain(made), {}),
        ("info-gain", {"n": 4, "tau_pos": 0.2}),
        (None, {"sampler": made}),
        (None, {"n": 4, "tau_pos": 0.2, "gain_power": 1.0, "cost_of": "entropy", "bypass_of": "top1"}),
        (InfoGain(n=2, tau_pos=0.2), {"n": 4}),
        (Recipe(made), {}),
        ({"sampler": plain(made)}, {}),
        (path, {}),
        (str(path), {}),
    ]
    mask = model.denoiser.mask_id
    canvas = infogain.Canvas.infill([model.tokenizer.encode(PROMPT) + [mask] * 8], mask)
    for given, options in ways:
        assert as_recipe(given, options) == Recipe(made)
        if "sampler" not in options:
            assert infogain.decode(model, canvas, given, k=4, **options).recipe["sampler"]["n"] == 4
    texts = [infogain.generate(model, PROMPT, given, length=8, k=4, **options) for given, options in ways]
    assert all(text == texts[0] for text in texts)


@dataclass(frozen=True)
class Shy(Entropy):
    """A sampler that nobody registered."""

    patience: int = option(1, "steps to wait", low=0)


def test_a_sampler_of_one_s_own_takes_keywords(model: TextModel) -> None:
    (text,) = infogain.generate(model, PROMPT, Shy(), length=4, patience=3, tau_token=0)
    assert text.recipe["sampler"]["name"].endswith(":Shy")
    assert (text.recipe["sampler"]["patience"], text.recipe["sampler"]["tau_token"]) == (3, 0.0)
    canvas = infogain.Canvas.infill([[1, model.denoiser.mask_id]], model.denoiser.mask_id)
    with pytest.raises(UnknownName, match=r"unknown keyword 'patince'\. Did you mean 'patience'\?"):
        infogain.decode(model, canvas, Shy(), patince=3)


def test_keywords_of_a_call_are_options_of_nothing_else() -> None:
    """A keyword has one meaning, whichever sampler is asked for."""
    options = {option for name in SAMPLERS for option in fields(SAMPLERS[name])}
    assert not options & {*SCHEDULE, *fields(Recipe)}
    assert not set(SAMPLERS) & set(recipe_names())


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ("info-gain", {"taupos": 1}, "unknown keyword 'taupos'. Did you mean 'tau_pos'?"),
        ("info-gain", {"lenght": 3}, "Did you mean 'length'?"),
        ("entropy", {"n": 3}, r"unknown keyword 'n' \(n belongs to .*info-gain"),
        ("info-gain", {"n": 0}, "n must be at least 1"),
        ("info-gain", {"k": 0}, "k must be at least 1"),
        ("info-gain", {"k": 2, "steps": 4}, "got k 2 and steps 4"),
        ("info-gain", {"shape": "cosine"}, "Give steps"),
        ("info-gain", {"k": 2, "schedule": 2}, "a schedule is given once"),
        ("info-gian", {}, "unknown sampler or recipe 'info-gian'. Did you mean 'info-gain'?"),
        ("info-gain-reasonin", {}, "Did you mean 'info-gain-reasoning'?"),
        ("nowhere/r.toml", {}, "nowhere/r.toml: No such file"),
        (3, {}, "a recipe is a Recipe, a sampler"),
        (InfoGain, {}, r"Use InfoGain\(\)"),
    ],
)
def test_a_mistake_is_named(given: Any, options: dict[str, Any], said: str, model: TextModel) -> None:
    with pytest.raises((OptionError, InputError), match=said):
        infogain.generate(model, PROMPT, given, **options)


def test_an_end_that_nothing_looks_for_is_refused(model: TextModel) -> None:
    with pytest.raises(InputError, match="here none does"):
        infogain.infill(model, HOLES, eos_ids=3)
    with pytest.raises(InputError, match="here none does"):
        infogain.generate(model, PROMPT, eos_ids=3, stop_at_eos=False)


def test_texts_are_streamed_as_they_finish(model: TextModel) -> None:
    prompts, lengths = [PROMPT, PROMPT, PROMPT], [12, 3, 6]
    came = list(infogain.stream(model, prompts, Entropy(), length=lengths, batch_size=3, stop_at_eos=False))
    assert [number for number, _ in came] == [1, 2, 0]
    whole = infogain.generate(model, prompts, Entropy(), length=lengths, stop_at_eos=False)
    assert [text for _, text in sorted(came, key=lambda pair: pair[0])] == whole
    with pytest.raises(UnknownName, match="Did you mean 'tau_pos'"):
        infogain.stream(model, PROMPT, "entropy", tau_poss=1)  # at once, before a text is asked for


# recipes that come with the package


def test_a_recipe_of_the_package_has_a_name(loaded: TextModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # no folder recipes/ is near
    recipe = load_recipe("info-gain-reasoning")
    assert recipe == as_recipe("info-gain-reasoning") == infogain.load_recipe("info-gain-reasoning")
    assert recipe == Recipe(InfoGain(n=8, tau_pos=0.1, tau_token=0.7, gamma=0.8), block=16)
    by_name = line("generate", PROMPT, "--length", 6, "--recipe", "info-gain-reasoning-k2")
    assert by_name["recipe"]["schedule"]["k"] == 2
    listed = ok("recipe", "--list", env={"COLUMNS": "200"})
    assert all(name in listed for name in recipe_names())
    assert "Info-Gain for reasoning and code" in listed
    assert "unknown recipe 'info-gain-reasonin', which is no file either. Did you mean 'info-gain-reasoning'?" in (
        refused("generate", PROMPT, "--recipe", "info-gain-reasonin")
    )


def test_an_installed_package_has_its_recipes_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "infogain" / "recipes"
    inside.mkdir(parents=True)
    (inside / "mine.toml").write_text("# Mine.\nblock = 3\n")
    monkeypatch.setattr(recipe_files, "__file__", str(inside.parent / "recipe_files.py"))
    assert recipe_names() == ["mine"]
    assert load_recipe("mine") == as_recipe("mine") == Recipe(block=3)


def test_planning_is_one_block_wherever_its_recipe_is_used(loaded: TextModel) -> None:
    assert load_recipe("info-gain-planning").block == 0
    text = line("generate", PROMPT, "--length", LENGTH, "--recipe", "info-gain-planning", "-k", 5)
    assert text["recipe"]["block"] == 0
    assert text["forwards"] == 4, "20 columns, five a step, opened once"


def test_a_text_that_ends_nowhere_comes_out_again_from_its_recipe() -> None:
    """An empty list of ends is none; only where it is unset are they the tokenizer's."""
    model = infogain.load("zoo:tiny-reason", device="cpu")
    asked = {"length": 40, "k": 4}
    on = infogain.generate(model, "C24,13,6=31:", "entropy", stop_at_eos=False, **asked)[0]  # type: ignore[arg-type]
    assert (on.finish, on.recipe["eos_ids"]) == ("length", [])
    again = infogain.generate(model, "C24,13,6=31:", on.recipe, length=40)[0]
    stopped = infogain.generate(model, "C24,13,6=31:", "entropy", **asked)[0]  # type: ignore[arg-type]
    named = infogain.generate(model, "C24,13,6=31:", "entropy", eos_ids=(), **asked)[0]  # type: ignore[arg-type]
    assert on.tokens == again.tokens == named.tokens
    assert stopped.finish == "eos"
    assert load_back(on.recipe) == Recipe.of(on.recipe)


def load_back(table: dict[str, Any]) -> Recipe:
    """The recipe of a table, by way of a TOML file's text."""
    return Recipe.of(tomllib.loads(dump_recipe(Recipe.of(table))))
