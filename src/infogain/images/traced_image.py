"""The trace of an image, with all that showing it as a picture takes: the grid's shape and place, words, the image."""

from __future__ import annotations

import base64
import io
from dataclasses import replace

from infogain.errors import InputError
from infogain.images.generate_images import GeneratedImage
from infogain.images.image_model import ImageModel
from infogain.loop.trace import Trace, TraceImage


def traced(model: ImageModel, image: GeneratedImage) -> Trace:
    """The trace of an image that was decoded with `trace=True`, which knows where the image is and what it became."""
    if image.trace is None:
        raise InputError("an image must have a trace to be shown step by step. Decode it with trace=True.")
    start = len(model.layout.prompt(image.prompt))
    height, width = image.codes.shape
    shown = TraceImage(height, width, [start], [data_uri(image)])
    return replace(image.trace, image=shown, words=_words(model, image.trace), provenance=image.provenance)


def data_uri(image: GeneratedImage) -> str:
    """The image as a PNG file in a line of text."""
    file = io.BytesIO()
    image.image.save(file, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _words(model: ImageModel, trace: Trace) -> dict[int, str]:
    """The texts of all token ids that a trace holds: a code's is its number."""
    layout, mask = model.layout, model.denoiser.mask_id
    tried = {token for step in trace.steps for row in step.rows for a in row.candidates for token in a.tokens}
    codes = range(layout.first_code, layout.first_code + layout.codes)
    known = sorted(tried.union(*trace.canvas))
    words = {token: str(token - layout.first_code) if token in codes else layout.word(token) for token in known}
    return {**words, mask: "[MASK]"} if mask in words else words
