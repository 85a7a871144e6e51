"""To which servers of which projects a person has agreed: each by the hash of exactly what it runs. Kept 0600."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gshtui.settings import paths
from gshtui.system import private_files
from gshtui.system.file_lock import blocking_lock
from gshtui.system.struct_types import learned


class _Agreed(msgspec.Struct):
    """Project → server → hash."""

    projects: dict[str, dict[str, str]] = {}


def is_agreed(project: Path, server: str, digest: str) -> bool:
    """Whether a person has agreed to exactly this. An unreadable file agrees to nothing. Blocks for a moment."""
    return _read().projects.get(str(project), {}).get(server) == digest


def agree(project: Path, server: str, digest: str) -> None:
    """Note that a person has agreed. Blocks for a moment. Raises `OSError`."""
    paths.data_dir()
    private_files.make_folder(_file().parent)
    with blocking_lock(_file().with_suffix(".lock")):
        known = _read()
        known.projects.setdefault(str(project), {})[server] = digest
        private_files.write_whole(_file(), msgspec.json.encode(known), sync=True)


def _read() -> _Agreed:
    try:
        return msgspec.json.decode(_file().read_bytes(), type=learned(_Agreed))
    except (OSError, msgspec.DecodeError):
        return _Agreed()


def _file() -> Path:
    return paths.data_dir(create=False) / "mcp" / "agreed-projects.json"
