"""The questions of our own agents in terminals, as `agent answer` shows and answers them in the hub that is asked.

It answers as the inbox does, by `ApprovalAnswered`, and only in a person's face: elsewhere it says so. `always` is left
to the faces that show the rule before it is saved. Raises only `FleetError`.
"""

from __future__ import annotations

from collections.abc import Callable

from gshtui.bus.agent_data import AgentRow, OpenQuestion, QuestionChoice
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentStatusChanged, QuestionAnswered
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled, Decision
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.native.direct_line import elsewhere
from gshtui.guard.approval.answer_keys import offers
from gshtui.guard.approval.open_approvals import OpenApprovals
from gshtui.guard.approval.question_text import question_lines

_SETTLED_WITHIN = 10.0
"""Seconds within which the agent must have taken the answer."""
_CHOICES: dict[str, Decision] = {"1": "once", "2": "session", "4": "deny"}
"""The answers by their keys, which are the same in every face."""


class OwnQuestions:
    """See the module's text."""

    def __init__(self, bus: Bus, open_now: Callable[[], OpenApprovals] | None) -> None:
        """`open_now`: the questions asked here; `None`: nobody here may answer."""
        self._bus = bus
        self._open_now = open_now

    def question(self, row: AgentRow) -> OpenQuestion:
        """What the agent asks now; a program over ACP, in its own words."""
        return row.question if row.question is not None else _shown(self._asked(row, ""))

    async def answer(self, row: AgentRow, choice: str, question: str, reason: str) -> OpenQuestion | None:
        """Answer exactly this question; what the agent asks next, if anything is asked already.

        Args:
            choice: the key of one of its choices.
            question: its id; empty: the one that is open.
            reason: with a denial, why, for the agent.
        """
        if row.question is not None and question in ("", row.question.id):
            return await self._choose(row, row.question, choice, reason)
        request = self._asked(row, question)
        _check(choice, _shown(request))
        decision = _CHOICES[choice]
        if reason and decision != "deny":
            raise FleetError("invalid", "A reason goes with a denial only.", hint="For example: deny --reason '…'")
        answered = ApprovalAnswered(approval=request.approval, decision=decision, reason=reason)
        settled = self._bus.wait_for(
            ApprovalSettled, lambda event: event.approval == request.approval, timeout=_SETTLED_WITHIN
        )
        self._bus.publish(answered)
        try:
            done = await settled
        except TimeoutError:
            hint = f"Not confirmed yet. Check with `agent show {row.id}`."
            raise FleetError("busy", f"{row.name} ({row.id}) has not taken the answer yet.", hint=hint) from None
        if done.decision != decision:
            raise FleetError("invalid", f"The question was {done.decision} before your answer arrived.")
        await self._bus.drained()
        left = () if self._open_now is None else self._open_now().of_agent(row.id)
        return _shown(left[0]) if left else None

    async def _choose(self, row: AgentRow, asked: OpenQuestion, choice: str, reason: str) -> OpenQuestion | None:
        """Give a program over ACP one of its own answers."""
        if self._open_now is None:
            raise elsewhere(row)
        if reason:
            raise FleetError("invalid", f"{row.name} ({row.id}) takes no reason.", hint="Choose one of its answers.")
        _check(choice, asked)

        def gone(event: AgentStatusChanged) -> bool:
            return event.agent == row.id and (event.question is None or event.question.id != asked.id)

        settled = self._bus.wait_for(AgentStatusChanged, gone, timeout=_SETTLED_WITHIN)
        self._bus.publish(QuestionAnswered(agent=row.id, question=asked.id, choice=choice))
        try:
            return (await settled).question
        except TimeoutError:
            hint = f"Not confirmed yet. Check with `agent show {row.id}`."
            raise FleetError("busy", f"{row.name} ({row.id}) has not taken the answer yet.", hint=hint) from None

    def _asked(self, row: AgentRow, question: str) -> ApprovalRequested:
        if self._open_now is None:
            raise elsewhere(row)
        waiting = self._open_now().of_agent(row.id)
        if not waiting:
            hint = "`approvals` lists all open questions."
            raise FleetError("invalid", f"{row.name} ({row.id}) is not asking anything here.", hint=hint)
        found = next((one for one in waiting if question in ("", one.approval)), None)
        if found is None:
            raise FleetError("invalid", f"{row.name} ({row.id}) asks something else now.", hint="Nothing was answered.")
        return found


def _check(choice: str, asked: OpenQuestion) -> None:
    """Raises `FleetError` if the question has no such answer."""
    if choice not in {one.key for one in asked.choices}:
        offered = ", ".join(f"{one.key} {one.label}" for one in asked.choices) or "none"
        raise FleetError("invalid", f"{choice} is not an answer here; these are: {offered}.")


def _shown(request: ApprovalRequested) -> OpenQuestion:
    lines = [line.text for line in question_lines(request) if line.kind not in ("subject", "pattern")]
    choices = tuple(QuestionChoice(offer.key, offer.words[0]) for offer in offers(request) if offer.key in _CHOICES)
    subject = f"{request.tool} {request.subject}".strip()
    return OpenQuestion(request.approval, subject, "\n".join(lines).strip("\n"), choices)
