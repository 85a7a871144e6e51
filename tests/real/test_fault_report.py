"""The report of a fault: whole, without secrets, and written only after it could be read."""

import json
from pathlib import Path

import pytest

from gshtui.settings import paths
from tests.kit.home import Home
from tests.kit.record import numbered_prompt, open_record
from tests.kit.warm_program import run_gsh

SECRET = "sk-" + "a1b2c3d4" * 5


async def _session(home: Home, cwd: Path) -> str:
    async with open_record(home.data / "gsh" / "gsh.db") as store:
        session = (await store.sessions.create(cwd=str(cwd), agent="main")).id
        await store.messages.append(session, numbered_prompt(1, f"The key is {SECRET}, and it fails. \x1b[31m"))
    return session


async def test_it_has_everything_and_no_secret(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await _session(home, tmp_path)
    monkeypatch.setenv("MY_API_KEY", "a-secret-of-my-own-1234")
    crash = paths.logs_dir() / "crash-20260101T000000-000001-1.log"
    crash.write_text(f"Traceback: ValueError {SECRET} a-secret-of-my-own-1234 in {home.path}/x.py\n")
    out = tmp_path / "fault.md"
    env = {"MY_API_KEY": "a-secret-of-my-own-1234"}
    ran = run_gsh("report", session[:10], "--out", str(out), cwd=tmp_path, env=env)
    assert ran.code == 4 and not out.exists() and "Nobody is here" in ran.err
    ran = run_gsh("report", session[:10], "--out", str(out), "--yes", cwd=tmp_path, env=env)
    assert ran.code == 0, ran.err
    text = out.read_text()
    assert out.stat().st_mode & 0o777 == 0o600, "handed on by whoever made it"
    assert len(text.splitlines()) == len(ran.out.splitlines())
    for wanted in ("# Report of a fault", "What doctor finds", "ValueError", "and it fails", "~/x.py"):
        assert wanted in text
    assert SECRET not in text and "a-secret-of-my-own-1234" not in text and "\x1b" not in ran.out
    ran = run_gsh("report", "--out", str(out), "--yes", "--json", cwd=tmp_path, env=env)
    assert ran.code == 1 and "already exists" in ran.err
    assert "and it fails" not in json.loads(ran.out)["report"]
    assert out.read_text() == text
    crash.unlink()
