"""What happens in the person's shells. The plugin itself writes the first four types, one line each.

Commands that the person runs from a window's input line (`!make`) are reported here too, and shown in that
conversation.
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
    """The tmux server's socket, if the shell runs in tmux."""
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
    """The record of a command is new or has changed: redacted, stored, and as panes and agents see it."""

    record: ShellRecord

    def merge_key(self) -> Hashable | None:
        return ("ShellRecorded", self.record.shell, self.record.number)


class ShellNoted(Event, frozen=True, kw_only=True):
    """A note by the person (`# …` at the prompt)."""

    shell: str
    text: str
    cwd: str = ""


class InputCommandStarted(Event, frozen=True, kw_only=True):
    """A command from the input line runs."""

    agent: str
    """Whose conversation it was run from."""
    session: str
    run: str
    """Id of the run; for a stored one its shell and number."""
    command: str
    cwd: str = ""


class InputCommandPrinted(Event, frozen=True, kw_only=True):
    """More output of a running command from the input line, sanitised."""

    agent: str
    session: str
    run: str
    text: str

    def merge_key(self) -> Hashable | None:
        return ("InputCommandPrinted", self.run)

    def merged_with(self, newer: Event) -> Event:
        assert isinstance(newer, InputCommandPrinted)
        kept = (self.text + newer.text)[-8_000:]  # a tail to display; the end of the run brings all of it
        return msgspec.structs.replace(self, text=kept)


class InputCommandFinished(Event, frozen=True, kw_only=True):
    """A command from the input line ended."""

    agent: str
    session: str
    run: str
    status: ResultStatus
    text: str = ""
    """Its output, shortened in the middle if long; or why it could not run."""
    exit: int | None = None
    duration: float = 0.0
    """Seconds."""
    bytes: int = 0
    """Size of everything that it printed."""
    cut: bool = False
    """`text` is incomplete."""
    """Size of everything that it printed."""


class FileChange(msgspec.Struct, frozen=True):
    """One file that changed."""

    path: str
    kind: Literal["added", "modified", "deleted"]


class FilesChanged(Event, frozen=True, kw_only=True):
    """Files of the project changed, except those git ignores."""

    changes: tuple[FileChange, ...]
    more: int = 0
    """Number of further files, not named."""
