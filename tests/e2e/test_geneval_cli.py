"""`infogain geneval` with a tiny Mask2Former and a tiny CLIP of random weights, through transformers."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from infogain.evals.images.detectors import ClipColors, Mask2FormerDetector
from infogain.evals.images.geneval_prompts import COLORS, as_prompt, write_samples
from infogain.evals.images.geneval_rules import Detection
from tests.e2e.test_cli import ok, refused, run
from tests.e2e.test_legends import assert_explained
from tests.unit.test_geneval import LINES, line

CLASSES = ["bench", "dog", "clock", "mouse"]


def write_detector(folder: Path) -> Path:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("scipy")
    torch.manual_seed(0)
    backbone = transformers.SwinConfig(
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 1, 1],
        window_size=2,
        out_features=[f"stage{i}" for i in (1, 2, 3, 4)],
    )
    config = transformers.Mask2FormerConfig(
        backbone_config=backbone,
        feature_size=32,
        mask_feature_size=32,
        hidden_dim=32,
        encoder_feedforward_dim=8,
        dim_feedforward=8,
        encoder_layers=1,
        decoder_layers=2,
        num_attention_heads=2,
        num_queries=6,
        id2label=dict(enumerate(CLASSES)),
    )
    model = transformers.Mask2FormerForUniversalSegmentation(config)
    with torch.no_grad():  # so that something is found: every query is surely a bench
        model.class_predictor.bias[0] = 9
    model.save_pretrained(folder)
    return folder


def write_clip(folder: Path) -> Path:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    words = [*COLORS, "a", "photo", "of", "object", "bench", "dog", "clock", "-", "colored"]
    vocabulary = {word: i for i, word in enumerate(["<|startoftext|>", "<|endoftext|>", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="object"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("<|startoftext|>", 0), ("<|endoftext|>", 1)]
    tokenizer.post_processor = processors.TemplateProcessing("<|startoftext|> $A <|endoftext|>", special_tokens=ends)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|endoftext|>"
    ).save_pretrained(folder)
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.CLIPConfig(
        text_config={**small, "vocab_size": len(vocabulary), "bos_token_id": 0, "eos_token_id": 1},
        vision_config={**small, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    transformers.CLIPModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("geneval")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_detector(folder / "tiny-detector")
        write_clip(folder / "tiny-clip")
    for i, tag in enumerate(LINES):
        images = torch.randn(1, 3, 40, 48, generator=torch.Generator().manual_seed(i))
        write_samples(folder / "drawn", i, as_prompt(line(tag), "here"), images)
    return folder


def flags(place: Path, *more: object) -> list[object]:
    models = ("--detector", place / "tiny-detector", "--clip", place / "tiny-clip")
    return ["geneval", place / "drawn", *models, "--device", "cpu", *more]


def test_images_are_judged(place: Path, tmp_path: Path) -> None:
    shown = run(*flags(place, "--out", tmp_path / "geneval.json"))
    assert shown.exit_code == 0, shown.output
    assert_explained(shown.stdout, ["prompts", "of", "images", "correct %"])
    assert "GenEval's rules, detector tiny-detector, colours by tiny-clip" in shown.stderr
    assert "no GenEval score" in shown.stderr
    report = json.loads((tmp_path / "geneval.json").read_text())
    assert report["about"]["detector"] == "tiny-detector"
    assert report["about"]["thresholds"]["counting_confidence"] == 0.9
    assert (report["complete"], len(report["images"])) == (False, 6)
    by_tag = {one["tag"]: one for one in report["images"]}
    assert by_tag["counting"]["reasons"] == ["expected clock>=2, found 0"]
    assert "would be lost" in refused(*flags(place, "--out", tmp_path / "geneval.json"))


def test_the_detector_finds_what_its_network_says(place: Path) -> None:
    """Every query is a bench, and each box is the smallest around its mask."""
    detector = Mask2FormerDetector(place / "tiny-detector")
    assert detector.classes == {"bench", "dog", "clock", "computer mouse"}
    image = torch.randint(0, 256, (3, 40, 48), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    found = detector.detect(image)
    assert set(found) <= {"bench"}
    for one in found["bench"]:
        assert one.mask is not None
        assert one.mask.shape == (40, 48)
        left, top, right, bottom = map(int, one.box)
        assert one.mask[top:bottom, left:right].sum() == one.mask.sum()
        assert one.mask[:, left].any()
        assert one.mask[top].any()
        assert one.mask[:, right - 1].any()
        assert one.mask[bottom - 1].any()
        assert 0.3 < one.confidence <= 1


def test_colours_are_named_by_the_nearest_text(place: Path) -> None:
    clip = ClipColors(place / "tiny-clip")
    image = torch.randint(0, 256, (3, 40, 48), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    objects = [Detection((0, 0, 48, 40), 1), Detection((3, 5, 20, 30), 1, torch.ones(40, 48, dtype=torch.bool))]
    named = clip.colors(image, objects, "bench")
    texts = clip.texts["bench"]
    assert torch.allclose(texts.norm(dim=-1), torch.ones(10))
    seen = clip.model.get_image_features(pixel_values=torch.stack([clip.view(image, one) for one in objects]))
    similar = torch.nn.functional.cosine_similarity(seen.pooler_output[:, None], texts[None], dim=-1)
    assert named == [COLORS[i] for i in similar.argmax(1)]
    words = ["a photo of a red bench", "a photo of a red-colored bench", "a photo of a red object"]
    one_by_one = [
        clip.model.get_text_features(**clip.tokenizer(word, return_tensors="pt")).pooler_output for word in words
    ]
    mean = sum(vector / vector.norm() for vector in one_by_one)
    assert torch.allclose(mean / mean.norm(), texts[0], atol=1e-5)  # padding changes nothing


def test_folders_that_are_no_models_are_refused(place: Path, tmp_path: Path) -> None:
    assert "config.json and weights of Mask2Former" in refused(*flags(place, "--detector", tmp_path))
    assert "must hold a CLIPModel" in refused(*flags(place, "--clip", empty_clip(tmp_path / "empty")))
    assert "missing, or of another shape: class_predictor.bias" in refused(
        *flags(place, "--detector", without_a_weight(place / "tiny-detector", tmp_path / "part"))
    )
    assert "a folder per prompt" in refused("geneval", tmp_path, *flags(place)[2:])


def empty_clip(folder: Path) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "clip"}')
    return folder


def without_a_weight(whole: Path, folder: Path) -> Path:
    shutil.copytree(whole, folder)
    tensors = load_file(folder / "model.safetensors")
    del tensors["class_predictor.bias"]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return folder


def test_help_names_both_models() -> None:
    assert "COCO's instances" in ok("geneval", "--help")
