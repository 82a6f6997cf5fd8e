"""Figures of images: pictures in rows by sampler, how near to the data against how varied, and guidance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from infogain.report.plots import BLACK, GREEN, LINES, MEAN_ENTROPY, PINK, SPOTS, Axes, tidy
from infogain.studies.cell import CellResult, by
from infogain.studies.image_cells import unpack_pictures
from infogain.studies.image_methods import COLD, ONE
from infogain.studies.image_search import BEST
from infogain.studies.image_tables import nearest_first

EDGE, BETWEEN = 2, 10  # pixels between pictures, and before those of one class
PAPER = 255
DISTANCE = "Fréchet distance from the data"
LOOKS = {"confidence (annealed)": (PINK, "D"), ONE: (BLACK, "X"), BEST: (GREEN, "*")}  # colours and marks
SPREAD = "spread within a class, over the data's"


def name_of(row: CellResult) -> str:
    """A sampler with its temperature of tokens, for a figure."""
    return str(row["sampler"]) if row["sampler"] == BEST else f"{row['sampler']}, τ {row['τ_token']:g}"


def draw_pictures(axes: Axes, rows: Sequence[CellResult], alike_only: bool = False) -> None:
    """Fig. 7: pictures by sampler, the nearest to the data on top: one of each class, then some of one class."""
    own = [row for row in nearest_first(rows) if "pictures" in row.numbers]
    axes.set_axis_off()
    if not own:
        return
    strips = [strip(row, alike_only) for row in own]
    width = max(each.shape[1] for each in strips)
    paper = torch.full((sum(len(each) + EDGE for each in strips), width), PAPER, dtype=torch.uint8)
    top, places = 0, list[float]()
    for each in strips:
        paper[top : top + len(each), : each.shape[1]] = each
        places.append(top + len(each) / 2)
        top += len(each) + EDGE
    axes.set_axis_on()
    axes.imshow(paper.tolist(), cmap="gray", vmin=0, vmax=PAPER, interpolation="nearest", aspect="equal")
    axes.set_yticks(places, [name_of(row) for row in own])
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def strip(row: CellResult, alike_only: bool) -> Tensor:
    """The pictures of a row side by side. [H, W]"""
    kept = unpack_pictures(row["pictures"])
    one_class = side_by_side(kept.alike)
    if alike_only:
        return one_class
    gap = torch.full((len(one_class), BETWEEN), PAPER, dtype=torch.uint8)
    return torch.cat([side_by_side(kept.by_class), gap, one_class], 1)


def side_by_side(pictures: Tensor) -> Tensor:
    """Pictures in a row, with light between them. [N, H, W] -> [H, N · (W + EDGE)]"""
    edge = pictures.new_full((*pictures.shape[:2], EDGE), PAPER)
    return torch.cat([pictures, edge], 2).permute(1, 0, 2).flatten(1)


def look(row: CellResult) -> dict[str, Any]:
    """Colour and mark of a sampler; hollow at another temperature of tokens than the paper's."""
    colour, mark = LOOKS.get(row["sampler"]) or (LINES[row["sampler"]][0], SPOTS[row["sampler"]][1])
    hollow = {} if row["τ_token"] == COLD or row["sampler"] == BEST else {"markerfacecolor": "white"}
    return {"color": colour, "marker": mark, "markersize": 12 if mark == "*" else 7, "label": name_of(row), **hollow}


def draw_distances(axes: Axes, rows: Sequence[CellResult], title: str) -> None:
    """A point for each sampler: how varied within a class, and how far from the data."""
    for row in rows:
        axes.plot(row["spread"], row["frechet"], linestyle="", **look(row))
    axes.axvline(1, color="#555555", linewidth=0.8)
    tidy(axes, title=title, xlabel=SPREAD, ylabel=DISTANCE)
    axes.set_ylim(bottom=0)


def draw_paths(axes: Axes, rows: Sequence[CellResult]) -> None:
    """Fig. 8: H̃ over the codes that are written."""
    for row in rows:
        if "path" in row.numbers:
            axes.plot(*zip(*row["path"], strict=True), **{**look(row), "markersize": 4, "linewidth": 1.2})
    tidy(axes, xlabel="codes written", ylabel=MEAN_ENTROPY, title="cumulative entropy over the steps")
    axes.set_ylim(bottom=0)


def draw_guidance(axes: Axes, rows: Sequence[CellResult], title: str) -> None:
    """Distances over the weight of guidance, a line for each sampler."""
    for own in by_name(rows).values():
        ordered = sorted(own, key=lambda row: float(row["guidance"]))
        axes.plot([row["guidance"] for row in ordered], [row["frechet"] for row in ordered], **look(ordered[0]))
    tidy(axes, title=title, xlabel="weight of guidance", ylabel=DISTANCE)
    axes.set_ylim(bottom=0)


def by_name(rows: Sequence[CellResult]) -> dict[tuple[str, float], list[CellResult]]:
    """Rows by sampler and temperature."""
    return {
        (sampler, tau): own for sampler, mine in by(rows, "sampler").items() for tau, own in by(mine, "τ_token").items()
    }
