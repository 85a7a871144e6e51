"""The part of the app that deals with agents' contexts: inspectors in tabs, cuts, summaries, and what the panes show.

`ContextApp` answers the panes' requests; `ContextWatch` fills the panes from the record when a conversation is resumed,
updates the forecast, and pins what a person sent to be pinned. A service that fails costs the figures and nothing else.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import MessageAppended, TurnFinished
from gshtui.bus.events.context_events import ContextCut, CutFailed, CutUndone, SummaryAnswered, SummaryProposed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.ui.context.inspector_tabs import InspectorTabs
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.widget_messages import ForContext
from gshtui.ui.window.fleet_app import FleetApp

if TYPE_CHECKING:
    from gshtui.ui.agents.agents_pane import AgentsPane
    from gshtui.ui.context.context_pane import ContextPane
    from gshtui.ui.context.context_port import ContextPort
    from gshtui.ui.context.inspector_pane import InspectorPane
    from gshtui.ui.context.summaries import SummariesPane
    from gshtui.ui.context.timeline_pane import TimelinePane
    from gshtui.ui.window.context_actions import ContextActions


class ContextApp(FleetApp):
    """The app's part for what models are sent."""

    contexts: InspectorTabs
    _acts: ContextActions | None = None

    async def context_service(self) -> ContextPort:
        """The hub's context service.

        Raises:
            NotReady: there is no hub.
            ContextError: the hub has no such service, since its record did not start.
        """
        service = (await self.bridge.running()).contexts
        if service is None:
            from gshtui.context.views import ContextError

            raise ContextError("record", "What is sent cannot be looked at: the record did not start.", _DOCTOR)
        return cast("ContextPort", service)

    @property
    def acts(self) -> ContextActions:
        """What can be done, made when it is first wanted."""
        if self._acts is None:
            from gshtui.ui.window.context_actions import ContextActions

            self._acts = ContextActions(self)
        return self._acts

    @on(ForContext)
    def _for_context(self, message: ForContext) -> None:
        if message.action == "inspect":
            self.inspect(message.agent, at=message.about, section=message.section)
        else:
            self.acts.perform(message.action, message.agent, message.about)

    def action_inspect(self) -> None:
        self.inspect(self.front)

    def action_context(self, action: str) -> None:
        """An action of the context pane, for the agent in front."""
        self.acts.perform(action, self.front, "")

    def inspect(self, agent: str, *, at: str = "", section: str = "") -> None:
        """Show what an agent's model is sent, in a tab."""
        self.run_worker(self._inspect(agent, at, section), exit_on_error=False, group="inspectors")

    async def _inspect(self, agent: str, at: str, section: str) -> None:
        self.show_centre()
        await self.contexts.open(agent, self.name_of(agent), at=at, section=section)

    async def compare(self, agent: str, other: str, iteration: str) -> None:
        """Compare what an agent's inspector shows with a request of another agent, or of its own."""
        pane = self.contexts.of(agent) or await self.contexts.open(agent, self.name_of(agent))
        pane.compare(other, iteration)

    def name_of(self, agent: str) -> str:
        """What people call an agent: its name, and its id where that is another word."""
        known = self.bench.header.state.agents.agents.get(agent)
        return agent if known is None or known.name == agent else f"{known.name} ({agent})"

    async def on_inspector_pane_closed(self, message: InspectorPane.Closed) -> None:
        await self.contexts.close(message.agent)
        self.bench.input.focus()

    def on_summaries_pane_answered(self, message: SummariesPane.Answered) -> None:
        """What a person says to a summary that waits."""
        if message.how == "read":
            self.acts.read_proposed(message.proposed)
        elif message.how == "edit":
            self.acts.edit_proposed(message.proposed)
        else:
            self.acts.answer(message.proposed, message.how == "accept")

    def palette_actions(self) -> Iterator[tuple[str, str]]:
        yield from super().palette_actions()
        for name in ("compact", "prune", "clear", "tune", "what_if"):
            yield f"context.{name}", f"app.context('{name}')"


_DOCTOR = "`gsh-tui doctor` says what is missing."


class ContextWatch:
    """The window's own subscriber."""

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

    def __init__(self, app: ContextApp) -> None:
        self._app = app

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
        from gshtui.context.views import ContextError

        bench, front = self._app.bench, self._app.front
        try:
            service = await self._app.context_service()
            iterations = await service.iterations(front)
            receipts = await service.receipts(front)
        except (NotReady, ContextError):
            return
        mine = [one for one in iterations if one.session == session]
        cast("TimelinePane", bench.panes["timeline"]).restore(mine, receipts, session)
        cast("ContextPane", bench.panes["context"]).restore(mine, session)
        cast("AgentsPane", bench.panes["agents"]).restore(front, mine)
        bench.header.restore(mine)
        await self._foretell()

    async def _pin(self, event: MessageAppended) -> None:
        """What came from the shell log to be kept, now that it is in the conversation."""
        from gshtui.context.views import ContextError
        from gshtui.ui.shell.shell_reference import pinned_blocks

        try:
            for block in pinned_blocks(event.message):
                await (await self._app.context_service()).pin(event.agent, block, True)
        except (NotReady, ContextError) as error:
            if isinstance(error, ContextError) and error.kind == "invalid":
                return  # it is pinned already: another window shows this conversation too
            self._app.notify(f"Couldn't pin it: {error}", severity="error", markup=False, timeout=8)

    async def _foretell(self) -> None:
        from gshtui.context.views import ContextError

        try:
            found = await (await self._app.context_service()).forecast(self._app.front)
        except (NotReady, ContextError):
            return
        timeline = cast("TimelinePane", self._app.bench.panes["timeline"])
        timeline.foretell(found.turns, found.per_turn, found.trigger)

    async def _show_summaries(self, events: Sequence[Event]) -> None:
        """The panel is made when the first summary waits; from then on it is fed by the bridge."""
        from gshtui.ui.context.summaries import SummariesPane

        if not self._app.bench.query(SummariesPane):
            pane = SummariesPane(self._app.bench.input, self._app.clock)
            await self._app.bench.query_one("#centre").mount(pane, before=self._app.bench.centre.below[0])
            pane.consume([event for event in events if isinstance(event, SummariesPane.CONSUMES)])
