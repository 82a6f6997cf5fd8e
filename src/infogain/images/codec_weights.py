"""A codec as a folder: weights under their public names, and the sizes of codecs that are not MAGVIT-v2."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from infogain.errors import InputError, UnknownName
from infogain.images.codec import Codec
from infogain.images.codec_spec import CodecSpec
from infogain.images.quantiser import Quantiser
from infogain.models.families.family import Config
from infogain.models.families.weights import some

SIZES = "codec.json"
WEIGHTS = "pytorch_model.safetensors"
FILES = (WEIGHTS, "model.safetensors", "pytorch_model.bin")  # the first that is there is read
QUANTISER = "quantize."  # its tensors are computed; a file may hold them
Tensors = dict[str, Tensor]


def load_codec(folder: str | Path, dtype: torch.dtype | None = None, device: str | torch.device = "cpu") -> Codec:
    """Load MAGVIT-v2, or a codec that `save_codec` wrote, from a local folder. `dtype` unset keeps the file's.

    Sizes are those in `codec.json`, and MAGVIT-v2's where the folder has none.
    """
    folder = Path(folder)
    path = weights_file(folder)
    with torch.device("meta"):
        codec = Codec(read_sizes(folder))
    tensors = read_tensors(path, str(device))
    check_tensors(path, codec, tensors)
    codec.quantize = Quantiser(codec.spec.bits)
    check_quantiser(path, codec.quantize, tensors)
    weights = {name: tensor for name, tensor in tensors.items() if not name.startswith(QUANTISER)}
    codec.load_state_dict(weights, strict=False, assign=True)
    dtype = dtype or codec.encoder.conv_in.weight.dtype
    return codec.to(device, dtype).requires_grad_(False).eval()


def save_codec(folder: str | Path, codec: Codec) -> None:
    """Write the weights and sizes of a codec, as `load_codec` reads them."""
    from safetensors.torch import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in codec.state_dict().items()}
    save_file(tensors, folder / WEIGHTS)
    (folder / SIZES).write_text(json.dumps(asdict(codec.spec), indent=2) + "\n", encoding="utf-8")


def weights_file(folder: Path) -> Path:
    """The weights of a folder, safetensors before a pickle."""
    for name in FILES:
        if (folder / name).is_file():
            return folder / name
    held = f"holds {some(path.name for path in folder.glob('*'))}" if folder.is_dir() else "is no folder"
    raise InputError(
        f"a codec's folder must hold {WEIGHTS} or {FILES[1]}; {folder} {held}. "
        f"Put the {WEIGHTS} of showlab/magvitv2 (on the Hugging Face hub) there, or what `save_codec` wrote."
    )


def read_sizes(folder: Path) -> CodecSpec:
    """The sizes that a folder's `codec.json` tells, all of them; MAGVIT-v2's without it."""
    if not (folder / SIZES).exists():
        return CodecSpec()
    config, names = Config(folder, SIZES), [field.name for field in fields(CodecSpec)]
    if strange := sorted(set(config.values) - set(names)):
        raise UnknownName("size of a codec", strange[0], names, f" in {config.path}")
    told: list[Any] = [config[name] for name in names]
    sizes: list[Any] = [tuple(value) if isinstance(value, list) else value for value in told]
    return CodecSpec(*sizes)


def read_tensors(path: Path, device: str) -> Tensors:
    """All tensors of a file. A pickle is read without running what it may hold."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        if path.suffix == ".safetensors":
            return load_file(path, device)
        tensors = torch.load(path, map_location=device, weights_only=True)
    except (SafetensorError, pickle.UnpicklingError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise InputError(f"{path} cannot be read as weights: {error}. Download it again.") from error
    if not isinstance(tensors, dict) or not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
        raise InputError(f"{path} must hold tensors by their names, and nothing else; it does not. Download it again.")
    return tensors


def check_tensors(path: Path, codec: Codec, tensors: Tensors) -> None:
    """Refuse weights that are not exactly those of the codec: absent, not known, or of other shapes."""
    wanted = {name: list(tensor.shape) for name, tensor in codec.state_dict().items()}
    missing = [name for name in wanted if name not in tensors and not name.startswith(QUANTISER)]
    unknown = [name for name in tensors if name not in wanted]
    shapes = {name: list(tensor.shape) for name, tensor in tensors.items() if name in wanted}
    wrong = [f"{name} is {shape}, not {wanted[name]}" for name, shape in shapes.items() if shape != wanted[name]]
    if missing or unknown or wrong:
        sizes = f"the sizes in {SIZES}" if (path.parent / SIZES).exists() else "MAGVIT-v2's sizes"
        raise InputError(
            f"{path} must hold the weights of a codec of {sizes}. Missing: {some(missing)}. "
            f"Not known: {some(unknown)}. Of another shape: {some(wrong)}. "
            f"Download it again, or put the {SIZES} that belongs to it beside it."
        )


def check_quantiser(path: Path, quantiser: Quantiser, tensors: Tensors) -> None:
    """Refuse a file whose codes mean other signs than they do here: its images would come out wrong."""
    for name, ours in quantiser.state_dict().items():
        theirs = tensors.get(QUANTISER + name)
        if theirs is not None and not torch.equal(theirs.cpu().double(), ours.double()):
            raise InputError(
                f"{path}: {QUANTISER}{name} must number codes by the signs of the channels, the first channel being "
                "the highest bit; it has other numbers. This codec cannot be read here."
            )
