"""The window's part for agents' contexts: inspectors in tabs, actions on a context, and what the panes show of it.

`ContextFeature` answers the panes' requests, fills the panes from the record when a conversation is resumed, updates
the forecast, and pins what a person asked to pin. If the service fails, only the figures are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from gshtui.bus.context_data import Iteration, Receipt
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import MessageAppended, SectionSize, TurnFinished
from gshtui.bus.events.context_events import ContextCut, CutFailed, CutUndone, SummaryAnswered, SummaryProposed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.system.expected_error import ExpectedError
from gshtui.ui.context.context_host import ContextHost, ContextRow, ContextWanted
from gshtui.ui.kit.bridge import EventConsumer
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.row_actions import RowAction, RowActions
from gshtui.ui.kit.widget_messages import ForContext
from gshtui.ui.kit.widgets.tabs import Deck, PaneTabs

if TYPE_CHECKING:
    from gshtui.commands.declaration import Returns
    from gshtui.ui.context.context_actions import ContextActions
    from gshtui.ui.context.inspector_loader import CommandCaller
    from gshtui.ui.context.inspector_pane import InspectorPane

R = TypeVar("R")
_NOTHING = {
    "timeline.undo": "No cut to undo here.",
    "inspector.pin": "Move the cursor to a block to pin it.",
    "inspector.restore": "Nothing was cut from this block. Move the cursor to a block that was cut.",
}
"""What is said where a key means nothing for what the cursor is on."""
_DOCTOR = "`gsh-tui doctor` says what is missing."


def _has_request(row: ContextRow) -> bool:
    return bool(row.at)


class InspectorTabs:
    """The window's inspectors: one tab per agent, opened and moved to a request or a section.

    Args:
        hub: calls commands.
        clock: seconds since the epoch.
    """

    def __init__(self, deck: Deck, hub: CommandCaller, clock: Callable[[], float]) -> None:
        self._hub = hub
        self._clock = clock
        self._tabs: PaneTabs[InspectorPane] = PaneTabs(deck, "inspector")

    async def open(self, agent: str, name: str, *, at: str = "", section: str = "") -> InspectorPane:
        """Bring an agent's inspector to the front, creating it if needed, at this iteration and section."""
        from gshtui.text.sanitise import one_line
        from gshtui.ui.context.inspector_pane import InspectorPane  # not needed for the first screen

        opened = self._tabs.find_tab(agent)
        if opened is not None:
            opened.show_at(at, section)
        return await self._tabs.open(
            agent,
            f"◫ {one_line(name, 20)}",
            lambda: InspectorPane(agent, name, self._hub, self._clock, at, section),
        )

    def find(self, agent: str) -> InspectorPane | None:
        """An agent's inspector, if there is one."""
        return self._tabs.find_tab(agent)


def _cut_since(last: Iteration, receipts: Sequence[Receipt]) -> Receipt | None:
    """The newest cut of a conversation that its last request does not show yet."""
    made = (one for one in reversed(receipts) if one.session == last.session and one.kind != "truncate")
    return next((one for one in made if not one.undone and one.at > last.at), None)


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
        self.rows = self._row_actions()
        self.inspectors = InspectorTabs(window.deck, self, window.clock)

    def _row_actions(self) -> dict[str, RowActions[ContextRow]]:
        """What can be done in each pane, by its name."""
        own: list[RowAction[ContextRow]] = [
            RowAction("timeline.inspect", lambda row: self.inspect(row.agent, at=row.at), _has_request),
            RowAction("timeline.diff", lambda row: self.actions.show_changes(row.agent, row.at), _has_request),
            RowAction("inspector.diff_with", lambda row: self.actions.choose_other(row.agent, row.at)),
        ]
        for pane in ("context", "inspector"):
            own.append(RowAction(f"{pane}.tune", lambda row: self.actions.tune(row.agent)))
            own.append(RowAction(f"{pane}.what_if", lambda row: self.actions.choose_model(row.agent)))
        shown = {"context": ("context",), "timeline": ("timeline", "context"), "inspector": ("inspector",)}
        return {pane: RowActions(self._app, groups, own) for pane, groups in shown.items()}

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (FeatureRoute(ForContext, self.handle_request), FeatureRoute(ContextWanted, self._perform))

    def watchers(self) -> Sequence[EventConsumer]:
        return (self,)

    def press(self, key: str) -> None:
        if key == "context.inspect":
            self.inspect(self._app.front)
        else:
            self._perform(ContextWanted(key, ContextRow(self._app.front)))

    async def call(self, parameters: Returns[R]) -> R:
        """Call a command about contexts by its parameters; gives its typed result.

        Raises:
            NotReady: there is no hub.
            CommandError: the command failed, or the hub has no contexts because its record did not start.
        """
        from gshtui.commands.declaration import CommandError, UnknownCommand

        try:
            return await self._app.bridge.call(parameters)
        except UnknownCommand as error:
            what = "Can't inspect what is sent: the record did not start."
            raise CommandError(what, hint=_DOCTOR) from error

    @property
    def actions(self) -> ContextActions:
        """The actions, created on first use."""
        if self._acts is None:
            from gshtui.ui.context.context_actions import ContextActions

            self._acts = ContextActions(self._app, self)
        return self._acts

    # What widgets and keys ask for

    def handle_request(self, message: ForContext) -> None:
        """Show something of a context."""
        if message.action == "inspect":
            self.inspect(message.agent, at=message.about, section=message.section)
        else:
            self.actions.show_receipt(message.agent, message.about)

    def _perform(self, message: ContextWanted) -> None:
        key, row = message.key, message.row
        pane = key.partition(".")[0]
        if key.endswith(".menu"):
            self.rows[pane].show_menu(f"The context of {self.name_of(row.agent)}", row)
        else:
            words = _NOTHING.get(key, "This is not possible now.")
            self.rows[pane].perform(key, row, lambda: self._app.notify(words, markup=False))

    def inspect(self, agent: str, *, at: str = "", section: str = "") -> None:
        """Show what an agent's model is sent, in a tab."""
        self._app.bring(self.open_inspector(agent, at, section), group="inspectors")

    async def open_inspector(self, agent: str, at: str = "", section: str = "") -> None:
        """Bring an agent's inspector to the front, at this request and with this section."""
        self._app.show_centre()
        await self.inspectors.open(agent, self.name_of(agent), at=at, section=section)

    async def compare(self, agent: str, other: str, iteration: str) -> None:
        """Compare what an agent's inspector shows with a request of this or another agent."""
        pane = self.inspectors.find(agent) or await self.inspectors.open(agent, self.name_of(agent))
        pane.compare(other, iteration)

    def name_of(self, agent: str) -> str:
        """An agent's name, with its id if that differs."""
        name = self._app.agent_names().get(agent, agent)
        return agent if name == agent else f"{name} ({agent})"

    def handle_answer(self, proposed: SummaryProposed, how: str) -> None:
        """Handle a person's answer to a waiting summary."""
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
                self.run_work(self._restore(event.session), "restore", exclusive=True)
            elif isinstance(event, SessionOpened) and event.agent == front:
                self.mark_known()
            elif isinstance(event, MessageAppended) and event.message.role == "user":
                self.run_work(self._pin(event), "pins")
        if any(isinstance(event, TurnFinished | ContextCut | CutUndone) and event.agent == front for event in events):
            self.run_work(self._foretell(), "forecast", exclusive=True)
        if any(isinstance(event, SummaryProposed) for event in events):
            self.run_work(self._show_summaries(events), "summaries")

    async def _restore(self, session: str) -> None:
        from gshtui.context.commands.view_calls import ReadIterations, ReadReceipts
        from gshtui.ui.context.context_pane import ContextPane
        from gshtui.ui.context.timeline_pane import TimelinePane

        bench, front = self._app.bench, self._app.front
        try:
            iterations = (await self.call(ReadIterations(agent=front))).iterations
            receipts = (await self.call(ReadReceipts(agent=front))).receipts
        except ExpectedError:
            return
        finally:
            self.mark_known()
        mine = [one for one in iterations if one.session == session]
        for pane in bench.query(TimelinePane):
            pane.restore(mine, receipts, session)
        bench.query_one(ContextPane).restore(mine, session)
        self._app.show_restored(front, mine)
        if mine and (cut := _cut_since(mine[-1], receipts)) is not None:
            await self._show_cut(cut, mine[-1])
        await self._foretell()

    def mark_known(self) -> None:
        """What the record has of the conversation in front is known."""
        from gshtui.ui.context.context_pane import ContextPane
        from gshtui.ui.context.timeline_pane import TimelinePane

        bench = self._app.bench
        for pane in (*bench.query(TimelinePane), *bench.query(ContextPane)):  # none, in a window that ends
            pane.mark_known()

    async def _show_cut(self, receipt: Receipt, last: Iteration) -> None:
        """Show the sizes since a cut that no request has followed yet, as when it was made."""
        from gshtui.context.commands.view_calls import ReadContext
        from gshtui.ui.context.context_pane import ContextPane

        try:
            view = await self.call(ReadContext(agent=receipt.agent))
        except ExpectedError:
            return
        pane = self._app.bench.query_one(ContextPane)
        if pane.state.sections != last.sections:
            return  # a request went out meanwhile
        sizes: dict[str, int] = {}
        for block in view.blocks:
            sizes[block.section] = sizes.get(block.section, 0) + block.tokens
        sections = tuple(SectionSize(name, tokens) for name, tokens in sizes.items())
        size = view.expected or view.tokens
        cut = ContextCut(
            agent=receipt.agent, session=receipt.session, receipt=receipt, sections=sections, expected=size
        )
        pane.consume([cut])
        self._app.show_cut(cut)

    async def _pin(self, event: MessageAppended) -> None:
        """Pin what came from the shell log for that, now that it is in the conversation."""
        from gshtui.context.tasks.pin_mark import pinned_blocks

        if blocks := pinned_blocks(event.message):
            await self._pin_blocks(event.agent, blocks)

    async def _pin_blocks(self, agent: str, blocks: Sequence[str]) -> None:
        from gshtui.commands.declaration import Word
        from gshtui.context.commands.answers import ContextRefused
        from gshtui.context.commands.cut_commands import PinBlock

        try:
            for block in blocks:
                await self.call(PinBlock(agent=Word(agent), block=Word(block)))
        except ExpectedError as error:
            if isinstance(error, ContextRefused) and error.kind == "invalid":
                return  # already pinned: another window shows this conversation too
            self._app.notify(f"Couldn't pin it: {error}", severity="error", markup=False, timeout=8)

    async def _foretell(self) -> None:
        from gshtui.context.commands.view_calls import ForecastContext
        from gshtui.ui.context.timeline_pane import TimelinePane

        try:
            found = await self.call(ForecastContext(agent=self._app.front))
        except ExpectedError:
            return
        for pane in self._app.bench.query(TimelinePane):  # none, where the person has left meanwhile
            pane.foretell(found.turns, found.per_turn, found.trigger)

    async def _show_summaries(self, events: Sequence[Event]) -> None:
        """Create the panel when the first summary waits; from then on the bridge feeds it."""

        from gshtui.ui.context.summaries import SummariesPane

        if not self._app.bench.query(SummariesPane):
            pane = SummariesPane(self._app.input_line, self._app.clock, self.handle_answer)
            await self._app.mount_above_input(pane)
            pane.consume([event for event in events if isinstance(event, SummariesPane.CONSUMES)])
