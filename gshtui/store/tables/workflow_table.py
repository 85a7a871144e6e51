"""The tables of workflow runs: each run with the text of its workflow, and what became of each step.

A step is recorded before it begins and when it has ended, so that after a crash it is known where a run stopped.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import msgspec

from gshtui.bus.workflow_data import StepResult, WorkflowRunRow
from gshtui.store.engine.encoding import clean_text, decoder
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.engine.table import Table

KEPT = 500
"""Runs that are kept; of more, the oldest that have ended are removed."""
_encoder = msgspec.json.Encoder()


def _data(value: WorkflowRunRow | StepResult) -> str:
    return clean_text(_encoder.encode(value).decode("utf-8", "replace"))


def put_run(connection: sqlite3.Connection, row: WorkflowRunRow) -> None:
    """Add a run, or write it anew."""
    connection.execute(
        "INSERT INTO workflow_runs (id, workflow, cwd, state, started, data) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET state = excluded.state, data = excluded.data",
        (row.id, row.workflow, clean_text(row.cwd), row.state, row.started, _data(row)),
    )
    connection.execute(
        "DELETE FROM workflow_runs WHERE state != 'running' AND id NOT IN"
        " (SELECT id FROM workflow_runs ORDER BY started DESC LIMIT ?)",
        (KEPT,),
    )


def put_step(connection: sqlite3.Connection, run: str, number: int, result: StepResult) -> None:
    connection.execute(
        "INSERT INTO workflow_steps (run, number, state, data) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (run, number) DO UPDATE SET state = excluded.state, data = excluded.data",
        (run, number, result.state, _data(result)),
    )


def find(connection: sqlite3.Connection, word: str) -> WorkflowRunRow:
    """The run with this id or the only one whose id begins so. Raises `StoreError`."""
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    found = connection.execute(
        "SELECT data FROM workflow_runs WHERE id LIKE ? ESCAPE '\\' ORDER BY started DESC LIMIT 2", (f"{escaped}%",)
    ).fetchall()
    if not found or not word:
        raise StoreError("unknown", f"There is no run {word[:60]!r}.", hint="`workflow runs` lists them.")
    if len(found) > 1:
        raise StoreError("ambiguous", f"Several runs begin with {word[:60]!r}.", hint="Give more of the id.")
    return decoder(WorkflowRunRow).decode(found[0][0])


def claim(connection: sqlite3.Connection, row: WorkflowRunRow, before: WorkflowRunRow) -> bool:
    """Write the row if the run is still as it was read, so that one process alone goes on with it."""
    found = connection.execute("SELECT data FROM workflow_runs WHERE id = ?", (row.id,)).fetchone()
    if found is None or decoder(WorkflowRunRow).decode(found[0]) != before:
        return False
    put_run(connection, row)
    return True


class WorkflowTable(Table):
    """`store.workflows`: runs of workflows."""

    claim = Table.writes(claim)
    put_run = Table.writes(put_run)

    async def put_steps(self, run: str, results: Mapping[int, StepResult]) -> None:
        """Write what is known of some steps, by number, at once."""

        def write(connection: sqlite3.Connection) -> None:
            for number, result in results.items():
                put_step(connection, run, number, result)

        await self._write(write)

    async def is_cancel_asked(self, run: str) -> bool:
        """Whether another process asked that a run ends. Raises `StoreError`: there is no such run."""
        return (await self.find(run)).cancel_asked

    find = Table.reads(find)

    async def find_all(self, cwd: str | None = None, limit: int = 50) -> list[WorkflowRunRow]:
        """The newest runs of a folder (of any, for `None`), newest first."""

        def read(connection: sqlite3.Connection) -> list[WorkflowRunRow]:
            where, values = ("", []) if cwd is None else ("WHERE cwd = ?", [clean_text(cwd)])
            rows = connection.execute(
                f"SELECT data FROM workflow_runs {where} ORDER BY started DESC LIMIT ?", (*values, limit)
            )
            return [decoder(WorkflowRunRow).decode(data) for (data,) in rows]

        return await self._read(read)

    async def steps(self, run: str) -> dict[int, StepResult]:
        """What is known of each step of a run, by number."""

        def read(connection: sqlite3.Connection) -> dict[int, StepResult]:
            rows = connection.execute("SELECT number, data FROM workflow_steps WHERE run = ? ORDER BY number", (run,))
            return {number: decoder(StepResult).decode(data) for number, data in rows}

        return await self._read(read)
