"""What GenEval looks at images with: a detector of objects and a namer of colours, behind two small contracts.

The real ones run through transformers from local folders: Mask2Former trained on COCO's instances, and CLIP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from infogain.errors import InputError
from infogain.evals.images.geneval_prompts import COLORS
from infogain.evals.images.geneval_rules import CONFIDENCE, Detection
from infogain.images.pixels import cover, to_tensor
from infogain.models.families.weights import some
from infogain.models.huggingface import quiet

MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)  # of ImageNet's pixels
SHORT, LONG, STRIDE = 800, 1333, 32  # sides that a detector sees at most, and what they are multiples of
OBJECTS = 100  # of an image, at most
RENAMED = {"mouse": "computer mouse", "remote": "tv remote", "keyboard": "computer keyboard"}  # COCO's to GenEval's
SPELLED = {  # names of checkpoints that have VOC's for COCO's classes
    "aeroplane": "airplane",
    "motorbike": "motorcycle",
    "sofa": "couch",
    "pottedplant": "potted plant",
    "diningtable": "dining table",
    "tvmonitor": "tv",
}
CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
TEMPLATES = ("a photo of a {color} {name}", "a photo of a {color}-colored {name}", "a photo of a {color} object")
GREY = 0x99  # where an object is not


class ObjectDetector(Protocol):
    """Finds objects in an image [3, H, W] of uint8."""

    name: str
    classes: set[str]  # by GenEval's names

    def detect(self, image: Tensor) -> Mapping[str, Sequence[Detection]]: ...


class ColorNamer(Protocol):
    """Names the colour of each of the objects of a class in an image [3, H, W] of uint8."""

    name: str

    def colors(self, image: Tensor, objects: Sequence[Detection], class_name: str) -> list[str]: ...


def from_folder(kind: str, folder: str | Path, device: torch.device) -> Any:
    """A model of transformers from a local folder; nothing is downloaded."""
    try:
        import transformers
    except ModuleNotFoundError as error:
        raise InputError("GenEval's detector and CLIP need transformers: pip install 'infogain[geneval]'.") from error
    if not (Path(folder) / "config.json").is_file():
        raise InputError(f"{folder} must be a folder with a config.json and weights of {kind}; it has none.")
    how = {"local_files_only": True, "output_loading_info": True, "ignore_mismatched_sizes": True}
    try:
        with quiet():
            model, report = getattr(transformers, kind).from_pretrained(folder, **how)
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"{folder} must hold a {kind}; it cannot be loaded: {error}") from error
    if absent := [*report["missing_keys"], *map(str, report["mismatched_keys"])]:  # transformers would make them up
        raise InputError(f"{folder} must hold all weights of a {kind}; missing, or of another shape: {some(absent)}.")
    return model.to(device).eval()


class Mask2FormerDetector:
    """Mask2Former, asked as GenEval's own program asks mmdet's: the same sizes, the same scores."""

    def __init__(self, folder: str | Path, device: str | torch.device = "cpu") -> None:
        self.device = torch.device(device)
        self.model = from_folder("Mask2FormerForUniversalSegmentation", folder, self.device)
        labels = {int(i): label for i, label in self.model.config.id2label.items()}
        self.labels = [as_geneval(labels[i]) for i in range(len(labels))]
        self.classes = set(self.labels)
        self.name = Path(folder).resolve().name

    @torch.inference_mode()
    def detect(self, image: Tensor) -> dict[str, list[Detection]]:
        """Every object above the lowest threshold of the rules."""
        sizes = Sizes.of(*image.shape[1:])
        seen = self.model(pixel_values=prepared(image.to(self.device), sizes))
        return instances(seen.class_queries_logits[0], seen.masks_queries_logits[0], self.labels, sizes)


def as_geneval(label: str) -> str:
    """GenEval's name of a class of COCO."""
    label = SPELLED.get(label, label)
    return RENAMED.get(label, label)


@dataclass(frozen=True)
class Sizes:
    """Heights and widths of an image: its own, as the detector sees it, and with the padding."""

    own: tuple[int, int]
    shown: tuple[int, int]
    padded: tuple[int, int]

    @classmethod
    def of(cls, height: int, width: int) -> Sizes:
        scale = min(SHORT / min(height, width), LONG / max(height, width))
        shown = (int(height * scale + 0.5), int(width * scale + 0.5))
        padded = (shown[0] + -shown[0] % STRIDE, shown[1] + -shown[1] % STRIDE)
        return cls((height, width), shown, padded)

    def whole(self, mask: Tensor) -> Tensor:
        """A mask [h, w] over the padded image as one of the image itself."""
        seen = scaled(mask[None, None], self.padded)[..., : self.shown[0], : self.shown[1]]
        return scaled(seen, self.own)[0, 0]


def scaled(pixels: Tensor, size: tuple[int, int]) -> Tensor:
    """[B, C, H, W] in another size, bilinear."""
    return functional.interpolate(pixels.float(), size, mode="bilinear", align_corners=False)


def prepared(image: Tensor, sizes: Sizes) -> Tensor:
    """An image scaled to the detector's size, normalised and padded, [1, 3, H, W]."""
    pixels = scaled(image[None], sizes.shown)
    mean, std = (pixels.new_tensor(values)[:, None, None] for values in (MEAN, STD))
    padding = (0, sizes.padded[1] - sizes.shown[1], 0, sizes.padded[0] - sizes.shown[0])
    return functional.pad((pixels - mean) / std, padding)


def instances(classes: Tensor, masks: Tensor, labels: Sequence[str], sizes: Sizes) -> dict[str, list[Detection]]:
    """Objects from a network's answer: logits [Q, classes + 1] and masks [Q, h, w] over the padded image.

    An object's confidence is the probability of its class times the mean of its mask where there is one; those whose
    class alone is too improbable are left out before masks are scaled, for they cannot count.
    """
    kinds = classes.shape[1] - 1  # the last is no object
    best, where = classes.softmax(-1)[:, :-1].flatten().topk(min(OBJECTS, kinds * len(classes)))
    found: dict[str, list[Detection]] = {}
    for score, place in zip(best.tolist(), where.tolist(), strict=True):
        if score > CONFIDENCE and (one := _object(score, sizes.whole(masks[place // kinds]))):
            found.setdefault(labels[place % kinds], []).append(one)
    return found


def _object(score: float, logits: Tensor) -> Detection | None:
    mask = logits > 0
    if not mask.any():
        return None
    sure = float((logits.sigmoid() * mask).sum() / (mask.sum() + 1e-6))
    rows, columns = mask.any(1).nonzero().flatten(), mask.any(0).nonzero().flatten()
    box = (float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1))
    return Detection(box, score * sure, mask.cpu())


class ClipColors:
    """CLIP, which compares an object, cut out before grey, with texts of ten colours."""

    def __init__(self, folder: str | Path, device: str | torch.device = "cpu") -> None:
        self.device = torch.device(device)
        self.model = from_folder("CLIPModel", folder, self.device)
        self.tokenizer = from_tokenizer(folder)
        self.name = Path(folder).resolve().name
        self.side: int = self.model.config.vision_config.image_size
        self.texts: dict[str, Tensor] = {}

    @torch.inference_mode()
    def colors(self, image: Tensor, objects: Sequence[Detection], class_name: str) -> list[str]:
        if class_name not in self.texts:
            self.texts[class_name] = torch.stack([self.direction(color, class_name) for color in COLORS])
        views = torch.stack([self.view(image, one) for one in objects]).to(self.device)
        seen = functional.normalize(self.model.get_image_features(pixel_values=views).pooler_output, dim=-1)
        return [COLORS[i] for i in (seen @ self.texts[class_name].T).argmax(1).tolist()]

    def direction(self, color: str, class_name: str) -> Tensor:
        """A colour of a class as one vector: the mean of its texts' directions, again of length 1."""
        texts = [template.format(color=color, name=class_name) for template in TEMPLATES]
        inputs = self.tokenizer(texts, padding=True, return_tensors="pt").to(self.device)
        vectors = functional.normalize(self.model.get_text_features(**inputs).pooler_output, dim=-1)
        return functional.normalize(vectors.mean(0), dim=-1)

    def view(self, image: Tensor, one: Detection) -> Tensor:
        """An object as CLIP sees it, [3, side, side]: bicubic, its middle cut out."""
        pixels = to_tensor(cover(picture(cut_out(image, one)), self.side, self.side), 3)
        mean, std = (pixels.new_tensor(values)[:, None, None] for values in (CLIP_MEAN, CLIP_STD))
        return ((pixels + 1) / 2 - mean) / std


def from_tokenizer(folder: str | Path) -> Any:
    """The tokenizer of CLIP from its local folder."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{folder} must hold CLIP's tokenizer too; it cannot be loaded: {error}") from error


def cut_out(image: Tensor, one: Detection) -> Tensor:
    """An object's box of an image [3, H, W], with grey where its mask is not."""
    if one.mask is not None:
        image = image.cpu().where(one.mask.cpu(), GREY)
    left, top, right, bottom = map(round, one.box)
    return image[:, top:bottom, left:right]


def picture(image: Tensor) -> Any:
    """Bytes [3, H, W] as an image of Pillow."""
    from PIL import Image

    return Image.fromarray(image.permute(1, 2, 0).contiguous().cpu().numpy())
