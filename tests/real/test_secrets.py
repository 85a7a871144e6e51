"""Canaries: secrets planted in the environment and in files are nowhere that a command, a model or a disk has."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gshtui.agents.telemetry import redactor
from gshtui.guard.secrets.redaction import Redactor
from gshtui.guard.secrets.report_redaction import redact_report
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.providers.candidates import candidates
from gshtui.providers.keyring_key import keyring_key
from gshtui.settings.loader import load
from gshtui.settings.model import Settings
from gshtui.settings.settings_tables import ProviderSettings
from gshtui.system.faults import FaultLog, write_report
from gshtui.text.secret_shapes import MARK
from tests.kit.configuration import user_file
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.warm_program import run_gsh

CANARY = "canary0c0ffee0badcafe0decade0facade0feed0"
PLANTED = {
    "SHOP_PASSWORD": f"{CANARY}-password",
    "STRIPE_API_KEY": f"sk_live_{CANARY}key",
    "GITHUB_TOKEN": f"ghp_{CANARY}token",
    "DATABASE_URL": f"postgres://shop:{CANARY}url@db.example/shop",
    "OWN_NAME": f"ghp_{CANARY}value",
}


def found_below(*folders: Path) -> list[str]:
    """The files that contain a canary."""
    wanted = CANARY.encode()
    return [
        str(path)
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and wanted in path.read_bytes()
    ]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "deploy.sh").write_text(
        f"export SHOP_PASSWORD={PLANTED['SHOP_PASSWORD']}\nexport GITHUB_TOKEN={PLANTED['GITHUB_TOKEN']}\n", "utf-8"
    )
    (made / "show.sh").write_text("env; cat /proc/*/environ | tr '\\0' '\\n'; cat deploy.sh; cat ~/.netrc", "utf-8")
    return made


def test_secrets_are_in_no_answer_record_or_log(project: Path, home: Home) -> None:
    (home.path / ".netrc").write_text(f"machine a.example password {CANARY}netrc\n", "utf-8")
    for text in ("run sh show.sh", "read deploy.sh", "run cat deploy.sh"):
        ran = run_gsh("prompt", "--yes", "--provider", "offline", "--json", text, cwd=project, env=PLANTED)
        assert ran.code == 0, ran.err
        assert "PATH=" in ran.out or "SHOP_PASSWORD" in ran.out, ran.out
        assert CANARY not in ran.out + ran.err, text
    (home.path / ".netrc").unlink()
    assert found_below(home.data, home.state, home.config, home.cache, home.path) == []


async def test_no_provider_is_sent_a_key_that_a_tool_came_across(project: Path, home: Home) -> None:
    script = [
        [Call("bash", {"command": "sh show.sh"})],
        [Call("read", {"path": "deploy.sh"}), Call("grep", {"pattern": "canary"})],
        [Say("Done.")],
    ]
    async with loopback("anthropic", script) as server:
        environ = PLANTED | variables("anthropic", server.url)
        ran = await asyncio.to_thread(
            lambda: run_gsh("prompt", "--yes", "--provider", "anthropic", "look", cwd=project, env=environ)
        )
        assert ran.out == "Done.\n", ran.err
        sent = b"".join(each.raw or json.dumps(each.body).encode() for each in server.requests)
    assert b"SHOP_PASSWORD=[redacted]" in sent
    assert CANARY.encode() not in sent
    assert found_below(home.data, home.state) == []


def test_the_person_may_switch_it_off(project: Path, home: Home) -> None:
    user_file(home, "[context]\nredact_secrets = false\n")
    ran = run_gsh("prompt", "--yes", "--provider", "offline", "--json", "read deploy.sh", cwd=project)
    assert CANARY in ran.out


def test_what_is_no_secret_beyond_doubt_stays() -> None:
    redactor = Redactor(PLANTED)
    for text in (
        'token = "word-of-a-test-1"',
        "assert password == 'hunter2hunter2'",
        "API_KEY_FILE=/run/secrets/key1",
        "MAX_TOKENS=1234567890",
        "TOKEN=$(cat token)",
        "TOKEN=${TOKEN:-none-given}",
        "key=abcdefgh12345678",
        "SECRET=short",
    ):
        assert redactor.redact_certain(text) == text
    assert (
        redactor.redact_certain("  12│export API_TOKEN='abcd-efgh-1234' # x") == f"  12│export API_TOKEN='{MARK}' # x"
    )
    assert redactor.redact_certain(f"x {PLANTED['SHOP_PASSWORD']} y") == f"x {MARK} y"


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A keyring with one key, as the package of that name gives it; its file lists what was asked for."""
    asked = tmp_path / "asked"
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "keyring.py").write_text(
        f"def get_password(service, name):\n    open({str(asked)!r}, 'a').write(f'{{service}} {{name}}\\n')\n"
        f"    return 'plain-{CANARY}' if service == 'mine' else None\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path / "packages")
    keyring_key.cache_clear()
    yield asked
    keyring_key.cache_clear()
    sys.modules.pop("keyring", None)


def test_a_key_comes_from_the_keyring_where_the_settings_name_it_and_no_variable_has_it(keyring: Path) -> None:
    def found(environ: dict[str, str], **table: str) -> str:
        settings = Settings(providers={"openai": ProviderSettings(**table)})  # pyright: ignore[reportArgumentType]
        return candidates(settings, environ)["openai"].key

    assert found({}) == ""
    assert not keyring.exists(), "nothing is asked that the settings do not name"
    assert found({}, keyring="mine") == f"plain-{CANARY}"
    assert found({"OPENAI_API_KEY": "sk-own"}, keyring="mine") == "sk-own"
    assert found({}, keyring="another") == ""
    assert keyring.read_text("utf-8").splitlines() == ["mine OPENAI_API_KEY", "another OPENAI_API_KEY"]
    settings = Settings(providers={"openai": ProviderSettings(keyring="mine")})
    assert redactor(settings, {}).redact(f"it is plain-{CANARY}.") == f"it is {MARK}."


def test_without_the_package_there_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    keyring_key.cache_clear()
    assert keyring_key("mine", "OPENAI_API_KEY") == ""
    keyring_key.cache_clear()


def test_exports_have_no_key_that_somebody_typed(tmp_path: Path, home: Home) -> None:
    """It is sent as it is typed, and stays in the record; what is handed on is cleaned."""
    ran = run_gsh("prompt", "--provider", "offline", f"my key is ghp_{CANARY}", cwd=tmp_path)
    assert ran.code == 0, ran.err
    for more in ([], ["--format", "jsonl"], ["--out", "talk.jsonl"]):
        made = run_gsh("session", "export", "latest", *more, cwd=tmp_path)
        said = made.out + ((tmp_path / "talk.jsonl").read_text("utf-8") if "--out" in more else "")
        assert made.code == 0, made.err
        assert f"my key is {MARK}" in said
        assert CANARY not in said


async def test_a_report_of_a_fault_has_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PLANTED["SHOP_PASSWORD"])
    try:
        raise RuntimeError(f"login with {PLANTED['SHOP_PASSWORD']} and ghp_{CANARY} failed")
    except RuntimeError as error:
        for _ in range(2):
            log = FaultLog(lambda: tmp_path, redact_report)
            log.record("the pane", error)
        assert MARK in write_report(tmp_path, error, clean=redact_report).read_text("utf-8")
    assert len(list(tmp_path.iterdir())) >= 2
    assert found_below(tmp_path) == []
    assert Hub(HubOptions(tmp_path, load(tmp_path)), {}).bus.faults.clean is redact_report
