"""A conversation with somebody's program in its terminal: ready, send, answer, interrupt, exit.

Read, detect, write, verify. Never types over what a person has half typed, into a question, or into a program that
works; never presses Enter twice for one text. Raises `SessionError`; the mail and the terminal tools call it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gshtui.agents.cli.answer import added
from gshtui.agents.cli.looking import LOOK, Looking, Seen, SessionError, Trouble
from gshtui.agents.cli.profile import Profile
from gshtui.agents.cli.reading import Reading, conversation
from gshtui.bus.fleet import AgentRow
from gshtui.tmux.errors import TmuxError
from gshtui.tmux.marker import Marker, marker, since
from gshtui.tmux.readiness import Ready, wait_ready
from gshtui.tmux.server import TmuxServer

_PAST = 3000
"""Lines above the screen that an answer may have scrolled."""
_QUIET = 0.5
"""Seconds without a change after which an idle input is believed at the end of an answer."""
_HEAD = 24
"""Characters of a text by which it is known again in the input."""
State = Literal["typed", "submitted"]


@dataclass(frozen=True, slots=True)
class Sent:
    """A text that was entered, with the moment before it, for reading what came of it."""

    marker: Marker
    text: str
    before: tuple[str, ...]
    """The conversation as it was to be seen, plain lines."""
    at: float
    """Seconds since 1970; a hook after it confirms that it was acted upon."""


class CliSession:
    """One program in one pane. One text at a time: later ones wait for the lock."""

    def __init__(self, server: TmuxServer, row: AgentRow, profile: Profile) -> None:
        self._server = server
        self._pane = row.pane
        self._name = row.name
        self._profile = profile
        self._view = Looking(server, row, profile)
        self._lock = asyncio.Lock()
        self._last: Sent | None = None
        """What was entered last and has not been asked about."""

    async def start(self, *, timeout: float | None = None) -> Reading:
        """Wait until the program takes input, or asks something. Raises `SessionError` (starting, ended)."""
        timing = self._profile.timing
        loop = asyncio.get_running_loop()
        until = loop.time() + (timing.start if timeout is None else timeout)
        last: tuple[Reading, tuple[str, ...]] | None = None
        still = settled = loop.time()
        while True:
            seen = await self._view.look()
            now = loop.time()
            if seen.dead:
                raise SessionError("ended", f"{self._name} ended while it started.", "Its terminal shows why.")
            # A picture may move for ever, a changing hint or a logo; what it says has to stand still.
            if last is None or seen.reading != last[0]:
                settled = now
            if last is None or seen.lines != last[1]:
                still = now
            last = (seen.reading, seen.lines)
            quiet = now - still
            known = seen.reading.status in ("idle", "waiting") and now - settled >= timing.settle
            if known or (not self._profile.rules and quiet >= timing.idle):
                return seen.reading
            if now >= until:
                raise SessionError(
                    "starting",
                    f"{self._name} was not ready for input within {timeout or timing.start:g} s.",
                    "Look at its terminal.",
                )
            await asyncio.sleep(LOOK)

    async def look(self) -> Seen:
        """Its terminal now. Raises `SessionError` (terminal)."""
        return await self._view.look()

    async def send(self, text: str, *, told: Callable[[State], None] | None = None, even_busy: bool = False) -> Sent:
        """Type a text and enter it.

        Args:
            told: is called as the text is typed, and when it has been entered.
            even_busy: also while the program works; it then takes the text up later, or at once, as is its way.

        Raises:
            SessionError: busy, waiting, draft, ended, terminal: nothing was typed. unsure: it was typed, and whether
                it was entered is not known; it must not be sent again without a person's look.
        """
        async with self._lock:
            seen = await self._view.look()
            self._check(seen, even_busy)
            try:
                before = await marker(self._server, self._pane)
                await self._server.send_text(self._pane, text)
            except TmuxError as error:
                kind: Trouble = "unsure" if error.kind == "timeout" else "terminal"
                raise SessionError(kind, error.message, error.hint) from error
            await self._until_typed(text)
            if told is not None:
                told("typed")
            await asyncio.sleep(self._profile.timing.enter)
            sent = await self._enter(before, text, await self._view.conversation())
            if told is not None:
                told("submitted")
            return sent

    async def submit(self) -> None:
        """Press Enter on what stands in the input; for a person who has looked. Raises `SessionError`."""
        async with self._lock:
            await self._enter(await marker(self._server, self._pane), "", await self._view.conversation())

    def _check(self, seen: Seen, even_busy: bool) -> None:
        status, profile = seen.reading.status, self._profile
        if seen.dead:
            raise SessionError("ended", f"{self._name} has ended.", "Restart it first.")
        if status == "waiting":
            asks = f" ({seen.reading.doing})" if seen.reading.doing else ""
            raise SessionError("waiting", f"{self._name} waits for an answer{asks}.", "Answer it in its terminal.")
        if seen.reading.draft:
            raise SessionError("draft", f"Somebody has half typed something into {self._name}.", "Finish or clear it.")
        if not even_busy and status in ("thinking", "tool", "starting"):
            raise SessionError("busy", f"{self._name} is at work.", "The message waits until it is done.")
        if profile.input.line and not seen.reading.input and not (even_busy and status):
            raise SessionError("busy", f"The input of {self._name} is not to be seen.", "Look at its terminal.")

    async def _until_typed(self, text: str) -> None:
        """Wait until the text shows in the input; without that, Enter could answer something else."""
        if not self._profile.input.line:
            return
        head = " ".join(text.split())[:_HEAD]
        seen = await self._view.until(lambda now: bool(now.reading.draft) or (bool(head) and _shows(now, head)))
        if seen is None:
            raise SessionError(
                "unsure", f"The text does not show in the input of {self._name}, so it was not entered.", _LOOK_AT
            )
        if seen.dead:
            raise SessionError("ended", f"{self._name} ended while it was typed to.")
        if seen.reading.status == "waiting":
            raise SessionError("unsure", f"{self._name} asked something while it was typed to.", _LOOK_AT)

    async def _enter(self, before: Marker, text: str, conversation: list[str]) -> Sent:
        try:
            shown = (await self._view.look()).reading.draft
            await self._server.send_keys(self._pane, "Enter")
        except TmuxError as error:
            raise SessionError("unsure", error.message, error.hint) from error
        at = time.time()
        if shown and await self._view.until(lambda now: now.reading.draft != shown or not now.reading.input) is None:
            raise SessionError("unsure", f"{self._name} did not take the Enter; the text is in its input.", _LOOK_AT)
        self._last = Sent(before, text, tuple(conversation), at)
        return self._last

    async def so_far(self) -> str:
        """What its screen shows to have come since the last text that was entered here, until `answer` told it.

        Raises:
            SessionError: terminal.
        """
        return "" if self._last is None else await self._since(self._last)

    async def answer(self) -> str:
        """The same; each is told once. Raises `SessionError` (terminal)."""
        last, self._last = self._last, None
        return "" if last is None else await self._since(last)

    async def read_response(
        self,
        sent: Sent,
        *,
        pattern: str | None = None,
        idle_seconds: float | None = None,
        timeout: float = 600.0,
        finished: asyncio.Event | None = None,
    ) -> Ready:
        """What came after a text: until the program is idle or asks, by its screen, its own word, or by stillness.

        Args:
            pattern: of a prompt's line, where the profile's rules are not enough.
            idle_seconds: stillness that counts as the end; the profile's by default.
            timeout: seconds after which it ends anyway (`Ready.reason` says so).
            finished: set by who hears the program itself say that it is done.
        """
        idle = self._profile.timing.idle if idle_seconds is None else idle_seconds
        if pattern is not None or not self._profile.rules:
            try:
                return await wait_ready(
                    self._server, self._pane, pattern=pattern, idle_seconds=idle, timeout=timeout, since=sent.marker
                )
            except TmuxError as error:
                raise SessionError("terminal", error.message, error.hint) from error
        loop = asyncio.get_running_loop()
        began = still = loop.time()
        last: tuple[str, ...] = ()
        worked = False
        while True:
            seen = await self._view.look()
            now = loop.time()
            if seen.lines != last:
                last, still = seen.lines, now
            quiet = now - still
            worked = worked or seen.reading.status in ("thinking", "tool", "waiting")
            over = seen.reading.status in ("idle", "waiting") and quiet >= min(self._profile.timing.settle, _QUIET)
            if over and not worked:  # it may not have begun yet; then nothing has come but the echo
                over = bool(added(sent.before, conversation(self._profile, seen.lines), sent.text)) or quiet >= idle
            # An answer may be written below an input that looks idle; then only stillness tells, or the program.
            if finished is not None and not finished.is_set():
                over = over and (seen.reading.status == "waiting" or quiet >= idle)
            if seen.dead:
                return Ready("dead", await self._since(sent))
            if over:
                return Ready("pattern", await self._since(sent))
            if quiet >= idle and seen.reading.status not in ("thinking", "tool"):
                return Ready("idle", await self._since(sent))
            if now - began >= timeout:
                return Ready("timeout", await self._since(sent))
            await asyncio.sleep(LOOK)

    async def _since(self, sent: Sent) -> str:
        """What came since. A program with an input of its own redraws its screen; others only print."""
        if self._profile.ai:
            return added(sent.before, await self._view.conversation(_PAST), sent.text)
        try:
            return await since(self._server, sent.marker)
        except TmuxError as error:
            raise SessionError("terminal", error.message, error.hint) from error

    async def interrupt(self) -> None:
        """Stop what it is doing, by its own keys. Raises `SessionError` (terminal)."""
        await self._view.press(self._profile.keys.interrupt)

    async def exit(self, *, timeout: float = 10.0) -> bool:
        """Ask it to end by its own keys; whether it did. Raises `SessionError` (terminal)."""
        if (await self._view.look()).dead:
            return True
        if self._profile.keys.exit_text:
            try:
                await self._server.send_text(self._pane, self._profile.keys.exit_text, enter=True, enter_delay=0.2)
            except TmuxError as error:
                raise SessionError("terminal", error.message, error.hint) from error
        else:
            await self._view.press(self._profile.keys.exit)
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        while not (await self._view.look()).dead:
            if loop.time() >= until:
                return False
            await asyncio.sleep(LOOK)
        return True


_LOOK_AT = "Look at its terminal before you send it again."


def _shows(seen: Seen, head: str) -> bool:
    return any(head in line for line in seen.lines)
