"""What happens in the person's shells. The first four types are also what the plugin itself writes, a line each."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.shell import ShellRecord


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


class FileChange(msgspec.Struct, frozen=True):
    """One file that changed."""

    path: str
    kind: Literal["added", "modified", "deleted"]


class FilesChanged(Event, frozen=True, kw_only=True):
    """Files of the project changed, apart from what git ignores."""

    changes: tuple[FileChange, ...]
    more: int = 0
    """Further ones that are not named."""
