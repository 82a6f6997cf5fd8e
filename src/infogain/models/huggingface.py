"""Any Hugging Face masked language model: BERT, RoBERTa, ALBERT, ModernBERT, ESM-2, and those to come.

Such a model was trained with a small share of its tokens masked, so it is no calibrated diffusion
model near a full mask; samplers run on it all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from infogain.algorithm.vocabulary import Vocabulary
from infogain.errors import InputError
from infogain.models.families.family import Config
from infogain.models.families.weights import indexed, some
from infogain.models.full_canvas import FullCanvas

# The files that transformers looks for, in its order.
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
# A folder with one of these says itself how its tokenizer works; a vocab.txt alone does not.
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
# A vocabulary is often rounded up. Ids without a token must be few, or a small share.
SPARE_IDS = 512
SPARE_SHARE = 0.1


def masked_lm(network: Any, mask_id: int, never: Sequence[int] = ()) -> FullCanvas:
    """A loaded `AutoModelForMaskedLM` (or anything that is called like one) as a model the loop can decode with.

    `never` are token ids that it must not write, such as its tokenizer's [UNK] and [PAD]: see `special_ids`.
    """

    def logits(tokens: Tensor, inside: Tensor) -> Tensor:
        output: Tensor = network(input_ids=tokens, attention_mask=inside.long()).logits
        return output

    vocabulary = Vocabulary(network.config.vocab_size, mask_id, never=tuple(never))
    model = FullCanvas(logits, vocabulary, network.device, context_of(network))
    model.family, model.dtype = getattr(network.config, "model_type", None), getattr(network, "dtype", None)
    return model


def context_of(network: Any) -> int | None:
    """How many columns a masked LM has positions for. RoBERTa and its kin count them from the id after padding's."""
    positions: int | None = getattr(network.config, "max_position_embeddings", None)
    if positions is None or positions < 1:
        return None
    tables = [part for name, part in network.named_modules() if name.endswith("position_embeddings")]
    first = [table.padding_idx + 1 for table in tables if getattr(table, "padding_idx", None) is not None]
    return positions - max(first, default=0)


def has_masked_lm_of(config: Config) -> bool:
    """Whether transformers lacks the class that a config names, but has a masked LM of its `model_type`.

    A package may publish a BERT in a class of its own. Loading then checks that the folder has all of the masked LM's
    weights; what else it holds, such as further heads, is left out.
    """
    try:
        import transformers
        from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES as KNOWN
    except ImportError:
        return False
    names = config.get("architectures", [])
    return config.get("model_type", "") in KNOWN and bool(names) and not any(hasattr(transformers, n) for n in names)


def network_of(folder: Path) -> Any:
    """The network that a folder's config describes, on the meta device; None where transformers cannot make it."""
    try:
        import transformers

        kind: Any = transformers.AutoModelForMaskedLM
        with torch.device("meta"):
            return kind.from_config(transformers.AutoConfig.from_pretrained(folder))
    except (ImportError, OSError, ValueError):
        return None


def weight_files(folder: Path) -> list[Path]:
    """The files that transformers would load a masked LM's weights from."""
    path = next((path for name in WEIGHTS if (path := folder / name).exists()), None)
    if path is None:
        raise InputError(f"{folder} holds none of {', '.join(WEIGHTS)}.")
    return indexed(path) if path.suffix == ".json" else [path]


def load_masked_lm(
    name: str, dtype: torch.dtype | None = None, device: str | torch.device = "cpu"
) -> tuple[FullCanvas, Any]:
    """Load a masked LM and its tokenizer from a local folder or a hub id; needs the extra `hf`.

    The tokenizer's special tokens, and ids that it has no token for, are never written.
    """
    tokenizer = load_masked_lm_tokenizer(name)
    if tokenizer.mask_token_id is None:
        raise InputError(f"a masked LM's tokenizer must have a mask token; that of {name} has none. Use masked_lm.")
    with _explained(name):
        from transformers import AutoModelForMaskedLM

        network, report = AutoModelForMaskedLM.from_pretrained(
            name, dtype=dtype or "auto", output_loading_info=True, ignore_mismatched_sizes=True
        )  # what does not fit is in the report, by name
    _check_complete(name, report)
    size = network.config.vocab_size
    check_tokenizer(name, tokenizer, size)
    return masked_lm(network.to(device).eval(), tokenizer.mask_token_id, special_ids(tokenizer, size)), tokenizer


def load_masked_lm_tokenizer(name: str) -> Any:
    """Load the tokenizer of a masked LM, without its weights."""
    with _explained(name):
        from transformers import AutoTokenizer

        words = _bare_vocabulary(Path(name))
        return _bert_tokenizer(words) if words else AutoTokenizer.from_pretrained(name)


def _bare_vocabulary(folder: Path) -> list[str]:
    """The tokens of a folder's vocab.txt in BERT's form; none where another file says how the tokenizer works."""
    path = folder / "vocab.txt"
    if not path.is_file() or any((folder / name).exists() for name in TOKENIZER_FILES):
        return []
    words = path.read_text(encoding="utf-8").splitlines()
    return words if {"[UNK]", "[CLS]", "[SEP]", "[MASK]"} <= set(words) else []


def _bert_tokenizer(words: list[str]) -> Any:
    """The tokenizer that a vocabulary in BERT's form implies, where nothing but its tokens is known.

    Text is put in lower case only if no token has a capital letter. Where every token is a single character, as for
    proteins, every character of a text is a token, and texts come out without spaces.
    """
    import transformers
    from tokenizers import Regex, decoders, pre_tokenizers

    plain = [word for word in words if not re.fullmatch(r"\[.+\]", word)]
    ids: Any = {word: i for i, word in enumerate(words)}
    kind: Any = transformers.BertTokenizer
    tokenizer = kind(vocab=ids, do_lower_case=all(word == word.lower() for word in plain))
    if all(len(word) == 1 for word in plain):
        backend = tokenizer.backend_tokenizer
        each = pre_tokenizers.Split(Regex("."), "isolated")
        backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), each])
        backend.decoder = decoders.Fuse()
    return tokenizer


def special_ids(tokenizer: Any, size: int) -> tuple[int, ...]:
    """The ids below `size` that are no text: special tokens, and ids that the tokenizer has no token for."""
    added = (token for token, about in tokenizer.added_tokens_decoder.items() if about.special)
    named = set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids) - set(added)
    return tuple(token for token in range(size) if token not in named)


def check_tokenizer(name: str, tokenizer: Any, size: int) -> None:
    """Refuse a tokenizer that cannot be the one a model with a vocabulary of this size was trained with."""
    known = set(tokenizer.get_vocab().values())
    beyond, unnamed = max(known, default=0) >= size, size - len(known)
    if beyond or unnamed > max(SPARE_IDS, SPARE_SHARE * size) or unnamed > size / 2:
        raise InputError(
            f"a tokenizer must have a token for each of its model's ids; the model in {name} has {size} ids, its "
            f"tokenizer {len(known)} tokens up to id {max(known, default=0)}. Put the model's own tokenizer there."
        )


def _check_complete(name: str, report: dict[str, Any]) -> None:
    """Refuse weights that transformers would make up: it fills what a folder lacks with random numbers."""
    mismatched = [entry if isinstance(entry, str) else entry[0] for entry in report["mismatched_keys"]]
    if report["missing_keys"] or mismatched:
        raise InputError(
            f"the weights in {name} must be those of its config, masked-LM head included. Missing: "
            f"{some(report['missing_keys'])}. Of another shape: {some(mismatched)}. Download the folder again."
        )


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        with quiet():
            yield
    except ModuleNotFoundError as error:
        raise InputError("Hugging Face models need transformers: pip install 'infogain[hf]'.") from error
    except (OSError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{name} must hold a masked LM and its tokenizer; transformers says: {reason}") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers' progress bars and load report off the error stream: what matters in them is raised here."""
    from transformers.utils import logging

    log: Any = logging  # has no types
    bars, verbosity = log.is_progress_bar_enabled(), log.get_verbosity()
    log.disable_progress_bar()
    log.set_verbosity_error()
    try:
        yield
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()
