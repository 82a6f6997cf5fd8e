"""Models the loop can decode with: real checkpoints, and the exact oracle with its toy problems."""

from infogain.models.backbone.backbone import Backbone
from infogain.models.denoiser import Context, Denoiser, Past, adapt
from infogain.models.families.checkpoint import load_model
from infogain.models.full_canvas import FullCanvas
from infogain.models.guided import Guided
from infogain.models.huggingface import load_masked_lm, masked_lm
from infogain.models.tabular import Tabular
from infogain.models.toys import Toy, judgement, load_toy, one_way, parity, random_joint
from infogain.models.wrapper import Wrapper

__all__ = [
    "Backbone",
    "Context",
    "Denoiser",
    "FullCanvas",
    "Guided",
    "Past",
    "Tabular",
    "Toy",
    "Wrapper",
    "adapt",
    "judgement",
    "load_masked_lm",
    "load_model",
    "load_toy",
    "masked_lm",
    "one_way",
    "parity",
    "random_joint",
]
