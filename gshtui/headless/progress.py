"""What a person sees while a command takes its time: after a second, a line on stderr says what it is waiting for.

On a terminal the line is animated and removed at the end; elsewhere it is written once, later. It also writes the hub's
warnings and, on an interrupt, which messages stay queued. Never writes to stdout. Used by all commands that open a hub.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from gshtui.bus.events.fleet_events import (
    AgentSpawned,
    MessageActed,
    MessageDropped,
    MessageHeld,
    MessageQueued,
    MessageSubmitted,
)
from gshtui.bus.events.hub_events import Noticed, WaitReported
from gshtui.headless import streams
from gshtui.headless.streams import STDERR
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text import cells
from gshtui.text.sanitise import plain

if TYPE_CHECKING:
    from gshtui.bus.event import Event
    from gshtui.hub.hub import Hub

SHOWN_AFTER = 1.0
"""Seconds of silence before the line appears on a terminal."""
SAID_AFTER = 5.0
"""Seconds before it is written once, without a terminal."""
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_EVERY = 0.1
_HEARD = (
    Noticed,
    WaitReported,
    AgentSpawned,
    MessageQueued,
    MessageSubmitted,
    MessageActed,
    MessageDropped,
    MessageHeld,
)


def _is_about_agent(hub: Hub, event: Noticed) -> bool:
    """Whether it is about an agent in a terminal: then it is part of what the command did."""
    return hub.fleet is not None and hub.fleet.get(event.about) is not None


class Progress:
    """The line. `words` says what the command is waiting for, without a full stop; it may change at any time."""

    def __init__(self, words: str, *, began: float | None = None) -> None:
        """`began`: when the command began, by the monotonic clock; by default now."""
        self.words = words
        self._began = time.monotonic() if began is None else began
        self._turn = itertools.count()
        self._said = False
        self._moves = streams.is_terminal(STDERR) and streams.draws()
        self._drawn = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the clock."""
        self._task = start_job(self._redraw(), "the progress line")

    def restart(self, words: str) -> None:
        """Wait for something else, from now on."""
        self.words, self._began, self._said = words, time.monotonic(), False
        self.start()

    async def stop(self) -> None:
        """Remove the line."""
        task, self._task = self._task, None
        await cancel_and_wait(task)
        self.clear()

    def clear(self) -> None:
        """Remove the line until the next redraw, because something else is about to be written."""
        if self._drawn:
            self._drawn = False
            _write(streams.own("\r\x1b[K"))

    def show(self) -> None:
        """Draw the line, or say it once, if it is time."""
        seconds = time.monotonic() - self._began
        if self._moves and seconds >= SHOWN_AFTER:
            self._draw(_FRAMES[next(self._turn) % len(_FRAMES)], seconds)
        elif not self._moves and not self._said and seconds >= SAID_AFTER:
            self._said = True
            streams.complain(f"{self.words} …")

    async def _redraw(self) -> None:
        await asyncio.sleep(SHOWN_AFTER if self._moves else SAID_AFTER)
        while not self._said:
            self.show()
            await asyncio.sleep(_EVERY)

    def _draw(self, frame: str, seconds: float) -> None:
        with contextlib.suppress(OSError):
            columns = os.get_terminal_size(STDERR).columns
            line = cells.head(f"{frame} {plain(self.words)} · {seconds:.0f} s", columns - 1)
            _write(streams.own("\r", plain(line), "\x1b[K"))
            self._drawn = True


@asynccontextmanager
async def watching(
    hub: Hub, words: str, *, started: Callable[[AgentSpawned], None] | None = None
) -> AsyncGenerator[Progress]:
    """Show the progress line while the hub works, and the hub's warnings.

    Args:
        hub: not yet started, so that warnings from its start are shown, too.
        words: what the command does, such as `Waiting for fix`.
        started: called with each agent that the command starts, as soon as it runs.
    """
    progress = Progress(words)
    queued: dict[str, str] = {}
    """Id of each of this command's queued messages → its agent."""
    spawned: dict[str, str] = {}
    """Id of each agent that the command starts → its name."""

    def take(event: Event) -> None:
        match event:
            case Noticed(about="settings"):
                pass  # said when they were read
            case Noticed() if event.level != "info" or _is_about_agent(hub, event):
                progress.clear()
                streams.complain(event.text, event.hint)
            case WaitReported():
                progress.words = event.text
            case AgentSpawned() if started is not None:
                progress.clear()
                started(event)
                spawned[event.agent] = event.row.name
            case MessageQueued():
                queued[event.message] = event.agent
                if name := spawned.get(event.agent):
                    progress.words = f"Waiting for {name} ({event.agent}) to accept its prompt"
            case MessageSubmitted() | MessageActed() | MessageDropped() | MessageHeld():
                queued.pop(event.message, None)
            case _:
                pass

    async def listen(batch: Sequence[Event]) -> None:
        for event in batch:
            take(event)

    subscription = hub.bus.subscribe(listen, *_HEARD, name="progress")
    progress.start()
    try:
        yield progress
        await hub.bus.drained()
    except asyncio.CancelledError:
        progress.clear()
        for message, agent in queued.items():
            row = hub.fleet.get(agent) if hub.fleet is not None else None
            to = agent if row is None else f"{row.name} ({agent})"
            streams.complain(
                f"Interrupted. The message to {to} stays queued and is delivered once it can take it.",
                f"`gsh-tui run 'mail drop {message}'` withdraws it.",
            )
        raise
    finally:
        subscription.unsubscribe()
        await progress.stop()


def _write(data: streams.ShownBytes) -> None:
    with contextlib.suppress(OSError):
        streams.write_all(STDERR, data)
