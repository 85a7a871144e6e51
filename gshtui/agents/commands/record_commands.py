"""The commands on the record alone: usage, search and outputs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from pydantic import Field

from gshtui.agents.usage import commands as usage_commands
from gshtui.agents.usage.commands import SyncPrograms
from gshtui.commands.declaration import Assessment, Effect, Invocation, Outcome
from gshtui.commands.declaration import Command as Declared
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import PLAIN, ToolParameters
from gshtui.context.retrieval import search_commands
from gshtui.context.retrieval.log_commands import FlushLog
from gshtui.context.retrieval.shell_summary import SyncShells
from gshtui.settings.model import Settings
from gshtui.store.record.store import Store
from gshtui.text.sanitise import one_line
from gshtui.text.truncation import shorten


def commands(
    store: Store,
    settings: Settings,
    sync_shells: SyncShells,
    sync_programs: SyncPrograms,
    flush_log: FlushLog,
) -> list[AnyCommand]:
    """Usage, search and outputs."""
    return [
        *usage_commands.commands(store, sync_programs),
        *search_commands.commands(store, settings.general.log_dir, sync_shells, flush_log),
        output_command(store.outputs.get, store.outputs.folders, settings.context.max_tool_output_bytes),
    ]


_LINES = 400
_NOTES = 200
"""Bytes reserved for the note about the lines; at most half of a very small answer."""
DESCRIPTION = """\
Read the whole of a tool output that was shortened; its `key` is in the marker."""
DETAILS = """\
It returns `lines` lines from line `start`; with `query` only the lines that contain it, numbered."""


class OutputParameters(ToolParameters):
    """Which output, and which part of it."""

    key: str = Field(description="Key of the output, from its marker", min_length=1, json_schema_extra=PLAIN)
    start: int = Field(1, description="First line; negative: from the end")
    lines: int = Field(_LINES, description="How many lines", ge=1, le=100_000, json_schema_extra=PLAIN)
    query: str = Field("", description="Only lines that contain this")


def output_command(
    output: Callable[[str], Awaitable[str]], folders: Callable[[str], Awaitable[list[str]]], limit: int
) -> Declared[OutputParameters]:
    """Declare the command. Output from another project needs approval.

    Args:
        output: returns the whole text of a key; raises `StoreError`.
        folders: returns the folders that a key's text comes from; raises `StoreError`.
        limit: bytes of one answer; 0: unlimited.
    """

    async def assess(invocation: Invocation, parameters: OutputParameters) -> Assessment:
        key = parameters.key.strip()
        subject = one_line(key, 80)
        found = await folders(key)
        # Text kept for several places counts as this project's if one of them is here.
        if not found or any(Path(folder).is_relative_to(invocation.project) for folder in found):
            return Assessment(Effect.READ, subject)
        where = one_line(found[0], 200)
        why = f"the output comes from {where}, which is another project (rule project)"
        return Assessment(Effect.READ, subject, inside=False, detail=f"an output from {where}", why=why)

    async def run(invocation: Invocation, parameters: OutputParameters) -> Outcome:
        text = await output(parameters.key.strip())
        return await asyncio.to_thread(_page, text, parameters, invocation.limit(limit))

    return Declared(
        "output",
        "The whole of an output that was shortened",
        OutputParameters,
        run,
        positions=("key", "start"),
        description=DESCRIPTION,
        details=DETAILS,
        family="run",
        tool=True,
        does="show",
        always_offered=True,
        assess=assess,
    )


def _page(text: str, parameters: OutputParameters, limit: int) -> Outcome:
    room = limit - min(_NOTES, limit // 2) if limit else sys.maxsize
    every = text.split("\n")
    query = parameters.query.lower()
    numbered = [(n, line) for n, line in enumerate(every, 1) if query in line.lower()] if query else []
    if not query:
        first = parameters.start if parameters.start > 0 else max(1, len(every) + 1 + parameters.start)
        numbered = list(enumerate(every[first - 1 :], first))
    shown: list[str] = []
    size = 0
    for number, line in numbered[: parameters.lines]:
        row = f"{number:>6}│{line}" if query else line
        size += len(row.encode(errors="replace")) + 1
        if size > room:
            break
        shown.append(row)
    if numbered and not shown:  # one line that is longer than an answer may be
        shown = [shorten(numbered[0][1], room)]
    last = numbered[len(shown) - 1][0] if shown else 0
    left = len(numbered) - len(shown)
    what = f"lines with {parameters.query!r}" if query else "lines"
    note = f"[{len(shown):,} of {len(every):,} lines, {len(text.encode(errors='replace')):,} bytes in all"
    note += f"; {left:,} more {what}: start={last + 1}]" if left and not query else f"; {left:,} more]" if left else "]"
    data = {"key": parameters.key, "lines": len(every), "first": numbered[0][0] if shown else 0, "last": last}
    body = "\n".join(shown)
    return Outcome(data | {"text": body}, f"{body or '(no such lines)'}\n{note}")
