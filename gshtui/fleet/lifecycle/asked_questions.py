"""What agents' programs ask, as people were told it: with all that their transcripts say of it."""

from __future__ import annotations

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.screen.same_question import is_completed

_KEPT = 32
"""Questions of an agent that are kept: one for each width at which a person may have seen it, and for each look while
its program paints that anew.
"""
_CALLS = 64
"""Calls of an agent that are kept: a transcript lacks the result of one that was answered for a moment, or as long as
what it runs."""


class AskedQuestions:
    """The last questions of each agent. A call of a transcript is asked about once."""

    def __init__(self) -> None:
        self._told: dict[str, OpenQuestion] = {}
        """What agents ask."""
        self._seen: dict[str, dict[str, OpenQuestion]] = {}
        """What they have asked since they last worked or rested, at each width, by its id."""
        self._calls: dict[str, str] = {}
        """Agent → the call that it was told to ask about last."""
        self._answered: dict[str, dict[str, None]] = {}
        """Agent → the calls whose questions are over, the newest last."""

    def as_told(self, agent: str, question: OpenQuestion | None, *, goes_on: bool) -> OpenQuestion | None:
        """A question that a screen shows, as it was told. `goes_on`: its program surely waits no longer."""
        if goes_on:  # and is not only drawn anew
            self._seen.pop(agent, None)
            self.end_question(agent)
        told = self._told.get(agent)
        if question is None:
            self._told.pop(agent, None)  # the next one that looks alike may be about something else
        return told if told is not None and question is not None and told.on_screen == question.id else question

    def note_told(self, agent: str, question: OpenQuestion) -> None:
        """Note what is told of the question that a screen shows."""
        self._told[agent] = question
        self.note_seen(agent, question)
        if question.call:
            self._calls[agent] = question.call

    def note_seen(self, agent: str, question: OpenQuestion) -> None:
        """Note what was asked, also where it is asked no longer."""
        seen = {id: each for id, each in self._seen.get(agent, {}).items() if id != question.id}
        self._seen[agent] = dict([*seen.items(), (question.id, question)][-_KEPT:])

    def seen(self, agent: str, question: str) -> OpenQuestion | None:
        """What it has asked by this id since it last worked or rested; `None`: that was not among the last ones."""
        return self._seen.get(agent, {}).get(question)

    def completed(self, agent: str, question: OpenQuestion) -> OpenQuestion | None:
        """What was told later of a question that was asked by all its rows; `None`: nothing."""
        if question.partial:
            return None
        told = self._seen.get(agent, {}).values()
        return next((each for each in reversed(told) if is_completed(question, each)), None)

    def is_told(self, agent: str, question: str) -> bool:
        """Whether more was told of the question that its screen shows by this id."""
        return (told := self._told.get(agent)) is not None and told.on_screen == question

    def end_question(self, agent: str) -> None:
        """Note that its question was answered."""
        if call := self._calls.pop(agent, ""):
            self._answered[agent] = dict.fromkeys([*self._answered.get(agent, {}), call][-_CALLS:])

    def answered_calls(self, agent: str) -> frozenset[str]:
        """The calls about which it asks no more."""
        return frozenset(self._answered.get(agent, {}))

    def forget(self, agent: str) -> None:
        """Forget all of an agent."""
        for kept in (self._told, self._seen, self._calls, self._answered):
            kept.pop(agent, None)
