"""Install this checkout into the environment that runs this script: with uv where it can be had, else with pip.

Both get the pins of constraints.txt. uv reads none of pip's settings (its files, its PIP_* variables, what make passes
on from PIP_ARGS), and without them it would fetch torch's CUDA build where pip is told of a CPU one: they are
translated here. Where one has no counterpart, uv cannot be had or its run fails, pip installs, and the reason is said.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

WHAT = ("-c", "constraints.txt", "-e", ".[dev]")
PIP = (sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-q")
OVERRIDING = ("global", "install", ":env:")  # sections of pip's configuration, each over the one before
LISTS = ("find-links", "extra-index-url", "trusted-host")
FLAGS = ("no-index", "pre", "no-cache-dir")
SHORT = {"find-links": ["-f"], "index-url": ["-i", "--pypi-url"], "timeout": ["--default-timeout"]}
NO = ("0", "false", "f", "no", "n", "off")
# Settings that change nothing of what is installed here, or how it is fetched.
HARMLESS = (
    *("args", "break-system-packages", "config-file", "disable-pip-version-check", "log", "no-color", "no-input"),
    *("no-python-version-warning", "no-warn-script-location", "progress-bar", "quiet", "require-virtualenv"),
    *("root-user-action", "use-pep517", "verbose"),
)


class NotByUv(Exception):
    """Why pip must install."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:  # where argparse's own ends the program
        raise NotByUv(f"pip's settings cannot be read ({message})")


def pip_options() -> argparse.ArgumentParser:
    """What pip is told that uv can be told as well, under pip's names."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    for name in LISTS:
        parser.add_argument(f"--{name}", *SHORT.get(name, ()), action="append", default=[])
    for name in ("index-url", "cert", "client-cert", "proxy", "timeout", "retries", "cache-dir"):
        parser.add_argument(f"--{name}", *SHORT.get(name, ()))
    for name in FLAGS:
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--quiet", "-q", "--verbose", "-v", action="count")
    return parser


def configured(listing: str) -> list[str]:
    """Turn what `pip config list` prints into the arguments that would say the same. What is empty was not said."""
    settings: dict[str, str] = {}
    for section in OVERRIDING:
        for line in listing.splitlines():
            name, _, written = line.removeprefix(f"{section}.").partition("=")
            if line.startswith(f"{section}.") and name not in HARMLESS and (value := ast.literal_eval(written)):
                settings[name] = value
    return [argument for name, value in settings.items() for argument in _argument(name, value)]


def _argument(name: str, value: str) -> list[str]:
    """Write one setting as arguments. A list has blanks between its members; any no-cache-dir is a yes to pip."""
    if name in FLAGS:
        return [] if value.lower() in NO and name != "no-cache-dir" else [f"--{name}"]
    return [f"--{name}={part}" for part in (value.split() if name in LISTS else [value])]


def for_uv(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Translate pip's arguments into those of uv, and the variables that it reads."""
    pip, unknown = pip_options().parse_known_args(arguments)
    if unknown:
        raise NotByUv(f"uv has no known counterpart of pip's setting {unknown[0].partition('=')[0]}")
    # pip takes the best version of all indexes; uv would stop at the first that knows the name
    uv = ["--index-strategy", "unsafe-best-match"]
    uv += [f"--default-index={pip.index_url}"] if pip.index_url else []
    uv += [f"--index={url}" for url in pip.extra_index_url]
    uv += [f"--find-links={place}" for place in pip.find_links]
    uv += [f"--allow-insecure-host={host}" for host in pip.trusted_host]
    uv += ["--no-index"] * pip.no_index + ["--prerelease=allow"] * pip.pre + ["--no-cache"] * pip.no_cache_dir
    return uv, _variables(pip)


def _variables(pip: argparse.Namespace) -> dict[str, str]:
    said = {
        "SSL_CERT_FILE": pip.cert,
        "SSL_CLIENT_CERT": pip.client_cert,
        "HTTP_PROXY": pip.proxy,
        "HTTPS_PROXY": pip.proxy,
        "UV_HTTP_TIMEOUT": pip.timeout,
        "UV_HTTP_RETRIES": pip.retries,
        "UV_CACHE_DIR": pip.cache_dir and os.path.join(pip.cache_dir, "uv"),
    }
    return {name: value for name, value in said.items() if value}


def environment(said: Mapping[str, str], present: Mapping[str, str]) -> dict[str, str]:
    """Pip's settings stand over the variables both read, and uv's own variables over pip's settings."""
    return {**present, **said, **{name: value for name, value in present.items() if name.startswith("UV_")}}


def find_uv(pip_args: Sequence[str]) -> list[str]:
    """Find uv on PATH or in this environment, where it is put if need be."""
    on_path = shutil.which("uv")
    if on_path and _runs(on_path, "--version"):
        return [on_path]
    if importlib.util.find_spec("uv") is None and not _runs(*PIP, *pip_args, "-c", "constraints.txt", "uv"):
        raise NotByUv("no uv runs here, and pip could not install one")
    return [sys.executable, "-m", "uv"]


def _runs(*command: str) -> bool:
    return subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0


def install_with_uv(pip_args: Sequence[str]) -> None:
    listing = subprocess.run([sys.executable, "-m", "pip", "config", "list"], stdout=subprocess.PIPE, text=True)
    if listing.returncode:
        raise NotByUv("pip's settings cannot be listed")
    arguments, said = for_uv([*configured(listing.stdout), *pip_args])
    uv = find_uv(pip_args)
    print(f"Installing with uv ({' '.join(uv)}).", flush=True)
    command = [*uv, "pip", "install", "--quiet", "--python", sys.executable, *arguments, *WHAT]
    if subprocess.run(command, env=environment(said, os.environ)).returncode:
        raise NotByUv("uv failed, as said above")


def main(*pip_args: str) -> None:
    try:
        install_with_uv(pip_args)
    except NotByUv as reason:
        print(f"Installing with pip: {reason}.", flush=True)
        if failed := subprocess.run([*PIP, *pip_args, *WHAT]).returncode:
            sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
