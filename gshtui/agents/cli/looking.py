"""Looks at a program's terminal, and presses its keys: what a session is made of.

Owns the one error of sessions. Every look is fresh; a wait is for what is expected to be seen, with a deadline. Called
by `session` alone.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gshtui.agents.cli.profile import Profile
from gshtui.agents.cli.reading import Reading, by_title, conversation, read
from gshtui.bus.fleet import AgentRow
from gshtui.tmux.errors import TmuxError
from gshtui.tmux.server import TmuxServer

LOOK = 0.06
"""Seconds between two looks while something is expected at once."""
_BETWEEN_KEYS = 0.3
Trouble = Literal["busy", "waiting", "draft", "ended", "unsure", "starting", "terminal"]


class SessionError(Exception):
    """It was not done, or it is not known whether it was (`unsure`). One sentence, and what to do."""

    def __init__(self, kind: Trouble, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.kind: Trouble = kind
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


@dataclass(frozen=True, slots=True)
class Seen:
    """A look at the terminal."""

    reading: Reading
    dead: bool
    lines: tuple[str, ...]


class Looking:
    """One program's terminal."""

    def __init__(self, server: TmuxServer, row: AgentRow, profile: Profile) -> None:
        self._server = server
        self._pane = row.pane
        self._profile = profile

    async def look(self) -> Seen:
        """Its terminal now. Raises `SessionError` (terminal)."""
        try:
            info, lines = await self._server.look(self._pane)
        except TmuxError as error:
            raise SessionError("terminal", error.message, error.hint) from error
        place = (info.cursor_x, info.cursor_y)
        reading = read(self._profile, lines, info.title, place)
        said = by_title(self._profile, info.title)
        if said and reading.status == "idle":  # an answer may be written above an input that looks idle
            reading = dataclasses.replace(reading, status=said)
        return Seen(reading, info.dead, lines)

    async def until(self, good: Callable[[Seen], bool]) -> Seen | None:
        """The first look that is good, or shows that the program has ended; `None` when none was in time."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._profile.timing.shown
        while True:
            seen = await self.look()
            if seen.dead or good(seen):
                return seen
            if loop.time() >= until:
                return None
            await asyncio.sleep(LOOK)

    async def conversation(self, lines: int = 0) -> list[str]:
        """What stands above its input, from so many lines above the screen on."""
        try:
            seen = await self._server.capture(self._pane, start=-lines if lines else None)
        except TmuxError as error:
            raise SessionError("terminal", error.message, error.hint) from error
        return conversation(self._profile, seen)

    async def press(self, keys: tuple[str, ...]) -> None:
        for number, key in enumerate(keys):
            if number:
                await asyncio.sleep(_BETWEEN_KEYS)  # two in one instant count as one in some programs
                if (await self.look()).dead:
                    return
            try:
                await self._server.send_keys(self._pane, key)
            except TmuxError as error:
                raise SessionError("terminal", error.message, error.hint) from error
