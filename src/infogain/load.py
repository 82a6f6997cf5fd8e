"""Load a model and its tokenizer from a folder or a hub id."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import torch

from infogain.errors import InputError, UnknownName
from infogain.models.families.checkpoint import FAMILIES, Checkpoint
from infogain.models.families.family import Config
from infogain.models.huggingface import has_masked_lm_of, load_masked_lm, load_masked_lm_tokenizer
from infogain.provenance import approximation
from infogain.text.alphabet import FILE as ALPHABET_FILE
from infogain.text.alphabet import Alphabet
from infogain.text.text_model import TextModel
from infogain.text.tokenizer import HubTokenizer, Tokenizer, read_tokenizer

LOG = logging.getLogger("infogain")  # where nobody has set up logging, Python shows warnings on the error stream
DTYPES = {
    "float32": torch.float32,
    "fp32": torch.float32,
    "bfloat16": torch.bfloat16,
    "bf16": torch.bfloat16,
    "float16": torch.float16,
    "fp16": torch.float16,
}
HUB_ID = re.compile(r"\w[\w.-]*/[\w.-]+")
ZOO = "zoo:"
IMAGE_FILE = "image.json"  # in the folder of a model of the zoo that writes images
WEIGHTS = Path(__file__).parent / "zoo" / "weights"  # of models that come with the package
SMALL_FILES = ["*.json", "*.txt", "*.jinja"]
FILES = [*SMALL_FILES, "*.safetensors"]  # of a checkpoint; its remote code is not needed


def load(
    name: str | Path,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    cache: str | None = None,
    revision: str | None = None,
    engine: str | None = None,
    ceiling: float | None = None,
    refresh: int | None = None,
) -> TextModel:
    """Load a checkpoint and its tokenizer: `model, tokenizer = infogain.load("GSAI-ML/LLaDA-8B-Instruct")`.

    name      a local folder (no network is used), a hub id, or a model that comes with the package: zoo:tiny-reason,
              zoo:tiny-tales, zoo:tiny-molecule
    dtype     "bfloat16", "float16", "float32" or a torch dtype; unset: what the file holds
    device    unset: the GPU where there is one
    cache     "dual" (the default), "prefix" or "none" (zoo models); block-causal models have an exact one of their own
    revision  a branch, tag or commit of a hub id
    engine    "eager" or "graphs" (steps recorded as CUDA graphs); unset: graphs on a GPU, eager elsewhere
    ceiling   GiB that a forward's activations and logits may take besides weights and cache; unset: what they need
    refresh   blocks that are opened from one reading of the whole row, where dual and prefix caches read it for each
              (the default, 1): faster, above all in batches, and further from exact; `infogain drift` measures it

    LLaDA, Dream, DiffuCoder, SDAR, TraDo and MMaDA run on the package's own backbone; masked LMs such as BERT through
    transformers. Every output carries the `provenance` of what is returned: model, cache, dtype and so on, resolved.
    Where the cache is an approximation, the logger "infogain" says so, and how to be exact.
    """
    folder, kind, where = find_checkpoint(name, revision), as_dtype(dtype), as_device(device)
    if (folder / IMAGE_FILE).exists():
        raise InputError(
            f"a text needs a model that writes texts; {name} writes images. "
            "Use infogain.load_image_model, or infogain image on the command line."
        )
    if is_masked_lm(Config(folder)):
        _check_unset(cache=cache, engine=engine, ceiling=ceiling, refresh=refresh)
        model, its_own = load_masked_lm(str(folder), kind, where)
        return TextModel(model, HubTokenizer(its_own), as_written(name), revision)
    checkpoint = Checkpoint.read(folder)
    tokenizer = _tokenizer_of(checkpoint)
    if isinstance(tokenizer, Alphabet):  # short canvases, so nothing is cached unless asked for
        kind, cache = kind or torch.float32, cache or "none"
    backbone = checkpoint.model(kind, where, cache, engine, ceiling, refresh)
    loaded = TextModel(backbone, tokenizer, as_written(name), revision)
    if said := approximation(loaded.provenance):
        LOG.warning(said)
    return loaded


def _check_unset(**options: object) -> None:
    """Refuse options of the backbone for a model that does not run on it."""
    for option, value in options.items():
        if value is not None:
            one = "an engine" if option == "engine" else f"a {option}"
            raise InputError(f"a masked LM of transformers runs without {one}; got {option}={value!r}. Leave it unset.")


def as_written(name: str | Path) -> str:
    """A model's name as outputs show it: ./dream is dream."""
    return str(Path(name)) if str(name) and Path(name).is_dir() else str(name)


def load_tokenizer(name: str | Path, revision: str | None = None) -> Tokenizer:
    """Load the tokenizer alone: no weights are read, and none fetched."""
    folder = find_checkpoint(name, revision, SMALL_FILES)
    if is_masked_lm(Config(folder)):
        return HubTokenizer(load_masked_lm_tokenizer(str(folder)))
    return _tokenizer_of(Checkpoint.read(folder))


def is_of_zoo(name: str) -> bool:
    """Whether a model comes with the package, or is a folder that the zoo's program has trained."""
    return name.startswith(ZOO) or (Path(name) / ALPHABET_FILE).exists()


def _tokenizer_of(checkpoint: Checkpoint) -> Alphabet | HubTokenizer:
    if is_of_zoo(str(checkpoint.folder)):
        return Alphabet.load(checkpoint.folder)
    family = checkpoint.family
    return read_tokenizer(checkpoint.folder, checkpoint.spec.eos_ids, family.turn_ends, family.template)


def find_checkpoint(name: str | Path, revision: str | None = None, files: list[str] = FILES) -> Path:
    """The folder of a checkpoint, fetched from the hub where it is no local one."""
    path = Path(name)
    local = str(name).startswith(ZOO) or (str(name) != "" and path.is_dir())
    if local and revision is not None:
        raise InputError(f"a revision is of a hub id; {str(name)!r} is none, and came with {revision!r}. Drop it.")
    if str(name).startswith(ZOO):
        return zoo_folder(str(name).removeprefix(ZOO))
    if local:
        return path
    if isinstance(name, Path) or str(name).startswith(("./", "../", "/", "~")) or not name:
        raise InputError(f"a path must lead to the folder of a checkpoint; there is no such folder: {str(name)!r}.")
    if not HUB_ID.fullmatch(str(name)):
        raise InputError(
            "a model is a folder that exists, a hub id such as GSAI-ML/LLaDA-8B-Instruct, or one that comes with the "
            f"package ({', '.join(shipped_models())}); {str(name)!r} is none of them."
        )
    try:
        from huggingface_hub import snapshot_download
    except ModuleNotFoundError as error:
        raise InputError("fetching from the hub needs huggingface_hub: pip install 'infogain[hf]'.") from error
    try:
        return Path(snapshot_download(str(name), revision=revision, allow_patterns=files))
    except Exception as error:  # the hub's client raises its own, its transport's and the system's
        reason = " ".join(str(error).split())[:300]
        raise InputError(
            f"there is no folder {str(name)!r}, and fetching it from the hub failed: {reason} "
            "Check the name and the connection, or give the path of a local folder."
        ) from error


def zoo_folder(name: str) -> Path:
    """The folder of a model that comes with the package."""
    known = [model.removeprefix(ZOO) for model in shipped_models()]
    if name not in known:
        raise UnknownName("zoo model", name, known)
    return WEIGHTS / name


def shipped_models(images: bool | None = None) -> list[str]:
    """The names of models that come with the package: those that write images, or texts; unset: all."""
    found = [path.name for path in WEIGHTS.iterdir() if images in (None, (path / IMAGE_FILE).exists())]
    return sorted(ZOO + name for name in found)


def is_masked_lm(config: Config) -> bool:
    """Whether a config is of a masked LM, which runs through transformers: by its class, or else by its model_type."""
    if any(name.endswith("ForMaskedLM") for name in config.get("architectures", [])):
        return True
    ours = {kind for family in FAMILIES for kind in family.model_types}  # told without transformers
    return config.get("model_type", "") not in ours and has_masked_lm_of(config)


def as_dtype(dtype: str | torch.dtype | None) -> torch.dtype | None:
    """A dtype from its name or itself; None stays None."""
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    if dtype not in DTYPES:
        raise UnknownName("dtype", dtype, DTYPES)
    return DTYPES[dtype]


def as_device(device: str | torch.device | None) -> torch.device:
    """A device that is there and can compute, from its name or itself; unset: the GPU where there is one."""
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        where = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise InputError(f"device must be one torch knows, such as cpu or cuda:0; got {device!r}.") from error
    if where.type == "cpu":
        if where.index:
            raise InputError(f"there is one CPU to torch, however many cores it has; got {device!s}. Use cpu.")
        return torch.device("cpu")
    if where.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {device!s} needs a CUDA build of torch and a GPU; none is found. Use device='cpu'.")
    if where.type == "cuda" and (where.index or 0) >= torch.cuda.device_count():
        raise InputError(f"device {device!s} must be one of the {torch.cuda.device_count()} GPUs found. Count from 0.")
    if where.type != "cuda" and (reason := _cannot_compute(where)):
        raise InputError(
            f"device {device!s} must be one that computes in float64, in which noise is drawn; here it does not: "
            f"{reason}. Found: {', '.join(['cpu', *(f'cuda:{i}' for i in range(torch.cuda.device_count()))])}."
        )
    return where


def _cannot_compute(where: torch.device) -> str | None:
    """Why a device cannot even add two numbers; None where it can."""
    try:
        torch.ones(2, dtype=torch.float64, device=where).sum().item()
    except Exception as error:  # each backend that is not there has a way of its own to say so
        return str(error).split(". ")[0].split("\n")[0].rstrip(".")
    return None
