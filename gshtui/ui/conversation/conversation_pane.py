"""The conversation pane: the transcript fed with events, older messages loaded on demand, the search line.

Connects the reducer, the stored messages and the transcript. The reducer holds the state, the transcript draws it.
Fed by the bridge.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from gshtui.bus.context_data import Receipt
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import MessageAppended, ModelChanged, TurnFinished, TurnStarted
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.events.shell_events import InputCommandStarted
from gshtui.bus.shell_data import Ran
from gshtui.system.tasks import report_unexpected
from gshtui.text import units
from gshtui.ui.conversation.conversation_entries import message_of
from gshtui.ui.conversation.conversation_state import CONSUMES, ConversationState, older_operations
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.transcript.entries import NoticeEntry, OutcomeEntry, PromptEntry
from gshtui.ui.kit.transcript.markdown_renderer import parser_loading
from gshtui.ui.kit.transcript.searched_transcript import SearchedTranscript
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widget_messages import EditPrompt, ForContext, ForkAt

if TYPE_CHECKING:
    from gshtui.store.tables.message_table import StoredMessage
    from gshtui.ui.kit.drawing.terminal_graphics import LoadOutput

LoadOlder = Callable[[str, int | None, int], Awaitable[Sequence["StoredMessage"]]]
"""(session, before this number or `None`, limit) → the newest messages, in order."""
LoadCuts = Callable[[str, str, float, float], Awaitable[Sequence[Receipt]]]
"""(agent, session, from this time, before that time) → what was cut from its context and is not undone, in order."""
LoadRan = Callable[[str, float, float], Awaitable[Sequence[Ran]]]
"""(session, from this time, before that time) → its input-line commands, in order."""
LoadFailure = Callable[[str], Awaitable[TurnFinished | None]]
"""(session) → how its last turn failed, if it did."""

PAGE = 200
"""Messages loaded at a time."""
_PROGRAM = "gsh-tui: one window for your shell and all your AI agents"
_EMPTY = """\
{agents.spawn}\tstart an agent: ours, Claude Code, Codex or any other
{app.sessions}\tresume a conversation
{app.models}\tchoose a model
{diff.open}\treview changed files
{context.inspect}\tread what the model is sent"""
"""Keys and what they do; without room for a row each, the first three stand side by side."""
_OFFLINE = "No model connected: {app.setup} to connect one."


class ConversationPane(Vertical):
    """One agent's conversation."""

    class CommandBegan(Message):
        """The person ran a command here and wants to see it."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMES

    DEFAULT_CSS = """
    ConversationPane { height: 1fr; }
    ConversationPane Transcript { height: 1fr; }
    """

    def __init__(
        self,
        load_older: LoadOlder,
        load_ran: LoadRan | None = None,
        load_cuts: LoadCuts | None = None,
        load_picture: LoadOutput | None = None,
        *,
        load_failure: LoadFailure | None = None,
        agent: str = "main",
        elsewhere: bool = False,
        empty: str = _EMPTY,
        coming: str = "",
    ) -> None:
        """
        Args:
            load_older: reads stored messages. It may raise anything; the error is shown as a notice.
            load_ran: reads the input-line commands, likewise.
            load_cuts: reads the cuts of the context, likewise.
            load_picture: reads a picture that a call has drawn.
            load_failure: reads how the last turn failed, likewise.
            agent: whose conversation it is.
            elsewhere: another process writes it, so that a turn may be in progress when it is opened here.
            empty: what it says before the first message.
            coming: what it says while a conversation that exists already is opened.
        """
        super().__init__()
        self._load_older = load_older
        self._load_ran = load_ran
        self._load_cuts = load_cuts
        self._load_failure = load_failure
        self.transcript = Transcript(empty=coming or empty, load_picture=load_picture)
        self._state = ConversationState(agent)
        self._empty = self._hint = empty
        self._step = self._place = ""
        self._awaited = coming
        self._coming = -1 if coming else 0
        """Messages that are being loaded; -1: nobody knows how many."""
        self._held: list[Event] | None = None
        """Events that belong behind messages which are still being loaded; `None`: none are."""
        self._elsewhere = elsewhere
        self._in_turn = False
        """Whether a turn was in progress when the conversation was joined."""
        self.newest = 0
        """Position of the newest message that was loaded."""
        self._oldest: int | None = None
        self._oldest_at = math.inf
        self._complete = True
        self._loading = False
        self._warm = False
        self._outcomes = 0
        self._answered: list[OutcomeEntry] = []
        """What commands have answered, while a conversation that is open already is loaded again."""

    def compose(self) -> ComposeResult:
        yield SearchedTranscript(self.transcript)

    def on_mount(self) -> None:
        self._show_hint()

    @property
    def session(self) -> str:
        """The conversation shown; empty: none yet."""
        return self._state.session

    def join(self, session: str, turn: Sequence[Event] = (), *, in_turn: bool = False) -> None:
        """Show a conversation that was opened before this pane was. `turn`: what the record has not yet of one."""
        self.consume([SessionOpened(session=session, agent=self._state.agent, messages=1), *turn])
        self._in_turn = in_turn

    def take_newer(self, stored: Sequence[StoredMessage]) -> None:
        """Show messages that another process has added to the record."""
        self.newest = stored[-1].seq
        agent, session = self._state.agent, self._state.session
        self.consume([MessageAppended(agent=agent, session=session, message=one.message) for one in stored])

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        transcript = self.transcript
        if not self._warm and any(isinstance(event, TurnStarted) for event in events):
            self._warm = True  # not before there is something to draw: the parser takes memory too
            parser_loading.begin()
        for event in events:
            if self._held is not None:
                self._held.append(event)
                continue
            if isinstance(event, ModelChanged) and event.agent == self._state.agent:
                self._hint = _OFFLINE if event.provider == "offline" else self._empty
                self._show_hint()
            if isinstance(event, SessionOpened) and event.agent == self._state.agent:
                self._answered = transcript.feed.last_outcomes() if event.session == self._state.session else []
            transcript.feed.apply(self._state.apply_event(event))
            if isinstance(event, InputCommandStarted) and event.agent == self._state.agent:
                # Not by way of the parents: the tab that the command's end opens would be there first.
                app_of(self).post_message(self.CommandBegan())
            if isinstance(event, SessionOpened) and event.agent == self._state.agent:
                self._oldest, self._oldest_at, self._complete = None, math.inf, not event.messages
                self.newest = 0
                self._loading = self._in_turn = False
                self._coming = event.messages
                self._load()
                self._show_hint()
                self._held = [] if (self._elsewhere or event.joined) and self._loading else None
                if not self._loading:
                    self._show_answered()

    def suggest(self, step: str, place: str = "") -> None:
        """Say this in an empty conversation: the next step in this folder, and which it is."""
        self._step, self._place = step, place
        self._show_hint()

    def show_outcome(self, line: str, text: str, *, failed: bool = False) -> None:
        """Show what a command that the person typed has answered. `text`: Markdown."""
        self._outcomes += 1
        self.transcript.feed.show(OutcomeEntry(f"outcome{self._outcomes}", line, text, failed))

    def on_transcript_near_top(self, message: Transcript.NearTop) -> None:
        message.stop()
        self._load()

    def on_transcript_cut_opened(self, message: Transcript.CutOpened) -> None:
        message.stop()
        self.post_message(ForContext("receipt", self._state.agent, about=message.cut))

    def on_transcript_prompt_edited(self, message: Transcript.PromptEdited) -> None:
        message.stop()
        if self._elsewhere:
            self.notify("Only prompts in the chat can be edited.", timeout=4, markup=False)
        else:
            self.post_message(EditPrompt(message.prompt.id, message.prompt.text))

    def on_transcript_forked(self, message: Transcript.Forked) -> None:
        message.stop()
        if self._elsewhere:
            self.notify("Only the chat's conversation can be forked here.", timeout=4, markup=False)
        else:
            entry = message.entry
            text = entry.text if isinstance(entry, PromptEntry) else ""
            self.post_message(ForkAt(message_of(entry), text))

    def _load(self) -> None:
        """Load the next page of older messages, one page at a time."""
        if self._loading or self._complete or not self._state.session:
            return
        self._loading = True
        self.run_worker(self._load_page(self._state.session), exit_on_error=False, group="older messages")

    async def _load_page(self, session: str) -> None:
        try:
            await parser_loading.begin()
            stored = await self._load_older(session, self._oldest, PAGE)
            ran = await self._ran(session, stored)
            cuts = await self._cuts(session, stored)
            failed = await self._failure(session)
        except Exception as error:  # whatever is wrong with the record, show it and go on
            report_unexpected("the older messages", error)
            if session == self._state.session:
                self._complete, self._loading = True, False
                self._coming = 0
                words = f"Can't load older messages: {error}"
                self.transcript.feed.put(NoticeEntry("older messages", "error", words, "Try `gsh-tui doctor`."))
                self._release()
            return
        if session != self._state.session:
            return
        self._loading = False
        self._coming = 0
        self._complete = len(stored) < PAGE
        if stored:
            self.newest = max(self.newest, stored[-1].seq)
            self._oldest, self._oldest_at = stored[0].seq, stored[0].message.at
        if stored or ran or cuts or failed:
            messages = [item.message for item in stored]
            in_turn = self._held is not None and (self._in_turn or any(isinstance(e, TurnStarted) for e in self._held))
            self.transcript.feed.apply(older_operations(self._state, messages, ran, cuts, failed, in_turn=in_turn))
        self._release()
        self._show_hint()

    def _show_hint(self) -> None:
        """Say what an empty conversation is for, or that one is being loaded."""
        loading = self._awaited if self._coming < 0 else f"Loading {units.counted(self._coming, 'message')}…"
        if self._coming:
            self.transcript.show_empty(loading)
        elif self._hint == _OFFLINE:
            self.transcript.show_empty(_OFFLINE, _PROGRAM, self._place)
        elif self._hint == _EMPTY:
            self.transcript.show_empty(f"{self._step}\n\n{_EMPTY}" if self._step else _EMPTY, _PROGRAM, self._place)
        else:
            self.transcript.show_empty(self._hint)

    def _release(self) -> None:
        """Take the events that had to wait for the messages before them."""
        if self._held is not None:
            held, self._held = self._held, None
            self.consume(held)
        self._show_answered()

    def _show_answered(self) -> None:
        answered, self._answered = self._answered, []
        for outcome in answered:
            self.transcript.feed.show(outcome)

    async def _ran(self, session: str, stored: Sequence[StoredMessage]) -> Sequence[Ran]:
        """The commands that belong between these messages, or before them if there are no older messages."""
        if self._load_ran is None:
            return ()
        return await self._load_ran(session, self._since(stored), self._oldest_at)

    async def _cuts(self, session: str, stored: Sequence[StoredMessage]) -> Sequence[Receipt]:
        """The cuts that belong between these messages, or before them if there are no older messages."""
        if self._load_cuts is None:
            return ()
        return await self._load_cuts(self._state.agent, session, self._since(stored), self._oldest_at)

    async def _failure(self, session: str) -> TurnFinished | None:
        """How the last turn failed, which belongs behind the newest messages."""
        if self._load_failure is None or self._oldest is not None:
            return None
        return await self._load_failure(session)

    @staticmethod
    def _since(stored: Sequence[StoredMessage]) -> float:
        """From when on something belongs to these messages."""
        return stored[0].message.at if len(stored) == PAGE else -math.inf
