"""What every part of the record has in common: it reads on the connection's thread, and writes by the one writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gshtui.store.database import Database
    from gshtui.store.record_writer import RecordWriter


class Table:
    """A part of the record, shared by all processes.

    Every coroutine of it raises `StoreError` and no other error, and returns when what it writes is committed.
    """

    def __init__(self, database: Database, writer: RecordWriter) -> None:
        self._read = database.run
        self._write = writer.submit
