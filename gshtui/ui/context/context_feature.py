"""The window's part for agents' contexts: inspectors in tabs, actions on a context, and what the panes show of it.

`ContextFeature` answers the panes' requests, fills the panes from the record when a conversation is resumed, updates
the forecast, and pins what a person sent to be pinned. A service that fails costs the figures and nothing else.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from textual.widget import Widget

from gshtui.bus.context_data import Iteration
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import MessageAppended, TurnFinished
from gshtui.bus.events.context_events import ContextCut, CutFailed, CutUndone, SummaryAnswered, SummaryProposed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.ui.context.inspector_tabs import InspectorTabs
from gshtui.ui.kit.bridge import EventConsumer, NotReady
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.widget_messages import ForContext
from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from gshtui.commands.declaration import Returns
    from gshtui.ui.context.context_actions import ContextActions
    from gshtui.ui.kit.dialogs import PickerChoice

R = TypeVar("R")
_DOCTOR = "`gsh-tui doctor` says what is missing."


class ContextHost(WorkbenchPort, Protocol):
    """The window, with what this feature needs beside what all need."""

    def agent_names(self) -> Mapping[str, str]:
        """Every agent that the window knows: id → name."""
        ...

    def show_restored(self, agent: str, iterations: Sequence[Iteration]) -> None:
        """Show what an agent's earlier requests came to in the header and in the list of agents."""
        ...

    async def mount_above_input(self, panel: Widget) -> None:
        """Put a panel between the conversation and the input."""
        ...

    async def model_choices(self) -> list[PickerChoice]:
        """The models that can be chosen, to pick one of them."""
        ...


class ContextFeature(Feature):
    """See the module. The bridge feeds it like a pane."""

    KEYS = ("context.inspect",)
    OPENS = {"inspect": "context.inspect"}
    PALETTE = ("context.compact", "context.prune", "context.clear", "context.tune", "context.what_if")

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (
        ContextCut,
        CutFailed,
        CutUndone,
        MessageAppended,
        SessionOpened,
        SummaryAnswered,
        SummaryProposed,
        TurnFinished,
    )

    def __init__(self, window: ContextHost) -> None:
        super().__init__(window)
        self._app = window
        self._acts: ContextActions | None = None
        self.inspectors = InspectorTabs(window.deck, self, window.clock)

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (FeatureRoute(ForContext, self.handle_request),)

    def watchers(self) -> Sequence[EventConsumer]:
        return (self,)

    def press(self, key: str) -> None:
        if key == "context.inspect":
            self.inspect(self._app.front)
        else:
            self.actions.perform(key.partition(".")[2], self._app.front, "")

    async def call(self, parameters: Returns[R]) -> R:
        """Call a command about contexts by its parameters; gives its typed result.

        Raises:
            NotReady: there is no hub.
            CommandError: it could not do it, or the hub has no contexts, since its record did not start.
        """
        from gshtui.commands.declaration import CommandError, UnknownCommand

        try:
            return await self._app.bridge.call(parameters)
        except UnknownCommand as error:
            what = "What is sent cannot be looked at: the record did not start."
            raise CommandError(what, hint=_DOCTOR) from error

    @property
    def actions(self) -> ContextActions:
        """What can be done, made when it is first wanted."""
        if self._acts is None:
            from gshtui.ui.context.context_actions import ContextActions

            self._acts = ContextActions(self._app, self)
        return self._acts

    # What widgets and keys ask for

    def handle_request(self, message: ForContext) -> None:
        """Show something of a context, or do something to it."""
        if message.action == "inspect":
            self.inspect(message.agent, at=message.about, section=message.section)
        else:
            self.actions.perform(message.action, message.agent, message.about)

    def inspect(self, agent: str, *, at: str = "", section: str = "") -> None:
        """Show what an agent's model is sent, in a tab."""
        self._app.run_worker(self.open_inspector(agent, at, section), exit_on_error=False, group="inspectors")

    async def open_inspector(self, agent: str, at: str = "", section: str = "") -> None:
        """Bring an agent's inspector to the front, at this request and with this section."""
        self._app.show_centre()
        await self.inspectors.open(agent, self.name_of(agent), at=at, section=section)

    async def compare(self, agent: str, other: str, iteration: str) -> None:
        """Compare what an agent's inspector shows with a request of another agent, or of its own."""
        pane = self.inspectors.find(agent) or await self.inspectors.open(agent, self.name_of(agent))
        pane.compare(other, iteration)

    def name_of(self, agent: str) -> str:
        """What people call an agent: its name, and its id where that is another word."""
        name = self._app.agent_names().get(agent, agent)
        return agent if name == agent else f"{name} ({agent})"

    def handle_answer(self, proposed: SummaryProposed, how: str) -> None:
        """What a person says to a summary that waits."""
        if how == "read":
            self.actions.read_proposed(proposed)
        elif how == "edit":
            self.actions.edit_proposed(proposed)
        else:
            self.actions.answer(proposed, how == "accept")

    # What happens

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        front = self._app.front
        for event in events:
            if isinstance(event, SessionOpened) and event.agent == front and event.messages:
                self._work(self._restore(event.session), "restore")
            elif isinstance(event, MessageAppended) and event.message.role == "user":
                self._app.run_worker(self._pin(event), exit_on_error=False, group="pins")
        if any(isinstance(event, TurnFinished | ContextCut | CutUndone) and event.agent == front for event in events):
            self._work(self._foretell(), "forecast")
        if any(isinstance(event, SummaryProposed) for event in events):
            self._app.run_worker(self._show_summaries(events), exit_on_error=False, group="summaries")

    def _work(self, work: Coroutine[Any, Any, None], group: str) -> None:
        self._app.run_worker(work, exit_on_error=False, exclusive=True, group=group)

    async def _restore(self, session: str) -> None:
        from gshtui.commands.declaration import CommandError
        from gshtui.context.commands.view_calls import ReadIterations, ReadReceipts
        from gshtui.ui.context.context_pane import ContextPane
        from gshtui.ui.context.timeline_pane import TimelinePane

        bench, front = self._app.bench, self._app.front
        try:
            iterations = (await self.call(ReadIterations(agent=front))).iterations
            receipts = (await self.call(ReadReceipts(agent=front))).receipts
        except (NotReady, CommandError):
            return
        mine = [one for one in iterations if one.session == session]
        bench.query_one(TimelinePane).restore(mine, receipts, session)
        bench.query_one(ContextPane).restore(mine, session)
        self._app.show_restored(front, mine)
        await self._foretell()

    async def _pin(self, event: MessageAppended) -> None:
        """What came from the shell log to be kept, now that it is in the conversation."""
        from gshtui.context.pin_mark import pinned_blocks

        if blocks := pinned_blocks(event.message):
            await self._pin_blocks(event.agent, blocks)

    async def _pin_blocks(self, agent: str, blocks: Sequence[str]) -> None:
        from gshtui.commands.declaration import CommandError, Word
        from gshtui.context.commands.answers import ContextRefused
        from gshtui.context.commands.cut_commands import PinBlock

        try:
            for block in blocks:
                await self.call(PinBlock(agent=Word(agent), block=Word(block)))
        except (NotReady, CommandError) as error:
            if isinstance(error, ContextRefused) and error.kind == "invalid":
                return  # it is pinned already: another window shows this conversation too
            self._app.notify(f"Couldn't pin it: {error}", severity="error", markup=False, timeout=8)

    async def _foretell(self) -> None:
        from gshtui.commands.declaration import CommandError
        from gshtui.context.commands.view_calls import ForecastContext
        from gshtui.ui.context.timeline_pane import TimelinePane

        try:
            found = await self.call(ForecastContext(agent=self._app.front))
        except (NotReady, CommandError):
            return
        self._app.bench.query_one(TimelinePane).foretell(found.turns, found.per_turn, found.trigger)

    async def _show_summaries(self, events: Sequence[Event]) -> None:
        """The panel is made when the first summary waits; from then on it is fed by the bridge."""

        from gshtui.ui.context.summaries import SummariesPane

        if not self._app.bench.query(SummariesPane):
            pane = SummariesPane(self._app.input_line, self._app.clock, self.handle_answer)
            await self._app.mount_above_input(pane)
            pane.consume([event for event in events if isinstance(event, SummariesPane.CONSUMES)])
