"""The ambient summary: the last few commands of the person's shells, in the first message of a new conversation.

`gsh` at the prompt adds it to each question before which something else was run. Whatever cannot be read in time is
left out. The hub, or an agent's own hub, passes it to the engine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.context.log.ports import Contribute, Contribution, SideText
from gshtui.context.log.tool_budget import SEARCH_MORE
from gshtui.context.retrieval.result_text import command_line, note_line
from gshtui.settings.settings_tables import Context
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.command_history import HistoryQuery
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
        output_lines: most lines of output, of all commands together, the last failure first; 0: as the settings say,
            which is the end of what failed.
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
    commands = [row for row in reversed(rows) if isinstance(row, ShellRecord)]
    outputs = await _outputs(history.output, commands, settings, output_lines)
    shown = [
        [note_line(row)] if isinstance(row, ShellNote) else [command_line(row), *outputs.get(row.output, [])]
        for row in rows
    ]
    lines = [line for part in shown for line in part]
    return _within(lines, max(settings.max_tokens * 4, output_lines * _WIDE))


async def _outputs(
    read: Callable[[str], Awaitable[str]], commands: Sequence[ShellRecord], settings: Context, most: int
) -> dict[str, list[str]]:
    """What these commands printed, newest first, by the key of the output: of failures alone, or `most` lines of all.

    Of those, the newest failure has half before the others have theirs, and what they leave.
    """
    if not most:
        limit = settings.stdout_max_lines if settings.include_stdout else 0
        return {one.output: await _output(read, one.output, limit) for one in commands if one.exit and one.output}
    found = {one.output: await _output(read, one.output, most) for one in commands if one.output}
    failed = next((one.output for one in commands if one.exit and one.output), None)
    left = most
    if failed is not None:
        others = sum(len(lines) for key, lines in found.items() if key != failed)
        found[failed] = _last(found[failed], max(most - most // 2, most - others))
        left -= len(found[failed])
    for key, lines in found.items():
        if key != failed:
            found[key] = _last(lines, left)
            left -= len(found[key])
    return found


def _last(lines: list[str], most: int) -> list[str]:
    return lines[-most:] if most > 0 else []


_LONGEST = 300
_WIDE = 4 * _LONGEST + 3
"""Bytes that a line of output may take."""


async def _output(read: Callable[[str], Awaitable[str]], key: str, lines: int) -> list[str]:
    """The last lines of a command's output, indented: where it failed, they usually say why."""
    if lines < 1:
        return []
    try:
        text = plain(await read(key))
    except StoreError:
        return []
    return [f"  {line[:_LONGEST]}" for line in text.rstrip().split("\n")[-lines:] if line.strip()]


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
