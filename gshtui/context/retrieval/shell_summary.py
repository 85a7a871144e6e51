"""The ambient summary: the last few commands of the person's shells, in the first message of a new conversation.

Owns its words; refuses to be there in a conversation that goes on, or to hold up a turn: what cannot be read is left
out. Handed to the engine by the hub and by an agent in its own process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.context.ports import Contribute, Contribution, SideText
from gshtui.context.retrieval.result_text import command_line, note_line
from gshtui.context.tool_budget import SEARCH_MORE
from gshtui.settings.settings_tables import Context
from gshtui.store.command_history import HistoryQuery
from gshtui.store.store_errors import StoreError
from gshtui.text.sanitise import plain

SOURCE = "shell activity"
_HEAD = "# Recent Shell Activity"
_OURSELVES = ("gsh-tui ", "gsh ")
_RUNS = "gsh run "
"""A line of ours that runs somebody else's command, and keeps what it prints."""
_LOOKED_AT = 200
"""Commands among which those that count are looked for."""


class CommandHistory(Protocol):
    """The part of the record that this needs."""

    async def find_all(self, wanted: HistoryQuery, *, limit: int = 50) -> list[ShellRecord]: ...
    async def notes(self, *, after: float | None = None, limit: int = 50) -> list[ShellNote]: ...
    async def output(self, key: str) -> str: ...


def shell_summary(history: CommandHistory, settings: Context) -> Contribute:
    """Says the last `ambient_commands` commands, and what was noted between them, once, in a new conversation.

    At most `max_events` of both, in `max_tokens`; 0 of either number of events: nothing, ever.
    """

    async def contribute(new: bool) -> Contribution:
        if not new:
            return Contribution()
        try:
            text = await _text(history, settings)
        except StoreError:
            return Contribution()  # the record says itself what is wrong with it
        return Contribution(along=(SideText(SOURCE, text, once=True),)) if text else Contribution()

    return contribute


async def _text(history: CommandHistory, settings: Context) -> str:
    lines = await activity(history, settings)
    return "\n".join([_HEAD, "", *lines, "", SEARCH_MORE]) if lines else ""


async def activity(history: CommandHistory, settings: Context, after: float | None = None) -> list[str]:
    """The newest commands and what was noted between them, oldest first, as many as the settings say.

    Args:
        after: only from then on, seconds since the epoch.
    """
    wanted, most = settings.ambient_commands, settings.max_events
    if wanted < 1 or most < 1:
        return []
    found = await history.find_all(HistoryQuery(agent="", after=after), limit=wanted + _LOOKED_AT)
    records = [record for record in found if not _is_ourselves(record)][:wanted]
    since = after if after is not None else records[-1].at if records else None
    notes = await history.notes(after=since, limit=most if since is not None else min(wanted, most))
    rows: list[ShellRecord | ShellNote] = sorted([*records[::-1], *notes[::-1]], key=lambda row: row.at)[-most:]
    lines: list[str] = []
    for row in rows:
        if isinstance(row, ShellNote):
            lines.append(note_line(row))
            continue
        lines.append(command_line(row))
        if settings.include_stdout and row.exit and row.output:
            lines += await _output(history.output, row.output, settings.stdout_max_lines)
    return _within(lines, settings.max_tokens * 4)


async def _output(read: Callable[[str], Awaitable[str]], key: str, lines: int) -> list[str]:
    """The last lines of what a failed command printed, indented: there the reason stands."""
    if lines < 1:
        return []
    try:
        text = plain(await read(key))
    except StoreError:
        return []
    return [f"  {line[:300]}" for line in text.rstrip().split("\n")[-lines:] if line.strip()]


def _within(lines: Sequence[str], most: int) -> list[str]:
    """The last lines that fit into so many bytes."""
    kept: list[str] = []
    for line in reversed(lines):
        most -= len(line.encode("utf-8", "replace")) + 1
        if most < 0:
            break
        kept.append(line)
    return kept[::-1]


def _is_ourselves(record: ShellRecord) -> bool:
    """A line that speaks to an agent or opened this window: what came of it is known, or is what is asked now."""
    line = f"{record.command.strip()} "
    return line.startswith(_OURSELVES) and not line.startswith(_RUNS)
