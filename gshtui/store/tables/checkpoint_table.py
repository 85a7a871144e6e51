"""The table `checkpoints`: which tree of a folder's shadow repository stands for its files at a prompt."""

from __future__ import annotations

import sqlite3
import time
from typing import Literal

import msgspec

from gshtui.store.engine.table import Table
from gshtui.store.tables.session_table import lineage

Kind = Literal["before", "after", "rewound"]
"""Before a prompt's turn, after it, or as the files were when a rewind left them."""


class Checkpoint(msgspec.Struct, frozen=True):
    """The files of a folder at one moment. `id` counts all of them, in their order."""

    id: int
    session: str
    message: str
    """Id of the prompt; `rewound`: the conversation that was left."""
    kind: str
    folder: str
    tree: str
    at: float


def add_checkpoint(
    connection: sqlite3.Connection, session: str, message: str, kind: Kind, folder: str, tree: str
) -> None:
    """Note a checkpoint of a conversation at a prompt."""
    connection.execute(
        "INSERT INTO checkpoints (session, message, kind, folder, tree, at) VALUES (?, ?, ?, ?, ?, ?)",
        (session, message, kind, folder, tree, time.time()),
    )


def find_checkpoints(connection: sqlite3.Connection, session: str, folder: str) -> list[Checkpoint]:
    """Those of a conversation and of what it goes on from, oldest first."""
    found: list[Checkpoint] = []
    for owner, _ in lineage(connection, session):
        rows = connection.execute(
            "SELECT id, session, message, kind, folder, tree, at FROM checkpoints WHERE session = ? AND folder = ?",
            (owner, folder),
        )
        found += [Checkpoint(*row) for row in rows]
    return sorted(found, key=lambda one: one.id)


class CheckpointTable(Table):
    """`store.checkpoints`."""

    add = Table.writes(add_checkpoint)
    find_all = Table.reads(find_checkpoints)

    async def trees(self, folder: str) -> set[str]:
        """All trees of a folder that are in use."""

        def look(connection: sqlite3.Connection) -> set[str]:
            rows = connection.execute("SELECT DISTINCT tree FROM checkpoints WHERE folder = ?", (folder,))
            return {str(tree) for (tree,) in rows}

        return await self._read(look)

    async def forget_old(self, folder: str, before: float) -> None:
        """Delete those of a folder that are older than this time."""

        def drop(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM checkpoints WHERE folder = ? AND at < ?", (folder, before))

        await self._write(drop)
