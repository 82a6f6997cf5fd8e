"""Hugging Face masked LMs of several architectures, tiny and random, through the full-canvas adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import infogain
from infogain import Canvas, ContextError, InputError
from infogain.models.huggingface import load_masked_lm, masked_lm
from tests.e2e.test_cli import ok, refused
from tests.parity.folders import randomised

MASK, VOCABULARY = 4, 40
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
    "pad_token_id": 0,
}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("BertConfig", {}),
    "roberta": ("RobertaConfig", {}),
    "albert": ("AlbertConfig", {"embedding_size": 8}),
    "modernbert": ("ModernBertConfig", {"cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2}),
    "esm": ("EsmConfig", {"position_embedding_type": "rotary", "mask_token_id": MASK}),
}
ROWS = [[5, 6, MASK, MASK, 7, MASK], [8, MASK, MASK], [9, 10, 11, 12, MASK, MASK, MASK, MASK]]


def network(kind: str) -> Any:
    name, extra = KINDS[kind]
    config = getattr(transformers, name)(**{**SIZES, **extra})
    return randomised(transformers.AutoModelForMaskedLM.from_config(config, attn_implementation="eager"))


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_ragged_batch_sees_what_each_row_would_see_alone(kind: str) -> None:
    model = masked_lm(network(kind), MASK)
    canvas = Canvas.infill(ROWS, MASK)
    with torch.inference_mode():
        together = model.prefill(canvas, [0] * 3, 8)[1]
        for i, row in enumerate(ROWS):
            alone = model.prefill(Canvas.infill([row], MASK), [0], len(row))[1][0]
            assert torch.allclose(together[i, : len(row)], alone, atol=1e-4)


@pytest.mark.parametrize("sampler", ["entropy", "klass", "info-gain", "info-gain-beam"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_samplers_run_on_models_this_project_never_heard_of(kind: str, sampler: str) -> None:
    canvas = Canvas.infill(ROWS, MASK)
    result = infogain.decode(masked_lm(network(kind), MASK), canvas, sampler, block=4, schedule=2)
    assert result.committed.tolist() == [3, 2, 4]
    assert not (result.tokens[canvas.masked] == MASK).any()


def test_a_folder_loads_with_its_tokenizer(tmp_path: Path) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    network("bert").save_pretrained(tmp_path)
    model, tokenizer = load_masked_lm(str(tmp_path))
    assert model.mask_id == tokenizer.mask_token_id == MASK
    row = tokenizer("a b [MASK] d")["input_ids"]
    result = infogain.decode(model, Canvas.infill([row], model.mask_id), "entropy")
    assert len(tokenizer.decode(result.rows()[0]).split()) == 6


def test_without_transformers_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(InputError, match=r"infogain\[hf\]"):
        load_masked_lm("somewhere")


def test_load_knows_masked_lms_and_frames_their_texts(tmp_path: Path) -> None:
    """infogain.load tells them by their class; texts stand between [CLS] and [SEP], as the tokenizer says."""
    model = infogain.load(bert(tmp_path), device="cpu")
    assert model.denoiser.mask_id == MASK
    assert model.tokenizer.special_tokens_around == ([1], [2])
    assert not model.tokenizer.chats
    text = infogain.infill(model, "the [MASK] sat on the [MASK:2].", trace=True)[0]
    assert text.trace is not None
    assert text.trace.canvas == [[1, 5, 4, 7, 8, 5, 4, 4, 10, 2]]
    assert len(text.tokens) == 3
    assert infogain.generate(model, "the cat", length=3, trace=True)[0].trace.canvas == [[1, 5, 6, 4, 4, 4, 2]]  # type: ignore[union-attr]
    with pytest.raises(InputError, match="without a cache"):
        infogain.load(tmp_path, device="cpu", cache="dual")
    with pytest.raises(InputError, match="without an engine"):
        infogain.load(tmp_path, device="cpu", engine="eager")


@pytest.mark.parametrize(
    ("kind", "context"), [("bert", 40), ("roberta", 39), ("albert", 40), ("modernbert", 40), ("esm", 40)]
)
def test_a_masked_lm_has_as_much_context_as_positions(kind: str, context: int) -> None:
    """RoBERTa's begin after the padding id, which is 0 here."""
    model = masked_lm(network(kind), MASK)
    assert model.context == context
    if kind == "roberta":
        with torch.inference_mode():
            model.prefill(Canvas.infill([[5] * (context - 1) + [MASK]], MASK), [0], 4)
            with pytest.raises((IndexError, RuntimeError)):
                model.prefill(Canvas.infill([[5] * context + [MASK]], MASK), [0], 4)


def bert(folder: Path) -> Path:
    words = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "the", "cat", "sat", "on", "mat", "."]
    (folder / "vocab.txt").write_text("\n".join(words + [f"w{i}" for i in range(VOCABULARY - len(words))]))
    transformers.BertTokenizer(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    network("bert").save_pretrained(folder)
    return folder


def test_texts_for_a_masked_lm_must_fit_its_context_frame_and_all(tmp_path: Path) -> None:
    model = infogain.load(bert(tmp_path), device="cpu")
    assert infogain.generate(model, "the cat")[0].committed == 36
    with pytest.raises(ContextError, match="context of 40 columns; prompt 0 takes 4 and asks for 37 more"):
        infogain.generate(model, "the cat", length=37)
    with pytest.raises(ContextError, match="context of 40 columns"):
        infogain.infill(model, "[MASK:39]")


def test_loading_draws_nothing_and_missing_weights_are_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = bert(tmp_path)
    capfd.readouterr()
    infogain.load(folder, device="cpu")
    assert capfd.readouterr().err == ""
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match="must hold a masked LM and its tokenizer; transformers says"):
        infogain.load(folder, device="cpu")


def test_inspect_and_drift_know_masked_lms(tmp_path: Path) -> None:
    folder = bert(tmp_path)
    shown = ok("inspect", folder, env={"COLUMNS": "120"})
    count = sum(parameter.numel() for parameter in network("bert").parameters())
    for part in ("40 columns", f"{count:,}", "candidates of 40 columns"):
        assert part in shown
    assert shown.count("fits") == 2
    assert "masked LMs of transformers run without one" in refused("drift", "the", "-m", folder, "--length", 3)
