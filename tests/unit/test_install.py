"""Whatever installs, it is told the same: pip's settings reach uv, or pip installs and the reason is said."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from tools import install
from tools.install import NotByUv, configured, environment, for_uv

ROOT = Path(__file__).parents[2]
LISTING = r"""
:env:.args='--find-links from-make'
:env:.disable-pip-version-check='1'
:env:.extra-index-url=''
:env:.find-links='/wheels "/more wheels"'
download.find-links='/of-another-command'
global.cert='/a folder/ca.pem'
global.extra-index-url='https://one.test/simple\nhttps://two.test/it=s'
global.find-links='/overridden'
global.index-url='https://overridden.test/simple'
global.no-index='off'
global.timeout=''
install.index-url="https://me:it's@mine.test/simple"
"""


def uv_arguments(*pip: str) -> list[str]:
    arguments, _ = for_uv(pip)
    assert arguments[:2] == ["--index-strategy", "unsafe-best-match"]  # as pip: the best of all indexes
    return arguments[2:]


def test_pips_settings_override_each_other_as_in_pip() -> None:
    """The environment stands over the section of `install`, that over `global`; nothing else counts, and no blank."""
    assert sorted(configured(LISTING)) == [
        "--cert=/a folder/ca.pem",
        "--extra-index-url=https://one.test/simple",
        "--extra-index-url=https://two.test/it=s",
        '--find-links="/more',  # pip, too, knows no quotes
        "--find-links=/wheels",
        '--find-links=wheels"',
        "--index-url=https://me:it's@mine.test/simple",
    ]


def test_pip_prints_its_settings_as_they_are_read_here(tmp_path: Path) -> None:
    """The one thing this takes from pip itself: the form of `pip config list`."""
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nfind-links =\n  /one\n  /two\n[install]\npre = yes\n[list]\nformat = json\n")
    variables = {"PIP_CONFIG_FILE": str(file), "PIP_EXTRA_INDEX_URL": "https://a.test/it's https://b.test"}
    command = [sys.executable, "-m", "pip", "config", "list"]
    listing = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [argument for argument in configured(listing) if not argument.startswith("--cert")]
    assert {
        "--find-links=/one",
        "--find-links=/two",
        "--extra-index-url=https://a.test/it's",
        "--extra-index-url=https://b.test",
        "--pre",
    } <= set(found)


@pytest.mark.parametrize(
    ("pip", "uv"),
    [
        (["--find-links", "/wheels"], ["--find-links=/wheels"]),
        (["-f", "/a", "--find-links=/b"], ["--find-links=/a", "--find-links=/b"]),
        (["--extra-index-url", "https://a.test"], ["--index=https://a.test"]),
        (["-i", "https://a.test", "--index-url=https://b.test"], ["--default-index=https://b.test"]),
        (["--trusted-host", "a.test:80"], ["--allow-insecure-host=a.test:80"]),
        (["--no-index", "--pre"], ["--no-index", "--prerelease=allow"]),
        (["--no-cache-dir"], ["--no-cache"]),
        (["-qq", "--verbose"], []),
    ],
)
def test_what_pip_is_told_uv_is_told(pip: list[str], uv: list[str]) -> None:
    assert uv_arguments(*pip) == uv


def test_what_uv_reads_from_the_environment_is_put_there() -> None:
    pip = ("--cert=/ca.pem", "--client-cert=/me.pem", "--proxy=http://p.test", "--default-timeout=180", "--retries=9")
    assert for_uv([*pip, "--cache-dir=/cache"])[1] == {
        "SSL_CERT_FILE": "/ca.pem",
        "SSL_CLIENT_CERT": "/me.pem",
        "HTTP_PROXY": "http://p.test",
        "HTTPS_PROXY": "http://p.test",
        "UV_HTTP_TIMEOUT": "180",
        "UV_HTTP_RETRIES": "9",
        "UV_CACHE_DIR": "/cache/uv",
    }


def test_pips_settings_stand_over_shared_variables_and_uvs_own_over_pips() -> None:
    present = {"HOME": "/home", "SSL_CERT_FILE": "/system.pem", "UV_CACHE_DIR": "/mine"}
    said = {"SSL_CERT_FILE": "/pips.pem", "UV_CACHE_DIR": "/cache/uv", "UV_HTTP_TIMEOUT": "180"}
    assert environment(said, present) == present | {"SSL_CERT_FILE": "/pips.pem", "UV_HTTP_TIMEOUT": "180"}


@pytest.mark.parametrize("value", ["0", "off", "1", "true"])
def test_flags_are_read_as_pip_reads_them(value: str) -> None:
    """`no-cache-dir = off` turns pip's cache off, as every other value does."""
    flags = configured("".join(f"global.{flag}='{value}'\n" for flag in install.FLAGS))
    assert flags == (["--no-cache-dir"] if value in ("0", "off") else ["--no-index", "--pre", "--no-cache-dir"])


@pytest.mark.parametrize("setting", ["--prefer-binary", "--constraint=more.txt", "--no-binary=:all:", "torch", "--ind"])
def test_a_setting_that_uv_cannot_be_told_is_left_to_pip(setting: str) -> None:
    with pytest.raises(NotByUv, match=re.escape(setting.partition("=")[0])):
        for_uv([setting])


class Runs:
    """Stands for `subprocess.run`: remembers what ran; what contains a failing word fails."""

    def __init__(self, *failing: str, listing: str = "") -> None:
        self.failing, self.listing, self.commands = failing, listing, list[list[str]]()

    def __call__(self, command: Sequence[str], env: Mapping[str, str] = {}, **_: object) -> SimpleNamespace:
        self.commands.append([*command])
        return SimpleNamespace(returncode=int(any(word in command for word in self.failing)), stdout=self.listing)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr("shutil.which", lambda name: "/bin/uv")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    return monkeypatch


def run(patch: pytest.MonkeyPatch, runs: Runs, *pip_args: str) -> list[list[str]]:
    patch.setattr("subprocess.run", runs)
    install.main(*pip_args)
    return [command for command in runs.commands if "list" not in command and "--version" not in command]


def test_uv_on_path_installs_with_all_that_pip_was_told(
    installed: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = Runs(listing="global.find-links='/wheels'\n")
    (command,) = run(installed, runs, "--extra-index-url", "https://cpu.test")
    assert command[:6] == ["/bin/uv", "pip", "install", "--quiet", "--python", sys.executable]
    assert command[-6:] == ["--index=https://cpu.test", "--find-links=/wheels", *install.WHAT]
    assert capsys.readouterr().out == "Installing with uv (/bin/uv).\n"


def test_uv_is_put_into_the_environment_where_it_is_not_on_path(installed: pytest.MonkeyPatch) -> None:
    installed.setattr("shutil.which", lambda name: None)
    first, second = run(installed, Runs(), "-f", "/wheels")
    assert first == [*install.PIP, "-f", "/wheels", "-c", "constraints.txt", "uv"]
    assert second[:4] == [sys.executable, "-m", "uv", "pip"]


@pytest.mark.parametrize(
    ("on_path", "failing", "listing", "why"),
    [
        ("/bin/uv", ["/bin/uv", "uv"], "", "no uv runs here, and pip could not install one"),
        (None, ["uv"], "", "no uv runs here, and pip could not install one"),
        ("/bin/uv", ["--python"], "", "uv failed, as said above"),
        ("/bin/uv", ["config"], "", "pip's settings cannot be listed"),
        ("/bin/uv", [], ":env:.no-binary='torch'", "uv has no known counterpart of pip's setting --no-binary"),
    ],
)
def test_else_pip_installs_the_same_and_the_reason_is_said(
    on_path: str | None,
    failing: list[str],
    listing: str,
    why: str,
    installed: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    installed.setattr("shutil.which", lambda name: on_path)
    assert run(installed, Runs(*failing, listing=listing), "-q")[-1] == [*install.PIP, "-q", *install.WHAT]
    assert f"Installing with pip: {why}.\n" in capsys.readouterr().out


def test_where_pip_fails_too_the_installation_fails(installed: pytest.MonkeyPatch) -> None:
    installed.setattr("subprocess.run", Runs("config", "install"))
    with pytest.raises(SystemExit, match="1"):
        install.main()


def test_uv_is_pinned() -> None:
    assert re.search(r"^uv==[\d.]+$", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE)
