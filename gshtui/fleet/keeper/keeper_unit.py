"""The file that makes the system start the keeper at login: a user unit of systemd, or an agent of launchd.

Says what it would be, writes and removes it; whether the system uses it is left to the person, who gets the commands
for that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gshtui.settings import paths
from gshtui.system.files import private_files

_LABEL = "gsh-tui-hub"
_WANTED = "default.target.wants"
"""Folder of links to the units that systemd starts at login."""


class KeeperUnit(msgspec.Struct, frozen=True):
    """The file, and the commands that make the system take notice of it."""

    file: Path
    content: bytes
    installed: bool
    """The file is there, and says this."""
    after_writing: list[str]
    after_removing: list[str]


def planned(program: Sequence[str], platform: str) -> KeeperUnit:
    """What would be written, and where.

    Args:
        program: the keeper's program and arguments.
        platform: as in `sys.platform`.
    """
    is_mac = platform == "darwin"
    file = (
        Path.home() / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
        if is_mac
        else paths.config_dir().parent / "systemd" / "user" / f"{_LABEL}.service"
    )
    content = _plist(program) if is_mac else _unit(program)
    reload = "systemctl --user daemon-reload"
    return KeeperUnit(
        file,
        content,
        _read(file) == content,
        [f"launchctl load -w {file}"] if is_mac else [reload, f"systemctl --user enable --now {_LABEL}"],
        [f"launchctl remove {_LABEL}"] if is_mac else [f"systemctl --user stop {_LABEL}", reload],
    )


def write(unit: KeeperUnit) -> None:
    """Write the file. Raises `OSError`; then no folder made for it is left."""
    folders = [folder for folder in unit.file.parents if not folder.exists()]
    try:
        unit.file.parent.mkdir(parents=True, exist_ok=True)
        private_files.write_whole(unit.file, unit.content)
    except OSError:
        with contextlib.suppress(OSError):
            for folder in folders:
                folder.rmdir()
        raise


def is_there(unit: KeeperUnit) -> bool:
    """Whether there is something to remove. Blocks for a moment."""
    return unit.file.exists() or _link(unit).is_symlink()


def remove(unit: KeeperUnit) -> None:
    """Remove the file, if it is there, and the link by which systemd starts it. Raises `OSError`, with what stays."""
    unit.file.unlink(missing_ok=True)
    # `systemctl disable` would remove the link too, but knows nothing of a unit whose file is gone.
    _link(unit).unlink(missing_ok=True)


def _link(unit: KeeperUnit) -> Path:
    return unit.file.parent / _WANTED / unit.file.name


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None


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
WantedBy={_WANTED.removesuffix(".wants")}
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
