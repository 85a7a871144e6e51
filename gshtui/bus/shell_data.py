"""Plain data about commands that ran in shells: one record each, as stored and shown.

Times are seconds since the epoch, durations seconds.
"""

from __future__ import annotations

from typing import Literal

import msgspec

RecordState = Literal["running", "done", "lost"]
"""`lost`: its shell is gone and how it ended is unknown."""


class ShellRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One command of a shell."""

    id: int = 0
    """Row of the history; 0: not stored yet."""
    shell: str = ""
    """Id of the shell: unique forever, made by the plugin when it is loaded."""
    number: int = 0
    """Counts the shell's commands from 1; with `shell` it identifies a record."""
    command: str = ""
    """As typed, secrets redacted."""
    expanded: str = ""
    """With aliases expanded, where that differs."""
    cwd: str = ""
    host: str = ""
    tty: str = ""
    pane: str = ""
    """tmux pane id, if the shell runs in tmux."""
    branch: str = ""
    program: str = "zsh"
    at: float = 0.0
    duration: float | None = None
    exit: int | None = None
    pipestatus: tuple[int, ...] = ()
    state: RecordState = "running"
    cut: int = 0
    """Bytes of the command left out because it was too long."""
    output: str = ""
    """Key of its output in the store; empty: not kept."""
    output_lines: int = 0
    agent: str = ""
    """Name of the agent that ran it; empty: a person."""
    source: str = "shell"
    """`shell`, `run` (`gsh run -- …`), `agent`, or `import …`."""


class Ran(msgspec.Struct, frozen=True):
    """A command run from a conversation's input line, as stored."""

    run: str
    """Id of the run."""
    record: ShellRecord
    printed: str = ""
    """What is kept of its output."""


class ShellNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A note, a change of folder or of a file, between the commands."""

    kind: Literal["note", "folder", "file"]
    text: str
    at: float
    shell: str = ""
    cwd: str = ""
    id: int = 0
