"""The part of the record's contract that is about what ran in shells; `Store` is one of these.

Owns the coroutines over the tables `history` and `shell_notes`; refuses nothing itself, see `history`. Used by the
shell log, its pane, the context's search and the faces.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import msgspec

from gshtui.bus.shell import ShellNote, ShellRecord
from gshtui.bus.shell_rows import Filter, Span
from gshtui.store import history, history_query, outputs, shell_notes, shell_rows
from gshtui.store.connection import Database
from gshtui.store.history_query import EVERYTHING, Wanted
from gshtui.store.writer import Writer


class ShellHistory:
    """Commands on disk, shared by all processes. Every coroutine raises `StoreError`, and returns when committed."""

    _database: Database
    _writer: Writer

    async def keep_record(self, record: ShellRecord) -> ShellRecord:
        """Keep a command, or what is new about it (the same shell and number); the whole of what is known now."""
        return (await self.keep_records([record]))[0][0]

    async def keep_records(
        self, records: Sequence[ShellRecord], notes: Sequence[tuple[ShellNote, int]] = ()
    ) -> tuple[list[ShellRecord], list[ShellNote | None]]:
        """Keep commands and notes in one transaction.

        Args:
            records: see `keep_record`.
            notes: each with the number of its shell's line, 0 for none.

        Returns:
            The commands' rows as they are now, and the notes; `None` for one that was kept before.
        """

        def work(connection: Any) -> tuple[list[ShellRecord], list[ShellNote | None]]:
            kept = history.keep(connection, records)
            return kept, [shell_notes.add(connection, note, seq) for note, seq in notes]

        return await self._writer.submit(work)

    async def history(
        self,
        *,
        query: str = "",
        cwd: str = "",
        exit: int | None = None,
        after: float | None = None,
        before: float | None = None,
        shell: str = "",
        failed: bool = False,
        agent: str | None = None,
        branch: str = "",
        state: str = "",
        source: str = "",
        limit: int = 50,
    ) -> list[ShellRecord]:
        """The newest commands that fit everything given, newest first.

        Args:
            query: words that must all occur, anywhere in the command and in capitals or not; nothing in it is syntax.
            cwd: ran in this folder or below.
            exit: ended with this status; `failed`: with any but 0.
            after: not before this time, `before`: earlier than this one; seconds since the epoch.
            agent: ran by the agent of this name; empty text: by a person; `None`: by whomever.
            limit: rows, 10,000 at most.
        """
        wanted = Wanted(query, cwd, exit, failed, after, before, shell, agent, branch, state, source)
        return await self.history_where(wanted, limit=limit)

    async def history_where(self, wanted: Wanted, *, limit: int = 50, oldest: bool = False) -> list[ShellRecord]:
        """As `history`, with the wishes in one piece; with `oldest`, the oldest that fit, oldest first."""
        return await self._database.run(partial(history_query.find, wanted=wanted, limit=limit, oldest=oldest))

    async def history_page(self, before_id: int | None, limit: int, wanted: Wanted = EVERYTHING) -> list[ShellRecord]:
        """The newest `limit` commands older than the row `before_id` (`None`: of all), oldest first."""
        wanted = msgspec.structs.replace(wanted, before_id=before_id)
        return (await self.history_where(wanted, limit=limit))[::-1]

    async def history_window(self, start: int, limit: int) -> list[ShellRecord]:
        """Commands by their place, counted from 0 at the oldest one, oldest first."""
        return await self._database.run(partial(history_query.at_place, start=start, limit=limit))

    async def history_count(self, wanted: Wanted = EVERYTHING) -> int:
        """How many commands there are (that fit). Without wishes it costs nothing, however many there are."""
        return await self._database.run(partial(history_query.number_of, wanted=wanted))

    async def shell_rows(self, wanted: Filter, start: int, limit: int) -> Span:
        """Commands and notes by their numbers among those that fit, oldest first; see `shell_rows.span`."""
        return await self._database.run(partial(shell_rows.span, wanted=wanted, start=start, limit=limit))

    async def running_records(self) -> list[ShellRecord]:
        """Commands of which no end is known, oldest first."""
        return await self._database.run(history.running)

    async def close_lost(self, shells: Collection[str]) -> list[ShellRecord]:
        """Close, as `lost`, what still counts as running in shells that are gone."""

        def work(connection: Any) -> list[ShellRecord]:
            closed = history.close_lost(connection, shells)
            for shell in shells:
                shell_notes.forget_shell(connection, shell)
            return closed

        return await self._writer.submit(work)

    async def put_shell_output(self, shell: str, number: int, text: str) -> ShellRecord | None:
        """Keep what a command printed, to be read with `output`; its row, `None` when there is none (any more)."""
        kept = await asyncio.to_thread(outputs.prepared, text)
        lines = text.count("\n") + bool(text and not text.endswith("\n"))
        return await self._writer.submit(lambda connection: history.put_output(connection, shell, number, kept, lines))

    async def import_records(self, records: Sequence[ShellRecord]) -> int:
        """Add those that are not there yet, by shell and number; how many there were."""
        return await self._writer.submit(lambda connection: history.add_new(connection, records))

    async def forget_history(self, ids: Collection[int]) -> int:
        """Remove commands, and what only they printed; how many there were."""
        return await self._writer.submit(lambda connection: history.forget(connection, ids))

    async def trim_history(self, most: int) -> int:
        """One small step towards holding `most` commands and notes; how many commands it removed, 0 at the end."""

        def work(connection: Any) -> int:
            shell_notes.trim(connection, most)
            return history.trim(connection, most)

        return await self._writer.submit(work)

    async def keep_note(self, note: ShellNote) -> ShellNote:
        """Keep a remark, a change of folder or of a file."""
        kept = await self._writer.submit(lambda connection: shell_notes.add(connection, note))
        return kept or note

    async def keep_note_once(self, note: ShellNote, seconds: float) -> None:
        """Keep a note, unless somebody kept the same one in the last seconds."""
        await self._writer.submit(lambda connection: shell_notes.add_once(connection, note, seconds))

    async def notes(
        self,
        *,
        after: float | None = None,
        before: float | None = None,
        shell: str = "",
        kind: str = "",
        limit: int = 50,
    ) -> list[ShellNote]:
        """The newest notes that fit, newest first. Times in seconds since the epoch."""
        wanted = partial(shell_notes.listed, after=after, before=before, shell=shell, kind=kind, limit=limit)
        return await self._database.run(wanted)

    async def keep_shell(self, shell: str, data: str, at: float) -> None:
        """Remember what a running shell said of itself (JSON), for the next hub."""
        await self._writer.submit(lambda connection: shell_notes.set_shell(connection, shell, data, at))

    async def known_shells(self) -> dict[str, str]:
        """What shells that may still run said of themselves, by their ids."""
        return await self._database.run(shell_notes.shells)
