"""The check of an installed program, run with each one that is here: its steps, and that it leaves nothing behind."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from gshtui.programs.check import check_run
from gshtui.programs.check.check_results import STEPS, seen_here
from gshtui.programs.check.check_run import check_program
from gshtui.programs.profiles import profile_files as profiles
from tests.kit.home import Home, with_home
from tests.kit.real_programs import FOLDER, Program


@pytest.mark.timeout(500)
@pytest.mark.programs("claude", "codex", "opencode", "gemini", "qwen", "vibe", "aider")
async def test_an_installed_program_is_checked_and_nothing_is_left(
    program: Program, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{FOLDER / 'bin'}:{os.environ['PATH']}")
    homes, made = list[str](), check_run._made

    def making(place: Path, environ: Mapping[str, str], rules: Path) -> dict[str, str]:
        environment = made(place, environ, rules)
        homes.append(environment["HOME"])
        return environment

    monkeypatch.setattr(check_run, "_made", making)
    before = sorted(home.path.rglob("*"))
    steps = {step.step: step async for step in check_program(profiles.load().get(program.name), os.environ)}
    assert tuple(steps) == STEPS
    account = "\n".join(f"{step.step} {step.verdict} {step.reason}" for step in steps.values())
    for name in ("rest", "text"):
        assert steps[name].verdict == "W", account
    assert all(step.reason or step.verdict == "W" for step in steps.values()), account
    assert sorted(home.path.rglob("*")) == before, "nothing of the person's home is touched"
    (own,) = homes
    assert (with_home(own), Path(own).exists()) == ([], False)
    kept = seen_here(program.name, program.version)
    assert kept is not None and {step.step: step.verdict for step in kept.steps} == {
        name: step.verdict for name, step in steps.items()
    }
