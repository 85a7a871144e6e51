"""What the window does about agents' contexts: inspectors in tabs, receipts, cuts that are previewed, summaries.

Owns the ways there; refuses to draw. `Workbench` is built on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from textual import on

from gshtui.ui.context.context_tabs import ContextTabs
from gshtui.ui.kit.messages import ForContext
from gshtui.ui.window.fleet_app import FleetApp

if TYPE_CHECKING:
    from gshtui.ui.context.context_port import Contexts
    from gshtui.ui.context.inspector import InspectorPane
    from gshtui.ui.context.summaries import SummariesPane
    from gshtui.ui.window.context_actions import ContextActions


class ContextApp(FleetApp):
    """The app's part for what models are sent."""

    contexts: ContextTabs
    _acts: ContextActions | None = None

    async def context_service(self) -> Contexts:
        """The hub's context service.

        Raises:
            NotReady: there is no hub.
            ContextError: the hub has no such service, since its record did not start.
        """
        service = (await self.bridge.running()).contexts
        if service is None:
            from gshtui.context.views import ContextError

            raise ContextError("record", "What is sent cannot be looked at: the record did not start.", _DOCTOR)
        return cast("Contexts", service)

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
