from __future__ import annotations

from typing import Any

import pytest

import infogain
from infogain import OptionError, Recipe, UnknownName
from infogain.options import HOTTEST, LARGEST, accepted, fields, plain
from infogain.samplers import SAMPLERS, BestOfN, Confidence, InfoGain, make, parse
from tests.cases import ALL, DRAWS, label


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UnknownName, match=r"unknown sampler 'infogain'. Did you mean 'info-gain'\?.*best-of-n"):
        make("infogain")
    with pytest.raises(UnknownName, match=r"option of sampler 'info-gain': 'tau_positon'. Did you mean 'tau_pos"):
        make("info-gain", tau_positon=0.1)
    with pytest.raises(UnknownName, match=r"recipe key 'sampel'. Did you mean 'sampler'"):
        Recipe.of({"sampel": "ar"})
    with pytest.raises(UnknownName, match=r"schedule 'stepz'. Did you mean 'steps'"):
        Recipe(schedule={"name": "stepz"})  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match=r"'qqq'. Available"):
        make("qqq")


def test_an_option_of_another_sampler_says_whose_it_is() -> None:
    with pytest.raises(UnknownName, match=r"'width' \(width belongs to info-gain-beam\)"):
        make("info-gain", width=3)


def test_a_preset_is_its_settings_and_options_go_over_it() -> None:
    assert make("info-gain:paper") == InfoGain()
    options: dict[str, Any] = {"gain_power": 0.0, "tau_pos": 0.4, "cost_of": "surprisal", "bypass_of": "drawn"}
    assert make("info-gain:validated") == InfoGain(**options)
    assert make("info-gain:validated", gain_power=0.5, n=4) == InfoGain(**{**options, "gain_power": 0.5, "n": 4})
    plain = Recipe("info-gain:validated").plain()["sampler"]  # type: ignore[arg-type]  # Recipe parses names
    assert (plain["name"], plain["gain_power"]) == ("info-gain", 0.0)


def test_an_unknown_preset_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match=r"preset of sampler 'info-gain': 'validate'.*validated"):
        make("info-gain:validate")
    with pytest.raises(UnknownName, match="preset of sampler 'entropy'"):
        make("entropy:paper")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(OptionError, match="schedule 'steps' needs count: steps in all"):
        Recipe.of({"schedule": {"name": "steps"}})
    for odd in ({"name": 3}, {}):
        with pytest.raises(OptionError, match="a sampler needs a name"):
            Recipe.of({"sampler": odd})


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("info-gain", {"n": 0}, "n must be at least 1; got 0. Use 1 \\(greedy\\) or 8 \\(the paper's\\)"),
        ("info-gain", {"tau_pos": -0.1}, "tau_pos must be at least 0; got -0.1"),
        ("info-gain", {"tau_token": -1}, "tau_token must be at least 0"),
        ("info-gain", {"tau_token": float("nan")}, "tau_token must be float"),
        ("info-gain", {"tau_pos": float("inf")}, "tau_pos must be float"),
        ("info-gain", {"gamma": 0}, "gamma must be above 0"),
        ("info-gain", {"gamma": 1.5}, "gamma must be at most 1"),
        ("info-gain", {"phi": "topp1"}, "Did you mean 'top1'"),
        ("info-gain", {"gain_power": 2}, "gain_power must be at most 1"),
        ("info-gain", {"n": 2.0}, "n must be int"),
        ("entropy", {"top_k": 0}, "top_k must be at least 1"),
        ("entropy", {"top_p": 0.0}, "top_p must be above 0"),
        ("info-gain-beam", {"width": 0}, "width must be at least 1"),
        ("best-of-n", {"n": 0}, "n must be at least 1"),
        ("best-of-n", {"base": "entrpy"}, "Did you mean 'entropy'"),
        ("best-of-n", {"base": {"tau_token": 1.0}}, "needs a name"),
        ("best-of-n", {"base": 3}, "base must be Sampler"),
        ("threshold", {"factor": 0.5}, "factor belongs to variant='factor'"),
        ("threshold", {"variant": "factor", "threshold": 0.5}, "threshold belongs to variant='threshold'"),
        ("klass", {"threshold": 0.5}, "threshold belongs to variant='original'"),
        ("klass", {"epsilon": 0}, "epsilon must be above 0"),
        ("eb", {"bound": -1}, "bound must be at least 0"),
        ("pc", {"lam": -1}, "lam must be at least 0"),
        ("pc", {"frequencies": "no-such-file.json"}, "must name a file"),
    ],
)
def test_bad_options_say_what_must_hold(name: str, options: dict[str, object], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        make(name, **options)


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_every_number_is_one_that_float32_holds(name: str) -> None:
    """Models compute in float32: beyond it a temperature would be infinite, and draw greedily instead of uniformly."""
    needed = {"variant": "factor"} if name == "threshold" else {}
    for field in fields(SAMPLERS[name]).values():
        if float in accepted(SAMPLERS[name], field.name):
            for huge in (LARGEST * 1.01, 10**400):
                with pytest.raises(OptionError, match=f"{field.name} must"):
                    make(name, **needed, **{field.name: huge})


@pytest.mark.parametrize("option", ["tau_token", "tau_pos"])
def test_a_temperature_has_a_range(option: str) -> None:
    assert make("info-gain", **{option: HOTTEST})
    with pytest.raises(OptionError, match=rf"{option} must be at most 1e\+20; got 3.5e\+38"):
        make("info-gain", **{option: 3.5e38})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"block": -1}, "block must be at least 0"),
        ({"order": "zigzag"}, "'zigzag'"),
        ({"eos_ids": -1}, "eos_ids must be at least 0"),
        ({"seed": 1.5}, "seed must be int"),
    ],
)
def test_bad_recipes_say_what_must_hold(options: dict[str, object], text: str) -> None:
    with pytest.raises(OptionError, match=text):
        Recipe(**options)  # type: ignore[arg-type]


def test_files_name_later_options_where_they_differ_from_what_was_before() -> None:
    """A table that was written before there was such an option is still what is written now, and so is its hash."""
    assert plain(make("entropy")) == {"name": "entropy", "tau_token": 0.7, "tau_pos": 0.0}
    assert plain(make("entropy", draws="fixed"))["draws"] == "fixed"
    before = {"name": "lookum", "tau_token": 0.7, "n": 8, "tau_pos": 0.1, "gamma": 0.8, "phi": "drawn"}
    assert plain(make("lookum")) == {**before, "metric": "entropy"}
    assert plain(parse({**before, "tau_select": 0.2}))["tau_select"] == 0.2
    assert parse(before) == make("lookum", draws="fresh", tau_select=0)


@pytest.mark.parametrize("sampler", [*ALL, *DRAWS], ids=label)
def test_a_recipe_survives_its_plain_form(sampler: infogain.samplers.Sampler) -> None:
    recipe = Recipe(sampler, infogain.Steps(9, "cosine"), block=4, order="random", eos_ids=(3, 4), seed=5)
    assert Recipe.of(recipe.plain()) == recipe
    assert parse(plain(sampler)) == sampler


def test_values_are_values() -> None:
    assert make("info-gain", tau_pos=1) == InfoGain(tau_pos=1.0)
    assert len({make("entropy"), make("entropy")}) == 1
    assert BestOfN(base="entropy") == make("best-of-n", base={"name": "entropy"})  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        Confidence().of = "drawn"  # type: ignore[misc]


def test_every_option_has_help_and_every_sampler_its_row_of_table_6() -> None:
    for name in SAMPLERS:
        kind = SAMPLERS[name]
        assert kind.criteria
        assert kind.__doc__
        for field in fields(kind).values():
            assert field.metadata["help"], f"{name}.{field.name}"


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        SAMPLERS.register("entropy")(Confidence)
