"""Training: what a model of texts learns, one step, and everything a run needs to go on where it stopped."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from infogain.algorithm import noise
from infogain.errors import InputError
from infogain.models.backbone.transformer import Transformer
from infogain.models.families.spec import Spec
from infogain.zoo.characters import Alphabet
from infogain.zoo.elbo import choose_masks, elbo_loss
from infogain.zoo.pool import BATCH, Pool
from infogain.zoo.run_settings import RunSettings, setting
from infogain.zoo.tasks import ALL_TASKS, TASKS, Task, load_task

Loss = Callable[[Transformer, Tensor, Tensor], Tensor]

LEARNT = [name for name, task in TASKS.items() if task.taught_by is None]  # from texts of their own
VALIDATION_STEP = 0  # the masks of a validation are always the same
RESUME_MAY_CHANGE = ("steps", "minutes")


@dataclass(frozen=True)
class TrainingSettings(RunSettings):
    """What a model that writes texts learns, and how."""

    tasks: str = setting(
        ",".join(LEARNT), "what to learn, and the share of each, such as oneway:2,sudoku:0.5,countdown"
    )
    pool: int = setting(500_000, "training texts drawn for each task")

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.alphabet  # a mistake in the tasks is told now

    @cached_property
    def shares(self) -> dict[str, float]:
        return read_shares(self.tasks)

    @property
    def known(self) -> list[Task]:
        """The tasks that a trained model knows: those it learns, and those that their texts teach besides."""
        return [task for task in ALL_TASKS.values() if (task.taught_by or task.name) in self.shares]

    @cached_property
    def alphabet(self) -> Alphabet:
        """The one that all its tasks are written in."""
        found = {load_task(name).alphabet for name in self.shares}
        if len(found) > 1:
            raise InputError(f"a model learns tasks of one alphabet; {self.tasks} have {len(found)}. Train them apart.")
        return found.pop()

    @property
    def spec(self) -> Spec:
        return self.spec_of(len(self.alphabet), self.alphabet.mask_id, (self.alphabet.eos_id,))


def read_shares(tasks: str) -> dict[str, float]:
    """Names of tasks with commas between, each with its share behind a colon; without one it is 1."""
    shares: dict[str, float] = {}
    for part in tasks.split(","):
        name, colon, written = part.partition(":")
        if (teacher := load_task(name).taught_by) is not None:
            raise InputError(f"{name} has no texts of its own; those of {teacher} teach it. Learn {teacher} instead.")
        if name in shares:
            raise InputError(f"a task is named once, with its share; got {name} twice. Write {name}:2.")
        shares[name] = read_share(name, written) if colon else 1.0
    return shares


def read_share(name: str, written: str) -> float:
    try:
        share = float(written)
    except ValueError:
        share = math.nan
    if not 0 < share < math.inf:
        raise InputError(f"a share must be a number above 0; got {written!r} for {name}. Write {name}:0.5.")
    return share


class Trainer:
    """A training run. Texts and masks are functions of seed and step, so no state of a random generator is kept."""

    def __init__(
        self, settings: RunSettings, pools: dict[str, Pool], device: torch.device, loss: Loss = elbo_loss
    ) -> None:
        self.settings, self.device, self.loss = settings, device, loss
        self.pools = {name: pool.to(device) for name, pool in pools.items()}
        self.transformer = initialised(settings).to(device)
        self.averaged = initialised(settings).to(device).requires_grad_(False)
        self.optimiser = make_optimiser(self.transformer, settings)
        self.step, self.seconds = 0, 0.0

    @property
    def progress(self) -> float:
        """The share of the run that is over, by steps or time, whichever is further; the learning rate follows it."""
        limit = self.settings.minutes * 60
        return min(1.0, max(self.step / self.settings.steps, self.seconds / limit if limit else 0.0))

    @property
    def rate(self) -> float:
        rising = min(1.0, (self.progress + 1 / self.settings.steps) / self.settings.warm_up)
        return self.settings.rate * rising * (1 + math.cos(math.pi * self.progress)) / 2

    def train_step(self) -> Tensor:
        """Update the weights once from a batch of each task; returns the loss of each. [tasks]"""
        losses, shares = [], self.settings.shares
        for number, (name, share) in enumerate(shares.items()):
            seed = noise.fork(torch.tensor(self.settings.seed), BATCH, torch.tensor(number))
            tokens, holes = self.pools[name].pick(self.settings.rows_of(name), seed, self.step)
            loss = self._run(self.loss, self.transformer, tokens, choose_masks(holes, seed, self.step))
            (loss * (share / sum(shares.values()))).backward()  # type: ignore[no-untyped-call]
            losses.append(loss.detach())
        torch.nn.utils.clip_grad_norm_(self.transformer.parameters(), self.settings.clip)
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.step += 1
        self._average()
        return torch.stack(losses)

    @torch.no_grad()
    def validate(self, pools: dict[str, Pool]) -> dict[str, float]:
        """The averaged weights' loss on each task, the same texts and masks every time."""
        losses = {}
        for name, pool in pools.items():
            texts = pool.to(self.device)
            masked = choose_masks(texts.holes, torch.tensor(self.settings.seed), VALIDATION_STEP)
            losses[name] = float(self._run(elbo_loss, self.averaged, texts.tokens.long(), masked))
        return losses

    def save(self, path: Path) -> None:
        state = {
            "settings": asdict(self.settings),
            "step": self.step,
            "seconds": self.seconds,
            "transformer": self.transformer.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }
        unfinished = path.with_suffix(".part")  # an interrupted write must not cost the last good state
        torch.save(state, unfinished)
        unfinished.replace(path)

    def restore(self, path: Path) -> None:
        state = torch.load(path, map_location=self.device, weights_only=True)
        now, then = asdict(self.settings), state["settings"]
        if changed := [key for key in now if now[key] != then[key] and key not in RESUME_MAY_CHANGE]:
            raise InputError(
                f"a run goes on with the settings it began with; {path} has another {', '.join(changed)}. "
                "Give the same, or another --out."
            )
        self.transformer.load_state_dict(state["transformer"])
        self.averaged.load_state_dict(state["averaged"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.step, self.seconds = state["step"], state["seconds"]

    def _run(self, loss: Loss, transformer: Transformer, tokens: Tensor, masked: Tensor) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            return loss(transformer, tokens, masked)

    @torch.no_grad()
    def _average(self) -> None:
        memory = min(self.settings.average, self.step / (10 + self.step))  # a young run forgets its beginning
        torch._foreach_lerp_(tuple(self.averaged.parameters()), tuple(self.transformer.parameters()), 1 - memory)


def initialised(settings: RunSettings) -> Transformer:
    """Random weights of the seed; what is added to the residual stream starts small."""
    transformer = Transformer(settings.spec)
    generator = torch.Generator().manual_seed(settings.seed)
    for name, parameter in transformer.named_parameters():
        if parameter.ndim == 2:
            small = (2 * settings.layers) ** -0.5 if name.endswith(("o.weight", "down.weight")) else 1.0
            torch.nn.init.normal_(parameter, std=small * parameter.shape[1] ** -0.5, generator=generator)
    return transformer


def make_optimiser(transformer: Transformer, settings: RunSettings) -> torch.optim.AdamW:
    matrices = [parameter for parameter in transformer.parameters() if parameter.ndim == 2]
    norms = [parameter for parameter in transformer.parameters() if parameter.ndim == 1]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": norms, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.rate, betas=(0.9, 0.98), fused=matrices[0].is_cuda)
