"""The data folder and the record in it: rights, room on the disk, and whether the file is sound.

Makes no record where there is none. A damaged one is recovered by opening it, which is said.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from gshtui.headless.doctor.finding import Finding
from gshtui.settings import paths
from gshtui.settings.load import Loaded

GROUP = "Record"
LITTLE = 200 * 1024 * 1024
"""Bytes of free disk below which it is a problem."""


async def examine(loaded: Loaded) -> list[Finding]:
    """Findings about the folders and the record."""
    folder = loaded.settings.general.session_dir
    findings = [_folder("data folder", folder), _folder("state folder", paths.state_dir(create=False)), _runtime()]
    findings.append(_room(folder))
    findings += await _file(folder / "gsh.db", loaded)
    return findings


def _folder(name: str, folder: Path) -> Finding:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        return Finding(GROUP, name, "problem", f"{existing} is not a folder", f"mv {existing} {existing}.old", True)
    if not os.access(existing, os.W_OK | os.X_OK):
        return Finding(GROUP, name, "problem", f"{existing} cannot be written to", f"chmod u+rwx {existing}", True)
    if existing != folder:
        return Finding(GROUP, name, "ok", f"{folder} is made when it is needed", needed=True)
    found = folder.stat()
    if found.st_uid != os.geteuid():
        fix = f"sudo chown -R {os.geteuid()} {folder}"
        return Finding(GROUP, name, "problem", f"{folder} belongs to user {found.st_uid}, not to you", fix, True)
    if stat.S_IMODE(found.st_mode) & 0o077:
        return Finding(GROUP, name, "problem", f"{folder} is open to others", f"chmod 700 {folder}", True)
    return Finding(GROUP, name, "ok", str(folder), needed=True)


def _runtime() -> Finding:
    try:
        return Finding(GROUP, "runtime folder", "ok", str(paths.runtime_dir()), needed=True)
    except OSError as error:
        return Finding(GROUP, "runtime folder", "problem", str(error), "export XDG_RUNTIME_DIR=…", needed=True)


def _room(folder: Path) -> Finding:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        free = shutil.disk_usage(existing).free
    except OSError as error:
        return Finding(GROUP, "free disk", "problem", f"not known: {error.strerror or error}")
    said = f"{free / 1024**3:.1f} GB"
    if free < LITTLE:
        return Finding(GROUP, "free disk", "problem", said, "make room: the record cannot grow", needed=True)
    return Finding(GROUP, "free disk", "ok", said, needed=True)


async def _file(file: Path, loaded: Loaded) -> list[Finding]:
    if not file.exists():
        return [Finding(GROUP, "record", "ok", f"{file} is made when it is needed", needed=True)]
    from gshtui.store.errors import StoreError
    from gshtui.store.store import Store

    notices: list[str] = []
    try:
        synchronous = loaded.settings.store.synchronous
        store = await Store.open(
            file, synchronous=synchronous, on_notice=lambda text, hint: notices.append(f"{text} {hint}".rstrip())
        )
    except StoreError as error:
        return [Finding(GROUP, "record", "problem", error.message, error.hint, needed=True)]
    try:
        faults = await store.check()
    except StoreError as error:
        faults = [error.message]
    finally:
        await store.close()
    findings = [Finding(GROUP, "record", "note", notice) for notice in notices]
    if faults:
        fix = "close every gsh-tui and start one: it keeps the damaged file and recovers what can be read"
        return [*findings, Finding(GROUP, "record", "problem", f"{file}: {'; '.join(faults[:3])}", fix, needed=True)]
    size = file.stat().st_size / 1024**2
    return [*findings, Finding(GROUP, "record", "ok", f"{file} is sound ({size:.1f} MB)", needed=True)]
