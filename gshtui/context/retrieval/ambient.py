"""The ambient summary: the last few commands of the person's shells, in the first message of a new conversation.

Owns its words; refuses to be there in a conversation that goes on, or to hold up a turn: what cannot be read is left
out. Handed to the engine by the hub and by an agent in its own process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from gshtui.bus.shell import ShellRecord
from gshtui.context.ports import Along, Contribute, Contribution
from gshtui.context.retrieval.wording import command_line
from gshtui.guard.sanitise import plain
from gshtui.settings.tables import Context
from gshtui.store.errors import StoreError

SOURCE = "shell activity"
_HEAD = "# Recent Shell Activity"
_MORE = "Use the `search_context` tool for more shell history, past sessions, or logs."
_TAIL = 10
"""Lines of a failed command's output that are told at most."""
_OURSELVES = ("gsh-tui", "gsh ")


class History(Protocol):
    """The part of the record that this needs."""

    async def history(self, *, agent: str | None = None, limit: int = 50) -> list[ShellRecord]: ...
    async def output(self, key: str) -> str: ...


def ambient(history: History, settings: Context) -> Contribute:
    """Says the last `ambient_commands` commands once, in a new conversation; 0: nothing, ever."""

    async def contribute(new: bool) -> Contribution:
        if not new or settings.ambient_commands < 1:
            return Contribution()
        try:
            text = await _text(history, settings)
        except StoreError:
            return Contribution()  # the record says itself what is wrong with it
        return Contribution(along=(Along(SOURCE, text, once=True),)) if text else Contribution()

    return contribute


async def _text(history: History, settings: Context) -> str:
    wanted = settings.ambient_commands
    found = await history.history(agent="", limit=wanted + 20)
    records = [record for record in found if not _is_ourselves(record)][:wanted]
    if not records:
        return ""
    lines: list[str] = []
    for record in reversed(records):
        lines.append(command_line(record))
        if settings.include_stdout and record.exit and record.output:
            lines += await _output(history.output, record.output, min(_TAIL, settings.stdout_max_lines))
    return "\n".join([_HEAD, "", *_within(lines, settings.max_tokens * 4), "", _MORE])


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
    """The command that opened this very window, which runs all the while."""
    return record.state == "running" and f"{record.command.strip()} ".startswith(_OURSELVES)
