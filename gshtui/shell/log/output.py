"""What commands printed in shells inside tmux, on any tmux server: one look at the pane after each command.

Owns when to look and how often; refuses to do anything to a pane but read it: nothing is typed, resized or attached.
Programs on the alternate screen leave nothing. What it finds is not exact, see `printed`. Held by the shell log.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.bus.shell import ShellRecord
from gshtui.shell.pairing import ShellInfo
from gshtui.shell.printed import Habit, Printed, printed
from gshtui.store.errors import StoreError
from gshtui.system.tasks import start_job

if TYPE_CHECKING:
    from gshtui.tmux.forked import Forked

SETTLES = (0.08, 0.25, 0.7)
"""Seconds after a command's end at which the prompt may be there."""
AT_ONCE = 2
_PANES = 200
_ROOM = 60
"""Lines read beside those that are kept: the command itself, and the prompt."""
_LONGEST = 4_000
"""Letters of a line that are kept."""

Found = Callable[[ShellRecord, str], Awaitable[None]]


class Outputs:
    """`saw` records as they are kept; what a command printed is handed to `found`."""

    def __init__(self, lines: int, found: Found, redact: Callable[[str], str]) -> None:
        """`lines`: of each command's output, at most; 0: none is looked for."""
        self._lines = lines
        self._found = found
        self._redact = redact
        self._newest: dict[str, int] = {}
        self._habits: dict[str, Habit] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._few = asyncio.Semaphore(AT_ONCE)

    def saw(self, record: ShellRecord, info: ShellInfo) -> None:
        """A command began or ended. Never blocks."""
        if not self._lines or record.source != "shell" or not info.socket or not record.pane or record.output:
            return
        key = record.shell
        while len(self._newest) > _PANES:
            self._newest.pop(next(iter(self._newest)))
        self._newest[key] = max(record.number, self._newest.get(key, 0))
        if record.state == "done" and record.number == self._newest[key] and record.command:
            if (task := self._tasks.pop(key, None)) is not None:
                task.cancel()  # its command has scrolled up by now
            self._tasks[key] = start_job(self._look(record, info), "the output of a shell")
            self._tasks[key].add_done_callback(lambda task: self._done(key, task))

    async def stop(self) -> None:
        """Look no more."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, key: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]

    async def _look(self, record: ShellRecord, info: ShellInfo) -> None:
        from gshtui.tmux.errors import TmuxError

        tmux = await asyncio.to_thread(_client, info.socket)
        if tmux is None:
            return
        waited = 0.0
        for moment in SETTLES:
            await asyncio.sleep(moment - waited)
            waited = moment
            try:
                async with self._few:
                    seen = await self._read(tmux, record)
            except TmuxError:
                return
            if self._newest.get(record.shell) != record.number:
                return  # the next command has begun meanwhile; what is on the screen is not only this one's
            if seen is not None:
                await self._keep(record, seen)
                return

    async def _read(self, tmux: Forked, record: ShellRecord) -> Printed | None:
        from gshtui.tmux.forked import Question
        from gshtui.tmux.quoting import command

        start = str(-(self._lines + _ROOM))
        line = command("capture-pane", "-p", "-e", "-J", "-t", record.pane, "-S", start)
        asked = Question(line, record.pane, "#{alternate_on}|#{history_size}|#{pane_height}")
        (reply,) = await tmux.ask([asked])
        alternate, _, rest = reply.about.partition("|")
        history = rest.partition("|")[0]
        if alternate != "0" or not history.isdigit():
            return None
        scrolled = int(history) > self._lines + _ROOM
        return printed(reply.text(), record.command, self._habits.get(record.shell, Habit()), scrolled=scrolled)

    async def _keep(self, record: ShellRecord, seen: Printed) -> None:
        while len(self._habits) > _PANES:
            self._habits.pop(next(iter(self._habits)))
        self._habits[record.shell] = seen.habit
        lines = [line[:_LONGEST] for line in seen.lines[-self._lines :]]
        if not any(lines):
            return
        left = len(seen.lines) - len(lines)
        if seen.above:
            lines.insert(0, "[more above this was not kept]")
        elif left:
            lines.insert(0, f"[{left} lines above this were not kept]")
        with contextlib.suppress(StoreError):
            await self._found(record, self._redact("\n".join(lines) + "\n"))


def _client(socket: str) -> Forked | None:
    """A client of the server behind a socket of ours; `None` where there is none."""
    from gshtui.tmux.forked import Forked

    try:
        info = Path(socket).stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISSOCK(info.st_mode) or info.st_uid != os.getuid():
        return None
    return Forked(("-S", socket))
