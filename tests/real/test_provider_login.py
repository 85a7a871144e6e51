"""`login` and `logout`: the key is in the keyring alone, and the settings say that it is there."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gshtui.cli.root import run
from gshtui.providers.candidates import candidates
from gshtui.providers.keyring_key import keyring_key
from gshtui.settings.loader import load
from tests.kit.home import Home

KEY = "sk-of-a-test-0123456789"
KEYRING = """\
import json, pathlib
FILE = pathlib.Path({file!r})
def _all(): return json.loads(FILE.read_text()) if FILE.exists() else {{}}
def get_password(service, name): return _all().get(service + " " + name)
def set_password(service, name, text): FILE.write_text(json.dumps({{**_all(), service + " " + name: text}}))
def delete_password(service, name):
    FILE.write_text(json.dumps({{k: v for k, v in _all().items() if k != service + " " + name}}))
"""


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A keyring that keeps its passwords in a file, as the package of that name gives it."""
    file = tmp_path / "kept"
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "keyring.py").write_text(KEYRING.format(file=str(file)), "utf-8")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    keyring_key.cache_clear()
    yield file
    keyring_key.cache_clear()
    sys.modules.pop("keyring", None)


def piped(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    monkeypatch.setattr("gshtui.headless.streams.is_terminal", lambda number: False)


def test_a_key_goes_into_the_keyring_and_out_again(
    keyring: Path, home: Home, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    piped(f"{KEY}\n", monkeypatch)
    assert run(["login", "openai"]) == 0
    assert KEY in keyring.read_text()
    found = candidates(load(Path.cwd()).settings, {})["openai"]
    assert found.key == KEY, "the program uses it from now on"
    below = [path for folder in (home.config, home.data, home.state) for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in below if KEY.encode() in path.read_bytes()], "it is in no file of ours"
    keyring_key.cache_clear()
    assert run(["logout", "openai"]) == 0
    assert KEY not in keyring.read_text()
    assert candidates(load(Path.cwd()).settings, {})["openai"].key == ""
    printed = capfd.readouterr()
    assert KEY not in printed.out + printed.err


@pytest.mark.parametrize(
    ("provider", "text", "says"),
    [("openai", "", "no key"), ("openai", "two words", "no key"), ("nope", KEY, "openai"), ("ollama", KEY, "takes a")],
)
def test_what_is_no_key_changes_nothing(
    provider: str,
    text: str,
    says: str,
    keyring: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    piped(text, monkeypatch)
    assert run(["login", provider]) == 2
    assert says in capfd.readouterr().err
    assert not keyring.exists()


def test_without_a_keyring_it_is_said(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    piped(KEY, monkeypatch)
    assert run(["login", "openai"]) == 1
    assert "export OPENAI_API_KEY" in capfd.readouterr().err
