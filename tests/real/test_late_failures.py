"""Steps that fail late, for real: on a disk that is full by then, or in a folder that cannot be written any more.

Each command runs in a mount namespace of its own, with a small disk in one place. Afterwards nothing of it is left
there, or the one sentence that it prints names what stays.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gshtui.fleet.keeper import keeper_unit
from gshtui.hosts import host_package
from gshtui.settings import paths
from gshtui.shell import plugin, startup_file
from tests.kit.command import DEADLINE, CommandResult, command, environment
from tests.kit.home import Home
from tests.kit.storms import combined
from tests.kit.warm_program import run_gsh
from tests.real.test_worktree import run_git

PAGE = 4096
"""Bytes by which such a disk fills."""


def run_on_small_disk(
    place: Path, options: str, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> CommandResult:
    """Run the command with a disk in place of a folder, which holds afterwards what was there at the command's end.

    Args:
        options: the disk's, as for `mount`; with `ro` it is full of what the folder holds, and cannot be written.
    """
    seed = place.with_name(f"{place.name}.seed")
    shutil.copytree(place, seed, symlinks=True)
    read_only = "mount -o remount,ro ." if options == "ro" else ":"
    size = "size=64m" if options == "ro" else options
    inner = (
        f"mount -t tmpfs -o {size} none {place} && cp -a {seed}/. {place}/ && (cd {place} && {read_only}) && "
        f"(cd {cwd or place} && {shlex.join(command(words))}); code=$?; cp -a {place}/. {seed}.after/; exit $code"
    )
    after = Path(f"{seed}.after")
    after.mkdir()
    ran = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inner],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env=environment(env),
        check=False,
    )
    shutil.rmtree(place)
    after.rename(place)
    assert "Traceback" not in ran.stderr
    return CommandResult(ran.returncode, ran.stdout, ran.stderr)


def held(folder: Path) -> dict[str, bytes | str | None]:
    """Everything below the folder, but for git's own: files with their bytes, links with their targets."""
    found: dict[str, bytes | str | None] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if ".git" not in path.parts:
            found[name] = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


@pytest.mark.parametrize(("pages", "word"), combined([4, 6, 7, 40], ["install", "uninstall"]))
def test_a_start_up_file_on_a_full_disk(home: Home, word: str, pages: int) -> None:
    folder = home.path / "dots"
    folder.mkdir()
    (home.path / ".bashrc").symlink_to(folder / "bashrc")
    before = b"#" * (3 * PAGE - 1) + b"\n"
    (folder / "bashrc").write_bytes(before)
    if word == "uninstall":
        backup = startup_file.add("bash", home.path / ".bashrc").backup
        assert backup is not None
        backup.unlink()
    was = held(folder)
    ran = run_on_small_disk(
        folder, f"size={pages * PAGE}", "shell", word, "bash", "--yes", env={"HOME": str(home.path)}
    )
    if pages < 40:
        assert (ran.code, held(folder)) == (1, was), ran.err
        assert ran.err.count("\n") == 1 and "No space left" in ran.err
    else:
        assert ran.code == 0, ran.err
        line = plugin.line("bash").encode() + b"\n"
        assert (folder / "bashrc").read_bytes() == (before + line if word == "install" else before)


def test_a_unit_that_cannot_be_written_or_removed(home: Home) -> None:
    systemd = paths.config_dir().parent / "systemd"
    config = systemd.parent
    config.mkdir(parents=True, exist_ok=True)
    (config / "full").write_bytes(b"#" * PAGE)
    was = held(config)
    ran = run_on_small_disk(config, f"size={PAGE}", "hub", "install", "--yes")
    assert (ran.code, held(config)) == (1, was)
    assert f"Cannot write {systemd}/user/" in ran.err and "No space left" in ran.err and "None" not in ran.err

    unit = keeper_unit.planned(["x"], "linux")
    keeper_unit.write(unit)
    wants = unit.file.parent / "default.target.wants"
    wants.mkdir()
    (wants / unit.file.name).symlink_to(unit.file)
    ran = run_on_small_disk(wants, "ro", "hub", "install", "--remove", "--yes")
    assert ran.code == 1 and f"Cannot remove {wants / unit.file.name}: Read-only" in ran.err
    assert not unit.file.exists()
    again = run_gsh("hub", "install", "--remove", "--yes", "--json")
    assert (again.code, again.json["changed"], held(wants)) == (0, True, {})


def test_servers_are_imported_all_or_none(tmp_path: Path) -> None:
    servers = {name: {"command": name, "args": ["x" * 3000]} for name in ("one", "two", "three")}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    folder = paths.config_dir(create=True)
    paths.config_file().write_text(f"#{'x' * 4000}\n", "utf-8")
    was = held(folder)
    ran = run_on_small_disk(folder, f"size={3 * PAGE}", "mcp", "import", "claude", "--yes", cwd=tmp_path)
    assert (ran.code, held(folder)) == (1, was), ran.err
    assert "one, two, three were not written" in ran.err and "No space left" in ran.err


def test_an_import_of_commands_that_ends_early_says_what_stays(tmp_path: Path) -> None:
    history = tmp_path / "history"
    history.write_text("".join(f": {1_700_000_000 + n}:0;echo {n} {'x' * 200}\n" for n in range(20_000)), "utf-8")
    assert run_gsh("shell", "log", "--json").json == []
    data = paths.data_dir()
    ran = run_on_small_disk(data, "size=9m", "shell", "import", "zsh", str(history))
    kept = len(run_gsh("shell", "export", "-").lines)
    assert ran.code == 1 and 0 < kept < 20_000, (ran.err, kept)
    assert f"{kept} of 20000 commands were imported, and stay." in ran.err, ran.err
    again = run_gsh("shell", "import", "zsh", str(history), "--json").json
    assert (again["known"], again["added"]) == (kept, 20_000 - kept)

    out = tmp_path / "out"
    out.mkdir()
    full = run_on_small_disk(out, f"size={8 * PAGE}", "shell", "export", str(out / "file"))
    assert (full.code, held(out)) == (1, {}) and "No space left" in full.err, full.err


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two prompts; the first of them made a large file, and the second one deleted it."""
    folder = tmp_path / "parent" / "project"
    folder.mkdir(parents=True)
    run_git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-qm", "first")
    (folder / "large").write_bytes(os.urandom(1 << 20))
    for session, words in (("new", "run echo two > a.txt"), ("latest", "run rm large; echo three > a.txt; echo n > n")):
        assert run_gsh("prompt", "--yes", "--session", session, words, cwd=folder).code == 0
    return folder


def test_a_rewind_that_finds_a_full_disk(project: Path) -> None:
    was, sessions = held(project), run_gsh("session", "ls", "--json", cwd=project).json
    ran = run_on_small_disk(project, "size=900k", "rewind", "1", cwd=project)
    assert ran.code == 1 and "unable to write file large" in ran.err, ran.err
    after = held(project)
    differ = {name for name in was.keys() | after.keys() if was.get(name) != after.get(name)}
    assert all(name in ran.err for name in differ), (differ, ran.err)
    assert run_gsh("session", "ls", "--json", cwd=project).json == sessions
    assert run_gsh("rewind", "1", "--overwrite", "--json", cwd=project).code == 0
    redo = run_gsh("redo", "--json", cwd=project)
    assert (redo.code, held(project)) == (0, was)


def test_a_fork_whose_files_find_no_room_leaves_no_worktree(project: Path) -> None:
    parent = project.parent
    sessions = run_gsh("session", "ls", "--json", cwd=project).json
    worktrees = run_git(project, "worktree", "list"), run_git(project, "branch", "-a")
    number = run_gsh("session", "show", "--json", cwd=project).json["messages"]
    second = next(n for n in range(2, len(number) + 1) if number[n - 1]["message"]["role"] == "user")
    ran = run_on_small_disk(parent, "size=1m", "fork", str(second - 1), "--worktree", "side", cwd=project)
    assert ran.code == 1, (ran.out, ran.err)
    assert [path.name for path in parent.iterdir()] == ["project"]
    assert (run_git(project, "worktree", "list"), run_git(project, "branch", "-a")) == worktrees
    assert run_gsh("session", "ls", "--json", cwd=project).json == sessions


@pytest.mark.parametrize("fails", ["tar", "check", "mv 1", "mv 2", ""])
def test_a_hosts_older_package_stays_until_the_new_one_is_in_its_place(tmp_path: Path, fails: str) -> None:
    base, stubs = tmp_path / "data" / "gsh" / "tools", tmp_path / "stubs"
    (base / "9.9").mkdir(parents=True)
    (base / "9.9" / "old").write_text("old\n")
    was = held(base)
    stubs.mkdir()
    program, _, number = fails.partition(" ")
    if number:
        stub = stubs / "mv"
        stub.write_text(
            f'#!/bin/sh\necho >>{stubs}/n; [ $(wc -l <{stubs}/n) = {number} ] && exit 1\nexec /bin/mv "$@"\n'
        )
        stub.chmod(0o755)
    archive = b"broken"
    if program != "tar":
        (tmp_path / "tools.py").write_text(f"raise SystemExit({int(program == 'check')})\n")
        archive = subprocess.run(
            ["tar", "-czf", "-", "-C", str(tmp_path), "tools.py"], check=True, capture_output=True
        ).stdout
    script = vars(host_package)["_INSTALL"]
    ran = subprocess.run(
        ["sh", "-c", script, "sh", "9.9", sys.executable],
        input=archive,
        capture_output=True,
        env={"XDG_DATA_HOME": str(tmp_path / "data"), "PATH": f"{stubs}:{os.environ['PATH']}"},
        check=False,
    )
    assert bool(ran.returncode) == bool(fails), ran.stderr
    if fails:
        assert held(base) == was
    else:
        assert held(base).keys() == {"9.9", "9.9/python", "9.9/tools.py"}
