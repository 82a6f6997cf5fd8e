"""The distributions of molecules' properties beside the training set's, as one figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from infogain.evals.molecule_scores import MoleculeScores
from infogain.report.plots import BLACK, CYCLE, DASHES, Axes, Figure, draw, figure_legend, tidy
from infogain.zoo.molecules.distribution import Distribution
from infogain.zoo.molecules.training_set import reference_distributions

LABELS = {"length": "length (tokens)", "weight": "weight (daltons)", "logp": "logP", "rings": "rings"}
BINS = 40
MOST = 7  # files that are drawn


def draw_distributions(folder: Path, scores: Sequence[MoleculeScores]) -> list[Path]:
    """Draw the first few files, as PNG and SVG; nothing where matplotlib is not installed."""
    some = [one for one in scores if one.properties][:MOST]
    paths = [folder / f"distributions.{kind}" for kind in ("png", "svg")]
    return draw(paths, (11.0, 6.0), lambda figure: _paint(figure, some))


def _paint(figure: Figure, scores: Sequence[MoleculeScores]) -> None:
    panels = figure.subplots(2, 2).flatten()
    for axes, (name, trained) in zip(panels, reference_distributions().items(), strict=True):
        edges = _edges(trained, whole=name in ("length", "rings"))
        _line(axes, edges, trained, color=BLACK, linewidth=2.2, label="training set")
        for i, one in enumerate(scores):
            style = {"color": CYCLE[i], "linestyle": DASHES[i], "label": one.name}
            _line(axes, edges, one.properties[name], **style)
        tidy(axes, xlabel=LABELS[name], ylabel="share", yticks=[])
    figure_legend(figure, panels[0], columns=2)


def _edges(trained: Distribution, whole: bool) -> torch.Tensor:
    """Bins that hold nearly all of the training set; one for each whole number."""
    low, high = trained.quantile(0.0005), trained.quantile(0.9995)
    if whole:
        return torch.arange(low - 1.5, high + 2, dtype=torch.float64)
    spare = 0.1 * (high - low)
    return torch.linspace(low - spare, high + spare, BINS + 1, dtype=torch.float64)


def _line(axes: Axes, edges: torch.Tensor, found: Distribution, **style: Any) -> None:
    axes.stairs(found.below(edges).diff().tolist(), edges.tolist(), **style)
