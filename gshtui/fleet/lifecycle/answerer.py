"""A person's answers to agents' questions, to exactly the question that the person saw; an agent's own as they grow.

Other programs' words come from their transcripts, one of our own agents' from its conversation in the record. Neither
is read from a screen: where nothing is written down, nothing comes before the end of the turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Literal

import msgspec

from gshtui.bus.agent_data import AgentRow, GuardMode, OpenQuestion, QuestionChoice, without_choices
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentStatusChanged, QuestionAnswered
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled, Decision
from gshtui.bus.letter import Letter
from gshtui.fleet.core.agent_programs import Programs, from_session_error
from gshtui.fleet.core.agent_tables import program_words
from gshtui.fleet.core.fleet_context import FleetContext, fleet_errors
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.agent_buses import AgentBuses, unreachable
from gshtui.fleet.lifecycle.asked_questions import AskedQuestions
from gshtui.fleet.mail.delivery_state import ANSWER
from gshtui.fleet.mail.inbox import framed_letter
from gshtui.guard.approval.answer_keys import listed_choices, offers
from gshtui.guard.approval.open_approvals import OpenApprovals
from gshtui.guard.approval.question_text import asked_words, question_lines
from gshtui.programs.hooks import hook_answers
from gshtui.programs.pane.choice_presser import PAINTED
from gshtui.programs.pane.pane_view import LOOK, SessionError
from gshtui.programs.profiles.program_modes import approved
from gshtui.programs.screen.same_question import is_cut_elsewhere
from gshtui.programs.session.cli_session import CliSession
from gshtui.programs.transcripts.asked_call import shows_still
from gshtui.store.engine.store_errors import StoreError
from gshtui.text.sanitise import one_line, plain

_LOOK_EVERY = 0.25
"""Seconds between two looks."""
_WRITTEN_WITHIN = 2.0
"""Seconds after the end of a turn within which a program has written down all of it."""
_LOOKED_BACK = 60
"""Messages of our own agent's conversation among which the turn's are."""
Handled = Callable[[str], Awaitable[Letter | None]]


class AnswerFeed:
    """What an agent says in the turn that handles one message. Nothing is told twice."""

    def __init__(self, context: FleetContext, programs: Programs, row: AgentRow, handled: Handled) -> None:
        """`handled`: the message, once the turn that handles it is over."""
        self.letter: Letter | None = None
        """The message with its answer, after the last piece; `None`: it was not answered in time."""
        self.is_told = False
        """The pieces were the whole answer."""
        self._context = context
        self._programs = programs
        self._agent = row.id
        self._handled = handled
        self._before = ""
        """The prompt of the turn before."""
        self._text = ""

    async def begin(self) -> None:
        """Note the last turn so far; called before the message is sent."""
        row = self._context.rows.get(self._agent)
        turn = None if row is None or row.speaks_events else await self._programs.last_turn(row)
        self._before = "" if turn is None else turn.message

    async def pieces(self, message: str, timeout: float) -> AsyncGenerator[str]:
        """The answer's words as they are written down, until the turn is over, or `timeout` seconds are.
        Raises `FleetError`: the record cannot be read.
        """
        until = time.monotonic() + timeout
        with fleet_errors():
            letter = await self._context.store.mail.find(message)
        while self.letter is None and time.monotonic() < until:
            if piece := await self._added(letter):
                yield piece
            await asyncio.sleep(_LOOK_EVERY)
            self.letter = await self._handled(message)
        until = time.monotonic() + _WRITTEN_WITHIN
        while self.letter is not None:
            if piece := await self._added(letter):
                yield piece
            self.is_told = self._tells(self.letter)
            written = bool(self._text) or self.letter.answer_source == "transcript"
            if self.is_told or not written or time.monotonic() > until:
                break
            await asyncio.sleep(_LOOK_EVERY)
        if self._text and not self._text.endswith("\n"):
            yield "\n"

    def _tells(self, letter: Letter) -> bool:
        """Whether the pieces so far end with the answer, or hold all that the letter has of a long one."""
        said, answer = "".join(self._text.split()), "".join(letter.answer.split())
        return bool(answer) and (said.endswith(answer) or (len(letter.answer) == ANSWER and answer in said))

    async def _added(self, letter: Letter) -> str:
        text = "\n\n".join(filter(None, await self._said(letter)))
        if not text.startswith(self._text):
            return ""  # it was rewritten: the whole answer follows at the end
        piece, self._text = text[len(self._text) :], text
        return piece

    async def _said(self, letter: Letter) -> tuple[str, ...]:
        row = self._context.rows.get(self._agent)
        if row is None:
            return ()
        if row.speaks_events:
            return await self._said_by_ours(row, letter)
        if not row.external_id:  # in its first turn nobody may have asked yet which conversation it is in
            server = self._context.terminals.server(row.socket)
            row = await self._programs.bound(server, row, self._context.rows.all())
        turn = await self._programs.last_turn(row)
        asked = framed_letter(letter, replies=False)
        if turn is None or turn.message == self._before or not turn.answers(asked):
            return ()
        return turn.said

    async def _said_by_ours(self, row: AgentRow, letter: Letter) -> tuple[str, ...]:
        try:
            stored = [one.message for one in await self._context.store.messages.read(row.session, limit=_LOOKED_BACK)]
        except StoreError:
            return ()  # busy for a moment: the next look tries again
        begun = next((at for at, message in enumerate(stored) if message.id == letter.id), len(stored))
        turn = itertools.takewhile(lambda message: message.role != "user", stored[begun + 1 :])
        return tuple(message.text.strip("\n") for message in turn if message.role == "assistant")


_RECORDED_WITHIN = 0.25
"""Seconds after a program asks again within which it has surely written down that the call before is over: Claude,
Codex, OpenCode and Qwen do so before they ask their model for the next one."""
_SETTLED_WITHIN = 10.0
"""Seconds within which the agent must have taken the answer."""
_CHOICES: dict[str, Decision] = {"1": "once", "2": "session", "4": "deny"}
"""The answers by their keys, which are the same in every face."""


class Answerer:
    """Reads questions, and answers them. Raises only `FleetError`."""

    def __init__(
        self,
        context: FleetContext,
        programs: Programs,
        buses: AgentBuses,
        open_now: Callable[[], OpenApprovals] | None,
        approve: Callable[[AgentRow, GuardMode | Literal[""]], None],
        questions: AskedQuestions,
        tell: Callable[[AgentRow, OpenQuestion], None],
    ) -> None:
        """
        Args:
            open_now: the questions of our own agents that are asked here; `None`: none are.
            approve: called with the mode into which an answer lets a program go; empty: it was not given.
            questions: what programs ask, or have just asked.
            tell: called with what an agent asks where something else was told of it.
        """
        self._context = context
        self._programs = programs
        self._buses = buses
        self._open_now = open_now
        self._approve = approve
        self._questions = questions
        self._tell = tell

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
            server, answered = self._context.terminals.server(row.socket), self._questions.answered_calls(row.id)
            whole = await self._programs.whole_question(server, row, found, answered)
            if found.partial and whole.call:
                await asyncio.sleep(_RECORDED_WITHIN)  # the call may be that of a question just before
                whole = await self._programs.whole_question(server, row, found, answered)
            told = row.question  # perhaps by what is no longer in its record
            if not whole.call and told is not None and told.choices and shows_still(found, told):
                return told
            return without_choices(whole) if row.screen_is_guessed else whole
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

        asked = await self._checked(row, choice, question)
        if mode := approved(profile, row.question, asked.id, choice):
            self._approve(row, mode)
        try:
            after = await session.choose(asked.on_screen, choice, by_hook, reason)
        except SessionError as error:
            if mode:
                self._approve(row, "")
            if error.kind == "unsure":  # the next one may look like it
                self._questions.end_question(row.id)
            raise from_session_error(error) from error
        if after is not None and after.id == asked.on_screen:
            return asked  # it wants words
        self._questions.end_question(row.id)
        return after

    async def _checked(self, row: AgentRow, choice: str, question: str) -> OpenQuestion:
        """The question that is answered, as it is asked now: in a terminal of another width, its program may cut its
        choices elsewhere. Raises `FleetError`: another one is asked, or none; it would allow what is not shown.
        """
        seen = self._questions.seen(row.id, question)
        known = seen or (row.question if row.question is not None and question in ("", row.question.id) else None)
        loop = asyncio.get_running_loop()
        until = loop.time() + PAINTED
        while True:  # while it is painted anew, a part of it is not there
            try:
                asked = await self.question(row)
            except FleetError as error:
                obstacle = error
            else:
                same = question in ("", asked.id) or self._is_cut_elsewhere(row, seen, asked)
                if same or asked.on_screen in (question, known.on_screen if known is not None else ""):
                    break
                changed = f"The question of {row.name} changed: {one_line(asked.subject, 120)}"
                obstacle = from_session_error(SessionError("waiting", changed, "Nothing was pressed."))
            if loop.time() >= until:
                raise obstacle
            await asyncio.sleep(LOOK)
        if known is not None and known.on_screen == asked.on_screen and (question or not known.partial):
            by_rows = not known.screen and not known.partial  # all of them, which are those of what is asked
            same = by_rows or (known.detail, known.diff) == (asked.detail, asked.diff)
        if not same:
            self._tell(row, asked)
            if choice in msgspec.structs.replace(asked, partial=True).uncounted:
                message = f"{row.name} ({row.id}) asks about something else than was shown. Nothing was pressed."
                raise FleetError("invalid", message, hint=f"`agent show {row.id}` shows what it asks about now.")
        if choice in asked.uncounted:
            raise FleetError(
                "invalid",
                f"{asked.unseen}, so only a denial of it counts here: {row.name} ({row.id}). Nothing was pressed.",
                hint=f"Answer in its terminal: `agent attach {row.id}`.",
            )
        return asked

    def _is_cut_elsewhere(self, row: AgentRow, seen: OpenQuestion | None, asked: OpenQuestion) -> bool:
        """Whether it is what was seen in another width, or what was told of that since."""
        if seen is None:
            return False
        whole = self._questions.completed(row.id, seen)
        return is_cut_elsewhere(seen, asked) or (whole is not None and is_cut_elsewhere(whole, asked))

    @contextlib.asynccontextmanager
    async def _own(self, row: AgentRow) -> AsyncGenerator[tuple[OwnQuestions, AgentRow]]:
        """The questions of our own agents: those asked here, or what the agent says now in this process."""
        options = self._context.options
        if self._open_now is not None or not (options.visiting or options.everywhere):
            yield OwnQuestions(self._context.bus, self._open_now), row
        elif (agent := self._buses.hosted(row.id)) is not None:
            now = msgspec.structs.replace(row, question=agent.question)
            yield OwnQuestions(agent.bus, lambda: agent.approvals), now
        else:
            raise unreachable(row)

    async def _session(self, row: AgentRow) -> CliSession:
        return await self._programs.session(self._context.terminals.server(row.socket), row)


class OwnQuestions:
    """Those of our own agents in terminals. It answers as the inbox does, by `ApprovalAnswered`, and only in a person's
    face. `always` is left to the faces that show the rule before it is saved.
    """

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
            raise _elsewhere(row)
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
            raise _elsewhere(row)
        waiting = self._open_now().of_agent(row.id)
        if not waiting:
            hint = "`approvals` lists all open questions."
            raise FleetError("invalid", f"{row.name} ({row.id}) is not asking anything here.", hint=hint)
        found = next((one for one in waiting if question in ("", one.approval)), None)
        if found is None:
            raise FleetError("invalid", f"{row.name} ({row.id}) asks something else now.", hint="Nothing was answered.")
        return found


def _elsewhere(row: AgentRow) -> FleetError:
    """It listens to a window, where a person sees what it asks."""
    hint = f"Do it there, or in its terminal: `agent attach {row.id}`."
    return FleetError("invalid", f"{row.name} ({row.id}) listens to the open window of its folder.", hint=hint)


def _check(choice: str, asked: OpenQuestion) -> None:
    """Raises `FleetError` if the question has no such answer."""
    if choice not in {one.key for one in asked.choices}:
        offered = ", ".join(f"{key} {label}" for key, label in listed_choices(asked)) or "none"
        raise FleetError("invalid", f"{choice} is not an answer here; these are: {offered}.")
    if choice in asked.uncounted:
        raise FleetError("invalid", f"{asked.unseen}, so only a denial of it counts here. Nothing was answered.")


def _shown(request: ApprovalRequested) -> OpenQuestion:
    asked = msgspec.structs.replace(request, rule="", beside="")
    lines = [line.text for line in question_lines(asked) if line.kind != "subject"]
    choices = tuple(QuestionChoice(offer.key, offer.words[0]) for offer in offers(request) if offer.key in _CHOICES)
    about = "\n".join(lines).strip("\n")
    return OpenQuestion(
        request.approval,
        asked_words(request.tool, request.subject),
        about,
        choices,
        beside=plain(request.beside).strip(),
    )
