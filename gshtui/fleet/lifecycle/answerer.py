"""A person's answers to agents' questions: to exactly the question that the person saw."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable

import msgspec

from gshtui.bus.agent_data import AgentRow, OpenQuestion, without_choices
from gshtui.fleet.core.agent_programs import Programs, from_session_error
from gshtui.fleet.core.agent_tables import program_words
from gshtui.fleet.core.fleet_context import FleetContext
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.agent_buses import AgentBuses
from gshtui.fleet.lifecycle.own_questions import OwnQuestions
from gshtui.fleet.native.direct_line import direct_line
from gshtui.guard.approval.open_approvals import OpenApprovals
from gshtui.programs.hooks import hook_answers
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.session.cli_session import CliSession


class Answerer:
    """Reads questions, and answers them. Raises only `FleetError`."""

    def __init__(
        self,
        context: FleetContext,
        programs: Programs,
        buses: AgentBuses,
        open_now: Callable[[], OpenApprovals] | None,
    ) -> None:
        """`open_now`: the questions of our own agents that are asked here; `None`: none are."""
        self._context = context
        self._programs = programs
        self._buses = buses
        self._open_now = open_now

    async def question(self, row: AgentRow) -> OpenQuestion:
        """What the agent asks now; a program, on its screen."""
        if row.speaks_events:
            async with self._own(row) as (own, now):
                return own.question(now)
        if row.unsent is not None and row.status != "waiting":
            return row.unsent
        session = await self._session(row)
        try:
            found = await session.open_question()
            if row.question is not None and row.question.id == found.id and row.question.choices:
                return row.question  # with what its transcript has of it
            found = await self._programs.whole_question(self._context.terminals.server(row.socket), row, found)
            return without_choices(found) if row.screen_is_guessed else found
        except SessionError as error:
            if error.kind != "waiting":
                raise from_session_error(error) from error
            if row.status == "waiting":
                waits = f"{row.name} ({row.id}) shows no choices: {row.doing or 'it waits for input'}."
                raise FleetError("invalid", waits, hint=f"`agent attach {row.id}` shows its terminal.") from error
            hint = "`agent ls` shows who is waiting."
            raise FleetError("invalid", f"{row.name} ({row.id}) is not asking anything.", hint=hint) from error

    async def answer(self, row: AgentRow, choice: str, question: str, reason: str = "") -> OpenQuestion | None:
        """Choose an answer; what is asked next, if anything is. `reason`: why it may not."""
        if row.speaks_events:
            async with self._own(row) as (own, now):
                return await own.answer(now, choice, question, reason)
        if row.screen_is_guessed:
            said = f"Only the screen of {row.name} ({row.id}) says what it asks, and it is {program_words(row)}."
            raise FleetError(
                "invalid", f"{said} Nothing was pressed.", hint=f"Answer in its terminal: `agent attach {row.id}`."
            )
        session = await self._session(row)
        if row.unsent is not None and question in ("", row.unsent.id) and (question or row.status != "waiting"):
            from gshtui.fleet.mail import unsent_prompts

            await unsent_prompts.answer(self._context.bus, self._context.store, session, row, choice)
            return None
        profile, data = await self._programs.profile(row), self._context.options.data

        def by_hook(asked: OpenQuestion) -> bool:
            behavior = hook_answers.behavior_of(profile, asked, choice)
            pipe = hook_answers.waiting_request(data, row.id, asked) if behavior is not None else None
            return pipe is not None and behavior is not None and hook_answers.give_answer(pipe, behavior)

        try:
            return await session.choose(question, choice, by_hook, reason)
        except SessionError as error:
            raise from_session_error(error) from error

    @contextlib.asynccontextmanager
    async def _own(self, row: AgentRow) -> AsyncGenerator[tuple[OwnQuestions, AgentRow]]:
        """The questions of our own agents: those asked here, or what the agent says now, in this process or its own."""
        options = self._context.options
        if self._open_now is not None or not (options.visiting or options.everywhere):
            yield OwnQuestions(self._context.bus, self._open_now), row
        elif (agent := self._buses.hosted(row.id)) is not None:
            now = msgspec.structs.replace(row, question=agent.question)
            yield OwnQuestions(agent.bus, lambda: agent.approvals), now
        else:
            async with direct_line(options.data, row) as line:
                now = msgspec.structs.replace(row, question=line.question)
                yield OwnQuestions(line.bus, lambda: line.approvals.state), now

    async def _session(self, row: AgentRow) -> CliSession:
        return await self._programs.session(self._context.terminals.server(row.socket), row)
