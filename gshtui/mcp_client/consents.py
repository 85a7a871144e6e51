"""To which servers of which projects a person has agreed: each by the hash of exactly what it runs. Kept 0600."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

import msgspec

from gshtui.settings import paths
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import blocking_lock
from gshtui.system.struct_types import learned


class _Agreed(msgspec.Struct, omit_defaults=True):
    """Project → server → hash."""

    projects: dict[str, dict[str, str]] = {}
    told: tuple[str, ...] = ()
    """Hashes of servers of which a person was told that they can be used."""


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


def first_time(servers: list[str]) -> bool:
    """Whether one of these was never told of; notes that it is now. Blocks for a moment."""
    marks = {hashlib.sha256(one.encode(errors="replace")).hexdigest()[:32] for one in servers}
    if marks <= set(_read().told):
        return False
    with contextlib.suppress(OSError):
        paths.data_dir()
        private_files.make_folder(_file().parent)
        with blocking_lock(_file().with_suffix(".lock")):
            known = _read()
            known.told = tuple(sorted({*known.told[-1_000:], *marks}))
            private_files.write_whole(_file(), msgspec.json.encode(known), sync=True)
    return True


def _read() -> _Agreed:
    try:
        return msgspec.json.decode(_file().read_bytes(), type=learned(_Agreed))
    except (OSError, msgspec.DecodeError):
        return _Agreed()


def _file() -> Path:
    return paths.data_dir(create=False) / "mcp" / "agreed-projects.json"
