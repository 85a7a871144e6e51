"""The check of an installed program, run with each one that is here: its steps, and that it leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from gshtui.programs import profile as profiles
from gshtui.programs.check.check_results import STEPS, seen_here
from gshtui.programs.check.check_run import check_program
from tests.kit.home import Home
from tests.kit.real_programs import FOLDER, Program


def _left() -> list[str]:
    found: list[str] = []
    for process in psutil.process_iter():
        try:
            home = process.environ().get("HOME", "")
        except (psutil.Error, OSError):
            continue
        if home.startswith("/tmp/gsh-check-"):
            found.append(f"{process.pid} {home}")
    return found


@pytest.mark.timeout(500)
@pytest.mark.programs("claude", "codex", "opencode", "gemini", "qwen", "vibe", "aider")
async def test_an_installed_program_is_checked_and_nothing_is_left(
    program: Program, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{FOLDER / 'bin'}:{os.environ['PATH']}")
    before, running = sorted(home.path.rglob("*")), _left()
    steps = {step.step: step async for step in check_program(profiles.load().get(program.name), os.environ)}
    assert tuple(steps) == STEPS
    account = "\n".join(f"{step.step} {step.verdict} {step.reason}" for step in steps.values())
    for name in ("rest", "text"):
        assert steps[name].verdict == "W", account
    assert all(step.reason or step.verdict == "W" for step in steps.values()), account
    assert sorted(home.path.rglob("*")) == before, "nothing of the person's home is touched"
    assert [one for one in _left() if one not in running] == []
    assert not any(Path(one.split()[1]).exists() for one in _left() if one not in running)
    kept = seen_here(program.name, program.version)
    assert kept is not None and {step.step: step.verdict for step in kept.steps} == {
        name: step.verdict for name, step in steps.items()
    }
