"""The file that makes the system start the keeper at login: a user unit of systemd, or an agent of launchd.

Writes and removes the file; whether the system uses it is left to the person, who gets the commands for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gshtui.settings import paths
from gshtui.system import private_files

_LABEL = "gsh-tui-hub"


@dataclass(frozen=True, slots=True)
class KeeperUnit:
    """The file, and the commands that make the system take notice of it."""

    file: Path
    next: list[str]


def write(program: Sequence[str], platform: str) -> KeeperUnit:
    """Write the file.

    Args:
        program: the keeper's program and arguments.
        platform: as in `sys.platform`.

    Raises:
        OSError: it cannot be written.
    """
    file = _file(platform)
    file.parent.mkdir(parents=True, exist_ok=True)
    content = _plist(program) if platform == "darwin" else _unit(program)
    private_files.write_whole(file, content)
    if platform == "darwin":
        return KeeperUnit(file, [f"launchctl load -w {file}"])
    return KeeperUnit(file, ["systemctl --user daemon-reload", f"systemctl --user enable --now {_LABEL}"])


def remove(program: Sequence[str], platform: str) -> KeeperUnit:
    """Remove the file, if it is there. Arguments and errors as for `write`."""
    del program
    file = _file(platform)
    file.unlink(missing_ok=True)
    if platform == "darwin":
        return KeeperUnit(file, [f"launchctl remove {_LABEL}"])
    return KeeperUnit(file, [f"systemctl --user disable --now {_LABEL}", "systemctl --user daemon-reload"])


def _file(platform: str) -> Path:
    if platform == "darwin":
        return Path.home() / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
    return paths.config_dir().parent / "systemd" / "user" / f"{_LABEL}.service"


def _unit(program: Sequence[str]) -> bytes:
    line = " ".join(_quoted(word) for word in (*program, "--idle", "0"))
    return f"""\
[Unit]
Description=gsh-tui: looks after agents, shells and messages while no window is open

[Service]
ExecStart={line}
Restart=on-failure
RestartSec=5

[Install]
WantedBy=default.target
""".encode()


def _quoted(word: str) -> str:
    """A word of a command line as systemd reads it (systemd.service(5), "Command lines")."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if any(char in word for char in " \t\"'\\;") else escaped


def _plist(program: Sequence[str]) -> bytes:
    fields = {
        "Label": _LABEL,
        "ProgramArguments": [*program, "--idle", "0"],
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
    }
    import plistlib  # with an XML parser, which only this needs

    return plistlib.dumps(fields)
