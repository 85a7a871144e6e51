"""The command `note`: a remark of a person in the shell log, between the commands, where agents find it too.

As `# a remark` at the prompt of a shell with the plugin; for every other shell, script and line. For people only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
from pydantic import Field

from gshtui.bus.bus import Bus
from gshtui.bus.events.shell_events import ShellNoted
from gshtui.bus.shell_data import ShellNote
from gshtui.commands.declaration import (
    Access,
    Action,
    Command,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Returns,
    UsageError,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.shell.log.history_commands import KeepRun, history_actions
from gshtui.store.record.store import Store
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.context.retrieval.shell_summary import SyncShells
    from gshtui.guard.secrets.redaction import Redactor


class KeptNote(msgspec.Struct, frozen=True):
    """A note as it was stored. `at`: epoch seconds."""

    text: str
    cwd: str
    at: float


class AddNote(Parameters, Returns[KeptNote]):
    """Add a remark to the shell log; agents are told of the newest ones, and `search history` finds them all."""

    COMMAND: ClassVar[str] = "note"
    SHELL = ShellForm(
        summary="Add a remark to the shell log, where agents find it too.",
        examples=("gsh-tui note the staging database is the old one",),
        parts=frozenset({"store"}),
    )
    text: Annotated[str, Mark.VERBATIM, ShellOption(words=-1, required=True)] = Field(
        default="", description="The remark."
    )


def commands(
    store: Store, bus: Bus, redactor: Callable[[], Redactor], sync_shells: SyncShells, keep_run: KeepRun
) -> list[AnyCommand]:
    """The command; beside it, what code calls (`history_commands.py`)."""

    async def add(invocation: Invocation, given: AddNote) -> KeptNote:
        text = " ".join(given.text.split())
        if not text:
            raise UsageError("Write the remark.", hint="For example: note the staging database is the old one")
        note = ShellNote("note", redactor().redact(text), time.time(), cwd=str(invocation.cwd))
        await store.shells.add_all((), [(note, 0)])
        bus.publish(ShellNoted(at=note.at, shell=note.shell, text=note.text, cwd=note.cwd))
        return KeptNote(note.text, note.cwd, note.at)

    def render(_: Invocation, kept: KeptNote) -> Outcome:
        data = {"text": kept.text, "cwd": kept.cwd, "at": kept.at}
        return Outcome(data, f"Noted: {one_line(kept.text, 200)}")

    action = Action(AddNote, add, render, effect=Effect.WRITE)
    return [
        Command(
            "note",
            "Add a remark to the shell log",
            AddNote,
            action.handle,
            access=Access.HUMAN_ONLY,
            effect=Effect.WRITE,
            positions=("text",),
            family="shell",
            actions=(action, *history_actions(store, sync_shells, keep_run)),
        )
    ]
