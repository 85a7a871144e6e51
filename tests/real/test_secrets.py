"""Canaries: secrets planted in the environment and in files are nowhere that a command, a model or a disk has."""

from __future__ import annotations

from pathlib import Path

import pytest

from gshtui.guard.redaction import MARK, Redactor
from tests.kit.command import run_gsh
from tests.kit.configuration import user_file
from tests.kit.home import Home

COVERS = ("gshtui.guard.child_environment", "gshtui.guard.secret_names")

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
