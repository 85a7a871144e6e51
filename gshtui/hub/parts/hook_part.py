"""The hub's side of hooks: which there are, what asks them, and what tells them of what happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from gshtui.agents.hooks.agent_hooks import AgentHooks
from gshtui.agents.hooks.hook_set import Hook, HookEvent, HookFiles
from gshtui.agents.hooks.hook_transcript import HookTranscripts
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.events.fleet_events import AgentEnded
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.session_events import SessionClosed, SessionOpened
from gshtui.guard.approval.question_text import asked_words
from gshtui.hub.hub import Hub
from gshtui.settings import paths
from gshtui.settings.started_programs import Hooks
from gshtui.system.tasks import cancel_and_wait, start_job


def agent_hooks(hub: Hub) -> AgentHooks:
    """What agents of this hub ask before and after what they do. A hook that is approved later counts at once.

    Call it in the event loop. Reads files; blocks for a moment.
    """
    if hub.hooks is not None:
        return hub.hooks
    begins = True
    loop = asyncio.get_running_loop()

    def publish(notice: Noticed) -> None:
        """The hooks may be read in another thread."""
        loop.call_soon_threadsafe(hub.bus.publish, notice)

    def read_settings() -> Hooks | None:
        """`[hooks]` as it is now; of a configuration with mistakes, nothing is taken away and nothing added."""
        nonlocal begins
        if begins:
            begins = False
            return hub.settings.hooks
        again = hub.options.loaded.again()
        wrong = [
            one
            for one in again.problems
            if one.level == "warning" and one.origin.layer == "user" and one.key.partition(".")[0] in ("", "hooks")
        ]
        if not wrong:
            return again.settings.hooks
        publish(Noticed(level="warning", text=f"Your hooks stay as they were: {wrong[0]}", about="hooks"))
        return None

    def tell(waiting: list[Hook]) -> None:
        whose = "your configuration" if all(hook.is_own for hook in waiting) else "Claude Code"
        what, does, it = ("A hook", "does", "it") if len(waiting) == 1 else (f"{len(waiting)} hooks", "do", "them")
        text = f"{what} of {whose} {does} not run: nobody has approved {it}."
        hint = f"`hook ls` shows what {it.replace('them', 'they')} would run, `hook accept all` approves {it}."
        publish(Noticed(level="info", text=text, hint=hint, about="hooks"))

    files = HookFiles(read_settings, hub.project, hub.environ, tell)
    for problem in files.read().problems:
        publish(Noticed(level="warning", text=problem, about="hooks"))
    transcripts = HookTranscripts(paths.state_dir(create=False) / "transcripts", hub.project, hub.newer_messages)
    hub.hooks = AgentHooks(hub.bus, hub.project, hub.environ, files.read, hub.offers.sandboxes, transcripts)
    return hub.hooks


def watch_hooks(hub: Hub, hooks: AgentHooks | None) -> None:
    """Tell hooks what happens to the agents of this hub, until it stops."""
    if hooks is None:
        return

    watch = HookWatch(
        hub.bus,
        hooks,
        lambda name: hub.local_agent(name) is not None,
        lambda name: hub.carries(name) and not hub.connected(name),
    )
    hub.parts.stops_with("hooks", watch.stop)


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
