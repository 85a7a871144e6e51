"""Leaving the login session, and telling its end, with systemd's answers from a program in its place."""

import os
import pwd
from pathlib import Path

import pytest

from gshtui.system import login_session

SESSION = "0::/user.slice/user-1000.slice/session-3.scope\n"
TERMINAL = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope\n"
SERVICE = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/gsh-tui-hub.service\n"
OLD = "4:memory:/m\n1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n0::/\n"
NONE = "1:name=systemd:/\n0::/\n"

BUSCTL = """#!/bin/sh
case "$*" in
    *KillUserProcesses) echo "b {kills}" ;;
    *) echo "$*" >> {calls} ;;
esac
"""


class Machine:
    """A machine with systemd, in a folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._patch = monkeypatch
        monkeypatch.setattr(login_session, "_STATES", folder / "run")
        monkeypatch.setattr(login_session, "_LINGERS", folder / "linger")
        monkeypatch.setattr(os, "getuid", lambda: 1000)
        monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.getpwnam("nobody"))

    def calls_of_leaving(self, group: str, *, kills: str = "false", lingers: bool = False) -> list[str]:
        """What the user's systemd is asked for."""
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        program = self.folder / "busctl"
        program.write_text(BUSCTL.format(kills=kills, calls=calls))
        program.chmod(0o755)
        self._patch.setenv("PATH", f"{self.folder}:{os.environ['PATH']}")
        (self.folder / "linger").mkdir(exist_ok=True)
        mark = self.folder / "linger" / "nobody"
        if lingers:
            mark.touch()
        else:
            mark.unlink(missing_ok=True)
        self.group(group)
        login_session.leave()
        return calls.read_text().splitlines() if calls.exists() else []

    def group(self, text: str) -> None:
        """The control group of this process."""
        file = self.folder / "cgroup"
        file.write_text(text)
        self._patch.setattr(login_session, "_GROUP", file)

    def state(self, name: str, text: str | None) -> None:
        """What logind says of a session or a user; `None`: it knows none."""
        file = self.folder / "run" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            file.unlink(missing_ok=True)
        else:
            file.write_text(text)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("group", "kills", "lingers", "moves"),
    [
        (SESSION, "false", False, False),  # it outlives the logout where it is
        (SESSION, "true", False, True),
        (SESSION, "false", True, True),
        (OLD, "true", False, True),
        (TERMINAL, "false", False, True),
        (SERVICE, "true", True, False),
        (NONE, "true", True, False),
    ],
)
def test_it_moves_only_where_it_lives_longer(
    machine: Machine, group: str, kills: str, lingers: bool, moves: bool
) -> None:
    calls = machine.calls_of_leaving(group, kills=kills, lingers=lingers)
    assert len(calls) == moves
    for line in calls:
        assert line.startswith("--user call org.freedesktop.systemd1 ")
        assert f"gsh-hub-{os.getpid()}.scope fail 3" in line
        assert f"PIDs au 1 {os.getpid()} " in line


@pytest.mark.parametrize("name", ["absent", "failing"])
def test_without_an_answer_it_stays(machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    machine.group(TERMINAL)
    monkeypatch.setenv("PATH", str(machine.folder))
    if name == "failing":
        (machine.folder / "busctl").write_text("#!/bin/sh\nexit 1\n")
        (machine.folder / "busctl").chmod(0o755)
    login_session.leave()


@pytest.mark.parametrize(("group", "name"), [(SESSION, "sessions/3"), (TERMINAL, "users/1000")])
def test_a_logout_is_told_by_the_state_of_session_or_user(machine: Machine, group: str, name: str) -> None:
    machine.group(group)
    assert not login_session.is_ending(), "a machine without logind"
    for text, ends in (("UID=1\nSTATE=active\n", False), ("UID=1\nSTATE=closing\n", True), (None, True)):
        machine.state(name, text)
        assert login_session.is_ending() == ends, text
    machine.group(NONE)
    assert not login_session.is_ending()
