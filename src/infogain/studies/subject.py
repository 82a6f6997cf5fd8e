"""The subject of a study: a model folder, known by the bytes of its files and loaded when it first decodes."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from infogain.bench import Bench
from infogain.evals.fingerprint import codec_fingerprint, fingerprint, tokenizer_fingerprint
from infogain.images.image_model import ImageModel, load_image_model
from infogain.load import IMAGE_FILE, as_device, find_checkpoint, load
from infogain.options import Plain
from infogain.studies.benchmark import Benchmark
from infogain.studies.cell import FROM_DATA
from infogain.text.alphabet import FILE as ALPHABET_FILE
from infogain.text.alphabet import Alphabet
from infogain.text.text_model import TextModel
from infogain.zoo.pictures.written_pictures import PictureJudge


class Subject:
    """A model that cells are decoded with.

    data  a folder or file with the benchmarks that cells may ask of it; unset: the hub
    """

    def __init__(
        self, name: str | Path, device: str | torch.device | None = None, data: str | Path | None = None
    ) -> None:
        self.name, self.folder, self.device = str(name), find_checkpoint(name), as_device(device)
        self.data = None if data is None else Path(data)
        self._benchmarks: dict[str, Benchmark] = {}

    @property
    def writes_images(self) -> bool:
        """Whether it is a model of the zoo that writes images of classes."""
        return (self.folder / IMAGE_FILE).is_file()

    @property
    def is_zoo(self) -> bool:
        """Whether it is written in the zoo's alphabet and decodes the zoo's canvases; other models are asked in chat.

        The case studies are canvases for those too, see posed.py.
        """
        return (self.folder / ALPHABET_FILE).is_file()

    @cached_property
    def alphabet(self) -> Alphabet:
        """That of a model of the zoo."""
        return Alphabet.load(self.folder)

    def benchmark(self, name: str) -> Benchmark:
        """A benchmark that this model is asked; its items are read once."""
        if name not in self._benchmarks:
            self._benchmarks[name] = Benchmark(name, self.data if name in FROM_DATA else None)
        return self._benchmarks[name]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of configuration and weights, and for a model that is asked in chat of its tokenizer and template.

        For a model that writes images also of its codec; its classifier lies among the weights.
        """
        weights = fingerprint(self.folder)
        if self.writes_images:
            return f"{weights}-{codec_fingerprint(self.folder)}"
        return weights if self.is_zoo else f"{weights}-{tokenizer_fingerprint(self.folder)}"

    @property
    def described(self) -> Plain:
        """Name and fingerprint, as records have them."""
        return {"name": self.folder.name, "fingerprint": self.fingerprint}

    @property
    def zoo(self) -> tuple[Any, Alphabet]:
        model, words = self.text
        assert isinstance(words, Alphabet)
        return model, words

    @cached_property
    def bench(self) -> Bench:
        """The bench that times cells on shapes of their own."""
        return Bench(self.device)

    @cached_property
    def text(self) -> TextModel:
        return load(self.name, device=self.device)

    @cached_property
    def images(self) -> ImageModel:
        return load_image_model(self.name, device=self.device)

    @cached_property
    def picture_judge(self) -> PictureJudge:
        """The classifier that came with the model."""
        return PictureJudge.load(self.folder, self.device)
