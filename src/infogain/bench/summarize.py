"""Sums up the logs of a case's decodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median

from infogain.bench.cases import CANVAS, Case
from infogain.bench.limits import operations
from infogain.bench.timed import Log, TimedStep
from infogain.errors import InputError
from infogain.models.families.spec import Spec
from infogain.options import Plain


def summarize(
    case: Case, spec: Spec, logs: Sequence[Log], forward: Mapping[str, float], live: int, limits: Plain
) -> Plain:
    """The numbers of a case: of its steps, of whole decodes, and as shares of the device's limits.

    forward  milliseconds of the model's forward alone
    live     columns that each candidate runs through the model
    """
    steps = [step for log in logs for step in log.whole_steps]
    if not steps:
        raise InputError(
            f"a case needs steps that call the model and open no block; {case.label} has none. "
            "Use a wider block, or fewer tokens a step."
        )
    return {
        **_of_steps(case, steps, len(logs)),
        **forward,
        "loop_forward_ms": fmean(span.ms for log in logs for span in log.forwards),
        "opening_ms": fmean(span.ms for log in logs for span in log.openings),
        **_of_decodes(logs),
        **_of_limits(case, spec, steps, live, limits),
    }


def _of_steps(case: Case, steps: Sequence[TimedStep], decodes: int) -> Plain:
    ms = [1e3 * step.seconds for step in steps]
    return {
        "ms_per_step": fmean(ms),
        "median_ms_per_step": median(ms),
        "steps": len(steps) // decodes,
        "step_tokens_per_s": 1e3 * case.tokens_per_step * sum(step.prompts for step in steps) / sum(ms),
        "candidates_per_row": fmean(step.candidates / step.rows for step in steps),
    }


def _of_decodes(logs: Sequence[Log]) -> Plain:
    """Numbers of whole decodes, block openings and all."""
    seconds = sum(log.seconds for log in logs)
    results = [log.result for log in logs if log.result]
    tokens = sum(int(result.committed.sum()) for result in results)
    inside = sum(span.ms for log in logs for span in (*log.openings, *log.forwards)) / 1e3
    return {
        "decode_s": seconds / len(logs),
        "tokens": tokens // len(logs),
        "tokens_per_s": tokens / seconds,
        "ms_per_token": 1e3 * seconds / tokens,
        "calls": results[0].calls,
        "token_forwards": int(results[0].token_forwards.sum()),
        "outside_share": 1 - inside / seconds,
        "kv_bytes": logs[-1].kv_bytes,
        "logits_bytes": logs[-1].logits_bytes,
    }


def _of_limits(case: Case, spec: Spec, steps: Sequence[TimedStep], live: int, limits: Plain) -> Plain:
    """Operations of a step, and its time beside what the device could do at best."""
    ms, columns = fmean(1e3 * step.seconds for step in steps), case.prompt + case.length
    candidates = fmean(step.candidates for step in steps)  # in a forward
    read = columns * candidates if case.cache == CANVAS else fmean(step.read for step in steps)
    read *= 1 if case.guidance is None else 2  # what is returned was made of two
    done = operations(spec, live * candidates, read, columns, case.codes)
    return {
        "flops_per_step": done,
        "of_matmul_rate": 1e3 * done / ms / limits["matmul_flops_per_s"],
        "over_reading": ms / limits["reading_ms"],
    }
