"""A trained model as a folder in LLaDA's public layout, with its alphabet beside it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import torch

from infogain.images.image_tokens import ImageTokens
from infogain.load import load
from infogain.models import Denoiser
from infogain.models.backbone.transformer import Transformer
from infogain.models.families.llada import LLADA
from infogain.models.families.spec import Spec
from infogain.models.families.weights import weight_names
from infogain.zoo.card import CARD_FILE
from infogain.zoo.characters import Alphabet
from infogain.zoo.molecules.smiles import ALPHABET as SMILES
from infogain.zoo.tasks import ALL_TASKS

WEIGHTS = "model.safetensors"


def save_model(folder: Path, transformer: Transformer, tokens: Alphabet | ImageTokens, columns: int) -> None:
    """Half precision, LLaDA's names: `models.load_model` reads it like the large ones."""
    from safetensors.torch import save_file

    names = weight_names(transformer, LLADA)
    weights = {theirs: transformer.get_parameter(ours).detach().cpu().half() for theirs, ours in names.items()}
    save_file(weights, folder / WEIGHTS)
    (folder / "config.json").write_text(json.dumps(llada_config(transformer.spec, columns), indent=2) + "\n")
    tokens.save(folder)


def load_zoo_model(folder: Path, device: str | torch.device = "cpu") -> tuple[Denoiser, Alphabet]:
    """`infogain.load` for a folder that is known to have an alphabet."""
    model, words = load(folder, device=device)
    assert isinstance(words, Alphabet)
    return model, words


def writes_from_nothing(folder: Path) -> bool:
    """Whether a model, by its card, knows a task whose canvas has nothing given but its end."""
    try:
        names = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))["data"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    known = [ALL_TASKS[name] for name in names if name in ALL_TASKS]
    canvases = [(task.alphabet, task.draw(Random(0)).canvas) for task in known if task.unconditional]
    return any(set(alphabet.encode(canvas)) <= {alphabet.mask_id, alphabet.eos_id} for alphabet, canvas in canvases)


def writes_molecules(folder: Path) -> bool:
    """Whether a model of the zoo has the tokens of molecules."""
    return Alphabet.load(folder).vocabulary == SMILES.vocabulary


def llada_config(spec: Spec, columns: int) -> dict[str, Any]:
    ends = spec.eos_ids[0] if spec.eos_ids else None
    return {
        "model_type": "llada",
        "architectures": ["LLaDAModelLM"],
        "d_model": spec.hidden,
        "n_heads": spec.heads,
        "n_kv_heads": spec.kv_heads,
        "n_layers": spec.layers,
        "mlp_hidden_size": spec.intermediate,
        "vocab_size": spec.vocab_size,
        "embedding_size": spec.vocab_size,
        "max_sequence_length": columns,
        "rope": True,
        "rope_full_precision": spec.rope_in_float32,
        "rope_theta": spec.rope_theta,
        "rms_norm_eps": spec.norm_eps,
        "layer_norm_type": "rms",
        "include_bias": False,
        "include_qkv_bias": False,
        "weight_tying": spec.tied,
        "activation_type": "silu",
        "block_type": "llama",
        "alibi": False,
        "mask_token_id": spec.mask_id,
        "eos_token_id": ends,
        "pad_token_id": ends,
    }
