"""The cached-versus-exact report."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import infogain
from infogain import Canvas, InputError, Recipe, TextModel, Vocabulary
from infogain.drift import Pair, measure
from infogain.models.backbone.backbone import Backbone, random_backbone
from infogain.text.prompts import Job
from tests.laws.test_backbone import BASE, SPECS, canvas_of
from tests.unit.test_generate import Letters

RECIPE = Recipe("entropy", block=3)  # type: ignore[arg-type]


def test_a_model_does_not_drift_from_itself() -> None:
    model = random_backbone(SPECS["llada"], cache="none")
    pair = Pair(model, model)
    infogain.decode(pair, canvas_of(), "info-gain", block=4)
    assert sorted(pair.by_age) == [1, 2, 3]
    for tally in pair.by_age.values():
        means = tally.means()
        assert means.pop("canvases") > 0
        assert set(means.values()) == {0.0}


@pytest.mark.parametrize("family", ["llada", "dream", "tied"])
def test_the_dual_cache_drifts_more_the_more_is_written(family: str) -> None:
    model = random_backbone(SPECS[family], cache="dual")
    rows = [[i, i + 1, *[BASE.mask_id] * 9] for i in range(8)]
    report = measure(TextModel(model, Letters()), Job(["x"] * 8, rows), RECIPE)
    gaps = [report.by_age[age]["mean_gap"] for age in (1, 2)]
    assert 0 < gaps[0] < gaps[1]
    assert report.texts == 8
    assert 0 <= report.texts_changed <= report.tokens_changed <= report.tokens
    assert report.plain()["cache"] == "dual"


def test_a_row_that_goes_on_has_drifted_before_a_token_is_written() -> None:
    transformer = random_backbone(SPECS["llada"], cache="dual").transformer
    job = Job(["x"] * 8, [[i, i + 1, *[BASE.mask_id] * 9] for i in range(8)])
    often, seldom = (
        measure(TextModel(Backbone(transformer, "dual", refresh=refresh), Letters()), job, RECIPE) for refresh in (1, 3)
    )
    assert sorted(often.by_age) == [1, 2]
    assert sorted(seldom.by_age) == [0, 1, 2]
    assert seldom.by_age[0]["mean_gap"] > 0
    assert often.by_age[1]["mean_gap"] < seldom.by_age[1]["mean_gap"]
    assert seldom.by_age[0]["canvases"] == 3 * 8  # every block, also those that read the row
    assert seldom.plain()["refresh"] == 3


def test_a_global_block_under_prefix_is_off_by_its_prompt_alone() -> None:
    """The frozen prompt saw the masks; what is live is exact. The first layer's keys do not depend on them."""
    one_layer = random_backbone(replace(SPECS["llada"], layers=1), cache="prefix")
    pair = Pair(one_layer, Backbone(one_layer.transformer, "none"))
    canvas = Canvas.infill([[1, 2, *[BASE.mask_id] * 5]], BASE.mask_id)
    infogain.decode(pair, canvas, "entropy")
    assert max(tally.widest for tally in pair.by_age.values()) < 1e-5


def test_drift_needs_a_cache_that_can_drift() -> None:
    job = Job(["x"], [[1, BASE.mask_id]])
    for model, text in (
        (random_backbone(SPECS["sdar"]), "cache is exact"),
        (random_backbone(SPECS["llada"], cache="none"), "loaded without one"),
        (
            infogain.models.FullCanvas(lambda tokens, inside: torch.zeros(1), Vocabulary(4, 3)),
            "masked LMs .* without one",
        ),
    ):
        with pytest.raises(InputError, match=text):
            measure(TextModel(model, Letters()), job, RECIPE)
