"""Our agent's events as updates of a session of the Agent Client Protocol. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import acp
from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    Cost,
    CurrentModeUpdate,
    FileEditToolCallContent,
    PermissionOption,
    PlanEntryStatus,
    SessionInfoUpdate,
    SessionMode,
    SessionModeState,
    StopReason,
    ToolCallLocation,
    ToolCallUpdate,
    ToolKind,
    UnstructuredCommandInput,
    Usage,
    UsageUpdate,
)

from gshtui.bus import messages
from gshtui.bus.agent_data import GuardMode
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
)
from gshtui.bus.events.approval_events import AgentModeChanged, ApprovalRequested
from gshtui.bus.events.context_events import TasksChanged
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.session_events import SessionTitled
from gshtui.bus.messages import Message, Text, Thinking
from gshtui.commands.declaration import Access
from gshtui.commands.known_tools import DOES
from gshtui.commands.registry import AnyCommand
from gshtui.guard.modes import ABOUT, MODES
from gshtui.text.sanitise import plain

Update = Any
"""One of the SDK's models of an update."""
_KINDS: dict[str, ToolKind] = {
    "read": "read",
    "list": "read",
    "show": "read",
    "write": "edit",
    "edit": "edit",
    "search": "search",
    "recall": "search",
    "run": "execute",
    "remove": "delete",
    "plan": "think",
}
"""What a tool does → its kind there."""
_STATES: dict[str, PlanEntryStatus] = {
    "open": "pending",
    "active": "in_progress",
    "done": "completed",
    "dropped": "completed",
}
STOPS: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "context": "max_tokens",
    "max_iterations": "max_turn_requests",
    "refusal": "refusal",
    "interrupted": "cancelled",
}
"""How a turn ended, by our word for it; any other: `end_turn`."""
DENY = "deny"


class TextRuns:
    """Sets the texts of a turn apart: clients put chunks together, and those around a call would run into one."""

    def __init__(self) -> None:
        self._said = False
        self._apart = False

    def begin(self) -> None:
        """A turn, or what a person says."""
        self._said = self._apart = False

    def call(self) -> None:
        """A call comes between."""
        self._apart = self._said

    def text(self, text: str) -> str:
        """The next piece of text, with an empty line in front of it where it is the first behind a call."""
        apart, self._apart, self._said = self._apart, False, True
        return f"\n\n{text.lstrip(chr(10))}" if apart else text


def updates_of(event: Event, cwd: Path) -> list[Update]:
    """The updates that tell an event; empty for what clients are not told."""
    match event:
        case TextDelta():
            return [acp.update_agent_message_text(event.text)]
        case ThinkingDelta():
            return [acp.update_agent_thought_text(event.text)]
        case ToolStarted():
            return [_started(event, cwd)]
        case ToolFinished():
            return [_finished(event, cwd)]
        case TasksChanged():
            entries = [acp.plan_entry(task.text, status=_STATES[task.state]) for task in event.tasks]
            return [acp.update_plan(entries)]
        case AgentModeChanged():
            return [CurrentModeUpdate(session_update="current_mode_update", current_mode_id=event.mode)]
        case SessionTitled():
            return [SessionInfoUpdate(session_update="session_info_update", title=event.title)]
        case Noticed(level="error" | "warning"):
            return [acp.update_agent_thought_text(f"{event.text} {event.hint}".strip() + "\n")]
        case _:
            return []


def replayed(past: Sequence[Message], cwd: Path) -> Iterator[Update]:
    runs = TextRuns()
    for message in past:
        for block in message.blocks:
            if isinstance(block, Text) and message.role == "user":
                runs.begin()
                yield acp.update_user_message_text(block.text)
            elif isinstance(block, Text):
                yield acp.update_agent_message_text(runs.text(block.text))
            elif isinstance(block, Thinking) and block.text:
                yield acp.update_agent_thought_text(block.text)
        for call in message.calls:
            runs.call()
            subject = next((str(value) for value in call.arguments.values() if isinstance(value, str)), "")
            yield acp.start_tool_call(
                call.id,
                _title(call.name, subject),
                kind=_kind(call.name),
                status="pending",
                raw_input=call.arguments,
            )
        for result in message.results:
            content = [*diffs(result.diff, cwd), acp.tool_content(acp.text_block(result.content))]
            status = "completed" if result.status == "ok" else "failed"
            yield acp.update_tool_call(result.call_id, status=status, content=content)


def modes(current: GuardMode) -> SessionModeState:
    return SessionModeState(
        current_mode_id=current,
        available_modes=[SessionMode(id=mode, name=mode.capitalize(), description=ABOUT[mode]) for mode in MODES],
    )


def printed(call: str, text: str) -> Update:
    """What a call has printed so far; an update stands for all that was told before."""
    return acp.update_tool_call(call, content=[acp.tool_content(acp.text_block(plain(text)))])


def window(used: int, size: int, cost: float | None) -> UsageUpdate:
    """How full the model's window is, and what the session has cost in US dollars, where that is known."""
    spent = Cost(amount=round(cost, 6), currency="USD") if cost else None
    return UsageUpdate(session_update="usage_update", used=used, size=size, cost=spent)


def used(usage: messages.Usage) -> Usage:
    """The tokens of one turn."""
    return Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cached_read_tokens=usage.cache_read,
        cached_write_tokens=usage.cache_write,
        thought_tokens=usage.reasoning,
        total_tokens=usage.context,
    )


def offered(commands: Iterable[AnyCommand]) -> AvailableCommandsUpdate:
    """The commands that a person can write in a prompt."""
    found = [
        AvailableCommand(name=one.name, description=one.summary, input=_input(one))
        for one in commands
        if one.access is not Access.AGENT_PRIMARY
    ]
    return AvailableCommandsUpdate(session_update="available_commands_update", available_commands=found)


def _input(command: AnyCommand) -> AvailableCommandInput | None:
    words = (
        "|".join(command.words)
        or " ".join(command.positions)
        or ("name=value …" if command.parameters.model_fields else "")
    )
    return AvailableCommandInput(UnstructuredCommandInput(hint=words)) if words else None


def permission(request: ApprovalRequested, cwd: Path) -> tuple[ToolCallUpdate, list[PermissionOption]]:
    """One of our questions, with the answers that it may have."""
    parts = [*request.warnings, request.detail]
    words = plain("\n".join(part for part in parts if part))
    content: list[Any] = [*diffs(request.diff, cwd), *([acp.tool_content(acp.text_block(words))] if words else [])]
    call = ToolCallUpdate(
        tool_call_id=request.call or request.approval,
        title=_title(request.tool, request.subject),
        kind=_kind(request.tool),
        status="pending",
        content=content,
        raw_input=request.arguments,
    )
    options = [PermissionOption(option_id="once", name="Allow once", kind="allow_once")]
    if request.repeatable:
        name = "Allow exactly this in this conversation"
        options.append(PermissionOption(option_id="session", name=name, kind="allow_always"))
    if request.rule and request.pattern:
        name = f"Always allow: {request.pattern}"[:200]
        options.append(PermissionOption(option_id="always", name=name, kind="allow_always"))
    options.append(PermissionOption(option_id=DENY, name="Deny", kind="reject_once"))
    return call, options


def diffs(diff: str, cwd: Path) -> list[FileEditToolCallContent]:
    """A unified diff as the protocol's: for each file the changed parts before and after, with their context."""
    found: list[FileEditToolCallContent] = []
    path = ""
    before: list[str] = []
    after: list[str] = []

    def add() -> None:
        if path and (before or after):
            old = "\n".join(before) + "\n" if before else None
            found.append(acp.tool_diff_content(str(cwd / path), "\n".join([*after, ""]) if after else "", old))

    for line in diff.splitlines():
        if line.startswith("--- "):
            add()
            path, before, after = "", [], []
        elif line.startswith("+++ "):
            path = line[4:].split("\t")[0].removeprefix("b/")
        elif line.startswith(("-", " ")):
            before.append(line[1:])
            if line.startswith(" "):
                after.append(line[1:])
        elif line.startswith("+"):
            after.append(line[1:])
    add()
    return found


def _started(event: ToolStarted, cwd: Path) -> Update:
    path = event.arguments.get("path")
    places = [ToolCallLocation(path=str(cwd / path))] if isinstance(path, str) and path else None
    return acp.start_tool_call(
        event.call,
        _title(event.tool, event.subject),
        kind=_kind(event.tool),
        status="in_progress",
        locations=places,
        raw_input=event.arguments,
    )


def _finished(event: ToolFinished, cwd: Path) -> Update:
    content = [*diffs(event.diff, cwd), acp.tool_content(acp.text_block(event.content))]
    return acp.update_tool_call(event.call, status="completed" if event.status == "ok" else "failed", content=content)


def _title(tool: str, subject: str) -> str:
    return f"{tool} {subject}".strip()[:300]


def _kind(tool: str) -> ToolKind:
    return _KINDS.get(DOES.get(tool, ""), "other")
