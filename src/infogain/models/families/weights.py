"""Weights, streamed from safetensors straight into the model: a second copy of it never exists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from infogain.errors import InputError
from infogain.models.backbone.transformer import Transformer
from infogain.models.families.family import LAYER, Family

INDEX = "model.safetensors.index.json"
WHOLE = "model.safetensors"
SHARD = re.compile(r"(?P<set>.*)-\d+-of-(?P<count>\d+)\.safetensors")


def load_weights(
    transformer: Transformer, family: Family, folder: Path, dtype: torch.dtype | None, device: str
) -> None:
    """Load the weights of a folder into a transformer made on the meta device. `dtype` None keeps the file's."""
    left = weight_names(transformer, family)  # theirs -> ours; what is still to be loaded
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
            f"Missing: {some(left)}. Not known: {some(strange)}."
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


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path} cannot be read as safetensors: {error}. Download it again.")


def shards(folder: Path) -> list[Path]:
    """The weight files of a checkpoint: those that its index names, or the single one. Others are not read."""
    if (folder / INDEX).exists():
        return indexed(folder / INDEX)
    return [folder / WHOLE] if (folder / WHOLE).exists() else _unnamed_shards(folder)


def indexed(index: Path) -> list[Path]:
    """The files that an index names, all of which must be there."""
    try:
        table: dict[str, Any] = json.loads(index.read_text(encoding="utf-8"))
        paths = [index.parent / name for name in sorted(set(table["weight_map"].values()))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{index} must map weights to files under weight_map; it does not: {error!r}.") from error
    if missing := [path.name for path in paths if not path.exists()]:
        raise InputError(
            f"{index.name} names {', '.join(missing)}, which {index.parent} does not hold. Download the rest."
        )
    return paths


def _unnamed_shards(folder: Path) -> list[Path]:
    """The weight files of a folder with neither an index nor a model.safetensors: one file, or one set of shards."""
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        raise InputError(f"{folder} holds no *.safetensors. Only safetensors weights are read.")
    numbered = [shard for path in paths if (shard := SHARD.fullmatch(path.name))]
    sets = {(shard["set"], int(shard["count"])) for shard in numbered}
    complete = [count for _, count in sets] == [len(paths)] == [len(numbered)]
    if complete or (len(paths) == 1 and not numbered):
        return paths
    raise InputError(
        f"{folder} must say which of its files are the weights, by {WHOLE} or {INDEX}; it holds "
        f"{some(path.name for path in paths)}. Download what is missing, or move what does not belong."
    )


def _assign(transformer: Transformer, name: str, tensor: Tensor) -> None:
    path, _, leaf = name.rpartition(".")
    setattr(transformer.get_submodule(path), leaf, nn.Parameter(tensor, requires_grad=False))


def some(names: Iterable[str]) -> str:
    """The first few of many names, and how many more there are."""
    listed = sorted(names)
    more = f" and {len(listed) - 8} more" if len(listed) > 8 else ""
    return (", ".join(listed[:8]) or "nothing") + more
