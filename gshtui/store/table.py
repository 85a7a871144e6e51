"""What every part of the record shares: it reads on the connection's thread, and writes through the one writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gshtui.store.database import Database
    from gshtui.store.record_writer import RecordWriter


class Table:
    """A part of the record, shared by all processes.

    Its coroutines raise only `StoreError`, and return once their data is committed.
    """

    def __init__(self, database: Database, writer: RecordWriter) -> None:
        self._read = database.run
        self._write = writer.submit
