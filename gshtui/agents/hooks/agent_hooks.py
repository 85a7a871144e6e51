"""What hooks say about what agents do: a denial always counts, an "allow" never widens what the guard decides.

All hooks of an event run side by side. One that fails is shown, and blocks nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from gshtui.agents.hooks.hook_set import Hook, HookEvent, HookSet
from gshtui.agents.hooks.hook_transcript import HookTranscripts, claude_name, our_arguments, their_arguments
from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import Noticed
from gshtui.context.log.ports import Contribution, SideText
from gshtui.system.json_types import is_object, parse_foreign_json
from gshtui.text.sanitise import literal, one_line, plain

if TYPE_CHECKING:
    from gshtui.agents.hooks.hook_process import HookAnswer
    from gshtui.guard.sandbox.sandboxes import Sandboxes

_WAITS = 5.0
"""Seconds that a prompt waits for hooks about the beginning of its conversation."""
_LONGEST = 50_000
"""Characters of text that a hook may add."""
_TAKES_TEXT: frozenset[HookEvent] = frozenset(("UserPromptSubmit", "SessionStart"))
"""Events whose hooks add what they print, where that is no JSON."""


class HookVerdict(msgspec.Struct):
    """What all hooks of an event say together.

    Args:
        denied: why it must not be done; empty: it may.
        asks: why a person is to be asked first; empty: nothing of the kind.
        changed: the input in place of the given one; `None`: as it is.
        context: texts for the agent.
    """

    denied: str = ""
    asks: str = ""
    changed: dict[str, Any] | None = None
    context: list[str] = msgspec.field(default_factory=list[str])

    @property
    def text(self) -> str:
        return "\n\n".join(self.context)[:_LONGEST]


class AgentHooks:
    """Asks and tells the hooks of one folder."""

    def __init__(
        self,
        bus: Bus,
        project: Path,
        environ: Mapping[str, str],
        read: Callable[[], HookSet],
        sandboxes: Sandboxes | None,
        transcripts: HookTranscripts | None = None,
    ) -> None:
        """
        Args:
            environ: of whoever opened the folder; hooks get what is passed on of it.
            read: gives the hooks as they are now; it is called before each event, so it must be quick.
            transcripts: where conversations are written for hooks; `None`: they get none.
        """
        self._bus = bus
        self._project = project
        self._environ = environ
        self.read = read
        self._sandboxes = sandboxes
        self.transcripts = transcripts
        self._told: dict[str, str] = {}
        """Agent → what its next prompt is accompanied by."""
        self.beginning: dict[str, asyncio.Task[Any]] = {}
        """Agent → the hooks about its conversation's beginning, as long as they run."""

    def add_note(self, agent: str, text: str) -> None:
        """Have a text accompany the agent's next prompt."""
        if text:
            self._told[agent] = "\n\n".join(filter(None, (self._told.get(agent, ""), text)))[-_LONGEST:]

    async def contribute(self, agent: str) -> Contribution:
        """What hooks want the agent to be told with this prompt."""
        if (task := self.beginning.get(agent)) is not None:
            await asyncio.wait({task}, timeout=_WAITS)
        text = self._told.get(agent, "")
        if not text:
            return Contribution()
        return Contribution((), (SideText("hooks", text, told=lambda: self._told.update({agent: ""})),))

    async def ask(
        self, event: HookEvent, agent: str, session: str, given: dict[str, object], subject: str = ""
    ) -> HookVerdict:
        """Run the hooks of an event; raises nothing, and cancelling it ends them."""
        hooks = self.read().find_matching(event, subject)
        if not hooks:
            return HookVerdict()
        transcript = "" if self.transcripts is None else await self.transcripts.path(session)
        whole: dict[str, object] = {
            "session_id": session,
            "transcript_path": transcript,
            "cwd": str(self._project),
            "hook_event_name": event,
            "agent": agent,
            **given,
        }
        from gshtui.agents.hooks.hook_process import run_hook  # with the first hook that there is

        answers = await asyncio.gather(
            *(run_hook(hook, whole, self._project, self._environ, self._sandboxes) for hook in hooks)
        )
        verdict = HookVerdict()
        for hook, answer in zip(hooks, answers, strict=True):
            self._weigh(verdict, hook, answer, agent)
        return verdict

    def act_on(self, tool: str) -> bool:
        """Whether any is run before or after this tool."""
        hooks, name = self.read(), claude_name(tool)
        return bool(hooks.find_matching("PreToolUse", name) or hooks.find_matching("PostToolUse", name))

    async def before_tool(
        self, agent: str, session: str, call: str, tool: str, arguments: dict[str, Any]
    ) -> HookVerdict:
        """Before a tool runs; `changed` has our own names of its parameters."""
        given: dict[str, object] = {
            "tool_name": claude_name(tool),
            "tool_input": their_arguments(tool, arguments),
            "tool_use_id": call,
        }
        verdict = await self.ask("PreToolUse", agent, session, given, claude_name(tool))
        if verdict.changed is not None:
            verdict.changed = our_arguments(tool, verdict.changed)
        return verdict

    async def after_tool(
        self, agent: str, session: str, call: str, tool: str, arguments: dict[str, Any], status: str, content: str
    ) -> HookVerdict:
        """After a tool ran: its result stands, and a denial is what the agent is told about it."""
        given: dict[str, object] = {
            "tool_name": claude_name(tool),
            "tool_input": their_arguments(tool, arguments),
            "tool_use_id": call,
            "tool_response": {"status": status, "content": content},
        }
        return await self.ask("PostToolUse", agent, session, given, claude_name(tool))

    def _weigh(self, verdict: HookVerdict, hook: Hook, answer: HookAnswer, agent: str) -> None:
        if answer.refused:
            text = f"The sandbox refused the hook {hook.shown!r} ({hook.event}): {'; '.join(answer.refused)}."
            self._notice(text, agent)
            verdict.context.append(text)
        if answer.failed or answer.code not in (0, 2):
            said = answer.failed or f"exit code {answer.code}: {one_line(literal(answer.err), 200)}"
            self._notice(f"The hook {hook.shown!r} ({hook.event}) failed: {said}.", agent)
            return
        if answer.code == 2:
            said = plain(answer.err).strip() or f"the hook {hook.shown!r} does not allow it"
            verdict.denied = verdict.denied or said[:_LONGEST]
            return
        text = answer.out.strip()
        if not text.startswith("{"):
            if text and hook.event in _TAKES_TEXT:
                verdict.context.append(plain(text))
            return
        try:
            data: Any = parse_foreign_json(text)
        except ValueError:
            self._notice(f"The hook {hook.shown!r} ({hook.event}) failed: it printed JSON that cannot be read.", agent)
            return
        self._weigh_json(verdict, hook, cast("dict[str, Any]", data), agent)

    def _weigh_json(self, verdict: HookVerdict, hook: Hook, data: dict[str, Any], agent: str) -> None:
        inner: Any = data.get("hookSpecificOutput")
        specific = inner if is_object(inner) else {}
        decision = str(specific.get("permissionDecision") or data.get("decision") or "")
        why = str(specific.get("permissionDecisionReason") or data.get("reason") or data.get("stopReason") or "")
        why = plain(why).strip()[:_LONGEST]
        if decision in ("deny", "block") or data.get("continue") is False:
            verdict.denied = verdict.denied or why or f"the hook {hook.shown!r} does not allow it"
        elif decision == "ask":
            verdict.asks = verdict.asks or why or f"the hook {hook.shown!r} asks"
        changed: Any = specific.get("updatedInput", data.get("updatedInput"))
        if is_object(changed):
            verdict.changed = {**(verdict.changed or {}), **changed}
        for each in (specific.get("additionalContext"), data.get("additionalContext")):
            if isinstance(each, str) and each.strip():
                verdict.context.append(plain(each.strip()))
        if isinstance(message := data.get("systemMessage"), str) and message.strip():
            self._notice(one_line(literal(message), 300), agent)

    def _notice(self, text: str, agent: str) -> None:
        self._bus.publish(Noticed(level="warning", text=text, hint="`hook ls` lists the hooks.", about=agent))
