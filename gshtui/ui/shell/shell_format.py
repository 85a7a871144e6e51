"""The cells of the shell log's rows: time, folder, terminal, result and duration of a command.

Pure; the caller sanitises untrusted text.
"""

from __future__ import annotations

import time
from pathlib import Path

from gshtui.bus.shell_data import ShellRecord
from gshtui.text import units

SIGNS = {"running": "●", "lost": "?"}
_DAY = 86_400


def clock(at: float, now: float) -> str:
    """The local time of day, `14:05:12`; for another day its date, `20 Nov`, or `Nov 2025`."""
    then, today = time.localtime(at), time.localtime(now)
    if then[:3] == today[:3]:
        return time.strftime("%H:%M:%S", then)
    return time.strftime("%d %b" if then.tm_year == today.tm_year else "%b %Y", then)


def moment(at: float) -> str:
    """Date and time, `2026-11-20 14:05:12`, local."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def duration(record: ShellRecord, now: float) -> str:
    """How long a command took, or has been running."""
    if record.state == "running":
        return units.duration(max(0.0, now - record.at))
    return units.duration(record.duration) if record.duration is not None else ""


def notable(record: ShellRecord, now: float) -> str:
    """The same where there is little room: empty for less than a second."""
    return "" if record.state == "done" and (record.duration or 0.0) < 1 else duration(record, now)


def sign(record: ShellRecord) -> str:
    """`✓`, `✗`, `●` while it runs, `?` if the result is unknown."""
    if record.state != "done":
        return SIGNS[record.state]
    if record.exit is None:
        return SIGNS["lost"]
    return "✗" if record.exit else "✓"


def ended(record: ShellRecord) -> str:
    """How it ended, in a word: `ok`, `exit 2`, `runs`, `lost`, `no exit code` for a stopped one."""
    if record.state != "done":
        return "runs" if record.state == "running" else "lost"
    if record.exit is None:
        return "no exit code"
    return f"exit {record.exit}" if record.exit else "ok"


def terminal(record: ShellRecord) -> str:
    """Where it ran: the agent's name, or the terminal without `/dev/`."""
    return record.agent or record.tty.removeprefix("/dev/") or record.pane or record.source


def folder(path: str, project: str, home: str = "") -> str:
    """A short form of a folder: `.` is the project, `./src` inside it, `~/x` in your home; long ones are shortened."""
    home = home or str(Path.home())
    for base, short in ((project, "."), (home, "~")):
        if base and base != "/" and (path == base or path.startswith(base + "/")):
            path = short + path[len(base) :]
            break
    parts = path.split("/")
    return path if len(parts) <= 4 else "/".join([parts[0], "…", *parts[-2:]])
