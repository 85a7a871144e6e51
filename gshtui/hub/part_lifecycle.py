"""The life of the hub's parts: each starts within a deadline, and they stop in reverse; failures are reported.

Refuses to let one part's fault take the others down. Held by the hub.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import PartFailed, PartStarted
from gshtui.system.expected_error import ExpectedError
from gshtui.system.processes.time_limit import time_limit

_START_WITHIN = 20.0
"""Seconds that one part may take to start."""
_STOP_WITHIN = 8.0


class MissingPart(ExpectedError):
    """A part cannot start, since it needs another one.

    Attributes:
        part: that one.
    """

    def __init__(self, part: str, message: str) -> None:
        super().__init__(message)
        self.part = part


class PartLifecycle:
    """See the module's text."""

    def __init__(self, bus: Bus) -> None:
        self.failed: dict[str, PartFailed] = {}
        """Parts that did not start, or did not stop in time, by name."""
        self._bus = bus
        self._stops: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        self._ceases: list[Callable[[], None]] = []
        self._ceased = False

    async def start(self, part: str, start: Callable[[], Awaitable[None]]) -> None:
        """Start a part. Never raises: failures are in `failed` and on the bus."""
        began = time.monotonic()
        try:
            async with time_limit(_START_WITHIN):
                await start()
        except TimeoutError:
            self.fail(part, f"it did not start within {_START_WITHIN:g} s", "")
        except ExpectedError as error:
            needs = error.part if isinstance(error, MissingPart) and error.part in self.failed else ""
            self.fail(part, error.message, error.hint, needs=needs)
        except Exception as error:  # one part's fault must not take the window down
            fault = self._bus.report(f"the start of {part}", error, shown=True)
            self.fail(part, fault.why, f"Run `gsh-tui doctor` for details. {fault.details}")
        else:
            self._bus.publish(PartStarted(part=part, seconds=time.monotonic() - began))

    async def attempt(self, what: str, do: Callable[[], Awaitable[object] | None]) -> None:
        """Do a step between the parts. Never raises: a failure is reported, and the start continues without it."""
        try:
            waits = do()
            if waits is not None:
                await waits
        except Exception as error:
            fault = self._bus.report(f"the start of {what}", error, shown=True)
            self.fail(what, fault.why, f"Run `gsh-tui doctor` for details. {fault.details}")

    def stops_with(self, part: str, stop: Callable[[], Awaitable[None]]) -> None:
        """Register the function that stops a part which now runs."""
        self._stops.append((part, stop))

    def ceases_with(self, cease: Callable[[], None]) -> Callable[[], None]:
        """Register what starts nothing any more from the moment that the hub ends; gives what takes that back."""
        self._ceases.append(cease)
        if self._ceased:
            cease()
        return lambda: self._ceases.remove(cease)

    def cease(self) -> None:
        """Have nothing started from now on. Never raises."""
        self._ceased = True
        for cease in tuple(self._ceases):
            try:
                cease()
            except Exception as error:  # the others cease all the same
                self._bus.report("the end of the hub", error)

    def fail(self, part: str, why: str, hint: str, *, needs: str = "") -> None:
        """Report that a part does not work, in one sentence, and what to do. `needs`: the part that failed before, and
        for want of which this one does.
        """
        self.failed[part] = PartFailed(part=part, why=why, hint=hint, needs=needs)
        self._bus.publish(self.failed[part])

    def recover(self, part: str) -> None:
        """Report that a part which failed works now."""
        if self.failed.pop(part, None) is not None:
            self._bus.publish(PartStarted(part=part))

    async def stop(self) -> None:
        """Stop every part, the last one first."""
        for part, stop in reversed(self._stops):
            try:
                async with time_limit(_STOP_WITHIN):
                    await stop()
            except TimeoutError:
                self.fail(part, "it did not stop in time", "")
            except (ExpectedError, OSError) as error:
                self.fail(part, str(error), "")
            except Exception as error:  # the parts that are left stop all the same
                fault = self._bus.report(f"the end of {part}", error, shown=True)
                self.fail(part, f"it failed while stopping: {fault.why}", fault.details)
