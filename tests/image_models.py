"""Tiny models that write images, with random weights: MMaDA's layout with a codec, and classes with grey levels."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import torch

from infogain.images.codec import Codec
from infogain.images.codec_spec import CodecSpec
from infogain.images.codec_weights import save_codec
from infogain.images.image_tokens import ImageTokens
from infogain.models.backbone.transformer import Transformer
from infogain.models.families.family import Config
from infogain.models.families.llada import LLADA as LLADA_FAMILY
from infogain.models.families.weights import weight_names
from tests.parity.checkpoints import write_checkpoint
from tests.parity.folders import LLADA, randomised, write_folder

CODES, STRIDE = 8, 4
SPEC = CodecSpec(  # of colour images: 4×4 pixels are a code of three bits
    channels=4,
    encoder_multipliers=(1, 1, 2),
    encoder_blocks=(1, 1, 1),
    decoder_multipliers=(1, 1, 2),
    decoder_blocks=(1, 1, 1),
    bits=3,
    image_channels=3,
    groups=2,
)
CLASSES = ImageTokens(("T-shirt", "trouser", "ankle boot"), codes=5, height=4, width=3, channels=1)


def write_mmada(folder: Path) -> Path:
    """A checkpoint whose tokenizer has MMaDA's reserved tokens. Image codes follow its last one."""
    return write_checkpoint(folder, "mmada")


def write_codec(folder: Path, spec: CodecSpec = SPEC) -> Path:
    codec, generator = Codec(spec), torch.Generator().manual_seed(0)
    for parameter in codec.parameters():
        parameter.data.normal_(0, max(1, parameter[0].numel()) ** -0.5, generator=generator)
    save_codec(folder, codec)
    return folder


def write_classes(folder: Path, tokens: ImageTokens = CLASSES, codec: bool = False) -> Path:
    """A model of the zoo's kind: a class, then codes, which are grey levels where it has no codec."""
    size = tokens.vocabulary.size
    sizes = {"vocab_size": size, "embedding_size": size, "max_sequence_length": tokens.columns}
    config = {**LLADA, **sizes, "mask_token_id": tokens.mask_id, "eos_token_id": None, "pad_token_id": None}
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    transformer = randomised(Transformer(LLADA_FAMILY.spec_of(Config(folder))))
    names = weight_names(transformer, LLADA_FAMILY)
    write_folder(folder, config, {theirs: transformer.get_parameter(ours) for theirs, ours in names.items()})
    tokens.save(folder)
    if codec:
        write_codec(folder / "codec", replace(SPEC, image_channels=tokens.channels))
    return folder
