"""`infogain serve`: models behind OpenAI's API."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from infogain.cli.flags import RecipeFlags, settings_flags
from infogain.cli.generate import LENGTH
from infogain.cli.model import Source, serve_model_flags
from infogain.cli.sections import SectionedCommand
from infogain.cli.terminal import say
from infogain.errors import InputError
from infogain.load import shipped_models
from infogain.recipe import Recipe
from infogain.text.text_model import TextModel


@click.command(cls=SectionedCommand)
@serve_model_flags
@click.option("--host", default="127.0.0.1", show_default=True, help="address; one that others can reach needs a token")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any that is free")
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="file with the bearer token that requests must carry; unset: that of INFOGAIN_TOKEN, if there is one",
)
@click.option("--no-auth", is_flag=True, help="let everybody in who can reach the address")
@click.option(
    "--max-in-flight",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="texts of a model that are decoded at a time",
)
@click.option(
    "--max-waiting",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    help="texts of a model that may wait; more are turned away with 429",
)
@click.option(
    "--deadline",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="time that a request may take, waiting included",
)
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=4096, show_default=True, help="most tokens a text may have"
)
@click.option(
    "--max-texts", type=click.IntRange(min=1), default=16, show_default=True, help="most texts of one request"
)
@click.option(
    "--max-per-client",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="most requests of one address that are open at a time; behind a proxy all have its address",
)
@LENGTH
@settings_flags
def serve(
    source: Source,
    host: str,
    port: int,
    token_file: Path | None,
    no_auth: bool,
    max_in_flight: int,
    max_waiting: int,
    deadline: float,
    max_tokens: int,
    max_texts: int,
    max_per_client: int,
    length: int | None,
    settings: RecipeFlags,
) -> None:
    """Serve models over HTTP, with OpenAI's API.

    Without --model, the models of the package that write texts are served. What a request leaves out comes from the
    flags of sampler and recipe given here. docs/serve.md tells of paths, options and limits.

    \b
    Examples:
      infogain serve
      infogain serve --model GSAI-ML/LLaDA-8B-Instruct --sampler info-gain -k 2 --port 8080
      infogain serve --model ./dream --host 0.0.0.0 --token-file token.txt
    """
    settings.over(Recipe())
    try:
        from infogain.serve.app import make_app
        from infogain.serve.run_server import find_token, listen, make_server, shown_address
    except ModuleNotFoundError as error:
        raise InputError(f"serving needs {error.name}: pip install 'infogain[serve]'.") from error
    from infogain.serve import Engine
    from infogain.serve.served_model import ServedModel, ServerLimits

    token = find_token(host, token_file, no_auth)
    socket = listen(host, port)
    limits = ServerLimits(max_tokens=max_tokens, texts=max_texts, per_client=max_per_client, seconds=deadline)
    served = {}
    for name, model in _load(source):
        engine = Engine(model, max_in_flight=max_in_flight, max_waiting=max_waiting)
        served[name] = ServedModel(name, model, engine, settings.over(Recipe()), limits, length)
    server = make_server(make_app(served, limits, token), [one.engine for one in served.values()], deadline)
    say(f"serving {', '.join(served)} on http://{shown_address(socket)}/v1 (Ctrl-C ends it)", err=True)
    server.run([socket])


def _load(source: Source) -> list[tuple[str, TextModel]]:
    names = [source.name] if source.name is not None else shipped_models(images=False)
    return [(name, replace(source, name=name).load()) for name in names]
