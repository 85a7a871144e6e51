"""The login session that this process belongs to, where systemd has one: leaving it, and whether it ends.

A session's programs may be ended with it (`KillUserProcesses` of logind), and a terminal's with the terminal. What is
to stay asks the user's own systemd for a place of its own, if that outlives the session. Without systemd, nothing is
done.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import subprocess
from pathlib import Path, PurePosixPath

_STATES = Path("/run/systemd")
_LINGERS = Path("/var/lib/systemd/linger")
_GROUP = Path("/proc/self/cgroup")
_WITHIN = 2.0
_SESSION = re.compile(r"/session-(\w+)\.scope(?:/|$)")
_MANAGER = re.compile(r"/user@\d+\.service/")
_SYSTEMD = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
_LOGIND = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")


def leave() -> None:
    """Move this process to a scope of its own, if it would live longer there. Blocks for a moment; raises nothing."""
    group = _control_group()
    if not PurePosixPath(group).name.endswith(".scope"):
        return  # a service of systemd's, or none of its
    if _SESSION.search(group) and not _lingers() and not _kills():
        return  # here it outlives the logout, and the user's systemd does not
    pid = str(os.getpid())
    properties = ("Description", "s", "gsh-tui: agents, shells and messages", "PIDs", "au", "1", pid)
    _busctl(
        "--user",
        "call",
        *_SYSTEMD,
        "StartTransientUnit",
        "ssa(sv)a(sa(sv))",
        f"gsh-hub-{pid}.scope",
        "fail",
        "3",
        *properties,
        "CollectMode",
        "s",
        "inactive-or-failed",
        "0",
    )


def is_ending() -> bool:
    """Whether the person logs out of it at this moment, which ends this process."""
    group = _control_group()
    if session := _SESSION.search(group):
        return _is_closing(_STATES / "sessions" / session[1])
    return bool(_MANAGER.search(group)) and _is_closing(_STATES / "users" / str(os.getuid()))


def _control_group() -> str:
    """The path of its control group in systemd's tree; empty: there is none."""
    with contextlib.suppress(OSError):
        for line in _GROUP.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in ("", "name=systemd") and path != "/":
                return path
    return ""


def _lingers() -> bool:
    """Whether this user's systemd goes on after they log out."""
    with contextlib.suppress(OSError, KeyError):
        return (_LINGERS / pwd.getpwuid(os.getuid()).pw_name).exists()
    return False


def _kills() -> bool:
    """Whether a logout ends this user's programs; root's it leaves alone."""
    return os.getuid() != 0 and _busctl("get-property", *_LOGIND, "KillUserProcesses") == "b true"


def _is_closing(state: Path) -> bool:
    try:
        return "STATE=closing" in state.read_text().splitlines()
    except FileNotFoundError:
        return state.parent.is_dir()  # logind has forgotten it
    except OSError:
        return False


def _busctl(*words: str) -> str:
    """What it answers; empty: nothing."""
    try:
        done = subprocess.run(
            ["busctl", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_WITHIN, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
