"""What the commands about agents answer, and what agents are sent: text for people, and data for scripts."""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import AT_WORK, AgentRow, AnswerSource, OpenQuestion, QuestionChoice
from gshtui.bus.letter import Letter
from gshtui.commands.declaration import CommandError, Invocation, Outcome, Question, UsageError
from gshtui.fleet.core import agent_calls as calls
from gshtui.fleet.core import agent_tables
from gshtui.fleet.core.fleet_context import where_it_asks
from gshtui.fleet.core.ports import RecoveryPlan, RevivedAgent
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.guard.approval.answer_keys import ANSWERS, listed_choices
from gshtui.text.markdown_table import bare_columns, fenced
from gshtui.text.program_words import without_beginning
from gshtui.text.sanitise import literal, one_line, visible

if TYPE_CHECKING:
    from gshtui.tools.git.setup_record import SetupRecord


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
            await self._fleet.sent.collected(message)
        waits = busy and await self._fleet.sent.is_queued(message)
        return calls.SentMessage(row, message, waits)

    def streams(self, invocation: Invocation, parameters: calls.SendToAgent) -> AsyncIterator[calls.SentMessage] | None:
        return self._stream(invocation, parameters) if parameters.stream else None

    async def _stream(self, invocation: Invocation, parameters: calls.SendToAgent) -> AsyncGenerator[calls.SentMessage]:
        """The answer's words as the agent writes them down, then the whole of it."""
        sender = invocation.caller.name if invocation.caller.is_agent else "person"
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

    async def _answered(self, row: AgentRow, message: str, timeout: float) -> calls.SentMessage:
        """Wait for the answer to a message."""
        try:
            return self._answer_of(row, await self._fleet.sent.answer_to(message, timeout))
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

    async def ask_answer(self, _invocation: Invocation, parameters: calls.AnswerAgent) -> Question | None:
        """What is answered, for a person who does not say which question they have read."""
        wanted = parameters.choice.strip()
        if not wanted or parameters.question or parameters.yes or await self._fleet.agent_around() is not None:
            return None
        row = await self._fleet.find(parameters.agent)
        asked = await self._fleet.question(row.id)
        choice = _chosen(row, asked, wanted)
        own = {offer.key: offer.choice for offer in ANSWERS} if row.speaks_events else {}
        if choice.means in ("deny", "mode") or own.get(choice.key) == "deny":
            return None  # it allows nothing, or is refused
        asked_id, reason = _told(row, asked).id, parameters.reason
        agreed = calls.AnswerAgent(agent=row.id, choice=choice.key, question=asked_id, reason=reason)
        return Question(agreed, f"Answer {choice.label!r}?", yes="Answer", quoted="\n\n".join(_parts(row, asked)))

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
        saw = parameters.question or _told(row, asked).id
        after = await self._fleet.answer(row.id, choice.key, question=saw, reason=parameters.reason)
        return calls.AnsweredQuestion(row, asked, choice, after)


def _told(row: AgentRow, asked: OpenQuestion) -> OpenQuestion:
    """What was told of the question that it asks."""
    return row.question if row.question is not None and row.question.on_screen == asked.on_screen else asked


def _parts(row: AgentRow, asked: OpenQuestion) -> list[str]:
    """All that a person should read before they answer, the most important first."""
    choices = [f"{key}  {words}" for key, words in listed_choices(asked)]
    unseen = f"{asked.unseen}: `agent attach {row.id}` shows its terminal." if asked.unseen else ""
    asks = f"{row.name} ({row.id}) asks: {without_beginning(asked.subject, asked.unsaid)}"
    change = literal(asked.diff).rstrip("\n")
    return [*filter(None, (asks, asked.unsaid, change, unseen, "\n".join(choices), asked.beside))]


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
    offered = " · ".join(f"{key} {label}" for key, label in listed_choices(asked))
    why = "fits several of its choices" if found else "is none of its choices"
    raise UsageError(f"{one_line(wanted, 40)!r} {why}.", hint=f"{row.name} ({row.id}) offers: {offered}.")


_SETUP_LINES = 40


class AgentOutcomes:
    """The answers that say how an agent is attached to, or how long its end can be undone."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def agents(self, _invocation: Invocation, found: calls.AgentList) -> Outcome:
        data = [agent_tables.state_json(agent, self._fleet.attach_words(agent.row)) for agent in found.agents]
        if not data:
            there = "1 is" if found.elsewhere == 1 else f"{found.elsewhere} are"
            what = f"{there} in other folders: `agent ls --all` lists them."
            if not found.elsewhere:  # whoever has filtered our environment hears where it was looked
                what = f"`spawn` starts one. Looked in the data folder {visible(str(self._fleet.data))}."
            return Outcome([], f"No agents here. {what}")
        plain = bare_columns(agent_tables.agents_table(found.agents))
        return Outcome(data, agent_tables.agents_table(found.agents, agent_tables.ONE_ROW), plain=plain, fits=True)

    def report(self, _invocation: Invocation, found: calls.AgentReport) -> Outcome:
        attach = self._fleet.attach_words(found.agent.row)
        if found.is_answer:
            row = found.agent.row
            data: dict[str, Any] = {"agent": row.id, "answer": found.report, "source": found.source}
            return _answer_outcome(row, data, found.report, found.source)
        report = found.report or "(no report yet)"
        data = agent_tables.state_json(found.agent, attach) | {"report": found.report}
        text, aside = agent_tables.agent_details(found.agent, attach), ""
        if found.setup is not None:
            said, data["setup"] = _setup(found.setup)
            text += f"\n\n{said}"
            if found.setup.code != 0:
                printed = f" Its output is in {visible(found.setup.output)}." if found.setup.output else ""
                aside = f"{found.setup.said}{printed}"
        return Outcome(data, f"{text}\n\n{report}", plain=report, aside=aside)

    def restarted(self, _invocation: Invocation, back: RevivedAgent) -> Outcome:
        row, how = back.row, f": it {back.how}" if back.how else ""
        return Outcome(self._revived(back), f"{row.name} ({row.id}) was restarted{how}.")

    def forked(self, _invocation: Invocation, made: RevivedAgent) -> Outcome:
        row, where = made.row, f" in {visible(made.row.worktree)}" if made.row.worktree else ""
        said = f"{row.name} ({row.id}) is a fork of {row.fork}{where}; it {made.how}."
        return Outcome(self._revived(made), said, plain=row.id, aside=said)

    def killed(self, _invocation: Invocation, row: AgentRow) -> Outcome:
        said = f"{row.name} ({row.id}) was killed."
        if host := row.place.partition(":")[0]:
            said += f" What it ran on {host} ends with it, or within a day if {host} cannot be reached now."
        undo = "" if row.ended else f"`agent undo {row.id}` restores it within {self._fleet.grace:.0f} s."
        return Outcome(agent_tables.row_json(row), f"{said} {undo}".rstrip(), plain=said, aside=undo)

    def recovered(self, _invocation: Invocation, found: calls.RecoveryReport) -> Outcome:
        if found.plans is not None:
            return _planned(found.plans)
        done = found.done
        names = [f"{_named(one.row)}{f', which {one.how}' if one.how else ''}" for one in done.back]
        lines = [f"Recovered: {'; '.join(names) or 'nobody'}."]
        lines += [f"Not recovered: {_reason(one.row, one.why)}" for one in done.lost if one.tried]
        if left := [one for one in done.lost if not one.tried]:
            lines.append(f"Left: {', '.join(_named(one.row) for one in left)}. {left[0].why}")
        data = [self._revived(one) | {"recovered": True, "why": ""} for one in done.back]
        data += [self._plain(one.row) | {"recovered": False, "tried": one.tried, "why": one.why} for one in done.lost]
        return Outcome(data, "\n".join(lines), is_error=bool(done.lost))

    def _revived(self, back: RevivedAgent) -> dict[str, Any]:
        return self._plain(back.row) | {"how": back.how}

    def _plain(self, row: AgentRow) -> dict[str, Any]:
        return agent_tables.row_json(row, self._fleet.attach_words(row))


def _named(row: AgentRow) -> str:
    return f"{row.name} ({row.id})"


def _reason(row: AgentRow, why: str) -> str:
    """Why something failed for an agent, which is named once."""
    return why if why.startswith(_named(row)) else f"{_named(row)}. {why}"


def _planned(plans: list[RecoveryPlan]) -> Outcome:
    """What recovering would do, a line and an item of the data for each agent."""
    lines: list[str] = []
    data: list[dict[str, Any]] = []
    for plan in plans:
        would = "" if plan.why else "resume" if plan.conversation else "start anew"
        data.append(
            {
                "id": plan.row.id,
                "name": plan.row.name,
                "would": would,
                "how": plan.how,
                "conversation": plan.conversation,
                "why": plan.why,
            }
        )
        if plan.why:
            lines.append(f"{_named(plan.row)} would not be recovered. {plan.why}")
        elif plan.conversation:
            lines.append(f"{_named(plan.row)} would resume its conversation {plan.conversation}.")
        elif plan.how:
            lines.append(f"{_named(plan.row)} would start anew: it {plan.how.split(';')[0]}.")
        else:
            lines.append(f"{_named(plan.row)} would start as its command line says.")
    return Outcome(data, "\n".join(lines) or "No agent is lost.", is_error=any(plan.why for plan in plans))


def attachment(_invocation: Invocation, found: calls.Attachment) -> Outcome:
    data = agent_tables.row_json(found.row, found.argv) | {"argv": found.argv}
    return Outcome(data, f"`{shlex.join(found.argv)}`")


def _why_it_waits(row: AgentRow) -> str:
    """Why an agent gets a message later."""
    if row.status != "waiting":
        return " It is busy; it gets the message when it is idle."
    asks = f" ({one_line(row.doing, 80)})" if row.doing else ""
    return f" It waits for your answer{asks}, and gets the message after it; {where_it_asks(row)}"


def sent_message(_invocation: Invocation, sent: calls.SentMessage) -> Outcome:
    waits = _why_it_waits(sent.row) if sent.waits else ""
    data: dict[str, Any] = {"agent": sent.row.id, "message": sent.message}
    if sent.piece is not None:
        return Outcome(data | {"piece": sent.piece}, sent.piece, plain=sent.piece, is_piece=True)
    if sent.timed_out is not None:
        now = agent_tables.status_words(sent.row)
        text = f"{sent.row.name} ({sent.row.id}) has not answered within {sent.timed_out:g} s; it is {now}."
        return Outcome(data, text, is_error=True, timed_out=True)
    if sent.answer is not None:
        data |= {"answer": sent.answer, "source": sent.source}
        if sent.told:
            return Outcome(data)
        return _answer_outcome(sent.row, data, sent.answer, sent.source)
    return Outcome(data, f"Sent to {sent.row.name} ({sent.row.id}).{waits}")


def _setup(record: SetupRecord) -> tuple[str, dict[str, Any]]:
    """What became of the set-up command of a worktree, with the end of what it printed: for people, and as data."""
    from gshtui.tools.git import setup_record  # only agents with a worktree have one

    lines, more = setup_record.last_lines(record, _SETUP_LINES)
    parts = [" ".join(visible(each) for each in (record.said, record.sandbox) if each)]
    parts += [visible(each) for each in record.refused]
    if lines:
        parts.append(fenced("\n".join(lines)))
    if record.output:
        what = f"Only its last {len(lines)} lines; all of it is" if more else "Its output is also"
        parts.append(f"{what} in {visible(record.output)}.")
    fields = {
        "command": record.command,
        "exit_code": record.code,
        "output": "\n".join(lines),
        "file": record.output,
        "sandbox": record.sandbox,
        "refused": list(record.refused),
    }
    return "\n\n".join(parts), fields


def _answer_outcome(row: AgentRow, data: dict[str, Any], answer: str, source: AnswerSource) -> Outcome:
    """An answer for people, with where it comes from; alone, as it is, for a script."""
    if not answer.strip():
        said = f"No answer of {row.name} ({row.id}) is known."  # its terminal may show one
        return Outcome(data, said, aside=said)
    seen = ", from its screen" if source == "screen" else ""
    aside = f"{row.name} ({row.id}): the answer is from its screen." if seen else ""
    return Outcome(data, f"{row.name} ({row.id}) says{seen}:\n\n{answer}", plain=answer, aside=aside)


def answered_question(_invocation: Invocation, found: calls.AnsweredQuestion) -> Outcome:
    row, asked = found.row, found.question
    data: dict[str, Any] = {"agent": row.id, "question": agent_tables.question_json(asked)}
    if found.choice is None:
        parts = _parts(row, asked)
        known = f"`agent answer {row.id} NUMBER` answers."
        how = known if listed_choices(asked) else f"Answer with `agent attach {row.id}`."
        if asked.uncounted:
            how = f"`agent answer {row.id} NUMBER` denies; answer all else with `agent attach {row.id}`."
        text = "\n\n".join([*map(fenced, parts), how])
        return Outcome(data, text, plain="\n\n".join(parts), aside=how)  # all of it as it is
    data |= {"choice": found.choice.key, "next": agent_tables.question_json(found.next) if found.next else None}
    if found.choice.types and found.next is not None and found.next.id == asked.id:
        return Outcome(data, f"{found.choice.label}: type the words in its terminal, `agent attach {row.id}`.")
    on = "still asks" if found.next is not None and found.next.subject == asked.subject else "asks next"
    after = f" It {on}: {found.next.subject}" if found.next is not None else ""
    return Outcome(data, f"Answered {row.name} ({row.id}): {found.choice.label}.{after}")


def agent_options(_invocation: Invocation, found: calls.AgentOptions) -> Outcome:
    row = found.row
    data = {"agent": row.id, "options": msgspec.to_builtins(found.options)}
    if found.changed:
        return Outcome(data, found.changed)
    lines: list[str] = []
    for one in found.options:
        lines.append(f"- {_word(one.id)} ({_word(one.name)}): {_word(one.value) or 'not set'}")
        lines += [
            f"  - {_word(value.value)}{f': {_word(value.name)}' if value.name not in ('', value.value) else ''}"
            for value in one.values
        ]
    return Outcome(data, "\n".join(lines))


def _word(text: str) -> str:
    return one_line(literal(text), 80)


def awaited_status(_invocation: Invocation, found: calls.AwaitedStatus) -> Outcome:
    row = found.row
    if found.timed_out is not None:
        text = f"{row.name} ({row.id}) is still {row.status} after {found.timed_out:g} s."
        if row.status == "quiet":
            text += (
                f" Nothing shows that its turn is over; `agent wait {row.id} --status quiet` takes that for its end."
            )
        return Outcome(agent_tables.row_json(row), text, is_error=True, timed_out=True)
    said = f"{row.name} ({row.id}) is {agent_tables.status_words(row)}."
    missed = row.status not in found.wanted
    return Outcome(agent_tables.row_json(row) | {"report": row.report}, said, is_error=missed)


def unsaved_work(_invocation: Invocation, found: calls.UnsavedWork) -> Outcome:
    said = " ".join(found.losses) or "It has no unsaved work."
    data = {"agent": found.row.id, "unsaved": found.losses}
    return Outcome(data, f"{found.row.name} ({found.row.id}): {said}")


def renamed(_invocation: Invocation, row: AgentRow) -> Outcome:
    return Outcome(agent_tables.row_json(row), f"{row.id} is now called {row.name}.")


def marked_read(_invocation: Invocation, row: AgentRow) -> Outcome:
    return Outcome(agent_tables.row_json(row) | {"unread": 0}, f"{row.name} ({row.id}) is marked as read.")


def about_agent(words: str, *, short: bool = False) -> Callable[[Invocation, AgentRow], Outcome]:
    """A renderer that says this about the agent. `short`: its data is only the id."""

    def render(_invocation: Invocation, row: AgentRow) -> Outcome:
        data = {"agent": row.id} if short else agent_tables.row_json(row)
        return Outcome(data, f"{row.name} ({row.id}) {words}")

    return render
