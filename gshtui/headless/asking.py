"""Questions for approval at the prompt: asked on the terminal, in the middle of a turn, answered by one key.

Owns the question's words and the reading of the key; decides nothing by itself: without a key there is no answer. What
was typed before the question is thrown away. Called by `prompt` for a person at a shell.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import termios
import threading
import tty
from collections.abc import Callable, Sequence

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval import ApprovalAnswered, ApprovalRequested, ApprovalSettled, Decision

_DIFF_LINES = 60
"""Lines of a diff that are shown; more are counted."""
_DETAIL_LINES = 20
_LOOK_EVERY = 0.1
"""Seconds between two looks at whether the question still stands."""


def question(request: ApprovalRequested) -> str:
    """The question as lines of text, without its keys."""
    lines = [f"{request.agent} wants to use {request.tool} ({request.effect}): {request.subject}"]
    if request.detail and request.detail.strip() != request.subject.strip():
        lines += _some(request.detail, _DETAIL_LINES)
    if request.diff:
        lines += _some(request.diff, _DIFF_LINES)
    lines += [f"! {warning}" for warning in request.warnings]
    return "\n".join(lines)


def keys(request: ApprovalRequested) -> str:
    """What may be pressed."""
    always = f"  a always: {request.pattern}" if request.pattern else ""
    return f"y once  s this exact call for the session{always}  n no ? "


def decision_of(key: str, request: ApprovalRequested) -> Decision | None:
    """What a key means; `None`: it means nothing."""
    meanings: dict[str, Decision] = {"y": "once", "s": "session", "n": "deny", "\x1b": "deny"}
    if request.pattern:
        meanings["a"] = "always"
    return meanings.get(key.lower())


class Asker:
    """Takes the questions of one turn, one after the other. Made in a running loop; `close` ends it."""

    def __init__(self, bus: Bus, say: Callable[[str], None]) -> None:
        """`say` writes a text to the terminal, in order with the answer."""
        self._bus = bus
        self._say = say
        self._waiting: asyncio.Queue[ApprovalRequested] = asyncio.Queue()
        self._settled: set[str] = set()
        self._gone = threading.Event()
        self._asked = ""
        self._subscription = bus.subscribe(self._take, ApprovalRequested, ApprovalSettled, name="asker")
        self._task = asyncio.ensure_future(self._ask())

    async def close(self) -> None:
        """Ask nothing more."""
        self._subscription.unsubscribe()
        self._gone.set()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    def _take(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, ApprovalRequested):
                self._waiting.put_nowait(event)
            elif isinstance(event, ApprovalSettled):
                self._settled.add(event.approval)
                if event.approval == self._asked:
                    self._gone.set()

    async def _ask(self) -> None:
        while True:
            request = await self._waiting.get()
            if request.approval in self._settled:
                continue
            self._asked = request.approval
            self._gone = gone = threading.Event()
            self._say(f"{question(request)}\n{keys(request)}")
            try:
                decision = await asyncio.to_thread(_decision, request, gone)
            except OSError:
                decision = "deny"  # the terminal is gone, and with it whoever could have agreed
            if decision is None:
                continue
            self._say(f"{decision}\n")
            self._bus.publish(ApprovalAnswered(approval=request.approval, decision=decision))


def _decision(request: ApprovalRequested, gone: threading.Event) -> Decision | None:
    """Wait for a key that means something; `None` when the question is closed. Raises `OSError`."""
    terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        before = termios.tcgetattr(terminal)
        tty.setcbreak(terminal, termios.TCSAFLUSH)  # what was typed before the question is no answer to it
        try:
            while not gone.is_set():
                if not select.select([terminal], [], [], _LOOK_EVERY)[0]:
                    continue
                typed = os.read(terminal, 64)
                if not typed:
                    return "deny"
                # A single key: whatever comes in one piece, a paste or an arrow key, is none.
                if len(typed) == 1 and (decision := decision_of(typed.decode("latin-1"), request)):
                    return decision
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    except termios.error as error:
        raise OSError(str(error)) from error
    finally:
        os.close(terminal)
    return None


def _some(text: str, most: int) -> list[str]:
    lines = text.rstrip("\n").split("\n")
    more = [f"… {len(lines) - most} more lines"] if len(lines) > most else []
    return [f"  {line}" for line in lines[:most]] + more
