"""Gives a person's answers to the questions of other vendors' programs: by the command `agent answer`, with the id of
the question that the person saw. Changes the mode of the agent in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gshtui.bus.events.approval_events import ApprovalAnswered
from gshtui.ui.approvals.approvals_pane import ApprovalsPane
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.widget_messages import OpenTerminal, ShowQuestion


class ApprovalsFeature(Feature):
    """See the module."""

    PALETTE = ("mode.next",)

    def press(self, key: str) -> None:
        from gshtui.guard.mode_commands import ChangeMode

        self.window.perform(ChangeMode(mode="next", agent=self.window.addressed))

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (
            FeatureRoute(ApprovalsPane.ProgramAnswered, self._answer),
            FeatureRoute(ApprovalsPane.FormWanted, self._fill_in),
            FeatureRoute(ShowQuestion, self._show),
        )

    @property
    def _pane(self) -> ApprovalsPane:
        return self.window.bench.query_one(ApprovalsPane)

    def _show(self, message: ShowQuestion) -> None:
        self._pane.show_agent(message.agent)
        if message.answer:
            self._pane.review()

    def _fill_in(self, message: ApprovalsPane.FormWanted) -> None:
        from gshtui.ui.approvals.values_form import ValuesForm

        request = message.request

        def answer(values: dict[str, Any] | None) -> None:
            if values is None:
                return
            if self._pane.state.open.find(request.approval) is None:
                self.warn("This question is closed already.")
                return
            self.window.publish(ApprovalAnswered(approval=request.approval, decision="once", values=values))

        self.window.push_screen(ValuesForm(request), answer)

    def _answer(self, message: ApprovalsPane.ProgramAnswered) -> None:
        self.run_work(self._answered(message), "answers")

    async def _answered(self, message: ApprovalsPane.ProgramAnswered) -> None:
        from gshtui.commands.declaration import CommandError
        from gshtui.fleet.core.agent_calls import AnswerAgent

        call = AnswerAgent(agent=message.agent, choice=message.choice, question=message.question, yes=True)
        try:
            answered = await self.window.bridge.call(call)
            if answered.next is not None and answered.next.id == message.question:  # it wants words
                self._pane.answer_failed(message.agent, message.question)
                self._pane.post_message(OpenTerminal(message.agent))
        except (NotReady, CommandError) as error:
            self.window.notify(str(error), severity="warning", markup=False, timeout=8)
            self._pane.answer_failed(message.agent, message.question)
