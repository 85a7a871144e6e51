"""The plain data about commands that ran in shells: one record for each, as it is kept and shown.

It owns the structs that shell, store, context and panes share, and holds no behaviour and no state. Times are seconds
since the epoch, durations seconds.
"""

from __future__ import annotations

from typing import Literal

import msgspec

RecordState = Literal["running", "done", "lost"]
"""`lost`: its shell is gone and nobody knows how it ended."""


class ShellRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One command of a shell."""

    id: int = 0
    """Row of the history; 0: not kept yet."""
    shell: str = ""
    """Id of the shell: unique for all time, made by the plugin when it is loaded."""
    number: int = 0
    """Counts the shell's commands from 1; with `shell` the identity of a record."""
    command: str = ""
    """As typed, secrets redacted."""
    expanded: str = ""
    """With aliases expanded, where that differs."""
    cwd: str = ""
    host: str = ""
    tty: str = ""
    pane: str = ""
    """tmux pane id, where the shell runs in tmux."""
    branch: str = ""
    program: str = "zsh"
    at: float = 0.0
    duration: float | None = None
    exit: int | None = None
    pipestatus: tuple[int, ...] = ()
    state: RecordState = "running"
    cut: int = 0
    """Bytes of the command that were left out because it was too long."""
    output: str = ""
    """Key of what it printed, in the store's outputs; empty: not kept."""
    output_lines: int = 0
    agent: str = ""
    """Name of the agent that ran it; empty: a person."""
    source: str = "shell"
    """`shell`, `run` (`gsh run -- …`), `agent`, or `import …`."""


class Ran(msgspec.Struct, frozen=True):
    """A command that was run from a conversation's input line, as it is kept."""

    run: str
    """Id of the run."""
    record: ShellRecord
    printed: str = ""
    """What is kept of its output."""


class ShellNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A remark, a change of folder or a file's change, between the commands."""

    kind: Literal["note", "folder", "file"]
    text: str
    at: float
    shell: str = ""
    cwd: str = ""
    id: int = 0
