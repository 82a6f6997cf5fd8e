"""FID, sFID and Inception Score: known answers, the numbers of torchmetrics, files of statistics."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from infogain.errors import InputError
from infogain.evals.images.image_folder import image_files, measure_files
from infogain.evals.images.image_metrics import ImageMeter, cautions, distances, inception_score, table_of_scores
from infogain.evals.images.image_statistics import Gaussian, ImageStatistics, RunningMoments, load_statistics
from infogain.evals.images.inception import SPATIAL_FEATURES, InceptionFeatures, InceptionV3, OneFeature
from infogain.images.frechet import moments
from infogain.images.pixels import write_png
from tests.inceptions import random_inception, write_inception


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def noise_images(count: int, seed: int, level: float = 0.0) -> Tensor:
    return (normal(count, 3, 20, 24, seed=seed) * 0.4 + level).clamp(-1, 1)


def gathered(features: Tensor, batch: int = 7) -> RunningMoments:
    found = RunningMoments()
    for part in features.split(batch):
        found.add(part)
    return found


class FewFeatures(InceptionV3):
    """Stands for Inception where a test needs any features, and distances in no time: the mean of each colour."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.fc = nn.Linear(1, 1)
        nn.init.zeros_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)

    def features(self, x: Tensor) -> InceptionFeatures:
        few = x.mean((2, 3))
        return InceptionFeatures(few, x[:, :, 0, 0], few)


def test_moments_in_batches_are_those_of_all() -> None:
    features = normal(50, 6) * 0.01 + 1e4  # sums of squares would lose six digits
    found = gathered(features).result()
    mean, cov = moments(features)
    assert torch.allclose(found.mean, mean, rtol=1e-12)
    assert torch.allclose(found.cov, cov, rtol=1e-6)


def test_one_image_has_no_covariance() -> None:
    with pytest.raises(InputError, match="at least 2 images; got 1"):
        gathered(normal(1, 4)).result()


def test_gaussian_features_have_their_known_distance() -> None:
    """Ten dimensions, moved by 1 and twice as wide: 10 · 1² + 10 · (2 − 1)²."""
    one, other = gathered(normal(20_000, 10), 999).result(), gathered(normal(20_000, 10, seed=1) * 2 + 1, 999).result()
    assert one.distance(other) == pytest.approx(20, rel=0.03)
    assert one.distance(one) == 0


@pytest.mark.slow
def test_a_set_is_at_distance_zero_from_itself_and_not_from_another() -> None:
    meters = [ImageMeter(random_inception()) for _ in range(2)]
    for meter, level in zip(meters, (0.0, 0.5), strict=True):
        meter.add(noise_images(4, 0, level))
    first, other = (meter.statistics() for meter in meters)
    again = distances(first, first)
    fid, sfid = distances(first, other)
    assert sfid is not None
    assert again == pytest.approx((0, 0), abs=1e-6 * fid)
    assert fid > 1
    assert sfid > 1


class Given(nn.Module):
    """Features that were computed elsewhere, for torchmetrics."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.num_features = size

    def forward(self, features: Tensor) -> Tensor:
        return features


@pytest.mark.parametrize("count", [8, 300])  # fewer than features, and more
def test_distances_are_those_of_torchmetrics(count: int) -> None:
    fid = pytest.importorskip("torchmetrics.image.fid").FrechetInceptionDistance(feature=Given(32))
    real, fake = normal(count, 32).double(), (normal(count, 32, seed=1) @ normal(32, 32, seed=2) / 6 + 0.3).double()
    for part in real.split(5):
        fid.update(part, real=True)
    fid.update(fake, real=False)
    ours = gathered(real).result().distance(gathered(fake).result())
    assert ours == pytest.approx(float(fid.compute()), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("output", ["pool", "spatial"])
def test_torchmetrics_takes_our_network_and_says_our_numbers(output: str) -> None:
    kind = pytest.importorskip("torchmetrics.image.fid").FrechetInceptionDistance
    fid, meters = kind(feature=OneFeature(random_inception(), output)), []
    for real, images in ((True, noise_images(5, 0)), (False, noise_images(5, 1, 0.3))):
        meters.append(ImageMeter(random_inception()))
        meters[-1].add(images)
        fid.update(((images + 1) / 2 * 255).to(torch.uint8), real=real)
    found = distances(meters[1].statistics(), meters[0].statistics())[("pool", "spatial").index(output)]
    assert found == pytest.approx(float(fid.compute()), rel=1e-4)


def test_inception_scores_are_those_of_torchmetrics() -> None:
    """In one split, for torchmetrics shuffles by torch's own generator."""
    kind = pytest.importorskip("torchmetrics.image.inception").InceptionScore
    logits = normal(40, 12).double() * 2
    with warnings.catch_warnings():  # of memory, and of the deviation of one number
        warnings.simplefilter("ignore")
        score = kind(feature=Given(12), splits=1)
        score.update(logits)
        theirs, _ = score.compute()
    assert inception_score(logits, splits=1) == pytest.approx((float(theirs), 0))


def test_inception_scores_that_are_known() -> None:
    sure = torch.eye(5).repeat(20, 1) * 1000  # each image surely of its class, all classes alike
    assert inception_score(sure, splits=1)[0] == pytest.approx(5)
    assert inception_score(torch.zeros(30, 7)) == pytest.approx((1, 0))
    assert inception_score(sure[:, :1].expand(-1, 5)) == pytest.approx((1, 0))


def test_images_sorted_by_class_are_shuffled_first() -> None:
    """Ten splits of a folder in the order of its classes would each hold one class, and score 1."""
    logits = torch.eye(10).repeat_interleave(100, 0) * 50
    mean, deviation = inception_score(logits)
    assert mean > 9
    assert 0 < deviation < 1
    order = np.random.RandomState(2020).permutation(1000)  # torch-fidelity's
    parts = [logits[order][i * 100 : (i + 1) * 100].mean(0) for i in range(10)]
    entropies = [math.exp(-sum(float(p) * math.log(float(p)) for p in part / part.sum() if p)) for part in parts]
    assert mean == pytest.approx(np.mean(entropies), rel=1e-4)
    assert deviation == pytest.approx(np.std(entropies), rel=1e-3)


@pytest.mark.parametrize("splits", [0, 5])
def test_splits_that_cannot_be_are_refused(splits: int) -> None:
    with pytest.raises(InputError, match=f"got {splits} for 4"):
        inception_score(torch.zeros(4, 3), splits)


def test_scores_while_generating_are_those_of_the_files(tmp_path: Path) -> None:
    images = noise_images(6, 3)
    for i, image in enumerate(images):
        write_png(tmp_path / f"{i}.png", image)
    direct, by_file = ImageMeter(random_inception()), ImageMeter(random_inception())
    direct.add(images[:4])
    direct.add(list(images[4:]))
    counts: list[int] = []
    measure_files(by_file, image_files(tmp_path), 4, counts.append)
    assert (by_file.n, counts) == (6, [4, 2])
    assert torch.allclose(direct.statistics().pool.mean, by_file.statistics().pool.mean, rtol=1e-4)
    assert torch.allclose(torch.cat(direct.logits), torch.cat(by_file.logits), rtol=1e-3, atol=1e-3)


def test_images_may_be_grey_and_of_several_sizes() -> None:
    meter = ImageMeter(FewFeatures())
    meter.add([torch.full((1, 8, 8), 100, dtype=torch.uint8), torch.full((3, 9, 20), 200, dtype=torch.uint8)])
    assert meter.statistics().pool.mean.tolist() == [150, 150, 150]
    for wrong in (torch.zeros(2, 4, 4), torch.zeros(3, 4, 4, dtype=torch.int64), torch.zeros(4, 4)):
        with pytest.raises(InputError, match="an image must be"):
            meter.add([wrong])


def test_scores_say_how_many_images_they_are_of() -> None:
    meter, reference = ImageMeter(FewFeatures()), ImageMeter(FewFeatures())
    meter.add(noise_images(12, 0))
    reference.add(noise_images(20, 1))
    scores = meter.scores("drawn", reference.statistics())
    assert (scores.n, scores.reference_n) == (12, 20)
    assert [note[:25] for note in scores.notes] == ["n = 12 of the images: a c", "n = 20 of the reference: "]
    assert "singular (here of rank 11)" in scores.notes[0]
    table = table_of_scores([scores])
    assert table.columns == ["name", "n", "FID", "sFID", "IS", "± splits"]
    assert set(table.columns[1:]) <= set(table.meanings)
    alone = meter.scores("drawn")
    assert (alone.fid, alone.sfid, alone.notes) == (None, None, [])
    assert table_of_scores([alone]).columns == ["name", "n", "IS", "± splits"]


def test_cautions_end_where_covariances_have_full_rank() -> None:
    held = Gaussian(torch.zeros(1), torch.zeros(1, 1))
    assert cautions(2049, ImageStatistics(held, held, 50_000)) == []
    (note,) = cautions(2048, ImageStatistics(held, held, 50_000))
    assert "of rank 2,047" in note
    assert cautions(5000, ImageStatistics(held, None, None)) == [
        "the reference does not say how many images it is of.",
        "the reference has no mu_s and sigma_s, as pytorch-fid's files have none: no sFID.",
    ]


def test_statistics_are_kept_in_a_file(tmp_path: Path) -> None:
    pool, spatial = (Gaussian(normal(size).double(), normal(size, size).double()) for size in (2048, SPATIAL_FEATURES))
    ImageStatistics(pool, spatial, 5, "0123abcd").save(tmp_path / "held.npz")
    found = load_statistics(tmp_path / "held.npz")
    assert (found.n, found.inception) == (5, "0123abcd")
    assert found.spatial is not None
    for ours, theirs in ((pool, found.pool), (spatial, found.spatial)):
        assert torch.equal(ours.mean, theirs.mean)
        assert torch.equal(ours.cov, theirs.cov)
    with np.load(tmp_path / "held.npz") as file:  # as pytorch-fid reads it
        assert file["mu"].shape == (2048,)
        assert file["sigma"].shape == (2048, 2048)


def test_statistics_of_pytorch_fid_have_no_spatial_part(tmp_path: Path) -> None:
    np.savez(tmp_path / "theirs.npz", mu=np.zeros(2048), sigma=np.eye(2048, dtype=np.float32))
    found = load_statistics(tmp_path / "theirs.npz")
    assert (found.spatial, found.n, found.inception) == (None, None, None)
    assert found.pool.cov.dtype == torch.float64


def test_statistics_that_are_none_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "small.npz", mu=np.zeros(64), sigma=np.eye(64))
    with pytest.raises(InputError, match=r"must be \(2048,\) and \(2048, 2048\)"):
        load_statistics(tmp_path / "small.npz")
    np.savez(tmp_path / "images.npz", arr_0=np.zeros(3))
    with pytest.raises(InputError, match="must hold mu and sigma"):
        load_statistics(tmp_path / "images.npz")
    (tmp_path / "text.npz").write_text("mu")
    with pytest.raises(InputError, match="cannot be read"):
        load_statistics(tmp_path / "text.npz")


def test_statistics_of_other_weights_are_refused() -> None:
    held = Gaussian(torch.zeros(2), torch.eye(2))
    ours, theirs = ImageStatistics(held, None, 9, "aa"), ImageStatistics(held, None, 9, "bb")
    with pytest.raises(InputError, match="reference is of weights bb"):
        distances(ours, theirs)
    assert distances(ours, ImageStatistics(held, None, 9)) == (0, None)


@pytest.mark.slow
def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "image-scores.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    write_inception(tmp_path / "pt_inception-2015-12-05-6726825d.pth")
    meter = ImageMeter(random_inception())
    meter.add(noise_images(3, 0))
    meter.statistics().save(tmp_path / "val512.npz")
    names: dict[str, Any] = {"images": [SimpleNamespace(pixels=pixels) for pixels in noise_images(3, 0)]}
    exec(compile(example, "image-scores.md", "exec"), names)
    assert names["scores"].n == 3
    assert names["scores"].fid == pytest.approx(0, abs=1e-3)


def test_a_folder_needs_images(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    write_png(tmp_path / "one.PNG", torch.zeros(3, 4, 4))
    with pytest.raises(InputError, match="at least 2 images"):
        image_files(tmp_path)
    (tmp_path / "below").mkdir()
    write_png(tmp_path / "below" / "two.png", torch.zeros(3, 4, 4))
    assert [path.name for path in image_files(tmp_path)] == ["two.png", "one.PNG"]
