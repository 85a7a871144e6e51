"""What is sent to agents and what they answer; the answers to their questions. Used by `commands`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from msgspec.structs import replace

from gshtui.bus.agent_data import AT_WORK, AgentRow, OpenQuestion, QuestionChoice
from gshtui.bus.letter import Letter
from gshtui.commands.command_errors import command_error
from gshtui.commands.declaration import CommandError, Invocation, UsageError
from gshtui.fleet.core import agent_calls as calls
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.guard.approval.answer_keys import ANSWERS, numbered_choices
from gshtui.text.sanitise import one_line


class AgentMessages:
    """The handlers of `agent send` and `agent answer`."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def send(self, invocation: Invocation, parameters: calls.SendToAgent) -> calls.SentMessage:
        sender = invocation.caller.name if invocation.caller.is_agent else "person"
        row = await self._fleet.find(parameters.agent)
        answered = parameters.wait or parameters.stream
        if answered:
            await self._fleet.follow(row.id)
        message = await self._fleet.send(row.id, parameters.text, source=sender, defer_if_busy=not parameters.now)
        if answered:
            return await self._answered(row, message, parameters.timeout)
        busy = not parameters.now and row.status in AT_WORK
        if invocation.leaves and not busy:
            await self._fleet.collected(message)
        waits = busy and await self._fleet.is_queued(message)
        return calls.SentMessage(row, message, waits)

    def streams(self, invocation: Invocation, parameters: calls.SendToAgent) -> AsyncIterator[calls.SentMessage] | None:
        return self._stream(invocation, parameters) if parameters.stream else None

    async def _stream(self, invocation: Invocation, parameters: calls.SendToAgent) -> AsyncGenerator[calls.SentMessage]:
        """The answer's words as the agent writes them down, then the whole of it."""
        sender = invocation.caller.name if invocation.caller.is_agent else "person"
        try:
            row = await self._fleet.find(parameters.agent)
            await self._fleet.follow(row.id)
            stream = await self._fleet.answer_feed(row.id)
            message = await self._fleet.send(row.id, parameters.text, source=sender, defer_if_busy=not parameters.now)
            async with aclosing(stream.pieces(message, parameters.timeout)) as pieces:
                async for piece in pieces:
                    yield calls.SentMessage(row, message, waits=False, piece=piece)
            if stream.letter is None:
                yield await self._unanswered(row, message, parameters.timeout)
            else:
                yield replace(self._answer_of(row, stream.letter), told=stream.is_told)
        except FleetError as error:
            raise command_error(error) from error

    async def _answered(self, row: AgentRow, message: str, timeout: float) -> calls.SentMessage:
        """Wait for the answer to a message."""
        try:
            return self._answer_of(row, await self._fleet.answer_to(message, timeout))
        except TimeoutError:
            return await self._unanswered(row, message, timeout)

    async def _unanswered(self, row: AgentRow, message: str, timeout: float) -> calls.SentMessage:
        now = await self._fleet.find(row.id)
        return calls.SentMessage(now, message, waits=False, timed_out=timeout)

    def _answer_of(self, row: AgentRow, letter: Letter) -> calls.SentMessage:
        if not letter.answered:
            why = letter.why or "It ended before it answered."
            raise CommandError(f"{row.name} ({row.id}) did not answer: {why}", hint="`mail ls` lists its messages.")
        self._fleet.seen(row.id)
        if letter.failed:
            text = f"{row.name} ({row.id}) could not answer: {one_line(letter.answer, 500)}"
            raise CommandError(text, data={"kind": "unreachable"})
        return calls.SentMessage(row, letter.id, waits=False, answer=letter.answer, source=letter.answer_source)

    async def answer(self, _invocation: Invocation, parameters: calls.AnswerAgent) -> calls.AnsweredQuestion:
        row = await self._fleet.find(parameters.agent)
        wanted = parameters.choice.strip()
        if wanted and (around := await self._fleet.agent_around()) is not None:
            raise CommandError(
                f"Only a person answers, and this command was started by {around.name} ({around.id}).",
                hint="Answer in your window, or in a shell of your own.",
            )
        asked = await self._fleet.question(row.id)
        if not wanted:
            return calls.AnsweredQuestion(row, asked)
        choice = _chosen(row, asked, wanted)
        if choice.means == "mode" and not parameters.yes:
            raise UsageError(
                f"{choice.label!r} changes how much {row.name} ({row.id}) does unasked, so nothing was pressed.",
                hint=f"`agent answer {row.id} {choice.key} --yes` does it.",
            )
        saw = parameters.question or asked.id
        after = await self._fleet.answer(row.id, choice.key, question=saw, reason=parameters.reason)
        return calls.AnsweredQuestion(row, asked, choice, after)


def _also(choice: QuestionChoice) -> set[str]:
    """The shorter words that faces have for one of our own agents' answers, such as `yes` for `allow once`."""
    return {word for offer in ANSWERS if offer.words[0] == choice.label for word in offer.words if word}


def _chosen(row: AgentRow, asked: OpenQuestion, wanted: str) -> QuestionChoice:
    """The choice with this number or these words. Raises `UsageError`."""
    words = wanted.casefold()
    found = [one for one in asked.choices if wanted == one.key]
    found = found or [one for one in asked.choices if one.label.casefold() == words]
    found = found or [one for one in asked.choices if one.label.casefold().startswith(words)]
    found = found or [one for one in asked.choices if words in _also(one)]
    if len(found) == 1:
        return found[0]
    if not asked.choices:
        raise UsageError(
            f"The choices of {row.name} ({row.id}) cannot be read: {one_line(asked.subject, 120)}.",
            hint=f"Answer in its terminal: `agent attach {row.id}`.",
        )
    offered = " · ".join(f"{key} {label}" for key, label in numbered_choices(asked))
    why = "fits several of its choices" if found else "is none of its choices"
    raise UsageError(f"{one_line(wanted, 40)!r} {why}.", hint=f"{row.name} ({row.id}) offers: {offered}.")
