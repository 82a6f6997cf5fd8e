"""Weights, streamed from safetensors straight to their place: no second copy of the model ever exists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from infogain.errors import InputError
from infogain.models.family import LAYER, Family
from infogain.models.transformer import Transformer

INDEX = "model.safetensors.index.json"


def load_weights(
    transformer: Transformer, family: Family, folder: Path, dtype: torch.dtype | None, device: str
) -> None:
    """Fill a transformer made on the meta device. `dtype` None keeps the file's."""
    wanted = weight_names(transformer, family)  # theirs -> ours
    left = dict(wanted)
    strange = []
    for name, tensor in stream(folder, device):
        ours = left.pop(name, None)
        if ours is None:
            strange.append(name)
            continue
        parameter = transformer.get_parameter(ours)
        if tensor.shape != parameter.shape:
            raise InputError(
                f"{name} must have shape {list(parameter.shape)} by the config; the file has {list(tensor.shape)}. "
                "Config and weights are not of the same checkpoint."
            )
        _assign(transformer, ours, tensor.to(dtype) if dtype else tensor)
    head = f"{family.names['head']}.weight"
    if transformer.head is None and head in strange:
        strange.remove(head)  # a tied model may store its head all the same
    if head in left and family.ties_silently:
        transformer.head = None
        del left[head]
    if left or strange:
        raise InputError(
            f"the weights in {folder} are not those of a {family.name} checkpoint of this config. "
            f"Missing: {_some(left)}. Not known: {_some(strange)}."
        )
    transformer.fuse()


def weight_names(transformer: Transformer, family: Family) -> dict[str, str]:
    """The checkpoint's name of each of our parameters: theirs -> ours."""
    names = {}
    for ours, _ in transformer.named_parameters():
        parts = ours.split(".")
        if parts[0] == "layers":
            assert parts[2] in LAYER
            theirs = family.names[parts[2]].format(parts[1])
        else:
            theirs = family.names[parts[0]]
        names[f"{theirs}.{parts[-1]}"] = ours
    return names


def stream(folder: Path, device: str) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of a checkpoint folder, shard by shard."""
    from safetensors import SafetensorError, safe_open

    for path in shards(folder):
        try:
            with safe_open(path, framework="pt", device=device) as file:
                for name in file.keys():  # noqa: SIM118  # not a dict
                    yield name, file.get_tensor(name)
        except (SafetensorError, OSError) as error:
            raise _unreadable(path, error) from error


def stored_shape(folder: Path, name: str) -> list[int]:
    """The shape of one tensor, from the files' headers."""
    from safetensors import SafetensorError, safe_open

    for path in shards(folder):
        try:
            with safe_open(path, framework="pt") as file:
                if name in file.keys():  # noqa: SIM118  # not a dict
                    return list(file.get_slice(name).get_shape())
        except (SafetensorError, OSError) as error:
            raise _unreadable(path, error) from error
    raise InputError(f"the weights in {folder} must hold {name}; they do not.")


def stored_parameters(folder: Path) -> int:
    """How many numbers the weight files hold, from their headers."""
    from safetensors import SafetensorError, safe_open

    count = 0
    for path in shards(folder):
        try:
            with safe_open(path, framework="pt") as file:
                count += sum(prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise _unreadable(path, error) from error
    return count


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path} cannot be read as safetensors: {error}. Download it again.")


def shards(folder: Path) -> list[Path]:
    """The weight files: those the index names, or the one file there is."""
    index = folder / INDEX
    if index.exists():
        try:
            table: dict[str, Any] = json.loads(index.read_text(encoding="utf-8"))
            paths = [folder / name for name in sorted(set(table["weight_map"].values()))]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{index} must map weights to files under weight_map; it does not: {error!r}.") from error
    else:
        paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        raise InputError(f"{folder} holds no *.safetensors. Only safetensors weights are read.")
    if missing := [path.name for path in paths if not path.exists()]:
        raise InputError(f"{INDEX} names {', '.join(missing)}, which {folder} does not hold. Download the rest.")
    return paths


def _assign(transformer: Transformer, name: str, tensor: Tensor) -> None:
    path, _, leaf = name.rpartition(".")
    setattr(transformer.get_submodule(path), leaf, nn.Parameter(tensor, requires_grad=False))


def _some(names: Any) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - 8} more" if len(listed) > 8 else ""
    return (", ".join(listed[:8]) or "nothing") + more
