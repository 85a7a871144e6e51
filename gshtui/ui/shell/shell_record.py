"""A viewer for one row of the shell log: the full command, everything known about it, and its output.

Owns the wording; fetches nothing. Opened by the shell log's actions.
"""

from __future__ import annotations

from typing import ClassVar

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.bus.shell_rows import Row
from gshtui.text import units
from gshtui.ui.kit.transcript.text_screen import TextScreen
from gshtui.ui.kit.widgets.fitted_text import escape_lines, fit
from gshtui.ui.shell import shell_format as words

_TITLES = {"note": "Note", "folder": "Folder changed", "file": "Files changed"}


class RecordScreen(TextScreen):
    """See the module. `y` copies the output if there is one, else the command."""

    HINT: ClassVar[str] = (
        "{text.close} to close · {text.copy} to copy the output · select with the mouse to copy a part"
    )

    def __init__(self, row: Row, output: str) -> None:
        self._copies = row.text if isinstance(row, ShellNote) else output or row.command
        if isinstance(row, ShellNote):
            super().__init__(_TITLES[row.kind], note_words(row))
        else:
            super().__init__(fit(row.command, 100), record_words(row, output))

    @property
    def copied(self) -> str:
        return self._copies


def note_words(note: ShellNote) -> str:
    """A note as Markdown."""
    return f"{fenced(note.text, '')}\n\n{_fact('when', words.moment(note.at))}  \n{_fact('folder', note.cwd)}"


def record_words(record: ShellRecord, output: str) -> str:
    """A command as Markdown; nothing in it is interpreted as Markdown."""
    ended = words.ended(record)
    if len(record.pipestatus) > 1:
        ended += f" (pipeline: {' '.join(map(str, record.pipestatus))})"
    took = units.duration(record.duration) if record.duration is not None else ""
    where = " ".join(filter(None, (record.tty, record.pane, f"on {record.host}" if record.host else "")))
    facts = {
        "ended": f"{ended} after {took}" if took else ended,
        "when": words.moment(record.at),
        "folder": record.cwd,
        "branch": record.branch,
        "terminal": where,
        "run by": record.agent,
        "from": record.source if record.source != "shell" else "",
    }
    parts = [fenced(record.command, "bash")]
    if record.expanded and record.expanded != record.command:
        parts += ["With aliases expanded:", fenced(record.expanded, "bash")]
    if record.cut:
        parts.append(f"The command was too long: {record.cut:,} bytes were not kept.")
    parts.append("  \n".join(_fact(name, value) for name, value in facts.items() if value))
    parts.append(_printed(output.rstrip("\n")) if output else _no_output(record))
    return "\n\n".join(parts)


def _printed(output: str) -> str:
    lines = output.split("\n")
    above = len(lines) - _MOST
    if above <= 0:
        return fenced(output)
    return f"The last {_MOST:,} of {len(lines):,} lines; `y` copies all.\n\n{fenced(chr(10).join(lines[above:]))}"


_MOST = 2_000
"""Lines of an output that are shown."""


def fenced(text: str, language: str = "output") -> str:
    """A text in a fence longer than any inside it."""
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _fact(name: str, value: str) -> str:
    value = escape_lines(value).replace("`", "'")
    return f"{name} `{value}`" if value else ""


def _no_output(record: ShellRecord) -> str:
    if record.state == "running":
        return "Still running."
    return (
        "No output kept. gsh-tui keeps the output of commands in tmux and of `gsh run -- COMMAND`, "
        "never of full-screen programs."
    )
