"""What escapes a task, a callback or a listener of this event loop becomes a file and an event on the bus.

Owns the loop's exception handler while a hub, or an agent in its own process, lives. Refuses to end anything: the part
that failed has ended or goes on by itself. Third-party code is covered too: asyncio hands every such error to the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import FaultReported


class LoopFaults:
    """`install` and `remove` bracket its life; what was set before is put back."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None

    def install(self) -> None:
        """Take over from the handler that heard of the loop's faults so far."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._before = self._loop.get_exception_handler()
            self._loop.set_exception_handler(self._escaped)

    def remove(self) -> None:
        """Hand back to the handler from before. One that somebody else has set since stays."""
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
    """A fault in one sentence; and what becomes of it, with where its traceback is."""
    where = f"The details are in {event.file}." if event.file else "The details could not be written."
    return f"{event.part} failed {event.doing}".rstrip() + f": {event.why}.", f"{event.hint} {where}".lstrip()


def part_of(context: dict[str, Any]) -> str:
    """What failed, from what the loop says of it: the part that a task of ours names, else its name or the message."""
    part = context.get("part")
    if isinstance(part, str) and part:
        return part
    task = context.get("task") or context.get("future")
    if isinstance(task, asyncio.Task) and not task.get_name().startswith("Task-"):
        return task.get_name()
    return str(context.get("message") or "a task")
