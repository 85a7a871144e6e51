"""Turns whatever escapes a task, a callback or a listener of this event loop into a file and an event on the bus.

Handles the loop's exceptions while a hub, or an agent in a terminal, lives. asyncio hands third-party errors to
the loop too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import FaultReported


class LoopFaults:
    """Call `install` first and `remove` last; `remove` restores the previous handler."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None

    def install(self) -> None:
        """Replace the loop's exception handler."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._before = self._loop.get_exception_handler()
            self._loop.set_exception_handler(self._escaped)

    def remove(self) -> None:
        """Restore the previous handler, unless someone else has set another one since."""
        loop, self._loop = self._loop, None
        if loop is not None and loop.get_exception_handler() == self._escaped:
            loop.set_exception_handler(self._before)

    def _escaped(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, (Exception, asyncio.CancelledError)):
            self._bus.report(
                part_of(context), error, hint=str(context.get("hint") or ""), shown=bool(context.get("shown"))
            )
        elif self._before is not None:
            self._before(loop, context)
        else:
            loop.default_exception_handler(context)


def in_words(event: FaultReported) -> tuple[str, str]:
    """A fault in one sentence, with what happens next and where its traceback is."""
    where = f"The details are in {event.file}." if event.file else "The details could not be written."
    where = "" if event.expected else where
    return f"{event.part} failed {event.doing}".rstrip() + f": {event.why}.", f"{event.hint} {where}".strip()


def part_of(context: dict[str, Any]) -> str:
    """What failed: the part that our task names, or else the task's name or the message."""
    part = context.get("part")
    if isinstance(part, str) and part:
        return part
    task = context.get("task") or context.get("future")
    if isinstance(task, asyncio.Task) and not task.get_name().startswith("Task-"):
        return task.get_name()
    return str(context.get("message") or "a task")
