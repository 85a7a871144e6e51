"""A conversation of the record played again: its events in their order and at their pace, on a bus of their own.

Long silences are shortened. What the record lacks is made up for: a message without its event is told when it was
written. Nothing is written, and nothing is run.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence

import msgspec

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import MessageAppended, TurnStarted
from gshtui.bus.events.session_events import SessionChangeRequested, SessionClosed, SessionOpened
from gshtui.bus.messages import Message
from gshtui.store.record.store import Store
from gshtui.store.tables.session_table import SessionInfo
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

LONGEST_PAUSE = 2.0
"""Seconds, at most, between two events."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0)
_PAGE = 2_000
_TICK = 0.25
"""Seconds, at most, until the position is told again."""
_LEFT_OUT = (SessionOpened, SessionClosed, SessionChangeRequested)
"""The replay opens the conversation itself."""


class Recording(msgspec.Struct, frozen=True):
    """A conversation's events, and the second at which each is played."""

    info: SessionInfo
    events: tuple[Event, ...]
    times: tuple[float, ...]

    @property
    def length(self) -> float:
        """Seconds."""
        return self.times[-1] if self.times else 0.0


async def read_recording(store: Store, session: str) -> Recording:
    """What the record has of a conversation. Unreadable entries are left out. Raises `StoreError`: there is no such
    conversation, or nothing can be read.
    """
    info = await store.sessions.find(session)
    events: list[Event] = []
    after = 0
    while page := await store.journal.read(info.id, after=after, limit=_PAGE):
        events += [event for _, event in page if not isinstance(event, _LEFT_OUT)]
        after = page[-1][0]
    known = {event.message.id for event in events if isinstance(event, MessageAppended)}
    stored = [one.message for one in await store.messages.read(info.id)]
    whole = {message.id: message for message in stored}
    made = [
        MessageAppended(agent=info.agent, session=info.id, message=message, at=message.at)
        for message in stored
        if message.id not in known
    ]
    # An event's message is the one that is stored, also where the event has lost its own.
    events = [event for event in events if not isinstance(event, MessageAppended) or event.message.id in whole]
    return recording(info, _merged(events, made))


def _merged(events: Sequence[Event], more: Sequence[Event]) -> list[Event]:
    """Both in one order: that of the first, with each of the others before the first that is later."""
    found: list[Event] = []
    left = list(more)
    for event in events:
        while left and left[0].at <= event.at:
            found.append(left.pop(0))
        found.append(event)
    return [*found, *left]


def recording(info: SessionInfo, events: Sequence[Event]) -> Recording:
    """Build a recording. Backward clock jumps become gaps of no length."""
    times: list[float] = []
    now, before = 0.0, events[0].at if events else 0.0
    for event in events:
        now += min(max(0.0, event.at - before), LONGEST_PAUSE)
        before = max(before, event.at)
        times.append(now)
    return Recording(info, tuple(events), tuple(times))


def _prompt_of(event: Event) -> Message | None:
    """The prompt that an event tells."""
    if isinstance(event, MessageAppended) and event.message.role == "user" and event.message.agent != "hook":
        return event.message
    return None


class ReplayPlayer:
    """Plays a recording; it begins paused at its start, with the conversation open and empty."""

    def __init__(self, bus: Bus, recorded: Recording, speed: float = 1.0) -> None:
        self.recorded = recorded
        self.speed = speed
        self.playing = False
        self.time = 0.0
        """Where it is, in seconds of the recording."""
        self.changed: Callable[[], None] = lambda: None
        """Called when anything of this has changed."""
        self._bus = bus
        self._next = 0
        self._woken = asyncio.Event()
        self._job: asyncio.Task[None] | None = None

    @property
    def now(self) -> float:
        """The time of day that it was then, in seconds since the epoch; a shortened silence is skipped in the end."""
        events, times = self.recorded.events, self.recorded.times
        if not events:
            return time.time()
        last = max(0, self._next - 1)
        later = events[self._next].at if self._next < len(events) else events[last].at
        return max(events[last].at, min(events[last].at + max(0.0, self.time - times[last]), later))

    @property
    def position(self) -> int:
        """How many events have been played."""
        return self._next

    def start(self) -> None:
        """Open the conversation, and play."""
        self._open()
        self.playing = bool(self.recorded.events)
        self._job = start_job(self._play(), "the replay")

    async def close(self) -> None:
        """Stop."""
        if self._job is not None:
            await cancel_and_wait(self._job)

    def toggle(self) -> None:
        """Pause or go on; from the end, begin again."""
        if not self.playing and self._next >= len(self.recorded.events):
            self.seek(0.0)
        self.playing = not self.playing
        self._tell()

    def change_speed(self, step: int) -> None:
        """The next faster or slower speed."""
        near = min(range(len(SPEEDS)), key=lambda at: abs(SPEEDS[at] - self.speed))
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, near + step))]
        self._tell()

    def seek(self, wanted: float) -> None:
        """Go to a second: forward by playing what lies between, backward by beginning anew. At the end it pauses."""
        wanted = max(0.0, min(wanted, self.recorded.length))
        to = bisect_right(self.recorded.times, wanted) if wanted > 0 else 0
        if to < self._next:
            self._open()
        self._publish(to)
        self.time = wanted
        self._rest_at_end()
        self._tell()

    def seek_prompt(self, step: int) -> None:
        """Go to the next prompt, or the previous one."""
        begins = [
            at
            for event, at in zip(self.recorded.events, self.recorded.times, strict=True)
            if isinstance(event, TurnStarted) or _prompt_of(event) is not None  # a damaged record may have only one
        ]
        if step > 0:
            self.seek(next((at for at in begins if at > self.time + 0.01), self.recorded.length))
        else:
            self.seek(next((at for at in reversed(begins) if at < self.time - 0.5), 0.0))

    def prompt_here(self) -> Message | None:
        """The prompt of the turn that is being played; before the first, that one; `None`: there is none."""
        before = self.recorded.events[: self._next]
        after = self.recorded.events[self._next :]
        for event in (*reversed(before), *after):
            if (prompt := _prompt_of(event)) is not None:
                return prompt
        return None

    def _tell(self) -> None:
        self._woken.set()
        self.changed()

    def _open(self) -> None:
        info = self.recorded.info
        self._next = 0
        self._bus.publish(SessionOpened(session="", agent=info.agent, cwd=info.cwd))  # so that panes begin anew
        self._bus.publish(SessionOpened(session=info.id, agent=info.agent, title=info.title, cwd=info.cwd))

    def _publish(self, to: int) -> None:
        for event in self.recorded.events[self._next : to]:
            self._bus.publish(event)
        self._next = max(self._next, to)

    def _rest_at_end(self) -> None:
        if self._next >= len(self.recorded.events):
            self.playing = False

    async def _play(self) -> None:
        times = self.recorded.times
        while True:
            began = time.monotonic()
            wait = None
            if self.playing and self._next < len(times):
                wait = min(_TICK, max(0.0, (times[self._next] - self.time) / self.speed))
            self._woken.clear()
            try:
                async with time_limit(wait):
                    await self._woken.wait()
            except TimeoutError:
                self.time = min(self.time + (time.monotonic() - began) * self.speed, self.recorded.length)
                self._publish(bisect_right(times, self.time))
                self._rest_at_end()
                self.changed()
