"""`infogain chat`: a conversation in the terminal, every answer seen as it is unmasked."""

from __future__ import annotations

from dataclasses import replace

import click
from rich.console import Console
from rich.live import Live

from infogain.cli.flags import RecipeFlags, settings_flags
from infogain.cli.generate import LENGTH, SYSTEM
from infogain.cli.line_editor import remembered, state_file
from infogain.cli.live_canvas import entropy_scale, live_text
from infogain.cli.model import Source, chat_model_flags, recipe_for
from infogain.cli.sections import SectionedCommand
from infogain.cli.terminal import Terminal, is_text
from infogain.cli.text_output import explain_costs, show
from infogain.errors import ContextError, InfoGainError, InputError
from infogain.generate import Generation, decode_job
from infogain.loop.step import StepEvent
from infogain.loop.trace import Story, Trace
from infogain.recipe import Recipe
from infogain.text.prompts import Job, completions
from infogain.text.text_model import TextModel
from infogain.text.tokenizer import Message

HELP = """\
/sampler NAME   decode with another sampler
/seed NUMBER    draw anew
/reset          forget the conversation
/exit           leave (or Ctrl-D)
↑ ↓             what you said before
Ctrl-C          stop an answer"""
NEEDED = (
    "chat needs --model with a checkpoint that has a chat template, such as GSAI-ML/LLaDA-8B-Instruct, "
    "Dream-org/Dream-v0-Instruct-7B or JetLM/SDAR-1.7B-Chat"
)


@click.command(cls=SectionedCommand)
@chat_model_flags
@LENGTH
@SYSTEM
@settings_flags
def chat(source: Source, length: int | None, system: str | None, settings: RecipeFlags) -> None:
    """Talk to a model and watch its answers come out of the mask.

    Words are coloured by how uncertain the model was when it wrote them. Lines are edited as in a shell; the arrow
    keys bring back what was said, also in earlier sessions (kept in ~/.local/state/infogain/chat-history).

    \b
    Examples:
      infogain chat --model GSAI-ML/LLaDA-8B-Instruct
      infogain chat --model ./dream --sampler info-gain -k 2 --length 128
      echo "Why is the sky blue?" | infogain chat --model ./sdar
    """
    settings.over(Recipe())
    if source.name is None:
        raise InputError(f"{NEEDED}; got none.")
    console = Terminal()
    model = source.load()
    if not model.tokenizer.chats:
        raise InputError(f"{NEEDED}; {source.name} has none. Use generate --plain.")
    talk = Talk(console, model, recipe_for(model, settings), length, system)
    console.print(entropy_scale())
    explain_costs(console)
    console.print("/help lists what else you can say.")
    with remembered(state_file("chat-history")):
        while talk.turn(_ask(console)):
            pass


def _ask(console: Console) -> str:
    try:
        return input("› ")  # readline edits lines only if it knows the prompt
    except (EOFError, KeyboardInterrupt):
        console.print()
        return "/exit"


class Talk:
    """A conversation: what was said so far, and how answers are decoded."""

    def __init__(
        self, console: Console, model: TextModel, recipe: Recipe, length: int | None, system: str | None
    ) -> None:
        self.console, self.model, self.recipe, self.length, self.system = console, model, recipe, length, system
        self.messages: list[Message] = []

    def turn(self, said: str) -> bool:
        """Answer what was said, or carry out its /command; False: leave. A mistake does not end the conversation."""
        command, _, rest = said.strip().partition(" ")
        try:
            if command == "/exit":
                return False
            if not is_text(said):
                raise InputError(f"a message must be UTF-8 text; {said!r:.80} is not. Say it again.")
            if command in ("/help", "/reset", "/sampler", "/seed"):
                getattr(self, command[1:])(rest.strip())
            elif command.startswith("/"):
                raise InputError(f"unknown command {command!r}; /help lists those there are.")
            elif command:
                self.answer(said)
        except ContextError:
            self.console.print(
                "error: the conversation and its answer must fit the model's context; they no longer do. "
                "/reset forgets what was said; a smaller --length or a shorter message may do, too.",
                soft_wrap=True,
            )
        except KeyboardInterrupt:
            self.console.print("\nStopped. The conversation goes on without this.")
        except InfoGainError as error:
            self.console.print(f"error: {error}", soft_wrap=True)
        return True

    def help(self, _: str) -> None:
        self.console.print(HELP)

    def reset(self, _: str) -> None:
        self.messages.clear()
        self.console.print("The conversation is forgotten.")

    def sampler(self, name: str) -> None:
        self.recipe = Recipe.of({**self.recipe.plain(), "sampler": name})
        self.console.print(f"From now on: {name}.")

    def seed(self, number: str) -> None:
        try:
            self.recipe = replace(self.recipe, seed=int(number))
        except ValueError as error:
            raise InputError(f"a seed is a whole number of 64 bits; got {number!r}.") from error
        self.console.print(f"The seed is {self.recipe.seed}.")

    def answer(self, said: str) -> None:
        messages = [*self.messages, {"role": "user", "content": said}]
        text = self._watch(completions(self.model, [messages], self.length, True, self.system))
        self.messages = [*messages, {"role": "assistant", "content": text.text}]
        show(self.console, text)

    def _watch(self, job: Job) -> Generation:
        if not self.console.is_terminal:
            return next(decode_job(self.model, job, self.recipe))[1]
        story = Story(Trace(self.recipe.plain(), self.model.denoiser.mask_id, job.rows))
        with Live(console=self.console, auto_refresh=False, transient=True, vertical_overflow="visible") as live:

            def observe(event: StepEvent) -> None:
                story.follow(event.record())
                live.update(live_text(story, self.model.tokenizer.word, self.recipe.eos_ids or ()), refresh=True)

            _, text = next(decode_job(self.model, job, self.recipe, observe=observe))
        return text
