"""Metrics of molecules on sets whose answers are known by hand. They need RDKit."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from infogain.evals.intervals import wilson
from infogain.evals.molecule_plots import draw_distributions
from infogain.evals.molecule_scores import score_texts, table_of
from infogain.zoo.molecules.metrics import describe_texts, distributions, internal_diversity, quality
from infogain.zoo.molecules.sampled import SampledTexts
from infogain.zoo.molecules.scaffolds import read_scaffolds
from infogain.zoo.molecules.training_set import reference_distributions
from tests.molecules import ASPIRIN, PARACETAMOL, needs_rdkit

pytestmark = needs_rdkit
TRAINING = {"CCO"}
TEXTS = ["CCO", "OCC", "CCN~~~C(", "CC(=O", "", ASPIRIN]  # two spellings of one, one cut at its end, two that are none


def test_shares_by_hand() -> None:
    found = quality(describe_texts(TEXTS), TRAINING)
    assert found.valid == pytest.approx(4 / 6)
    assert found.unique == pytest.approx(3 / 4)
    assert found.novel == pytest.approx(2 / 3)
    assert found.valid_unique_novel == pytest.approx(2 / 6) == found.valid * found.unique * found.novel


def test_nothing_valid_has_no_shares_of_it() -> None:
    found = quality(describe_texts(["C(", ""]), TRAINING)
    assert (found.valid, found.valid_unique_novel) == (0, 0)
    assert math.isnan(found.unique + found.novel)
    assert math.isnan(found.diversity)


def test_internal_diversity_by_hand() -> None:
    """Two fingerprints share one bit of three: the pairs are 1, 1/3, 1/3 and 1."""
    a, b = (bytes(int(i in bits) for i in range(1024)) for bits in ({0, 1}, {1, 2}))
    assert internal_diversity([a, b]) == pytest.approx(1 - (2 + 2 / 3) / 4)
    assert internal_diversity([a, a]) == 0
    assert internal_diversity([bytes(1024)] * 2) == 0


def test_internal_diversity_is_rdkits() -> None:
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    smiles = ["CCO", ASPIRIN, PARACETAMOL, "c1ccc2[nH]ccc2c1"]
    made = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)
    prints = [made.GetFingerprint(Chem.MolFromSmiles(one)) for one in smiles]
    similar = [DataStructs.TanimotoSimilarity(a, b) for a in prints for b in prints]
    found = [one.fingerprint for one in describe_texts(smiles) if one]
    assert internal_diversity(found) == pytest.approx(1 - sum(similar) / 16)


def test_properties_by_hand() -> None:
    found = distributions(describe_texts(["CCO", "c1ccc2[nH]ccc2c1", "C("]))
    assert found["length"].values.tolist() == [3, 13]
    assert found["weight"].values.tolist() == pytest.approx([46.069, 117.151], abs=1e-3)
    assert found["rings"].values.tolist() == [0, 2]
    assert found["logp"].mean == pytest.approx((-0.0014 + 2.1679) / 2, abs=1e-3)


def test_few_texts_have_an_interval_for_validity_alone() -> None:
    scores = score_texts(SampledTexts("few", TEXTS, [""] * 6, {"forwards": [2.0] * 6}), TRAINING)
    assert scores.shares["valid"] == wilson(4 / 6, 6)
    assert scores.shares["unique"].plain() is None
    assert set(scores.shares) == {"valid", "unique", "novel", "valid_unique_novel", "diversity"}
    assert scores.costs["forwards"].value == 2
    assert scores.plain()["properties"]["rings"]["distance"] == pytest.approx(
        scores.properties["rings"].distance(reference_distributions()["rings"])
    )


def test_batches_of_a_thousand_give_the_interval_of_uniqueness() -> None:
    """Two batches, of which one repeats half of its texts; the thirty texts that are left over tell of validity."""
    first = ["C" * (1 + i) for i in range(40)] * 25
    texts = [*first, *(["CCN"] * 1000), *(["C("] * 30)]
    shares = score_texts(SampledTexts("many", texts, [""] * 2030), {"C"}).shares
    assert shares["unique"].value == pytest.approx((0.04 + 0.001) / 2)
    assert shares["unique"].plain() is not None
    assert shares["unique"].low == 0
    assert shares["novel"].value == pytest.approx((39 / 40 + 1) / 2)
    assert shares["valid_unique_novel"].value == pytest.approx((0.039 + 0.001) / 2)
    assert shares["valid"] == wilson(2000 / 2030, 2030)


def test_scaffolds_that_were_given_are_looked_for() -> None:
    one, two = read_scaffolds()["test"][:2]
    texts = [one.smiles, one.scaffold, "CCO", "C("]
    sampled = SampledTexts("s", texts, [one.canvas, one.canvas, two.canvas, two.canvas])
    shares = score_texts(sampled, TRAINING).shares
    assert (shares["scaffold_kept"].value, shares["scaffold_same"].value) == (0.5, 0.5)
    assert "scaffold kept %" in table_of([score_texts(sampled, TRAINING)]).columns


def test_a_table_and_a_figure_show_what_was_found(tmp_path: Path) -> None:
    scores = [
        score_texts(SampledTexts(name, own, [""] * len(own)), TRAINING)
        for name, own in (("some", TEXTS), ("none", ["C("]))
    ]
    table = table_of(scores)
    assert table.rows[0][:4] == ["some", "6", "66.7 [30.0, 90.3]", "75.0"]
    assert table.rows[1][3:7] == ["–", "–", "0.0", "–"]
    assert table.rows[1][7:] == ["–"] * 4
    explained = {name for names in table.meanings for name in names.split(", ")}
    assert set(table.columns) - {"name"} <= explained
    pytest.importorskip("matplotlib")
    assert [path.name for path in draw_distributions(tmp_path, scores)] == ["distributions.png", "distributions.svg"]
