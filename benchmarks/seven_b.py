"""A checkpoint of Dream-7B's shape with random weights: written, loaded, and decoded alone and in a batch on a GPU.

    python benchmarks/seven_b.py --out seven_b.json

Says how long loading takes, what memory it peaks at, and how many rows come out differently in a batch of 16
than alone (bfloat16). Random weights: the texts mean nothing. Times of samplers are `infogain bench`'s.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

import infogain
from infogain import Canvas
from infogain.models import Backbone, load_model
from infogain.models.backbone.transformer import Transformer
from infogain.models.families.dream import DREAM
from infogain.models.families.family import Config
from infogain.models.families.weights import weight_names

CONFIG = {
    "model_type": "Dream",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000.0,
    "tie_word_embeddings": False,
    "mask_token_id": 151666,
    "eos_token_id": 151643,
    "pad_token_id": 151643,
}
PROMPT, LENGTH, BLOCK = 32, 64, 16


def write_checkpoint(folder: Path, layers: int) -> None:
    """Random bfloat16 weights in shards, one for the ends and one for each seven layers."""
    (folder / "config.json").write_text(json.dumps({**CONFIG, "num_hidden_layers": layers}))
    with torch.device("meta"):
        transformer = Transformer(DREAM.spec_of(Config(folder)))
    shards: dict[str, dict[str, torch.Tensor]] = {}
    for theirs, ours in weight_names(transformer, DREAM).items():
        shape = transformer.get_parameter(ours).shape
        scale = 1.0 if "norm" in ours else shape[-1] ** -0.5
        tensor = torch.randn(shape, device="cuda", dtype=torch.bfloat16) * scale
        part = f"model-{int(ours.split('.')[1]) // 7 if ours.startswith('layers') else 'ends'}.safetensors"
        shards.setdefault(part, {})[theirs] = tensor.cpu()
    for part, weights in shards.items():
        save_file(weights, folder / part)
    where = {name: part for part, weights in shards.items() for name in weights}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))


def timed(action: Any) -> tuple[Any, float, float]:
    """What an action gives, its seconds, and the GiB it peaked at."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    value = action()
    torch.cuda.synchronize()
    return value, time.perf_counter() - begin, torch.cuda.max_memory_allocated() / 2**30


def prompts(rows: int) -> Canvas:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 150000, (rows, PROMPT), generator=generator).tolist()
    return Canvas.from_prompts(ids, LENGTH, CONFIG["mask_token_id"])  # type: ignore[arg-type]


def changed_rows(model: Backbone, name: str) -> float:
    """The share of 16 rows whose tokens differ between the batch and each row alone."""
    canvas = prompts(16)
    together = infogain.decode(model, canvas, name, block=BLOCK, trace=False)
    different = 0
    for i, row in enumerate(canvas.rows()):
        alone = infogain.decode(
            model, Canvas.infill([row], model.mask_id), name, block=BLOCK, seeds=[together.seeds[i]], trace=False
        )
        different += not torch.equal(alone.tokens[0], together.tokens[i])
    return different / 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="JSON file for the numbers")
    parser.add_argument("--layers", type=int, default=28)
    options = parser.parse_args()
    report: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(Path(folder), options.layers)
        torch.cuda.empty_cache()
        model, seconds, peak = timed(lambda: load_model(folder, device="cuda"))
    report |= {"parameters": model.spec.parameters, "load_seconds": seconds, "load_peak_gib": peak}
    print(f"loaded {model.spec.parameters / 1e9:.2f} B parameters in {seconds:.1f} s, peak {peak:.2f} GiB")
    infogain.decode(model, prompts(1), "entropy", block=BLOCK, trace=False)  # warm-up
    report["changed_rows_bf16"] = {name: changed_rows(model, name) for name in ("ar", "entropy", "info-gain")}
    print("rows changed between batch 1 and 16:", report["changed_rows_bf16"])
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
