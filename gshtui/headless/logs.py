"""`gsh-tui logs`: prints records of the log, and goes on with what comes while it is to follow.

Owns the order (the oldest first, as one reads) and the pace of following. Called by `cli`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams
from gshtui.headless.command_hub import load_settings
from gshtui.headless.runner import Stop, run_command

if TYPE_CHECKING:
    from pathlib import Path

    from gshtui.store.log_reader import LogQuery

_EVERY = 0.3
"""Seconds between two looks at the files."""


@dataclass(frozen=True, slots=True)
class LogsOptions:
    """What the command line said."""

    query: str = ""
    type: str = ""
    agent: str = ""
    since: str = ""
    until: str = ""
    limit: int = 50
    follow: bool = False
    json: bool = False


def show_logs(options: LogsOptions) -> int:
    """Print them; gives the exit code."""
    return run_command(lambda stop: _show(options, stop))


async def _show(options: LogsOptions, stop: Stop) -> int:
    from gshtui.commands.declaration import UsageError
    from gshtui.commands.timespec import parse_time
    from gshtui.store.log_reader import LogFollower, LogQuery, find_records

    loaded = await asyncio.to_thread(load_settings)
    folder = loaded.settings.general.log_dir
    now = time.time()
    try:
        after, before = parse_time(options.since, now), parse_time(options.until, now)
    except UsageError as error:
        streams.complain(str(error))
        return exits.USAGE
    wanted = LogQuery(options.query, options.type, options.agent, after, before)
    follower = await asyncio.to_thread(LogFollower, folder)
    found = await asyncio.to_thread(find_records, folder, wanted, options.limit)
    _print(found[::-1], options)
    if not options.follow:
        if not found and not options.json:
            streams.complain(_nothing(folder, wanted))
        return exits.DONE
    await _follow(follower, wanted, options, stop)
    return exits.INTERRUPTED


async def _follow(follower: Any, wanted: LogQuery, options: LogsOptions, stop: Stop) -> None:
    from gshtui.store.log_reader import fits

    words = wanted.query.split()
    while not stop.asked.is_set():
        added = await asyncio.to_thread(follower.added)
        _print([record for record in added if fits(record, wanted, words)], options)
        try:
            async with asyncio.timeout(_EVERY):
                await stop.asked.wait()
        except TimeoutError:
            continue


def _print(records: Sequence[dict[str, Any]], options: LogsOptions) -> None:
    if not records:
        return
    if options.json:
        streams.write_all(streams.STDOUT, b"".join(streams.json_line(record) for record in records))
        return
    from gshtui.context.retrieval.result_text import log_lines

    streams.result("\n".join(line for record in records for line in log_lines(record)))


def _nothing(folder: Path, wanted: LogQuery) -> str:
    if wanted.query or wanted.type or wanted.agent or wanted.after is not None or wanted.before is not None:
        return "no record fits; other words or fewer filters may find more."
    return f"the log in {folder} is empty: no agent has done anything yet."
