"""Follows the agents of this hub while they live: the ends of all terminals, and the status of somebody's programs.

It refuses to end anybody: an end that is noticed here is a reason to look, and the look decides. Held by the fleet,
told after each look who is alive.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, cast

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged, Status, TurnFinished
from gshtui.bus.events.fleet_events import MessageSubmitted
from gshtui.fleet.agent_programs import Programs
from gshtui.fleet.fleet_context import FleetContext
from gshtui.programs.cli_session import CliSession, SessionError
from gshtui.programs.hook_reports import HookFeed
from gshtui.programs.status import WORKING, KnownStatus
from gshtui.programs.status_watcher import CliStatus, Pacer
from gshtui.system.tasks import start_job
from gshtui.tmux.watcher import PaneChange

_LOOKS, _LOOK_EVERY = 15, 1.0
"""Looks for the answer of a short turn, and seconds between them."""
_SOON = 0.1
"""Seconds until the first look at what a shell was given to run; each further one comes after twice as long."""
_Key = tuple[str, str, int]
"""(agent, pane, process): another process is followed anew."""


class AgentFollower:
    """One follower an agent. `stop` ends all of them."""

    def __init__(self, context: FleetContext, programs: Programs, check_now: Callable[[], None]) -> None:
        """`check_now`: called when something has changed."""
        self._context = context
        self._programs = programs
        self._check_now = check_now
        self._feed = HookFeed(context.options.data)
        self._pace = Pacer()
        self._statuses: dict[_Key, CliStatus | None] = {}
        self._ends: dict[_Key, Callable[[], None]] = {}
        self._turn = asyncio.Lock()
        self._worked: set[str] = set()
        """Agents that were seen at work since their last answer."""
        self._answers: set[asyncio.Task[None]] = set()
        self._subscription = context.bus.subscribe(self._asked, MessageSubmitted, name="follower")

    async def keep(self, alive: list[AgentRow]) -> None:
        """Follow exactly these."""
        async with self._turn:
            wanted = {(row.id, row.pane, row.pid): row for row in alive if row.pane}
            for key in [key for key in self._statuses if key not in wanted]:
                await self._leave(key)
            for key, row in wanted.items():
                if key not in self._statuses:
                    await self._follow(key, row)

    async def stop(self) -> None:
        """Follow nobody."""
        self._subscription.unsubscribe()
        async with self._turn:
            for key in list(self._statuses):
                await self._leave(key)
            await self._feed.close()
        for task in tuple(self._answers):
            task.cancel()
        await asyncio.gather(*self._answers, return_exceptions=True)

    async def _follow(self, key: _Key, row: AgentRow) -> None:
        server = self._context.terminals.server(row.socket)
        self._statuses[key] = None
        self._ends[key] = server.watcher.watch(row.pane, self._changed)
        if row.kind == "cli":
            told = functools.partial(self._said, key, row)
            bound = functools.partial(self._bound, row.id)
            profile = await self._programs.profile(row)
            status = CliStatus(server, row, profile, told, feed=self._feed, bound=bound, pace=self._pace)
            self._statuses[key] = status
            await status.start()
            if status.answer and status.answer != row.report:
                self._answered(row.id, status.answer)  # while nobody was there to hear it

    async def _leave(self, key: _Key) -> None:
        self._ends.pop(key)()
        status = self._statuses.pop(key)
        if status is not None:
            await status.stop()

    def _changed(self, change: PaneChange) -> None:
        if change.what & {"dead", "gone"}:
            self._check_now()

    def _said(self, key: _Key, row: AgentRow, known: KnownStatus) -> None:
        if known.status in ENDED_STATUSES:
            self._check_now()
            return
        self._context.bus.publish(
            AgentStatusChanged(
                agent=row.id,
                status=cast("Status", known.status),
                source=known.source if known.sure else f"{known.source}?",
                doing=known.doing,
            )
        )
        if known.status in WORKING:
            self._worked.add(row.id)
        elif known.status == "idle" and known.sure and row.id in self._worked:
            self._worked.discard(row.id)
            status = self._statuses.get(key)
            if status is not None and status.takes_code:
                return  # what was entered there is followed until it has run
            self._soon(self._answer(key, row), row)

    def _soon(self, telling: Coroutine[Any, Any, None], row: AgentRow) -> None:
        task = start_job(telling, f"the answer of {row.id}")
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    def _asked(self, batch: Sequence[Event]) -> None:
        """A text was entered: its turn may be over before anything has shown that it began."""
        for event in batch:
            for key, status in self._statuses.items():
                row = self._context.rows.get(key[0])
                if isinstance(event, MessageSubmitted) and event.agent == key[0] and status is not None and row:
                    self._soon(self._short_turn(key, row, status), row)

    async def _short_turn(self, key: _Key, row: AgentRow, status: CliStatus) -> None:
        """Where a program rests and its screen shows the same answer twice, its turn was too short to be seen."""
        session = await self._programs.session(self._context.terminals.server(row.socket), row)
        if session.takes_code:
            await self._ran(key, row, status, session)
            return
        before = ""
        for _ in range(_LOOKS):
            await asyncio.sleep(_LOOK_EVERY)
            if status.hooked or row.id in self._worked or self._statuses.get(key) is not status:
                return  # it says so itself, or the end of its work will be seen
            now = ""
            if status.known.status == "idle" and status.known.sure:
                try:
                    now = await session.text_so_far()
                except SessionError:
                    return
            if now.strip() and now == before:
                await self._answer(key, row)
                return
            before = now

    async def _ran(self, key: _Key, row: AgentRow, status: CliStatus, session: CliSession) -> None:
        """What a shell or an interpreter printed, once it is at its prompt again, whether that is much or nothing."""
        wait, rested = _SOON, 0
        try:
            while rested < 2:  # between a line and its command a shell looks as if it were at its prompt
                if self._statuses.get(key) is not status:
                    return
                await asyncio.sleep(wait)
                rested = rested + 1 if await session.is_still() else 0
                wait = _SOON if rested else min(wait * 2, _LOOK_EVERY)
            said = await session.answer()
        except SessionError:
            return  # its terminal is gone, which the next look tells
        self._answered(row.id, said)

    async def _answer(self, key: _Key, row: AgentRow) -> None:
        """A turn is over: what it answered, by its own word, else by its screen."""
        status = self._statuses.get(key)
        said = status.answer if status is not None else ""
        if not said:
            try:
                session = await self._programs.session(self._context.terminals.server(row.socket), row)
                said = await session.answer()
            except SessionError:
                return  # its terminal is gone, which the next look tells
        if said.strip():
            self._answered(row.id, said)

    def _answered(self, agent: str, text: str) -> None:
        self._context.bus.publish(TurnFinished(agent=agent, session="", turn="", stop="end", text=text))

    def _bound(self, agent: str, conversation: str) -> None:
        self._context.rows.change_soon(agent, {"external_id": conversation})
