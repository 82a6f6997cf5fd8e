"""The weights of FID's Inception from a local file, under the names that torch-fidelity and pytorch-fid share."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch

from infogain.errors import InputError
from infogain.evals.images.inception import InceptionV3
from infogain.images.codec_weights import Tensors, read_tensors
from infogain.models.families.weights import some

PUBLIC = "pt_inception-2015-12-05-6726825d.pth"
WHERE = f"Use {PUBLIC} of mseitzer/pytorch-fid (GitHub, release fid_weights), or the file of torch-fidelity's v0.2.0."
COUNTER = ".num_batches_tracked"  # of training; files have it or not


def load_inception(path: str | Path, device: str | torch.device = "cpu") -> InceptionV3:
    """Load FID's Inception-v3 from a local file: a pickle, of which only tensors are read, or safetensors."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"the weights of Inception must be a file; {path} is none. {WHERE}")
    with torch.device("meta"):
        inception = InceptionV3()
    tensors = {name: held.float() for name, held in read_tensors(path, "cpu").items() if not name.endswith(COUNTER)}
    check_names(path, inception, tensors)
    inception.load_state_dict(tensors, assign=True)
    return inception.to(device).requires_grad_(False).eval()


def check_names(path: Path, inception: InceptionV3, tensors: Tensors) -> None:
    """Refuse weights that are not exactly those of the network: absent, not known, or of other shapes."""
    wanted = {name: list(tensor.shape) for name, tensor in inception.state_dict().items()}
    held = {name: list(tensor.shape) for name, tensor in tensors.items()}
    missing, unknown, both = wanted.keys() - held, held.keys() - wanted, held.keys() & wanted
    wrong = [f"{name} is {held[name]}, not {wanted[name]}" for name in both if held[name] != wanted[name]]
    if missing or unknown or wrong:
        raise InputError(
            f"{path} must hold the weights of FID's Inception-v3. Missing: {some(missing)}. "
            f"Not known: {some(unknown)}. Of another shape: {some(wrong)}. "
            f"torchvision's own weights are of another network. {WHERE}"
        )


def fingerprint_of(inception: InceptionV3) -> str:
    """Sixteen hexadecimal digits that tell these weights from others, whatever file they come from."""
    digest = hashlib.sha256()
    for name, tensor in sorted(inception.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
