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
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from gshtui.headless import streams
from gshtui.headless.streams import STDERR
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text import cells
from gshtui.text.sanitise import plain

if TYPE_CHECKING:
    from gshtui.hub.hub import Hub

SHOWN_AFTER = 1.0
"""Seconds of silence before the line appears on a terminal."""
SAID_AFTER = 5.0
"""Seconds before it is written once, without a terminal."""
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_EVERY = 0.1


class Progress:
    """The line. `words` says what the command is waiting for, without a full stop; it may change at any time.

    It is the face of a command on a hub, see `gshtui.hub.faces.command_watch.CommandFace`.
    """

    def __init__(self, words: str, *, began: float | None = None) -> None:
        """`began`: when the command began, by the monotonic clock; by default now."""
        self.words = words
        self._began = time.monotonic() if began is None else began
        self._turn = itertools.count()
        self._said = False
        self._moves = streams.is_terminal(STDERR) and streams.draws()
        self._drawn = False
        self._task: asyncio.Task[None] | None = None
        self._queued: dict[str, str] = {}
        """Id of each of the command's queued messages → whom it is for."""

    def complain(self, text: str, hint: str) -> None:
        self.clear()
        streams.complain(text, hint)

    def wait_for(self, words: str) -> None:
        """Say what is waited for from now on."""
        self.words = words

    def started(self, agent: str) -> None:
        """Print the id at once, because the prompt may have to wait until the program can take it."""
        self.clear()
        streams.result(agent)

    def queued(self, message: str, to: str) -> None:
        """Note whom a message is for that stays queued on an interrupt; empty: it does not any more."""
        self._queued.pop(message, None)
        if to:
            self._queued[message] = to

    def interrupted(self) -> None:
        """Say which messages stay queued."""
        self.clear()
        for message, to in self._queued.items():
            streams.complain(
                f"Interrupted. The message to {to} stays queued and is delivered once it can take it.",
                f"`gsh-tui run 'mail drop {message}'` withdraws it.",
            )

    def start(self) -> None:
        self._task = start_job(self._redraw(), "the progress line")

    def restart(self, words: str) -> None:
        """Wait for something else, from now on."""
        self.words, self._began, self._said = words, time.monotonic(), False
        self.start()

    async def stop(self) -> None:
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
            self._drawn = True  # first: an interrupt may come as soon as it is
            _write(streams.own("\r", plain(line), "\x1b[K"))


@asynccontextmanager
async def watching(hub: Hub, words: str) -> AsyncGenerator[Progress]:
    """Show the progress line while the hub works, and the hub's warnings.

    Args:
        hub: not yet started.
        words: what the command does, such as `Waiting for fix`.
    """
    from gshtui.hub.faces.command_watch import CommandWatch

    progress = Progress(words)
    watch = CommandWatch(hub, progress)
    progress.start()
    try:
        yield progress
        await hub.bus.drained()
    except asyncio.CancelledError:
        progress.interrupted()
        raise
    finally:
        watch.close()
        await progress.stop()


def _write(data: streams.ShownBytes) -> None:
    with contextlib.suppress(OSError):
        streams.write_all(STDERR, data)
