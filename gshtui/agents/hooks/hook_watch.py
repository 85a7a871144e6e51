"""Tells hooks what has happened: a conversation was opened or closed, an agent waits or has ended, a context was cut.

These hooks decide nothing, except that what those of `SessionStart` print is told to the agent with its next prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from gshtui.agents.hooks.agent_hooks import AgentHooks
from gshtui.agents.hooks.hook_set import HookEvent
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.events.fleet_events import AgentEnded
from gshtui.bus.events.session_events import SessionClosed, SessionOpened
from gshtui.guard.approval.question_text import asked_words
from gshtui.system.tasks import cancel_and_wait, start_job

_WIND_DOWN = 5.0
"""Seconds that hooks about the end of a conversation have when the hub stops."""


class HookWatch:
    """Made by the hub with its agents; `stop` ends what still runs."""

    def __init__(
        self,
        bus: Bus,
        hooks: AgentHooks,
        is_ours: Callable[[str], bool],
        is_linked_elsewhere: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """
        Args:
            is_ours: whether an agent is one of this process.
            is_linked_elsewhere: whether another hub, which has the hooks as well, hears of the agent first.
        """
        self._hooks = hooks
        self._is_ours = is_ours
        self._is_linked_elsewhere = is_linked_elsewhere
        self._running: set[asyncio.Task[object]] = set()
        self._open: dict[str, str] = {}
        """Agent → its conversation."""
        self._subscription = bus.subscribe(
            self._listen, SessionOpened, SessionClosed, ApprovalRequested, AgentEnded, ContextCut, name="hooks"
        )

    async def stop(self) -> None:
        """Give hooks about what has just ended a moment, then end them."""
        self._subscription.unsubscribe()
        for agent, session in self._open.items():
            self._tell("SessionEnd", agent, session, {"reason": "other"}, "other")
        if self._running:
            await asyncio.wait(self._running, timeout=_WIND_DOWN)
        await cancel_and_wait(*self._running)
        if self._hooks.transcripts is not None:
            await asyncio.to_thread(self._hooks.transcripts.remove)

    def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            match event:
                case SessionOpened() if self._is_ours(event.agent) and event.writable:
                    source = "resume" if event.resumed else "clear" if event.follows else "startup"
                    self._open[event.agent] = event.session
                    task = self._start(self._opened(event.agent, event.session, source), "SessionStart")
                    self._hooks.beginning[event.agent] = task
                case SessionClosed() if self._open.pop(event.agent, "") == event.session:
                    self._tell("SessionEnd", event.agent, event.session, {"reason": "other"}, "other")
                case ApprovalRequested() if not self._is_linked_elsewhere(event.agent):
                    about = asked_words(event.tool, event.subject)
                    said = f"{event.agent} waits for your answer: {about}"
                    given: dict[str, object] = {"message": said, "notification_type": "permission_prompt"}
                    self._tell("Notification", event.agent, event.session, given, "permission_prompt")
                case AgentEnded():
                    done: dict[str, object] = {
                        "stop_hook_active": False,
                        "status": event.status,
                        "report": event.report,
                    }
                    self._tell("SubagentStop", event.agent, "", done)
                case ContextCut():
                    cut: dict[str, object] = {"kind": event.receipt.kind, "trigger": event.receipt.by}
                    self._tell("PostCompact", event.agent, event.session, cut, event.receipt.kind)
                case _:
                    pass

    async def _opened(self, agent: str, session: str, source: str) -> None:
        verdict = await self._hooks.ask("SessionStart", agent, session, {"source": source}, source)
        self._hooks.add_note(agent, verdict.text)

    def _tell(self, name: HookEvent, agent: str, session: str, given: dict[str, object], subject: str = "") -> None:
        self._start(self._hooks.ask(name, agent, session, given, subject), name)

    def _start(self, work: Coroutine[Any, Any, object], name: str) -> asyncio.Task[Any]:
        task = start_job(work, f"the hooks of {name}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task
