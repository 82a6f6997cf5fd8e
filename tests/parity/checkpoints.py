"""Whole checkpoint folders, tokenizer and chat template included, as each family publishes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from infogain.models.backbone.transformer import Transformer
from infogain.models.families.checkpoint import find_family
from infogain.models.families.family import Config
from infogain.models.families.weights import weight_names
from tests.parity.folders import DREAM, LLADA, MMADA, SDAR, randomised, write_folder

CORPUS = "the cat sat on the mat and said hello to twelve dogs\nuser assistant system You are a helpful assistant.\n"
LLADA_TEMPLATE = (
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + "
    "message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
    "{% set content = '<|startoftext|>' + content %}{% endif %}{{ content }}{% endfor %}"
    "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}"
)
QWEN_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLADA_SPECIALS = ["<|startoftext|>", "<|endoftext|>", "<|mdm_mask|>", "<|start_header_id|>", "<|end_header_id|>"]
MMADA_SPECIALS = [f"<|reserved_token_{i}|>" for i in range(11)]  # those that MMaDA has a use for
QWEN_SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
FAMILIES: dict[str, dict[str, Any]] = {"llada": LLADA, "mmada": MMADA, "dream": DREAM, "sdar": SDAR}


def write_checkpoint(folder: Path, family: str, vocab_size: int = 320) -> Path:
    """A tiny checkpoint with random weights that reads and writes text."""
    folder.mkdir(parents=True, exist_ok=True)
    specials = write_tokenizer(folder, family)
    sizes: dict[str, Any] = {key: vocab_size for key in ("vocab_size", "embedding_size") if key in FAMILIES[family]}
    end, mask = specials["<|endoftext|>"], next(i for name, i in specials.items() if "mask" in name.lower())
    config = {**FAMILIES[family], **sizes, "mask_token_id": mask, "eos_token_id": end, "pad_token_id": end}
    (folder / "config.json").write_text(json.dumps(config))
    kind = find_family(Config(folder))
    transformer = randomised(Transformer(kind.spec_of(Config(folder))))
    weights = {theirs: transformer.get_parameter(ours) for theirs, ours in weight_names(transformer, kind).items()}
    if family == "sdar":
        ends = [specials["<|im_end|>"], end]
        (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ends, "pad_token_id": end}))
    return write_folder(folder, config, weights)


def write_tokenizer(folder: Path, family: str) -> dict[str, int]:
    """tokenizer.json for LLaDA's kin; vocab.json and merges.txt, with a class of remote code, for the others."""
    torch.manual_seed(0)
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    bpe.train_from_iterator([CORPUS] * 20, trainer)
    table = json.loads(bpe.to_str())["model"]
    like_llada = family in ("llada", "mmada")
    mask = {"dream": ["<|beginoftext|>", "<|mask|>"], "sdar": ["<|MASK|>"]}
    names = [*LLADA_SPECIALS, "<|eot_id|>"] if like_llada else [*QWEN_SPECIALS, *mask[family]]
    names += MMADA_SPECIALS if family == "mmada" else []
    specials = {name: len(table["vocab"]) + i for i, name in enumerate(names)}
    settings: dict[str, Any] = {
        "eos_token": "<|endoftext|>",
        "pad_token": "<|endoftext|>",
        "chat_template": LLADA_TEMPLATE if like_llada else QWEN_TEMPLATE,
        "added_tokens_decoder": {
            str(i): {"content": name, "special": True, "normalized": False} for name, i in specials.items()
        },
    }
    if like_llada:
        bpe.add_special_tokens(names)
        bpe.save(str(folder / "tokenizer.json"))
        settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    else:
        (folder / "vocab.json").write_text(json.dumps(table["vocab"]))
        (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(pair) for pair in table["merges"]))
        settings["tokenizer_class"] = {"dream": "DreamTokenizer", "sdar": "Qwen2Tokenizer"}[family]
        settings["auto_map"] = {"AutoTokenizer": [f"tokenization_{family}.{settings['tokenizer_class']}", None]}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return specials
