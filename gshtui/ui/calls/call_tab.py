"""The tab of a call: what everybody says there, older messages on demand, and a line above about who is in it; and the
picker, which lists them all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from gshtui.bus.agent_data import AT_WORK
from gshtui.bus.call_data import LOBBY, CallInfo, CallMessage
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.bus.events.call_events import CallChanged, CallMessageAdded, CallRemoved, PresenceReported
from gshtui.bus.letter import PERSON
from gshtui.system.tasks import report_unexpected
from gshtui.text.sanitise import one_line
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.transcript.entries import AnswerEntry, Entry, NoticeEntry, OutcomeEntry, Prepend, PromptEntry, Put
from gshtui.ui.kit.transcript.markdown_renderer import parser_loading
from gshtui.ui.kit.transcript.searched_transcript import SearchedTranscript
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice
from gshtui.ui.kit.widgets.tabs import TabPane

if TYPE_CHECKING:
    from gshtui.calls.call_values import CallListing, CallPage


PAGE = 200
"""Messages loaded at a time."""
LoadPage = Callable[[int | None, int], Awaitable["CallPage | None"]]
"""(before this number, limit) → the newest messages below it, in order; `None`: they cannot be read."""


class CallTab(TabPane):
    """See the module. Closing it leaves you in the call."""

    TAKES_KEYS: ClassVar[bool] = False
    CONSUMES: ClassVar[tuple[type[Event], ...]] = (
        CallMessageAdded,
        CallChanged,
        CallRemoved,
        PresenceReported,
        AgentStatusChanged,
    )
    BINDINGS: ClassVar[list[BindingType]] = [bind("call.close", "close")]

    def __init__(self, call: str, load: LoadPage) -> None:
        super().__init__(classes="call-tab")
        self.call_name = call
        self.transcript = Transcript(empty=empty_words(call))
        self.front = self.transcript
        self.state = CallInfo(name=call)
        self._load = load
        self._doing: dict[str, str] = {}
        self._held: list[CallMessage] | None = []
        """Messages that came while the first page was being loaded; `None`: it is there."""
        self._oldest: int | None = None
        self._newest = -1
        self._complete = False
        self._loading = False
        self._outcomes = 0
        self._title = Static("", markup=False, classes="tab-title")
        self._line = Content()

    @property
    def call(self) -> str:
        return self.call_name

    def compose(self) -> ComposeResult:
        yield self._title
        yield SearchedTranscript(self.transcript)

    def on_mount(self) -> None:
        self.draw()
        self._load_soon()

    def on_resize(self) -> None:
        self.draw()

    def show_outcome(self, line: str, text: str, *, failed: bool = False) -> bool:
        """Below what was said so far: whoever types a command here goes on talking here."""
        self._outcomes += 1
        self.transcript.feed.show(OutcomeEntry(f"outcome{self._outcomes}", line, text, failed))
        return True

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        for event in events:
            match event:
                case CallMessageAdded(call=self.call_name):
                    self._add(event.message)
                case CallChanged(call=self.call_name):
                    self.state = event.data
                case CallRemoved(call=self.call_name):
                    words = "This call and its messages were removed."
                    self.transcript.feed.put(NoticeEntry(f"{self.call_name} removed", "warning", words))
                case PresenceReported(call=self.call_name):
                    self._note(event.member, one_line(event.doing, 40))
                case AgentStatusChanged():
                    self._note(event.agent, event.status if event.status in AT_WORK else "")
                case _:
                    pass
        self.draw()

    def draw(self) -> None:
        """Update the line above."""
        if not self.is_attached or not self.size.width:
            return
        line = title_line(self.state, self._doing, self.size.width)
        if line != self._line:
            self._line = line
            self._title.update(line, layout=False)

    def _note(self, member: str, doing: str) -> None:
        self._doing.pop(member, None)
        if doing:
            self._doing[member] = doing

    def _add(self, message: CallMessage) -> None:
        if self._held is not None:
            self._held.append(message)
        elif message.seq > self._newest:
            self._newest = message.seq
            self.transcript.feed.put(message_entry(message))
            if self.is_on_screen:
                self.run_worker(self._see(), exit_on_error=False, group="seen", exclusive=True)

    async def _see(self) -> None:
        with contextlib.suppress(Exception):  # it counts as unread until the next message
            await self._load(None, 1)

    def _load_soon(self) -> None:
        if not (self._loading or self._complete):
            self._loading = True
            self.run_worker(self._load_page(), exit_on_error=False, group="older messages")

    async def _load_page(self) -> None:
        try:
            await parser_loading.begin()
            page = await self._load(self._oldest, PAGE)
        except Exception as error:  # whatever is wrong with the record, show it and go on
            report_unexpected("the older messages of a call", error)
            page = None
        self._loading = False
        if page is None:
            self._complete = True
            words = "Can't load older messages."
            self.transcript.feed.put(NoticeEntry("older messages", "error", words, "Try `gsh-tui doctor`."))
        else:
            self.state = page.call
            self._complete = len(page.messages) < PAGE
            if page.messages:
                self._oldest = page.messages[0].seq
                self._newest = max(self._newest, page.messages[-1].seq)
                self.transcript.feed.apply([Prepend(tuple(message_entry(one) for one in page.messages))])
        held, self._held = self._held, None
        for message in held or ():
            if message.seq > self._newest:
                self._newest = message.seq
                self.transcript.feed.apply([Put(message_entry(message))])
        self.draw()

    def on_transcript_near_top(self, message: Transcript.NearTop) -> None:
        message.stop()
        if self._held is None:
            self._load_soon()


_MUTED = "$foreground-muted"
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#|~"})


def message_entry(message: CallMessage) -> Entry:
    """One message: your own as a prompt, others' under their names, what happened as a quiet line."""
    id = f"call/{message.call}/{message.seq}"
    if message.role == "system":
        return NoticeEntry(id, "quiet", message.text)
    if message.author == PERSON:
        return PromptEntry(id, message.text)
    name = one_line(message.author_name or message.author, 40).translate(_MARKS)
    when = datetime.fromtimestamp(message.at).strftime("%H:%M")
    answered = f" · answers {message.in_reply_to}" if message.in_reply_to >= 0 else ""
    seen = " · read from its screen" if message.source == "screen" else ""
    return AnswerEntry(id, f"**{name}** · {message.seq} · {when}{answered}{seen}\n\n{message.text}")


def title_line(call: CallInfo, doing: Mapping[str, str], width: int) -> Content:
    """The line above a call's tab: its name, topic and members, each with what they are doing. `doing`: what members
    are doing, by member.
    """
    members = [
        f"{one_line(one.name or one.member, 24)}{f' ({words})' if (words := doing.get(one.member)) else ''}"
        for one in call.members
    ]
    topic = f"  {one_line(call.topic, 120)}" if call.topic else ""
    who = f"  ·  {', '.join(members)}" if members else "  ·  nobody yet"
    line = Content.assemble((f" {call.name}", "bold"), topic, (who, _MUTED))
    return line.truncate(width, ellipsis=True)


def empty_words(call: str) -> str:
    """What the tab says before the first message."""
    how = "Type a message for everyone here. @name addresses one agent, @all every agent."
    bring = "" if call == LOBBY else "\n/invite agent=NAME adds an agent, /topic set=… sets the topic."
    return f"No messages in {call} yet.\n\n{how}{bring}"


class CallsScreen(Picker):
    """Choose a call; the answer is its name."""

    def __init__(self, found: CallListing) -> None:
        super().__init__(
            "Calls",
            [call_choice(call, found.here) for call in found.calls],
            empty="No calls yet. /create call=NAME to make one.",
            hint="{list.choose} to join · {list.close} to close · /create call=NAME to make one",
        )


def call_choice(call: CallInfo, here: str = "") -> PickerChoice:
    """A call as an entry."""
    member = next((one for one in call.members if one.member == PERSON), None)
    unread = 0 if member is None else max(0, call.messages - 1 - member.seen)
    names = ", ".join(one_line(one.name or one.member, 20) for one in call.members) or "nobody yet"
    state = f"{unread} unread" if unread else f"{call.messages} messages" if call.messages else ""
    topic = one_line(call.topic, 60)
    about = f"{topic} · {names}" if topic else names
    return PickerChoice(call.name, call.name, about, current=call.name == here, state=state, lists=True)
