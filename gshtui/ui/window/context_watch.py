"""Keeps the panes about the context whole: what the record holds of a resumed conversation, forecast, summaries. Pins
what a person sent to be pinned.

Owns when these are asked for; a service that fails costs the figures and nothing else. Fed by the bridge like a pane.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from gshtui.bus.event import Event
from gshtui.bus.events.agent import MessageAppended, TurnFinished
from gshtui.bus.events.context import ContextCut, CutFailed, CutUndone, SummaryAnswered, SummaryProposed
from gshtui.bus.events.session import SessionOpened
from gshtui.ui.kit.bridge import NotReady

if TYPE_CHECKING:
    from gshtui.ui.agents.agents import AgentsPane
    from gshtui.ui.context.context import ContextPane
    from gshtui.ui.context.timeline import TimelinePane
    from gshtui.ui.window.context_app import ContextApp


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
            self._app.notify(f"It could not be pinned: {error}", severity="error", markup=False, timeout=8)

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
