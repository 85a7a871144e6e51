"""Modes in the program itself: `--mode` without a window, where the sandbox holds and where not, and `--yes`."""

from pathlib import Path

import pytest

from tests.kit.configuration import user_file
from tests.kit.home import Home
from tests.kit.warm_program import run_gsh


@pytest.mark.parametrize("mode", ["plan", "ask", "edit"])
def test_what_runs_a_command_asks_or_is_refused(project: Path, mode: str) -> None:
    ran = run_gsh("prompt", "--mode", mode, "run touch made", cwd=project)
    assert ran.code == 4 and not (project / "made").exists()
    assert ("plan mode" in ran.err) is (mode == "plan")
    assert run_gsh("prompt", "--mode", mode, "run ls", cwd=project).code == 0


def test_auto_runs_it_in_the_sandbox_and_says_so_in_the_events(project: Path) -> None:
    ran = run_gsh("prompt", "--mode", "auto", "--json", "run touch made", cwd=project)
    assert ran.code == 0 and (project / "made").exists()
    assert [event["by"] for event in ran.lines if event["type"] == "ApprovalSettled"] == ["sandbox"]
    outside = project.parent / "outside"
    assert run_gsh("prompt", "--mode", "auto", f"run touch {outside}", cwd=project).code == 0
    assert not outside.exists()


def test_auto_is_refused_where_the_sandbox_is_off(project: Path, home: Home) -> None:
    user_file(home, "[sandbox]\nenabled = false\n")
    ran = run_gsh("prompt", "--mode", "auto", "run touch made", cwd=project)
    assert ran.code == 1 and "auto mode needs the sandbox" in ran.err and "switched off" in ran.err
    assert not (project / "made").exists()
    assert run_gsh("prompt", "--yes", "run touch made", cwd=project).code == 4, "--yes: inside the project, as before"


def test_yolo_runs_it_outside_the_sandbox_but_no_catastrophe(project: Path) -> None:
    outside = project.parent / "outside"
    assert run_gsh("prompt", "--mode", "yolo", f"run touch {outside}", cwd=project).code == 0
    assert outside.exists()
    ran = run_gsh("prompt", "--mode", "yolo", "run rm -rf ~", cwd=project)
    assert ran.code == 4 and "Always refused" in ran.err


def test_the_setting_begins_and_yes_goes_with_no_mode(project: Path, home: Home) -> None:
    user_file(home, '[agent]\nmode = "plan"\n')
    ran = run_gsh("prompt", "run touch made", cwd=project)
    assert ran.code == 4 and "plan mode" in ran.err
    assert run_gsh("prompt", "--yes", "--mode", "plan", "hello", cwd=project).code == 2
    assert run_gsh("run", "--as", "main", "mode plan", cwd=project).code == 2
    assert run_gsh("run", "mode yolo", cwd=project).code in (1, 4)


def test_without_auto_approve_a_read_needs_somebody(project: Path, home: Home) -> None:
    user_file(home, "[agent]\nauto_approve = []\n")
    (project / "README.md").write_text("hello\n", encoding="utf-8")
    for words in ("read README.md", "run cat README.md", "files *.md"):
        assert run_gsh("prompt", words, cwd=project).code == 4, words
