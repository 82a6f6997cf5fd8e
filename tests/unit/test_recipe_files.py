"""Recipes as TOML: exact round trips, clear refusals, and flags laid over files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from infogain.algorithm.schedule import Steps, TokensPerStep
from infogain.errors import InputError, OptionError
from infogain.recipe import Recipe
from infogain.recipe_files import load_recipe
from infogain.recipe_writer import dump_recipe, save_recipe
from infogain.resolve import change
from infogain.samplers import SAMPLERS, BestOfN, Confidence, Entropy, InfoGain, Margin, make

RECIPES = sorted(path for path in (Path(__file__).parents[2] / "recipes").rglob("*.toml") if path.stem != "table")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "r.toml"
    path.write_text(text)
    return path


def assert_round_trip(recipe: Recipe, path: Path) -> None:
    save_recipe(recipe, path)
    again = load_recipe(path)
    assert again == recipe
    assert dump_recipe(again) == dump_recipe(recipe)


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_every_sampler_comes_back_exactly(name: str, tmp_path: Path) -> None:
    for schedule in (TokensPerStep(2), Steps(5, "cosine")):
        assert_round_trip(Recipe(SAMPLERS.make(name), schedule, 16, "random", seed=-(2**62)), tmp_path / "r.toml")


def test_awkward_values_come_back_exactly(tmp_path: Path) -> None:
    base = Confidence(tau_token=0.1 + 0.2, tau_pos=5e-324, top_k=7, of="drawn")
    assert_round_trip(Recipe(BestOfN(3, BestOfN(2, base)), TokensPerStep(1), eos_ids=(0,)), tmp_path / "r.toml")


def test_there_are_shipped_recipes() -> None:
    assert len(RECIPES) >= 7


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_shipped_recipe_loads_and_says_where_it_comes_from(path: Path, tmp_path: Path) -> None:
    assert path.read_text().startswith("# ")
    assert_round_trip(load_recipe(path), tmp_path / "r.toml")


def test_the_reasoning_recipe_is_the_papers() -> None:
    recipe = load_recipe(next(path for path in RECIPES if path.stem == "info-gain-reasoning"))
    assert recipe == Recipe(InfoGain(n=8, tau_pos=0.1, tau_token=0.7, gamma=0.8), TokensPerStep(1), block=16)


def test_a_nested_base_is_a_table_with_a_name(tmp_path: Path) -> None:
    text = '[sampler]\nname = "best-of-n"\nn = 2\n[sampler.base]\nname = "confidence"\nof = "drawn"\n'
    assert load_recipe(written(tmp_path, text)).sampler == BestOfN(2, Confidence(of="drawn"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("blok = 16", "Did you mean 'block'?"),
        ('[sampler]\nname = "info-gian"', "Did you mean 'info-gain'?"),
        ('[sampler]\nname = "info-gain"\ntau_poss = 1.0', "Did you mean 'tau_pos'?"),
        ('[sampler]\nname = "best-of-n"\n[sampler.base]\nname = "confidence"\nof = "drwn"', "Did you mean 'drawn'?"),
        ('[sampler]\nname = "info-gain"\nn = 0', "n must be at least 1; got 0"),
        ("block = true", "block must be int"),
    ],
)
def test_a_bad_key_or_value_names_the_file_and_what_was_meant(text: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(OptionError) as caught:
        load_recipe(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


def test_what_is_no_toml_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must be TOML; .*r\.toml is not: .*line 2.* `infogain recipe`"):
        load_recipe(written(tmp_path, "seed = 0\nblock = \n"))
    (tmp_path / "latin").write_bytes(b'order = "\xe9"')
    with pytest.raises(InputError, match="must be TOML"):
        load_recipe(tmp_path / "latin")


def test_a_file_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: No such file.*Write one with `infogain recipe"):
        load_recipe(tmp_path / "none.toml")
    with pytest.raises(InputError, match="TOML file that can be read"):
        load_recipe(tmp_path)


RECIPE = Recipe(BestOfN(4, Entropy(tau_pos=0.2)), TokensPerStep(1), 16)


def test_options_over_a_recipe_keep_what_is_not_overridden() -> None:
    assert change(RECIPE) == RECIPE
    assert change(RECIPE, rest={"block": 4, "seed": 1}) == replace(RECIPE, block=4, seed=1)
    fewer = replace(RECIPE, sampler=BestOfN(2, Entropy(tau_pos=0.2)))
    assert change(RECIPE, {"n": 2}) == change(RECIPE, {"name": "best-of-n", "n": 2}) == fewer


def test_options_go_down_into_the_base() -> None:
    changed = change(RECIPE, {"base": {"tau_token": 0.5}}).sampler
    assert changed == BestOfN(4, Entropy(tau_pos=0.2, tau_token=0.5))


def test_another_name_starts_from_its_own_defaults() -> None:
    assert change(RECIPE, {"name": "entropy"}).sampler == Entropy()
    assert change(RECIPE, {"base": {"name": "margin"}}).sampler == BestOfN(4, Margin())
    assert change(RECIPE, {"name": "info-gain:validated", "n": 2}).sampler == make("info-gain:validated", n=2)
    assert change(RECIPE, schedule={"count": 5}).schedule == Steps(5)
    assert change(RECIPE, schedule={"count": 5, "shape": "cosine"}).schedule == Steps(5, "cosine")
    assert change(replace(RECIPE, schedule=Steps(5, "cosine")), schedule={"count": 6}).schedule == Steps(6, "cosine")
