"""The ambient summary: the last few commands of the person's shells, in the first message of a new conversation.

`gsh` at the prompt adds it to each question before which something else was run. Whatever cannot be read in time is
left out. The hub, or an agent's own process, passes it to the engine.
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
"""Our own command line that runs another command and keeps its output."""
_PAGE = 200
"""Commands that are read at once to find those that count."""
SyncShells = Callable[[], Awaitable[None]]
"""Stores what shells have reported until now. Raises nothing."""


class CommandHistory(Protocol):
    """The part of the record that this needs."""

    async def find_all(self, wanted: HistoryQuery, *, limit: int = 50) -> list[ShellRecord]: ...
    async def notes(self, *, after: float | None = None, limit: int = 50) -> list[ShellNote]: ...
    async def output(self, key: str) -> str: ...


def shell_summary(
    history: CommandHistory, settings: Context, sync_shells: SyncShells, *, always: bool = False, output_lines: int = 0
) -> Contribute:
    """Contributes the last `ambient_commands` commands and the notes between them, once, to a new conversation.

    At most `max_events` of both, in `max_tokens`; if either number is 0, it contributes nothing.

    Args:
        always: contribute also to a conversation that goes on, whenever the text has changed.
        output_lines: most lines of output, of all commands together, the newest first; 0: as the settings say, which is
            the end of what failed.
    """

    async def contribute(new: bool) -> Contribution:
        if not (new or always):
            return Contribution()
        await sync_shells()
        try:
            text = await _text(history, settings, output_lines)
        except StoreError:
            return Contribution()  # the record reports its own faults
        return Contribution(along=(SideText(SOURCE, text, once=not always),)) if text else Contribution()

    return contribute


async def _text(history: CommandHistory, settings: Context, output_lines: int) -> str:
    lines = await _activity(history, settings, output_lines)
    return "\n".join([_HEAD, "", *lines, "", SEARCH_MORE]) if lines else ""


async def _latest(history: CommandHistory, wanted: int) -> list[ShellRecord]:
    """The person's newest commands, newest first, however many of our own command lines are between them."""
    records: list[ShellRecord] = []
    before: int | None = None
    while len(records) < wanted:
        page = await history.find_all(HistoryQuery(agent="", before_id=before), limit=_PAGE)
        records += [record for record in page if not _is_ourselves(record)]
        if len(page) < _PAGE:
            break
        before = page[-1].id
    return records[:wanted]


async def _activity(history: CommandHistory, settings: Context, output_lines: int) -> list[str]:
    """The newest commands and the notes between them, oldest first, as many as the settings allow."""
    wanted, most = settings.ambient_commands, settings.max_events
    if wanted < 1 or most < 1:
        return []
    records = await _latest(history, wanted)
    since = records[-1].at if records else None
    notes = await history.notes(after=since, limit=most if since is not None else min(wanted, most))
    rows: list[ShellRecord | ShellNote] = sorted([*records[::-1], *notes[::-1]], key=lambda row: row.at)[-most:]
    shown: list[list[str]] = []
    left = output_lines
    for row in reversed(rows):
        if isinstance(row, ShellNote):
            shown.append([note_line(row)])
            continue
        most = left if output_lines else settings.stdout_max_lines if settings.include_stdout and row.exit else 0
        output = await _output(history.output, row.output, most) if row.output else []
        left = max(0, left - len(output))
        shown.append([command_line(row), *output])
    lines = [line for part in reversed(shown) for line in part]
    return _within(lines, max(settings.max_tokens * 4, output_lines * _WIDE))


_WIDE = 120
"""Bytes that a line of output that was asked for may take on average."""


async def _output(read: Callable[[str], Awaitable[str]], key: str, lines: int) -> list[str]:
    """The last lines of a command's output, indented: where it failed, they usually say why."""
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
    """A line that speaks to an agent or opened this window: its result is known, or is the current prompt."""
    lines = [f"{typed.strip().removeprefix('noglob ')} " for typed in (record.command, record.expanded)]
    return any(line.startswith(_OURSELVES) and not line.startswith(_RUNS) for line in lines)
