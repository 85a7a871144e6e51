"""What a sandboxed command leaves for other programs is gone soon, and gone after any end, with what was there kept."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from gshtui.guard.sandbox import open_run
from gshtui.guard.sandbox.nested_files import NestedFiles
from gshtui.guard.sandbox.open_run import NOTES, OpenRun, RunNote, clean_cut_off_runs
from tests.kit.home import Home
from tests.kit.tmux import eventually
from tests.kit.warm_program import run_gsh, start_gsh

MAKES = (
    "mkdir -p .vscode sub/.husky deep/er/.claude kept/.idea; echo evil >.vscode/tasks.json; echo x >.envrc;"
    "echo x >sub/.husky/pre-commit; echo {} >deep/er/.claude/settings.json; git init -q deep/repo;"
    "echo '[alias]' >>deep/repo/.git/config; mv .github old; mkdir .github; echo x >.github/copilot-instructions.md;"
    "echo x >ordinary.txt; echo READY; sleep 60"
)
GONE = (
    ".vscode",
    ".envrc",
    "sub/.husky",
    "deep/er/.claude",
    "deep/repo/.git",
    "kept/.idea",
    ".github/copilot-instructions.md",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = Path(os.path.realpath(tmp_path)) / "project"
    (made / "kept" / ".vscode").mkdir(parents=True)
    (made / "kept" / ".vscode" / "tasks.json").write_text("mine\n", "utf-8")
    (made / ".tool-versions").write_text("mine\n", "utf-8")
    (made / ".github").mkdir()
    (made / ".github" / "copilot-instructions.md").write_text("mine\n", "utf-8")
    subprocess.run(["git", "init", "-q", "kept/repo"], cwd=made, check=True)
    (made / "kept" / "repo" / ".git" / "hooks" / "pre-commit").write_text("mine\n", "utf-8")
    return made


def state(home: Home) -> Path:
    return home.state / "gsh"


def notes(home: Home) -> list[Path]:
    return sorted((state(home) / NOTES).glob("*.json"))


async def _lying(project: Path) -> list[str]:
    return [name for name in GONE if os.path.lexists(project / name)]


def cut_off(project: Path, number: signal.Signals) -> None:
    with start_gsh("sandbox", "--", "sh", "-c", MAKES, cwd=project) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"READY\n"
        process.send_signal(number)
        process.wait(30)


@pytest.mark.parametrize("next_start", [("sandbox", "--", "true"), ("run", "ls"), ("prompt", "hello")])
async def test_after_a_kill_the_next_start_takes_out_what_came_and_names_it(
    project: Path, home: Home, next_start: tuple[str, ...]
) -> None:
    cut_off(project, signal.SIGKILL)
    if next_start[0] == "run":
        assert any(os.path.lexists(project / name) for name in GONE), "so that this test can fail"
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    ran = run_gsh(*next_start, cwd=elsewhere)
    assert [name for name in GONE if os.path.lexists(project / name)] == []
    assert "A sandboxed command that was cut off left in" in ran.err
    assert ".vscode" in ran.err and str(state(home) / "taken-out") in ran.err
    assert notes(home) == []
    assert (project / "kept" / ".vscode" / "tasks.json").read_text("utf-8") == "mine\n"
    assert (project / "kept" / "repo" / ".git" / "hooks" / "pre-commit").exists()
    assert (project / ".tool-versions").exists() and (project / "ordinary.txt").exists()
    kept = sorted(path.name for path in (state(home) / "taken-out").rglob("tasks.json"))
    assert kept == ["tasks.json"], "nothing is deleted"
    assert "cut off" not in run_gsh(*next_start, cwd=elsewhere).err


async def test_what_was_taken_out_before_the_kill_is_named_by_the_next_start_too(project: Path, home: Home) -> None:
    with start_gsh("sandbox", "--", "sh", "-c", MAKES, cwd=project) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"READY\n"
        await eventually(lambda: _lying(project), until=lambda found: not found)
        process.kill()
        process.wait(30)
    ran = run_gsh("sandbox", "--", "true", cwd=project)
    assert "A sandboxed command that was cut off left in" in ran.err and ".vscode" in ran.err
    assert notes(home) == []


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_other_signals_clean_at_once(project: Path, home: Home, number: signal.Signals) -> None:
    cut_off(project, number)
    assert [name for name in GONE if os.path.lexists(project / name)] == []
    assert notes(home) == []


async def test_a_killed_sandbox_is_cleaned_by_who_looks_after_it(project: Path, home: Home) -> None:
    with start_gsh("sandbox", "--", "sh", "-c", MAKES, cwd=project) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"READY\n"
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # all of it ends with its first process
                child.kill()
        assert process.wait(30) == 137
    assert [name for name in GONE if os.path.lexists(project / name)] == []
    assert notes(home) == []


async def test_it_does_not_lie_there_while_the_command_runs(project: Path, home: Home) -> None:
    """Also of two at once, of which one is killed: each start leaves alone what another looks after."""
    with start_gsh("sandbox", "--", "sh", "-c", MAKES, cwd=project) as process:
        assert process.stdout is not None and process.stdout.readline() == b"READY\n"
        await eventually(lambda: _lying(project), until=lambda found: not found)
        assert process.poll() is None
        assert len(notes(home)) == 1
        assert "cut off" not in run_gsh("sandbox", "--", "true", cwd=project).err
        assert len(notes(home)) == 1
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
    assert ".vscode is not left in the project" in errors.decode()
    assert (project / "kept" / ".vscode").exists()


def opened(project: Path, folder: Path) -> Path:
    """A note whose process is gone; returns its file."""
    nested = NestedFiles(project)
    nested.learn()
    known = {str(project): nested.remembered()}
    note = RunNote(str(project), time.time_ns(), (str(project / ".envrc"), str(project / ".vscode")), (), known)
    run = OpenRun(folder, note, lambda *_: ([], frozenset()))
    run.close(done=False)
    (file,) = (folder / NOTES).glob("*.json")
    return file


def test_what_came_after_the_end_stays_and_is_named(project: Path, tmp_path: Path) -> None:
    note = opened(project, tmp_path)
    (project / ".envrc").write_text("a person's\n", "utf-8")
    (project / "src" / ".vscode").mkdir(parents=True)
    (project / "src" / ".vscode" / "settings.json").write_text("{}\n", "utf-8")
    ended = time.time() - 60
    os.utime(note, (ended, ended))
    (told,) = clean_cut_off_runs(tmp_path)
    assert (project / ".envrc").exists() and (project / "src" / ".vscode").exists()
    assert ".envrc" in told and "src/.vscode" in told and "look at it" in told
    assert clean_cut_off_runs(tmp_path) == []


def test_a_folder_that_came_before_the_end_goes_whatever_came_into_it_later(project: Path, tmp_path: Path) -> None:
    note = opened(project, tmp_path)
    (project / ".vscode").mkdir()
    (project / ".vscode" / "tasks.json").write_text("evil\n", "utf-8")
    first = (project / ".vscode" / "tasks.json").lstat().st_ctime_ns
    later = project / ".vscode" / "settings.json"
    later.write_text("{}\n", "utf-8")
    while later.lstat().st_ctime_ns <= first:  # until the clock of change times has moved on
        later.write_text("{}\n", "utf-8")
    seen = first - int(5.5e9)  # the pause and the time after it
    os.utime(note, ns=(seen, seen))
    (told,) = clean_cut_off_runs(tmp_path)
    assert not (project / ".vscode").exists() and ".vscode is now" in told


def test_a_damaged_note_is_kept_and_said_and_stops_nothing(project: Path, tmp_path: Path) -> None:
    note = opened(project, tmp_path)
    (project / ".envrc").write_text("x\n", "utf-8")
    (note.parent / "1.json").write_text('{"project": 3', "utf-8")
    told = clean_cut_off_runs(tmp_path)
    assert len(told) == 2 and "note is damaged" in told[0] and ".envrc is now" in told[1]
    assert (note.parent / "1.damaged").exists()
    assert clean_cut_off_runs(tmp_path) == []


def test_a_folder_that_was_exchanged_for_a_link_leads_out_of_no_other_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (outside / ".vscode").mkdir(parents=True)
    root.mkdir()
    (root / "sub").symlink_to(outside)
    found = [(root, root / "sub" / ".vscode")]
    assert open_run.move_out(tmp_path / "kept", root, found, runs=lambda _: None) == []
    assert (outside / ".vscode").exists()


def test_a_kill_between_two_moves_names_what_was_moved_and_nothing_else(project: Path, tmp_path: Path) -> None:
    note = opened(project, tmp_path)
    (project / ".vscode").mkdir()
    (project / ".envrc").write_text("x\n", "utf-8")
    noted: list[Path] = []

    def killed_at_the_second(to: Path) -> None:
        with note.open("a", encoding="utf-8") as opened_note:
            opened_note.write(f"{json.dumps(str(to))}\n")
        noted.append(to)
        if len(noted) == 2:
            raise KeyboardInterrupt

    found = [(project, project / ".vscode"), (project, project / ".envrc")]
    with pytest.raises(KeyboardInterrupt):
        open_run.move_out(tmp_path / "taken-out", project, found, runs=killed_at_the_second)
    os.utime(note)
    (told,) = clean_cut_off_runs(tmp_path)
    assert f".vscode is now {noted[0]}" in told and ".envrc is now" in told and str(noted[1]) not in told
    assert not (project / ".vscode").exists() and not (project / ".envrc").exists()
