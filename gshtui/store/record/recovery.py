"""Recovers a damaged record: sets it aside untouched and copies everything still readable into a new one.

The order of steps loses nothing in a crash. Runs while the record is opened, under the opening lock.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from gshtui.store.engine import migrations
from gshtui.store.engine.record_files import beside, with_companions
from gshtui.system.files import private_files

Prepare = Callable[[Path], sqlite3.Connection]


def quick_check(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the file's structure; empty if it is intact. Takes as long as reading the file."""
    found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
    return [] if found == ["ok"] else found


def mark(path: Path) -> None:
    """Remember for the next start that the record was found damaged."""
    beside(path, ".damaged").touch(mode=0o600)


def is_marked(path: Path) -> bool:
    """Whether it was found damaged and not recovered yet."""
    return beside(path, ".damaged").exists()


def recover(path: Path, prepare: Prepare) -> tuple[str, str]:
    """Replace the damaged record with a new one that holds everything still readable.

    Args:
        path: the damaged record.
        prepare: opens an empty file with our pragmas.

    Returns:
        What to tell a person: how much was recovered, and where the damaged file is.
    """
    from gshtui.store.record import record_copy  # late import: it knows every table, and only a damaged record needs it

    room = _room(path)
    shutil.rmtree(room, ignore_errors=True)
    private_files.make_folder(room)
    copy, fresh, template = room / "old.db", room / "new.db", room / "empty.db"
    shutil.copyfile(path, copy)
    if (log := beside(path, "-wal")).exists():
        shutil.copyfile(log, beside(copy, "-wal"))
    _empty(template, prepare).close()
    with contextlib.closing(_empty(fresh, prepare)) as target:
        told = record_copy.copy_all(copy, template, target)
    fresh.rename(room / "complete.db")
    kept = _swap(path)
    return told, f"The damaged file is kept as {kept}."


def finish_interrupted(path: Path) -> None:
    """Finish a recovery whose process died; call before the record is read."""
    room = _room(path)
    if not room.exists():
        return
    if (room / "complete.db").exists() and not path.exists():
        _swap(path)
    shutil.rmtree(room, ignore_errors=True)


def _room(path: Path) -> Path:
    return beside(path, ".recovering")


def _swap(path: Path) -> Path:
    kept = beside(path, time.strftime(".corrupt-%Y%m%d-%H%M%S"))
    number = 1
    while kept.exists():
        number += 1
        kept = beside(path, time.strftime(f".corrupt-%Y%m%d-%H%M%S-{number}"))
    for old, new in zip(with_companions(path), with_companions(kept), strict=True):
        if old.exists():
            old.rename(new)
    _, log, index = with_companions(kept)
    if not (log.exists() and log.stat().st_size):
        for useless in (log, index):
            useless.unlink(missing_ok=True)
    room = _room(path)
    (room / "complete.db").rename(path)
    path.chmod(0o600)
    beside(path, ".damaged").unlink(missing_ok=True)
    shutil.rmtree(room, ignore_errors=True)
    return kept


def _empty(path: Path, prepare: Prepare) -> sqlite3.Connection:
    connection = prepare(path)
    migrations.migrate(connection, path)
    return connection
