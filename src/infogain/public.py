"""Every name that `infogain` itself offers. The package imports this when one of them is first used."""

from infogain import models, samplers
from infogain.algorithm.canvas import Canvas
from infogain.algorithm.schedule import Steps, TokensPerStep
from infogain.algorithm.vocabulary import Vocabulary
from infogain.decode import decode, decode_lanes, decode_stream
from infogain.errors import (
    ContextError,
    ContractError,
    InfoGainError,
    InputError,
    NumericsError,
    OptionError,
    UnknownName,
)
from infogain.generate import Generation, generate, infill, stream
from infogain.images.generate_images import GeneratedImage, generate_images
from infogain.images.given_image import GivenImage
from infogain.images.image_model import ImageModel, load_image_model
from infogain.load import load
from infogain.loop.batch import Batch
from infogain.loop.lane import Lane
from infogain.loop.result import Result
from infogain.loop.step import StepEvent
from infogain.loop.trace import Trace
from infogain.recipe import Recipe
from infogain.recipe_files import load_recipe
from infogain.recipe_writer import save_recipe
from infogain.text.text_model import TextModel
from infogain.version import __version__

__all__ = [
    "Batch",
    "Canvas",
    "ContextError",
    "ContractError",
    "GeneratedImage",
    "Generation",
    "GivenImage",
    "ImageModel",
    "InfoGainError",
    "InputError",
    "Lane",
    "NumericsError",
    "OptionError",
    "Recipe",
    "Result",
    "StepEvent",
    "Steps",
    "TextModel",
    "TokensPerStep",
    "Trace",
    "UnknownName",
    "Vocabulary",
    "__version__",
    "decode",
    "decode_lanes",
    "decode_stream",
    "generate",
    "generate_images",
    "infill",
    "load",
    "load_image_model",
    "load_recipe",
    "models",
    "samplers",
    "save_recipe",
    "stream",
]
