"""Waits until a program in a pane wants input: it shows its prompt, has been still for long enough, or has ended.

It waits for output, not for a clock, and every wait has a limit. Usage: take a `marker`, send, wait with it; only
output after the marker counts. Called by terminal tools and CLI sessions.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

import msgspec

from gshtui.system.processes.time_limit import time_limit
from gshtui.text.linear_regex import Linear, LinearError, compile_linear
from gshtui.tmux import marker as markers
from gshtui.tmux.marker import Marker
from gshtui.tmux.tmux_errors import TmuxError
from gshtui.tmux.watcher import PaneChange

if TYPE_CHECKING:
    from gshtui.tmux.server import TmuxServer

Reason = Literal["pattern", "idle", "timeout", "dead"]

_LAST = 6
"""How many non-blank lines at the end are searched for a prompt."""
_WIDEST = 300
"""Characters of such a line."""
_APART = 0.03
"""Seconds between two looks at a pane that keeps printing."""
_POLL = 0.2
"""Seconds between looks if nothing reports output."""
_LONGEST_PATTERN = 500


class Ready(msgspec.Struct, frozen=True):
    """Why the wait ended, and the output since the marker (without one, the screen)."""

    reason: Reason
    text: str


async def wait_ready(
    server: TmuxServer,
    pane: str,
    *,
    pattern: str | None,
    idle_seconds: float | None,
    timeout: float,
    since: Marker | None = None,
) -> Ready:
    """Wait for the prompt or for stillness, whichever comes first.

    Args:
        pattern: regular expression for a prompt's line, searched in the newest lines.
        since: ignore everything before this marker. On the alternate screen, where a prompt may stay in place, the
            whole screen is searched once it has changed.

    Raises `TmuxError`: refused, for a bad pattern; no_such_pane, if the pane does not exist at the start.
    """
    expression = _compiled(pattern)
    wait = _Wait(server, await markers.take_marker(server, pane), expression, since)
    try:
        return await wait.run(idle_seconds, timeout)
    finally:
        wait.end()


class _Wait:
    """One wait."""

    def __init__(self, server: TmuxServer, first: Marker, expression: Linear | None, since: Marker | None) -> None:
        self._server = server
        self._seen = first
        self._expression = expression
        self._since = since
        self._stirred = asyncio.Event()
        self._gone = False
        connection, pane = server.connection, first.info.pane
        connection.start()
        self._ends = (connection.on_output(pane, self._on_output), server.watcher.watch(pane, self._on_change))

    def end(self) -> None:
        for end in self._ends:
            end()

    async def run(self, idle_seconds: float | None, timeout: float) -> Ready:
        """See `wait_ready`."""
        loop = asyncio.get_running_loop()
        changed = loop.time()
        until = changed + timeout
        while True:
            if self._gone:
                return Ready("dead", _text(self._seen))
            if self._seen.info.dead:
                return Ready("dead", await self._text())
            if await self._matches():
                return Ready("pattern", await self._text())
            now = loop.time()
            idle_at = changed + idle_seconds if idle_seconds is not None else until
            if now >= min(until, idle_at):
                return Ready("idle" if idle_at <= now and idle_seconds is not None else "timeout", await self._text())
            await self._wait_for_output(min(until, idle_at) - now)
            before = self._seen
            await self._capture()
            if _differ(before, self._seen):
                changed = loop.time()

    async def _wait_for_output(self, longest: float) -> None:
        """Wait at most this long for a sign of output, then a moment for the rest of it."""
        if self._server.connection.mode != "control":
            longest = min(longest, _POLL)
        try:
            async with time_limit(longest):
                await self._stirred.wait()
                await asyncio.sleep(_APART)
        except TimeoutError:
            pass
        self._stirred.clear()

    async def _capture(self) -> None:
        self._server.connection.resume_output(self._seen.info.pane)
        self._stirred.clear()
        try:
            self._seen = await markers.capture_marker(self._server, self._seen.info)
        except TmuxError as error:
            # A server that does not answer now may answer later; there is a time-out for when it does not.
            self._gone = error.kind in ("no_such_pane", "gone")

    async def _matches(self) -> bool:
        expression, since = self._expression, self._since
        if expression is None or self._gone:
            return False
        if since is None or (self._seen.info.alternate and _differ(since, self._seen)):
            text = _text(self._seen)
        elif self._seen.info.alternate:
            return False
        else:
            text = await self._text()
        lines = [line for line in text.splitlines() if line.strip()][-_LAST:]
        # The blank behind most prompts is not in what was captured.
        return any(expression.search(line[-_WIDEST:]) or expression.search(line[-_WIDEST:] + " ") for line in lines)

    async def _text(self) -> str:
        if self._since is None:
            return _text(self._seen)
        try:
            return await markers.text_since(self._server, self._since, self._seen)
        except TmuxError:
            return _text(self._seen)

    def _on_output(self, said: bytes) -> None:
        # One sign is enough until the next look; a firehose costs no more than that.
        self._stirred.set()
        if said:
            self._server.connection.pause_output(self._seen.info.pane)

    def _on_change(self, change: PaneChange) -> None:
        self._gone = self._gone or "gone" in change.what
        if change.what - {"activity", "first"}:
            self._stirred.set()


def _compiled(pattern: str | None) -> Linear | None:
    if pattern is None or not pattern:
        return None
    if len(pattern) > _LONGEST_PATTERN:
        raise TmuxError("refused", f"The prompt pattern has more than {_LONGEST_PATTERN} characters.")
    try:
        return compile_linear(pattern)
    except LinearError as error:
        raise TmuxError("refused", f"{pattern[:80]!r} is not a supported regular expression: {error}.") from error


def _differ(one: Marker, other: Marker) -> bool:
    return (
        one.rows != other.rows
        or one.place != other.place
        or one.info.cursor_x != other.info.cursor_x
        or one.info.alternate != other.info.alternate
    )


def _text(seen: Marker) -> str:
    return "\n".join(row.rstrip() for row in seen.rows).rstrip()
