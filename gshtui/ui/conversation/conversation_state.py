"""What the conversation pane shows, worked out from events and stored messages alone.

A reducer: an event goes in, operations on entries come out. It knows no terminal, no bus and no clock, and it does not
matter whether a message comes as deltas, whole, or both: the same entries result. Called by `conversation.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gshtui.bus.event import Event
from gshtui.bus.events.agent import (
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
from gshtui.bus.events.approval import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.context import ContextCut, CutUndone
from gshtui.bus.events.hub import Noticed
from gshtui.bus.events.session import SessionOpened
from gshtui.bus.events.shell import InputCommandFinished, InputCommandPrinted, InputCommandStarted
from gshtui.bus.messages import Message, ToolResult
from gshtui.ui.conversation.conversation_entries import (
    call_id,
    cut_entry,
    cut_id,
    entries_of,
    part_id,
    subject_of,
    turn_end,
    with_result,
)
from gshtui.ui.conversation.conversation_runs import begun, ended, printed
from gshtui.ui.kit.transcript.entries import (
    Answer,
    Clear,
    Entry,
    Notice,
    Operation,
    Prompt,
    Put,
    Remove,
    Stream,
    Thought,
    Tool,
)
from gshtui.ui.kit.transcript.tool import seconds

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
)
_TAIL = 8_000
"""Characters that are kept of what a running tool prints."""


@dataclass(slots=True)
class _Part:
    """A live text or thought of an answer that is still coming."""

    id: str
    kind: str
    began: float
    text: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class ConversationState:
    """The conversation of one agent. `take` changes it and says what to do with the entries."""

    agent: str
    session: str = ""
    label: str = ""
    """The model in use, as it is shown to people."""
    turn: str = ""
    iteration: int = 0
    shown: set[str] = field(default_factory=set[str])
    """Ids of the entries that are shown."""
    messages: set[str] = field(default_factory=set[str])
    """Messages that are shown whole."""
    calls: dict[str, Tool] = field(default_factory=dict[str, Tool])
    """The latest call of each id."""
    live: dict[str, list[_Part]] = field(default_factory=dict[str, list[_Part]])
    """Parts of the messages that are still coming."""
    runs: dict[str, Tool] = field(default_factory=dict[str, Tool])
    """Commands of the input line that still run."""
    early: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])
    """Results whose calls are in an older page."""
    notices: int = 0

    def take(self, event: Event) -> list[Operation]:
        """What an event changes. Events of other agents and other conversations change nothing."""
        if getattr(event, "agent", self.agent) != self.agent:
            return []
        if isinstance(event, SessionOpened):
            return self._open(event)
        if self.session and getattr(event, "session", self.session) != self.session:
            return []
        match event:
            case TurnStarted():
                self.turn, self.iteration = event.turn, 0
                return self._put(Prompt(event.prompt, event.text)) if event.prompt not in self.shown else []
            case IterationStarted():
                self.iteration = event.iteration
                return []
            case TextDelta():
                return self._delta(event.message, "a", event.text, event.at)
            case ThinkingDelta():
                return self._delta(event.message, "t", event.text, event.at)
            case ToolStarted() | ToolOutput() | ToolFinished() | ApprovalRequested() | ApprovalSettled():
                return self._tool(event)
            case MessageAppended():
                return self.message(event.message)
            case TurnFinished():
                return self._finish(event)
            case InputCommandStarted() | InputCommandPrinted() | InputCommandFinished():
                return self._run(event)
            case ContextCut() if event.receipt.kind in ("compact", "clear"):
                return self._put(cut_entry(event.receipt))
            case CutUndone():
                return self._remove(cut_id(event.cut))
            case _:
                return self._word(event)

    def message(self, message: Message) -> list[Operation]:
        """A whole message, whether or not its deltas came before."""
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
            if isinstance(entry, Thought) and entry.id in took and message.at > took[entry.id] > 0:
                entry = replace(entry, seconds=self._thought_for(parts, entry.id, message.at))
            done += self._put(entry)
        return done

    def _open(self, event: SessionOpened) -> list[Operation]:
        fresh = ConversationState(self.agent, event.session, self.label)
        for name in self.__slots__:
            setattr(self, name, getattr(fresh, name))
        return [Clear()]

    def _put(self, entry: Entry) -> list[Operation]:
        self.shown.add(entry.id)
        if isinstance(entry, Tool):
            self.calls[entry.id.rpartition("/")[2]] = entry
        return [Put(entry)]

    def _remove(self, id: str) -> list[Operation]:
        if id not in self.shown:
            return []
        self.shown.discard(id)
        return [Remove(id)]

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
            done += self._put(Answer(id, "", live=True) if kind == "a" else Thought(id, "", live=True))
        parts[-1].text.append(text)
        return [*done, Stream(parts[-1].id, text)]

    def _whole(self, part: _Part, at: float) -> Entry:
        text = "".join(part.text)
        if part.kind == "a":
            return Answer(part.id, text)
        return Thought(part.id, text, seconds=max(0.0, at - part.began) if part.began else 0.0)

    def _thought_for(self, parts: Sequence[_Part], id: str, at: float) -> float:
        """Seconds of a thought: until the next part began, or until now."""
        for part, after in zip(parts, [*parts[1:], None], strict=True):
            if part.id == id:
                return max(0.0, (after.began if after is not None else at) - part.began)
        return 0.0

    def _known(self, entry: Entry) -> Entry:
        """A call that has begun already stays as it is."""
        known = self.calls.get(entry.id.rpartition("/")[2]) if isinstance(entry, Tool) else None
        return known if known is not None and known.id == entry.id else entry

    def _tool(
        self, event: ToolStarted | ToolOutput | ToolFinished | ApprovalRequested | ApprovalSettled
    ) -> list[Operation]:
        if isinstance(event, ToolStarted):
            id = call_id(event.message, event.call)
            subject = event.subject or subject_of(event.arguments)
            return self._put(Tool(id, event.tool, subject, event.arguments, status="running"))
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
            )
            return self._put(with_result(tool, result))
        if not tool.live:
            return []
        if isinstance(event, ToolOutput):
            return self._put(replace(tool, status="running", output=(tool.output + event.text)[-_TAIL:]))
        return self._put(replace(tool, status="asked" if isinstance(event, ApprovalRequested) else "running"))

    def _run(self, event: InputCommandStarted | InputCommandPrinted | InputCommandFinished) -> list[Operation]:
        """A command of the person. No turn ends it, so it is none of the calls."""
        if isinstance(event, InputCommandStarted):
            tool = begun(event)
        elif event.run not in self.runs:
            return []
        elif isinstance(event, InputCommandPrinted):
            tool = printed(self.runs[event.run], event)
        else:
            tool = ended(self.runs.pop(event.run), event)
        if tool.live:
            self.runs[event.run] = tool
        self.shown.add(tool.id)
        return [Put(tool)]

    def result(self, result: ToolResult) -> list[Operation]:
        """A call's result, whether or not it was told before."""
        tool = self.calls.get(result.call_id)
        if tool is None:
            return []
        new = with_result(tool, result)
        return self._put(new) if new != tool else []

    def _finish(self, event: TurnFinished) -> list[Operation]:
        done: list[Operation] = []
        for parts in self.live.values():
            done += self._put(self._whole(parts[-1], event.at))
        self.live.clear()
        for tool in [tool for tool in self.calls.values() if tool.live]:
            done += self._put(replace(tool, status="cancelled" if event.stop == "interrupted" else "lost"))
        return done + self._put(turn_end(event))

    def _word(self, event: Event) -> list[Operation]:
        if isinstance(event, ProviderRetried):
            text = f"{event.why.rstrip('.')}. Trying again in {seconds(event.wait)} (attempt {event.attempt + 1})."
            return self._put(Notice(f"{self.turn}.{self.iteration}.retry", "warning", text))
        if isinstance(event, ModelChanged):
            label = event.label or event.model
            before, self.label = self.label, label
            if not before or before == label or not self.shown:
                return []
            return self._put(self._notice("info", f"From here on: {label}"))
        if isinstance(event, Noticed) and event.about == self.agent:
            return self._put(self._notice(event.level, event.text, event.hint))
        return []

    def _notice(self, level: str, text: str, hint: str = "") -> Notice:
        self.notices += 1
        known = "error" if level == "error" else "warning" if level == "warning" else "info"
        return Notice(f"notice{self.notices}", known, text, hint)
