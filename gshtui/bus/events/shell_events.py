"""What happens in the person's shells. The first four types are also what the plugin itself writes, a line each.

What the person runs in a window's input line (`!make`) is told here too, as it goes on: the window shows it in the
conversation from which it was run.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.messages import ResultStatus
from gshtui.bus.shell_data import ShellRecord


class ShellStarted(Event, frozen=True, kw_only=True):
    """A shell with the plugin runs."""

    shell: str
    pid: int
    program: str = "zsh"
    version: str = ""
    tty: str = ""
    pane: str = ""
    socket: str = ""
    """The tmux server's socket, where the shell runs in tmux."""
    host: str = ""
    cwd: str = ""
    parent: str = ""
    """Id of the shell that it was started from."""


class ShellCommandStarted(Event, frozen=True, kw_only=True):
    """A command is about to run (preexec)."""

    shell: str
    number: int
    command: str
    expanded: str = ""
    cwd: str = ""
    tty: str = ""
    pane: str = ""
    cut: int = 0
    """Bytes of the command that are missing because it is too long."""
    pid: int = 0


class ShellCommandFinished(Event, frozen=True, kw_only=True):
    """A command ended (precmd)."""

    shell: str
    number: int
    exit: int
    pipestatus: tuple[int, ...] = ()
    duration: float = 0.0
    cwd: str = ""


class ShellFolderChanged(Event, frozen=True, kw_only=True):
    """A shell is in another folder (chpwd)."""

    shell: str
    old: str = ""
    new: str = ""


class ShellEnded(Event, frozen=True, kw_only=True):
    """A shell with the plugin is gone."""

    shell: str


class ShellRecorded(Event, frozen=True, kw_only=True):
    """The record of a command is new or another one: redacted, kept, what panes and agents see."""

    record: ShellRecord

    def merge_key(self) -> Hashable | None:
        return ("ShellRecorded", self.record.shell, self.record.number)


class ShellNoted(Event, frozen=True, kw_only=True):
    """A remark of the person (`# …` at the prompt)."""

    shell: str
    text: str
    cwd: str = ""


class InputCommandStarted(Event, frozen=True, kw_only=True):
    """A command from the input line runs."""

    agent: str
    """Whose conversation it was run from."""
    session: str
    run: str
    """Id of the run, the same for a stored one: its shell and number."""
    command: str
    cwd: str = ""


class InputCommandPrinted(Event, frozen=True, kw_only=True):
    """More of what a running command from the input line prints, sanitised."""

    agent: str
    session: str
    run: str
    text: str

    def merge_key(self) -> Hashable | None:
        return ("InputCommandPrinted", self.run)

    def merged_with(self, newer: Event) -> Event:
        assert isinstance(newer, InputCommandPrinted)
        kept = (self.text + newer.text)[-8_000:]  # a tail for the eye; the end of the run brings the whole
        return msgspec.structs.replace(self, text=kept)


class InputCommandFinished(Event, frozen=True, kw_only=True):
    """A command from the input line ended."""

    agent: str
    session: str
    run: str
    status: ResultStatus
    text: str = ""
    """What it printed, long ones shortened in the middle; or why it could not run."""
    exit: int | None = None
    duration: float = 0.0
    """Seconds."""
    bytes: int = 0
    """Size of all that it printed."""
    cut: bool = False
    """`text` leaves out some of it."""
    """Size of all that it printed."""


class FileChange(msgspec.Struct, frozen=True):
    """One file that changed."""

    path: str
    kind: Literal["added", "modified", "deleted"]


class FilesChanged(Event, frozen=True, kw_only=True):
    """Files of the project changed, apart from what git ignores."""

    changes: tuple[FileChange, ...]
    more: int = 0
    """Further ones that are not named."""
