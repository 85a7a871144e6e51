"""The state of the conversation pane, derived from events and stored messages alone.

A reducer: an event or a page of the record goes in, operations on entries come out. No terminal, no bus, no clock.
Whether a message arrives as deltas, whole, stored or twice, the resulting entries are the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from gshtui.bus.context_data import Receipt
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    IterationStarted,
    MessageAppended,
    ModelChanged,
    ProviderRetried,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.context_events import ContextCut, CutUndone
from gshtui.bus.events.fleet_events import AgentEnded
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.events.shell_events import InputCommandFinished, InputCommandPrinted, InputCommandStarted
from gshtui.bus.messages import Message, ToolResult
from gshtui.bus.shell_data import Ran
from gshtui.ui.conversation.conversation_entries import (
    agent_end,
    call_id,
    cut_entry,
    cut_id,
    entries_of,
    part_id,
    run_finished,
    run_printed,
    run_started,
    stop_notice,
    stored_run,
    subject_of,
    turn_end,
    with_result,
)
from gshtui.ui.conversation.workflow_entries import WORKFLOW_EVENTS, ShownWorkflows
from gshtui.ui.kit.transcript.entries import (
    AnswerEntry,
    Clear,
    Entry,
    NoticeEntry,
    Operation,
    Prepend,
    PromptEntry,
    Put,
    Remove,
    Stream,
    ThoughtEntry,
    ToolEntry,
)

CONSUMES: tuple[type[Event], ...] = (
    SessionOpened,
    TurnStarted,
    IterationStarted,
    TextDelta,
    ThinkingDelta,
    ToolStarted,
    ToolOutput,
    ToolFinished,
    ApprovalRequested,
    ApprovalSettled,
    MessageAppended,
    ProviderRetried,
    TurnFinished,
    ModelChanged,
    Noticed,
    InputCommandStarted,
    InputCommandPrinted,
    InputCommandFinished,
    ContextCut,
    CutUndone,
    AgentEnded,
    *WORKFLOW_EVENTS,
)
_TAIL = 8_000
"""How many characters of a running tool's output are kept."""


class _Part(msgspec.Struct):
    """A text or thought of an answer that is still streaming."""

    id: str
    kind: str
    began: float
    text: list[str] = msgspec.field(default_factory=list[str])


class ConversationState(msgspec.Struct):
    """One agent's conversation. `apply_event` changes it and returns the operations on the entries."""

    agent: str
    session: str = ""
    label: str = ""
    """The model in use, for display."""
    offline: bool = False
    """There is none."""
    turn: str = ""
    iteration: int = 0
    shown: set[str] = msgspec.field(default_factory=set[str])
    """Ids of the entries shown."""
    messages: set[str] = msgspec.field(default_factory=set[str])
    """Messages shown in full."""
    calls: dict[str, ToolEntry] = msgspec.field(default_factory=dict[str, ToolEntry])
    """The latest call with each id."""
    live: dict[str, list[_Part]] = msgspec.field(default_factory=dict[str, list[_Part]])
    """Parts of messages that are still streaming."""
    runs: dict[str, ToolEntry] = msgspec.field(default_factory=dict[str, ToolEntry])
    """Input-line commands still running."""
    early: dict[str, ToolResult] = msgspec.field(default_factory=dict[str, ToolResult])
    """Results of calls in an older page."""
    notices: int = 0
    workflows: ShownWorkflows = msgspec.field(default_factory=ShownWorkflows)
    """The runs of workflows that were started from here."""

    def apply_event(self, event: Event) -> list[Operation]:
        """The operations for an event. Events of other agents and conversations change nothing."""
        if getattr(event, "agent", self.agent) != self.agent:
            return []
        if isinstance(event, SessionOpened):
            return self._open(event)
        if self.session and getattr(event, "session", self.session) != self.session:
            return []
        if isinstance(event, WORKFLOW_EVENTS):
            return self.workflows.apply_event(event)
        match event:
            case TurnStarted():
                self.turn, self.iteration = event.turn, 0
                return self._put(PromptEntry(event.prompt, event.text)) if event.prompt not in self.shown else []
            case IterationStarted():
                self.iteration = event.iteration
                return []
            case TextDelta():
                return [*self._retried(), *self._delta(event.message, "a", event.text, event.at)]
            case ThinkingDelta():
                return [*self._retried(), *self._delta(event.message, "t", event.text, event.at)]
            case ToolStarted() | ToolOutput() | ToolFinished() | ApprovalRequested() | ApprovalSettled():
                return self._tool(event)
            case MessageAppended():
                return [*self._retried(), *self.message(event.message)]
            case TurnFinished():
                end = turn_end(event, offline=self.offline)
                return [*self._retried(), *self._end_live(event.at, event.stop), *self._put(end)]
            case AgentEnded():
                return self._agent_ended(event)
            case InputCommandStarted() | InputCommandPrinted() | InputCommandFinished():
                return self._run(event)
            case ContextCut():
                return self._put(cut_entry(event.receipt))
            case CutUndone():
                return self._remove(cut_id(event.cut))
            case _:
                return self._word(event)

    def message(self, message: Message) -> list[Operation]:
        """Show a whole message, with or without earlier deltas."""
        if message.role == "tool":
            return [operation for result in message.results for operation in self.result(result)]
        if message.id in self.messages:
            return []
        self.messages.add(message.id)
        entries = [self._known(entry) for entry in entries_of(message)]
        wanted = {entry.id for entry in entries}
        parts = self.live.pop(message.id, [])
        took = {part.id: part.began for part in parts}
        done: list[Operation] = [Remove(part.id) for part in parts if part.id not in wanted]
        self.shown -= {part.id for part in parts} - wanted
        for entry in entries:
            if isinstance(entry, ThoughtEntry) and entry.id in took and message.at > took[entry.id] > 0:
                entry = replace(entry, seconds=self._thought_for(parts, entry.id, message.at))
            done += self._put(entry)
        return done

    def _open(self, event: SessionOpened) -> list[Operation]:
        empty = ConversationState(self.agent, event.session, self.label, self.offline)
        for name in self.__struct_fields__:
            setattr(self, name, getattr(empty, name))
        return [Clear()]

    def _put(self, entry: Entry) -> list[Operation]:
        self.shown.add(entry.id)
        if isinstance(entry, ToolEntry):
            self.calls[entry.id.rpartition("/")[2]] = entry
        return [Put(entry)]

    def _remove(self, id: str) -> list[Operation]:
        if id not in self.shown:
            return []
        self.shown.discard(id)
        return [Remove(id)]

    @property
    def _retry_id(self) -> str:
        return f"{self.turn}.{self.iteration}.retry"

    def _retried(self) -> list[Operation]:
        """The request went through, or failed for good: that it was tried again is of no more use."""
        return self._remove(self._retry_id)

    def _delta(self, message: str, kind: str, text: str, at: float) -> list[Operation]:
        if not text or message in self.messages:
            return []
        parts = self.live.setdefault(message, [])
        done: list[Operation] = []
        if not parts or parts[-1].kind != kind:
            if parts:
                done += self._put(self._whole(parts[-1], at))
            parts.append(_Part(part_id(message, len(parts), kind), kind, at))
            id = parts[-1].id
            done += self._put(AnswerEntry(id, "", live=True) if kind == "a" else ThoughtEntry(id, "", live=True))
        parts[-1].text.append(text)
        return [*done, Stream(parts[-1].id, text)]

    def _whole(self, part: _Part, at: float) -> Entry:
        text = "".join(part.text)
        if part.kind == "a":
            return AnswerEntry(part.id, text)
        return ThoughtEntry(part.id, text, seconds=max(0.0, at - part.began) if part.began else 0.0)

    def _thought_for(self, parts: Sequence[_Part], id: str, at: float) -> float:
        """Seconds of a thought, until the next part began or until now."""
        for part, after in zip(parts, [*parts[1:], None], strict=True):
            if part.id == id:
                return max(0.0, (after.began if after is not None else at) - part.began)
        return 0.0

    def _known(self, entry: Entry) -> Entry:
        """A call that has started stays as it is."""
        known = self.calls.get(entry.id.rpartition("/")[2]) if isinstance(entry, ToolEntry) else None
        return known if known is not None and known.id == entry.id else entry

    def _tool(
        self, event: ToolStarted | ToolOutput | ToolFinished | ApprovalRequested | ApprovalSettled
    ) -> list[Operation]:
        if isinstance(event, ToolStarted):
            id = call_id(event.message, event.call)
            subject = event.subject or subject_of(event.arguments)
            return self._put(ToolEntry(id, event.tool, subject, event.arguments, status="running"))
        tool = self.calls.get(event.call)
        if tool is None:
            return []
        if isinstance(event, ToolFinished):
            result = ToolResult(
                event.call,
                event.tool,
                event.content,
                event.status,
                event.duration,
                event.bytes,
                event.output,
                event.diff,
                event.sandboxed,
                event.pictures,
                event.reads,
            )
            return self._put(with_result(tool, result))
        if not tool.live and tool.status != "lost":
            return []
        if isinstance(event, ToolOutput):
            return self._put(replace(tool, status="running", output=(tool.output + event.text)[-_TAIL:]))
        if isinstance(event, ApprovalRequested):
            return self._put(replace(tool, status="asked", diff=event.diff))
        return self._put(replace(tool, status="running"))

    def _run(self, event: InputCommandStarted | InputCommandPrinted | InputCommandFinished) -> list[Operation]:
        """A person's command. No turn ends it, so it is not one of the calls."""
        if isinstance(event, InputCommandStarted):
            tool = run_started(event)
        elif event.run not in self.runs:
            return []
        elif isinstance(event, InputCommandPrinted):
            tool = run_printed(self.runs[event.run], event)
        else:
            tool = run_finished(self.runs.pop(event.run), event)
        if tool.live:
            self.runs[event.run] = tool
        self.shown.add(tool.id)
        return [Put(tool)]

    def result(self, result: ToolResult) -> list[Operation]:
        """Show a call's result, whether or not it is known already."""
        tool = self.calls.get(result.call_id)
        if tool is None:
            return []
        new = with_result(tool, result)
        return self._put(new) if new != tool else []

    def _end_live(self, at: float, stop: str) -> list[Operation]:
        """Nothing streams or runs any more."""
        done: list[Operation] = []
        for parts in self.live.values():
            done += self._put(self._whole(parts[-1], at))
        self.live.clear()
        for tool in [tool for tool in self.calls.values() if tool.live]:
            done += self._put(replace(tool, status="cancelled" if stop == "interrupted" else "lost"))
        return done

    def _agent_ended(self, event: AgentEnded) -> list[Operation]:
        """Its process is gone; a turn in progress never finishes."""
        done = self._end_live(event.at, "")
        if done or event.status in ("failed", "lost"):
            done += self._put(self._notice("warning" if done else "info", agent_end(event)))
        return done

    def _word(self, event: Event) -> list[Operation]:
        if isinstance(event, ProviderRetried):
            return self._put(NoticeEntry(self._retry_id, "warning", event.why))  # when again: below the input
        if isinstance(event, ModelChanged):
            label = event.label or event.model
            before, self.label = self.label, label
            self.offline = event.provider == "offline"
            if not before or before == label or not self.shown:
                return []
            return self._put(self._notice("info", f"From here on: {label}"))
        if isinstance(event, Noticed) and event.about == self.agent:
            return self._put(self._notice(event.level, event.text, event.hint))
        return []

    def _notice(self, level: str, text: str, hint: str = "") -> NoticeEntry:
        self.notices += 1
        known = "error" if level == "error" else "warning" if level == "warning" else "info"
        return NoticeEntry(f"notice{self.notices}", known, text, hint)


def older_operations(
    state: ConversationState,
    messages: Sequence[Message],
    ran: Sequence[Ran] = (),
    cuts: Sequence[Receipt] = (),
    failed: TurnFinished | None = None,
    *,
    in_turn: bool = False,
) -> list[Operation]:
    """Add stored messages, in order, older than everything shown.

    Args:
        state: the state to add them to.
        messages: a page of the record.
        ran: input-line commands from the same time, in order.
        cuts: cuts of the context from the same time, in order.
        failed: the end of the last turn, if it failed and these are the newest messages.
        in_turn: a turn is in progress elsewhere: the last calls without results are not lost, but not done yet.
    """
    entries: list[Entry] = []
    calls: dict[str, int] = {}
    done: list[Operation] = []
    beside = [(one.record.at, stored_run(one)) for one in ran] + [(one.at, cut_entry(one)) for one in cuts]
    waiting: deque[tuple[float, Entry]] = deque(sorted(beside, key=lambda one: one[0]))
    for message in messages:
        while waiting and waiting[0][0] < message.at:
            entries.append(waiting.popleft()[1])
        if message.role == "tool":
            for result in message.results:
                done += _stored_result(state, result, entries, calls)
        elif message.id not in state.messages:
            state.messages.add(message.id)
            for entry in entries_of(message):
                if isinstance(entry, ToolEntry):
                    bare = entry.id.rpartition("/")[2]
                    entry = replace(entry, status="lost")  # unless its result comes
                    if (result := state.early.pop(bare, None)) is not None:
                        entry = with_result(entry, result)
                        done.append(Remove(f"result/{bare}"))
                    calls[bare] = len(entries)
                entries.append(entry)
            if (notice := stop_notice(message)) is not None:
                entries.append(notice)
    if in_turn and messages:
        last = next((message for message in reversed(messages) if message.role != "tool"), messages[-1])
        for at in calls.values():
            open_call = entries[at]
            if open_call.id.startswith(f"{last.id}/") and getattr(open_call, "status", "") == "lost":
                entries[at] = replace(open_call, status="asked")
    entries += [entry for _, entry in waiting]
    if failed is not None:
        entries.append(turn_end(failed))
    fresh = tuple(entry for entry in entries if entry.id not in state.shown)
    state.runs.update((one.run, tool) for one in ran if (tool := stored_run(one)) in fresh and tool.live)
    state.shown.update(entry.id for entry in fresh)
    for entry in fresh:
        if isinstance(entry, ToolEntry) and not entry.by_person:
            state.calls.setdefault(entry.id.rpartition("/")[2], entry)
    return [*done, Prepend(fresh)] if fresh else done


def _stored_result(
    state: ConversationState, result: ToolResult, entries: list[Entry], calls: dict[str, int]
) -> list[Operation]:
    at = calls.get(result.call_id)
    if at is not None:
        tool = entries[at]
        assert isinstance(tool, ToolEntry)
        entries[at] = with_result(tool, result)
        return []
    known = state.calls.get(result.call_id)
    if known is not None:
        return state.result(result) if known.live else []
    state.early[result.call_id] = result
    entries.append(with_result(ToolEntry(f"result/{result.call_id}", result.name), result))
    return []
