"""The window's main area: the conversation, and below it tasks, questions, queue, input line and status.

Owns these widgets, the offer to resume the last conversation, and their connection to the hub once it is up. Does
not lay them out.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptEditRequested, PromptSubmitted, TurnStarted
from gshtui.bus.events.session_events import SessionOpened
from gshtui.system.expected_error import ExpectedError
from gshtui.ui.approvals.answer_fields import as_reason
from gshtui.ui.approvals.approvals_pane import ApprovalsPane
from gshtui.ui.approvals.question_sight import TabAbove
from gshtui.ui.kit.bridge import Bridge, NotReady
from gshtui.ui.kit.keys.bound_keys import key_of
from gshtui.ui.kit.keys.key_table import KEYS
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.fitted_text import fit
from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.kit.widgets.front_scroll import FrontScroll
from gshtui.ui.prompt.completion_sources import CommandSource, ProgramCommandSource, WindowView
from gshtui.ui.prompt.drafts import PromptDraft
from gshtui.ui.prompt.prompt_completion import CompletionPopup, CompletionSource
from gshtui.ui.prompt.prompt_input import PromptInput
from gshtui.ui.prompt.prompt_queue import QueuePane
from gshtui.ui.prompt.prompt_routing import Addressee, Commands
from gshtui.ui.prompt.prompt_status import PromptStatus
from gshtui.ui.prompt.quick_keys import QuickKeys
from gshtui.ui.prompt.task_strip import TasksStrip
from gshtui.ui.window.first_frame import LOADING

if TYPE_CHECKING:
    from gshtui.ui.prompt.completion_sources import NamedThing


FRAMED = 20
"""Rows of the window from which on the input has a frame."""


_TITLE = 24
"""Cells of the offered conversation's title that come before facts about it."""


class SessionOffer(Static):
    """Hidden until there is something to offer, and beside other agents' tabs. `agent`: the window's own; its first
    prompt ends the offer for good.
    """

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (PromptSubmitted, SessionOpened, TurnStarted)

    class Taken(Message):
        """The person wants to continue the conversation."""

        def __init__(self, session: str) -> None:
            super().__init__()
            self.session = session

    class Listed(Message):
        """The person wants to see the others."""

    def __init__(self, agent: str = "main") -> None:
        super().__init__(id="offer", markup=False)
        self._agent = agent
        self.display = False
        self.session = ""
        self._title, self._facts = "", list[str]()
        self._listing = (0, 0)
        self._elsewhere = False
        self._begun = False
        """The person has sent a prompt, or continued a conversation."""

    def offer(self, session: str, title: str, detail: str) -> None:
        """Offer this conversation, unless the person has begun already: a prompt may be sent while it is looked up."""
        if self._begun:
            return
        self.session = session
        self._title, self._facts = title, detail.split(" · ")
        self.display = not self._elsewhere
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        """One row: what continues, as many facts about it as there is room for, and where the others are."""
        if not self.session:
            return
        key = Content.styled(f"{key_of(self, 'session.continue')} ", "bold $primary")
        listing = Content.assemble((f"{key_of(self, 'app.sessions')} ", "bold $primary"), "for all")
        room = (self.content_size.width or self.screen.size.width - 2) - key.cell_length - len("to continue “” · ")
        room -= listing.cell_length
        facts = self._facts
        while facts and cell_len(" · ".join(facts)) + 3 > room - min(_TITLE, cell_len(self._title)):
            facts = facts[:-1]
        about = Content.styled("".join(f" · {fact}" for fact in facts) + " · ", "$foreground-muted")
        title = fit(self._title, max(1, room + 3 - about.cell_length))
        first = Content.assemble(key, "to continue ", (f"“{title}”", "bold"), about)
        self._listing = (1 + first.cell_length, 1 + first.cell_length + listing.cell_length)  # behind the padding
        self.update(Content.assemble(first, listing))

    def stand_by(self, elsewhere: bool) -> None:
        """Show the offer again, or hide it while a tab of something else is in front."""
        self._elsewhere = elsewhere
        self.display = bool(self.session) and not elsewhere

    def withdraw(self) -> None:
        """Withdraw the offer."""
        self.session = ""
        self.display = False

    def consume(self, events: Sequence[Event]) -> None:
        """A prompt to the agent in front, or another conversation, withdraws the offer."""
        if any(
            event.agent == self._agent and (event.resumed if isinstance(event, SessionOpened) else True)
            for event in events
            if isinstance(event, (PromptSubmitted, SessionOpened, TurnStarted))
        ):
            self._begun = True
            self.withdraw()

    def on_click(self, event: events.Click) -> None:
        start, end = self._listing
        if start <= event.x < end:
            self.post_message(self.Listed())
        elif self.session:
            self.post_message(self.Taken(self.session))


async def _known() -> None:
    """There is nobody besides those that are shown."""


class PromptArea(Vertical):
    """See the module. `input`, `tasks`, `approvals`, `queue`, `status`, `popup` and `keys` are its parts.

    The screen binds keys to its actions `review` and `queue`, so that they work wherever the focus is.
    """

    def __init__(
        self,
        agent: str = "main",
        *,
        project: Path | None = None,
        completions: Iterable[CompletionSource] = (),
        commands: Commands | None = None,
        keep_drafts: bool = True,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(id="prompt-area")
        self.popup = CompletionPopup()
        self.keys = QuickKeys()
        self.input = PromptInput(
            agent,
            project=project,
            completions=completions,
            commands=commands,
            popup=self.popup,
            keys=self.keys,
            keep_drafts=keep_drafts,
        )
        self.approvals = ApprovalsPane(
            home=self._input,
            typed=self._type,
            wrote=self.input.drafts.keep_soon,
            clock=clock,
            folder=str(project or ""),
            written=lambda: "" if self.input.editing else as_reason(self.input.value),
            above=TabAbove(
                self._shows_change,
                empty=lambda: self.input.front_scroll.free_rows if self.input.front_scroll is not None else None,
                opens=self._fold_asked,
            ),
            denies=self._denies,
        )
        self.input.drafts.beside = self._half_written
        self.tasks = TasksStrip(agent)
        self.queue = QueuePane(home=self._input, typed=self._type)
        self.status = PromptStatus(self.input, agent, now)
        self.known: Callable[[], Awaitable[None]] = _known
        """Returns once it is known and shown who asks."""
        self._given_back: dict[str, str] = {}
        """The prompts that came back last, by whose they are."""

    def address(self, addressee: Addressee) -> None:
        """Prompts go to this agent, and the line below says what it does."""
        self.input.address(addressee)
        self.approvals.attend(addressee.agent)
        self.approvals.draw()  # another agent's question is named beside the one that is written to
        self.status.turn_to(addressee.agent)

    def scrolls(self, front: FrontScroll) -> None:
        """The input's keys for scrolling scroll this."""
        self.input.front_scroll = front

    def take_back(self, agent: str) -> list[Event]:
        """Put the person's prompts that wait for this agent into the input; gives the intents that withdraw them."""
        waiting = self.queue.state.of_person(agent)
        if waiting:
            self.input.take_back([one.text for one in waiting], agent)
            what = "The queued prompt is" if len(waiting) == 1 else f"The {len(waiting)} queued prompts are"
            self.notify(f"{what} in the input again.", timeout=4, markup=False)
        return [PromptEditRequested(prompt=one.prompt, agent=agent) for one in waiting]

    def give_back(self, text: str, whose: str | None = None) -> None:
        """Put a text that was not sent into the input, or with what is written to those for whom it was: behind others
        that came back, before what is being written.
        """
        whose = self.input.addressee.key if whose is None else whose
        before = self._given_back.get(whose, "")
        self._given_back[whose] = self.input.drafts.give(PromptDraft(text), whose, before)

    def leave(self, unsent: Sequence[PromptSubmitted]) -> None:
        """The window ends: prompts that were not sent go into the input, and what is being written is kept."""
        for agent in {one.agent: "" for one in unsent}:
            self.input.take_back([one.text for one in unsent if one.agent == agent], agent)
        self.input.drafts.leave()

    def _half_written(self) -> str:
        """What is being written besides the draft: a reason, or another text for a prompt that waits."""
        edited = self.queue.state.find(self.input.editing) if self.input.editing else None
        changed = self.input.value if edited is not None and self.input.value != edited.text else ""
        return "\n\n".join(text for text in (changed, self.approvals.fields.reason) if text.strip())

    def compose(self) -> ComposeResult:
        """The parts, from top to bottom."""
        yield self.tasks
        yield self.approvals
        yield self.queue
        yield self.popup
        yield self.keys
        yield self.input
        yield self.status

    def on_mount(self) -> None:
        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Leave the conversation its share of the window."""
        height = self.screen.size.height
        framed = height >= FRAMED
        self.set_class(framed, "-framed")
        self.input.styles.max_height = max(1 + 2 * framed, height // 3)
        self.status.display = height >= 8
        if self.tasks.state.tasks:
            self.tasks.draw()

    def _denies(self, agent: str, name: str) -> None:
        from gshtui.text.sanitise import one_line  # not before the first letter

        to = self.input.addressee
        whom = "" if agent == to.agent and not to.call else f" {one_line(name, 20)}"
        self.input.show_use(f"{key_of(self, 'approval.refuse')} deny{whom} with your text" if agent else "")

    def _shows_change(self, call: str, diff: str) -> bool:
        front = self.input.front_scroll
        return front is not None and front.shows_change(call, diff)

    def _fold_asked(self, call: str) -> None:
        if (front := self.input.front_scroll) is not None:
            front.fold_asked(call)

    def _input(self) -> Widget | None:
        return self.input

    def _type(self, character: str) -> None:
        """Insert a letter typed elsewhere that was clearly meant for the input."""
        self.input.focus()
        self.input.insert_typed(character)

    async def action_review(self) -> None:
        """Go to the waiting question; where none is known, look again at who asks."""
        if not await self._review():
            self.run_worker(self._review_later(), group="review", exclusive=True, exit_on_error=False)

    async def _review_later(self) -> None:
        def place() -> tuple[object, ...]:
            return self.screen.focused, self.input.text, self.input.cursor_location

        before = place()
        await self.known()
        if place() != before:
            return  # who goes on typing is not led away
        if not await self._review():
            there = f"An agent of another folder asks: {key_of(self, 'agents.waiting')} to go to it."
            self.notify(there if self.approvals.needs else "No question is waiting.", markup=False)

    async def _review(self) -> bool:
        summary = next((one for one in self.screen.query("#summaries") if one.display), None)
        if self.approvals.display:
            self.approvals.review()
        elif summary is not None:
            await summary.run_action("review")
        else:
            return False
        return True

    async def action_allow(self) -> None:
        """Allow what waits, where its row says it all; else go to the question."""
        if self.approvals.display:
            await self.approvals.allow()
        else:
            await self.action_review()

    async def action_refuse(self) -> None:
        """Deny what waits with a reason: what is written in the input, or else is written next."""
        if self.approvals.display:
            if await self.approvals.refuse():
                self.input.put_away(self.input.value)
        else:
            await self.action_review()

    def action_queue(self) -> None:
        """Go to the waiting prompts."""
        if self.queue.display:
            self.queue.focus()
        else:
            waiting = "The window is too short to show them." if self.queue.state.waiting else "No prompts are queued."
            self.notify(waiting, markup=False)

    def on_completion_popup_chosen(self, message: CompletionPopup.Chosen) -> None:
        """A candidate was clicked."""
        message.stop()
        self.input.take_clicked(message.candidate)

    def on_queue_pane_edit_chosen(self, message: QueuePane.EditChosen) -> None:
        """A waiting prompt goes into the input line."""
        message.stop()
        self.input.begin_edit(message.waiting.prompt, message.waiting.text, message.waiting.agent)

    def on_prompt_input_keys_changed(self, message: PromptInput.KeysChanged) -> None:
        """Name what the input's keys do now."""
        message.stop()
        self.status.draw()
        self.approvals.draw()

    def on_queue_pane_refused(self, message: QueuePane.Refused) -> None:
        """A prompt comes back; the one being edited is in the input already."""
        message.stop()
        if self.input.editing == message.prompt:
            self.input.end_edit(keep_text=True)
        else:
            self.give_back(message.text, self.input.draft_key(message.agent))

    def on_queue_pane_changed(self, message: QueuePane.Changed) -> None:
        """The prompt being edited may have been started meanwhile."""
        message.stop()
        if self.input.editing and message.state.find(self.input.editing) is None:
            self.input.end_edit(keep_text=True)
            self.notify(
                "The agent has already started that prompt. Press Enter to send your text as a new one.", markup=False
            )

    def on_folding_area_fold_opened(self, message: FoldingArea.FoldOpened) -> None:
        """Show a folded text."""
        from gshtui.ui.kit.widgets.dialogs import FoldScreen

        message.stop()
        app_of(self).push_screen(FoldScreen(message.title, message.text))


class MainArea(msgspec.Struct, frozen=True):
    """The widgets of the centre, from top to bottom."""

    chat: Callable[[], Widget]
    """Creates the conversation. Called after the first frame: it is the largest part, and starts empty anyway."""
    below: PromptArea
    coming: str = ""
    """What stands in the conversation's place until it is created."""
    connect: Callable[[], None] = lambda: None
    """Called once the hub is up: connects the input's completion and history."""


def make_main_area(bridge: Bridge, now: Callable[[], float], views: Mapping[str, str]) -> MainArea:
    """The centre of a window whose hub is behind this bridge.

    Args:
        now: seconds since the epoch.
        views: words after a slash that open a view → its key.
    """
    agent = bridge.opening.agent or "main"
    area = PromptArea(agent, project=bridge.opening.cwd, now=now)
    area.input.add_source(ProgramCommandSource(lambda: area.input.addressee.commands, lambda: area.input.commands))

    def runs(name: str) -> bool:
        return name in bridge.commands and bridge.commands[name].complete

    def usage(name: str) -> str:
        words = bridge.commands[name].usage if name in bridge.commands else ""
        return words and f"/{words}"

    shown = {word: WindowView(key, KEYS[key].help) for word, key in views.items()}
    area.input.add_source(CommandSource(bridge.complete, area.input.past.commands, runs, usage, shown))

    async def known() -> None:
        from gshtui.fleet.core.agent_calls import ListAgents

        with contextlib.suppress(ExpectedError):  # who cannot be asked now is known as far as it was
            await bridge.call(ListAgents(windows=False))
        await bridge.shown()

    area.known = known

    coming = LOADING if bridge.opening.session else ""

    def chat() -> Widget:
        from gshtui.ui.conversation.conversation_pane import ConversationPane

        return ConversationPane(
            bridge.messages,
            bridge.ran,
            bridge.cuts,
            bridge.output,
            load_failure=bridge.last_failure,
            agent=agent,
            coming=coming,
        )

    return MainArea(chat, area, coming, lambda: _connect(bridge, area))


class CommandFields(Mapping[str, frozenset[str]]):
    """The names of the commands → their parameters."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def __contains__(self, name: object) -> bool:
        return name in self._bridge.commands

    def __getitem__(self, name: str) -> frozenset[str]:
        return self._bridge.commands[name].parameters

    def __iter__(self) -> Iterator[str]:
        return iter(self._bridge.commands)

    def __len__(self) -> int:
        return len(self._bridge.commands)


def _connect(bridge: Bridge, area: PromptArea) -> None:
    from gshtui.ui.prompt.completion_sources import FileIndex, FileSource, ResourceSource

    async def resources(server: str) -> Sequence[NamedThing]:
        from gshtui.mcp_client.mcp_calls import ListResources

        try:
            return (await bridge.call(ListResources(name=server))).resources
        except ExpectedError:  # completion helps where it can, and says nothing where it cannot
            return ()

    area.input.add_source(FileSource(FileIndex(bridge.opening.cwd), area.input.tell_completion_news))
    area.input.add_source(ResourceSource(resources))
    if bridge.settings is not None and bridge.settings.ui.keys == "vi":
        area.input.use_vi()
    area.input.commands = CommandFields(bridge)
    area.run_worker(_recall(bridge, area), exit_on_error=False, group="history")


async def _recall(bridge: Bridge, area: PromptArea) -> None:
    try:
        hub = await bridge.running()
        area.input.past.load(await hub.prompts(str(bridge.opening.cwd), 1_000))
    except NotReady:
        return
