"""What `gsh-tui shell …` and `gsh run` have the hub do with the shell log: calls of their code, no lines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

import msgspec
from pydantic import Field

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.commands.declaration import Access, Action, AnyAction, Effect, Invocation, Outcome, Parameters, Returns
from gshtui.commands.shell_form import ShellForm
from gshtui.store.record.store import Store
from gshtui.store.tables.command_history import HistoryQuery
from gshtui.system.struct_types import learned

KeepRun = Callable[[ShellRecord, str], Awaitable[ShellRecord]]
"""Stores a command and what it printed, and tells every window. Raises `StoreError`."""
_FORM = ShellForm(parts=frozenset({"store"}))
_IMPORT = ShellForm(parts=frozenset({"store"}), rights=True)
"""What a person typed is a person's: an agent adds none of it."""


class FoundHistory(msgspec.Struct, frozen=True):
    """Commands that shells ran."""

    records: list[ShellRecord]
    outputs: dict[str, str]
    """What they printed, by their ids."""


class FindHistory(Parameters, Returns[FoundHistory]):
    """Commands of the shell log."""

    COMMAND: ClassVar[str] = "note"
    BY_FACE = _FORM
    query: Mapping[str, Any] = Field(default={}, description="A `HistoryQuery`")
    limit: int = Field(default=50, description="The most that are wanted")
    oldest: bool = Field(default=False, description="The first ones, not the last")
    output: bool = Field(default=False, description="With what they printed")


class GrownHistory(msgspec.Struct, frozen=True):
    """How the shell log has grown."""

    added: int
    """Commands; older ones may be trimmed meanwhile."""
    now: int
    """Commands in it."""
    notes: int
    """That are new."""


class AddHistory(Parameters, Returns[GrownHistory]):
    """Commands and notes of another history, for the shell log; those that it has stay as they are."""

    COMMAND: ClassVar[str] = "note"
    BY_FACE = _IMPORT
    records: list[Mapping[str, Any]] = Field(description="Each a `ShellRecord`")
    notes: list[tuple[Mapping[str, Any], int]] = Field(default=[], description="Each a `ShellNote` with its number")


class AddRun(Parameters, Returns[ShellRecord]):
    """A command that has run, for the shell log."""

    COMMAND: ClassVar[str] = "note"
    BY_FACE = _FORM
    record: Mapping[str, Any] = Field(description="A `ShellRecord`")
    output: str = Field(default="", description="What it printed")


def history_actions(store: Store, sync: Callable[[], Awaitable[None]], keep_run: KeepRun) -> tuple[AnyAction, ...]:
    """The three. `sync`: stores what shells have reported until now."""
    shells = store.shells

    async def find(_here: Invocation, given: FindHistory) -> FoundHistory:
        await sync()
        wanted = msgspec.convert(given.query, learned(HistoryQuery))
        records = await shells.find_all(wanted, limit=given.limit, oldest=given.oldest)
        printed = [record for record in records if given.output and record.output]
        return FoundHistory(records, {str(record.id): await shells.output(record.output) for record in printed})

    async def add(_here: Invocation, given: AddHistory) -> GrownHistory:
        added = await shells.import_records(msgspec.convert(given.records, learned(list[ShellRecord])))
        _, kept = await shells.add_all((), msgspec.convert(given.notes, learned(list[tuple[ShellNote, int]])))
        return GrownHistory(added, await shells.count(), sum(note is not None for note in kept))

    async def run(_here: Invocation, given: AddRun) -> ShellRecord:
        return await keep_run(msgspec.convert(given.record, learned(ShellRecord)), given.output)

    def render(_: Invocation, result: object) -> Outcome:
        return Outcome(msgspec.to_builtins(result), "")

    only, write = Access.HUMAN_ONLY, Effect.WRITE
    return (
        Action(FindHistory, find, render, access=only),
        Action(AddHistory, add, render, access=only, effect=write),
        Action(AddRun, run, render, access=only, effect=write),
    )
