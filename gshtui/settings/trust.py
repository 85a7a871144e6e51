"""Which folders' own configuration may count: those that a person trusted, with the very content they trusted.

Kept in the data folder, 0600, written whole or not at all. Trusting starts nothing. Changed content is untrusted again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal, cast

from gshtui.settings import paths
from gshtui.settings.reading import read_bytes

State = Literal["trusted", "changed", "untrusted"]


class TrustError(OSError):
    """The list of trusted folders cannot be read or written; the text is one sentence."""


def file() -> Path:
    """Where the list is kept."""
    return paths.data_dir(create=False) / "trusted.json"


def digest(raw: bytes | None) -> str:
    """What identifies a configuration's content; `None` is the absence of one."""
    return hashlib.sha256(raw).hexdigest() if raw is not None else "none"


def state(root: Path, raw: bytes | None) -> State:
    """Whether this content of the folder's configuration is trusted. A list that cannot be read trusts nothing."""
    try:
        entry = _read().get(str(root.resolve()))
    except TrustError:
        return "untrusted"
    if not isinstance(entry, dict):
        return "untrusted"
    return "trusted" if cast("dict[str, Any]", entry).get("hash") == digest(raw) else "changed"


def trust(root: Path, raw: bytes | None) -> None:
    """Trust the folder with this content of its configuration. Raises `TrustError`."""
    with _locked():
        folders = _read()
        folders[str(root.resolve())] = {"hash": digest(raw), "at": int(time.time())}
        _write(folders)


def revoke(root: Path) -> bool:
    """Trust the folder no longer; whether it was on the list. Raises `TrustError`."""
    with _locked():
        folders = _read()
        was = folders.pop(str(root.resolve()), None)
        if was is not None:
            _write(folders)
    return was is not None


def _read() -> dict[str, Any]:
    try:
        raw = read_bytes(file())
    except OSError as error:
        raise TrustError(f"{file()} cannot be read: {error.strerror or error}.") from error
    if raw is None:
        return {}
    try:
        data: Any = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise TrustError(f"{file()} is damaged; remove it and trust your folders again.") from error
    folders: Any = cast("dict[str, Any]", data).get("folders") if isinstance(data, dict) else None
    if not isinstance(folders, dict):
        raise TrustError(f"{file()} is damaged; remove it and trust your folders again.")
    return cast("dict[str, Any]", folders)


def _write(folders: dict[str, Any]) -> None:
    target = file()
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(fresh, flags, 0o600), "w", encoding="utf-8") as out:
            json.dump({"version": 1, "folders": folders}, out, indent=1)
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise TrustError(f"{target} cannot be written: {error.strerror or error}.") from error


@contextlib.contextmanager
def _locked() -> Generator[None]:
    """One writer at a time, among all processes of this user."""
    try:
        folder = paths.data_dir()
        descriptor = os.open(folder / "trusted.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise TrustError(f"{file()} cannot be written: {error.strerror or error}.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
