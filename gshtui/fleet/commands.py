"""The commands about agents in terminals: `spawn`, and `agent ls show attach send wait interrupt restart kill …`.

A person may use all of them. An agent may look, wait, write to others and, with approval, interrupt agents that it
started. Each line becomes one of the calls in `agent_calls`. Registered by the hub.
"""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from pydantic import Field

from gshtui.bus.agent_data import AT_WORK, AgentRow, AnswerSource, OpenQuestion, QuestionChoice, SpawnRequest
from gshtui.bus.letter import Letter
from gshtui.commands.command_errors import command_error, raising_command_errors
from gshtui.commands.declaration import (
    Access,
    Action,
    AnyAction,
    Assessment,
    AttachView,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Question,
    Unconfirmed,
    UsageError,
    Where,
    synonyms,
)
from gshtui.commands.registry import AnyCommand
from gshtui.fleet import agent_calls as calls
from gshtui.fleet import agent_tables
from gshtui.fleet.agent_states import AgentState
from gshtui.fleet.fleet import Fleet
from gshtui.fleet.fleet_context import from_store_error, is_over
from gshtui.fleet.ports import FleetError, RecoveredAgents, RecoveryPlan, RevivedAgent
from gshtui.fleet.spawn_command import spawn_command
from gshtui.store.store_errors import StoreError
from gshtui.text.markdown_table import padded
from gshtui.text.sanitise import one_line, visible

ACTIONS = (
    "ls", "show", "attach", "send", "answer", "wait", "interrupt", "restart", "fork", "rename", "kill", "undo",
    "recover", "archive", "unarchive", "remove", "unsaved", "seen",
)  # fmt: skip
RESTS = ("idle", "waiting", "done", "failed", "lost")
"""The statuses that `wait` waits for by default."""
LocalAgents = Callable[[], list[AgentState]]
WindowAgents = Callable[[str | None], Awaitable[list[AgentState]]]
"""Finds the agents of windows in this folder (`None`: in all folders). Raises `StoreError`."""
A = TypeVar("A", bound=Parameters)
R = TypeVar("R")


class AgentParameters(Parameters):
    """Parameters of `agent`."""

    SHELL = calls.AGENT_GROUP
    action: Annotated[str, synonyms(calls.AGENT_SYNONYMS)] = Field(
        "ls",
        description="ls, show, attach, send, answer, wait, interrupt, restart, fork, rename, kill, undo, recover, "
        "archive, unarchive, remove, unsaved, seen (marks it as read).",
    )
    target: str = Field("", description="Number or name of the agent; `all` for recover.")
    text: str = Field(
        "", description="The text to send, the choice to answer with, the new name, or what a fork should do."
    )
    status: str = Field(
        "", description="wait: for this status, or several, comma-separated; empty: until it is idle or has ended."
    )
    timeout: float = Field(600.0, description="wait, and send with wait=true: maximum seconds.", ge=0, le=1e6)
    wait: bool = Field(False, description="send: wait for its answer.")
    answer: bool = Field(False, description="show: only what it said last.")
    branch: str = Field("", description="fork: name of its branch; empty: after the fork.")
    here: bool = Field(False, description="fork: in the original's folder, without a git worktree.")
    anew: bool = Field(False, description="fork: without the conversation.")
    all: bool = Field(False, description="ls: agents of every folder.")
    archived: bool = Field(False, description="ls: the archived agents.")
    now: bool = Field(False, description="send: even while it is busy. kill: at once, for good.")
    dry_run: bool = Field(False, description="recover: only say what would become of each.")
    yes: bool = Field(False, description="kill: even if something is unsaved.")


async def _no_windows(_cwd: str | None) -> list[AgentState]:
    return []


def commands(fleet: Fleet, local: LocalAgents = list, windows: WindowAgents = _no_windows) -> list[AnyCommand]:
    """The family. `local`: the agents of this hub that live in no terminal; `windows`: those of other windows."""
    family = _Family(fleet, local, windows)
    return [
        spawn_command(fleet),
        Command(
            "agent",
            "Agents in terminals: list, show, attach, send, wait, interrupt, restart, rename, kill, recover",
            AgentParameters,
            family.agent,
            effect=Effect.EXECUTE,
            positions=("action", "target", "text"),
            family="agents",
            assess=family.assess,
            complete=family.complete,
            actions=tuple(family.actions.values()),
            bind=family.bind,
        ),
    ]


def kill_question(row: AgentRow, losses: list[str]) -> Question:
    """The question before an agent is killed."""
    return Question(
        calls.KillAgent(agent=row.id, yes=bool(losses)),
        f"Kill {row.name} ({row.id})?",
        f"It is {_state(row)}",
        "Kill",
        losses=tuple(losses),
        note="You can undo this with u for a short while, unless it ends at once. Its files and conversation are kept.",
    )


def restart_question(row: AgentRow) -> Question:
    """The question before a running agent is restarted."""
    return Question(
        calls.RestartAgent(agent=row.id),
        f"Restart {row.name} ({row.id})?",
        "Its process is stopped and restarted with the same conversation.",
        "Restart",
    )


def _state(row: AgentRow) -> str:
    doing = f" · {row.doing}" if row.doing else ""
    return f"{row.status} (by {row.status_source}){doing}"


def _bindings(given: AgentParameters) -> Parameters:
    """Convert a line's parameters to those of its action."""
    target, text = given.target, given.text
    match given.action:
        case "ls":
            return calls.ListAgents(everywhere=given.all, archived=given.archived)
        case "send":
            return calls.SendToAgent(agent=target, text=text, now=given.now, wait=given.wait, timeout=given.timeout)
        case "answer":
            return calls.AnswerAgent(agent=target, choice=text)
        case "show":
            return calls.ShowAgent(agent=target, answer=given.answer)
        case "wait":
            words = tuple(word.strip() for word in given.status.split(",") if word.strip())
            return calls.WaitForAgent(agent=target, statuses=words, timeout=given.timeout)
        case "recover":
            return calls.RecoverAgents(agent=target, dry_run=given.dry_run)
        case "fork":
            return calls.ForkAgent(agent=target, message=text, branch=given.branch, here=given.here, anew=given.anew)
        case "rename":
            return calls.RenameAgent(agent=target, name=text)
        case "kill":
            return calls.KillAgent(agent=target, now=given.now, yes=given.yes)
        case _:
            return _BY_NAME[given.action](agent=target)


_BY_NAME: dict[str, Callable[..., Parameters]] = {
    "attach": calls.AttachAgent, "interrupt": calls.InterruptAgent,
    "restart": calls.RestartAgent, "undo": calls.UndoKill, "archive": calls.ArchiveAgent,
    "unarchive": calls.UnarchiveAgent, "remove": calls.RemoveAgent, "unsaved": calls.FindUnsaved,
    "seen": calls.MarkAgentRead,
}  # fmt: skip
"""The actions that take only an agent."""


def _action(
    parameters: type[A],
    result: type[R],
    run: Callable[[Invocation, A], Awaitable[R]],
    render: Callable[[Invocation, R], Outcome],
    *,
    asks: Callable[[Invocation, A], Awaitable[Question | None]] | None = None,
    shows: Callable[[Invocation, R], Awaitable[AttachView]] | None = None,
    access: Access = Access.HUMAN_ONLY,
    effect: Effect = Effect.EXECUTE,
    where: Where[calls.ListedAgent, A] | None = None,
    streams: Callable[[Invocation, A], AsyncIterator[R] | None] | None = None,
) -> Action[A, R]:
    """`effect`: the effect of an agent's call; text for a program can make it run anything."""
    asks = None if asks is None else raising_command_errors(asks, FleetError)
    places = () if where is None else (where,)
    run = raising_command_errors(run, FleetError)
    return Action(parameters, result, run, render, asks, shows, access, effect, places, streams)


def _on(
    key: str, parameters: Callable[..., A], fits: Callable[[calls.ListedAgent], bool]
) -> Where[calls.ListedAgent, A]:
    """A key of the list of agents, for the rows in a terminal that it fits."""
    return Where(key, lambda row: parameters(agent=row.id) if row.terminal and fits(row) else None)


def _any(_: calls.ListedAgent) -> bool:
    return True


def _runs(row: calls.ListedAgent) -> bool:
    return not (row.killed_until or row.ended)


def _is_killed(row: calls.ListedAgent) -> bool:
    return bool(row.killed_until)


def _is_not_killed(row: calls.ListedAgent) -> bool:
    return not row.killed_until


def _is_lost(row: calls.ListedAgent) -> bool:
    return row.status == "lost" and not row.killed_until


def _has_ended(row: calls.ListedAgent) -> bool:
    return row.ended and not row.killed_until


def _can_be_archived(row: calls.ListedAgent) -> bool:
    return _has_ended(row) and not row.archived


def _is_archived(row: calls.ListedAgent) -> bool:
    return row.archived


class _Family:
    """The handlers and renderings."""

    def __init__(self, fleet: Fleet, local: LocalAgents, windows: WindowAgents) -> None:
        self._fleet = fleet
        self._local = local
        self._windows = windows
        read, shared, row = Effect.READ, Access.SHARED, AgentRow
        off = "is removed from the list; its conversation is kept."
        self.actions: dict[str, AnyAction] = {
            action.parameters.WORD: action
            for action in (
                _action(calls.ListAgents, calls.AgentList, self._ls, self._render_list, access=shared, effect=read),
                _action(
                    calls.ShowAgent, calls.AgentReport, self._show, self._render_report, access=shared, effect=read,
                    where=_on("agents.report", calls.ShowAgent, _any),
                ),
                _action(calls.AttachAgent, calls.Attachment, self._attach, _render_attachment, shows=_terminal),
                _action(
                    calls.SendToAgent, calls.SentMessage, self._send, _render_sent, access=shared,
                    streams=self._streams,
                ),
                _action(calls.AnswerAgent, calls.AnsweredQuestion, self._answer, _render_answered_question),
                _action(
                    calls.WaitForAgent, calls.AwaitedStatus, self._wait, _render_awaited, access=shared, effect=read
                ),
                _action(
                    calls.InterruptAgent, row, self._interrupt, _said("was asked to stop.", short=True), access=shared,
                    effect=Effect.WRITE, where=_on("agents.interrupt", calls.InterruptAgent, _runs),
                ),
                _action(
                    calls.RestartAgent, RevivedAgent, self._restart, self._render_restarted, asks=self._ask_restart,
                    where=_on("agents.restart", calls.RestartAgent, _is_not_killed),
                ),
                _action(
                    calls.ForkAgent, RevivedAgent, self._fork, self._render_forked,
                    where=_on("agents.fork", calls.ForkAgent, _is_not_killed),
                ),
                _action(calls.RenameAgent, row, self._rename, _render_renamed),
                _action(
                    calls.KillAgent, row, self._kill, self._render_killed, asks=self._ask_kill,
                    where=_on("agents.kill", calls.KillAgent, _runs),
                ),
                _action(
                    calls.UndoKill, row, self._undo, _said("continues."),
                    where=_on("agents.undo", calls.UndoKill, _is_killed),
                ),
                _action(
                    calls.RecoverAgents, calls.RecoveryReport, self._recover, self._render_recovered,
                    where=_on("agents.recover", calls.RecoverAgents, _is_lost),
                ),
                _action(
                    calls.ArchiveAgent, row, self._archive, _said("is archived; `agent ls --archived` lists it."),
                    where=_on("agents.archive", calls.ArchiveAgent, _can_be_archived),
                ),
                _action(
                    calls.UnarchiveAgent, row, self._unarchive, _said("is in the list again."),
                    where=_on("agents.unarchive", calls.UnarchiveAgent, _is_archived),
                ),
                _action(
                    calls.RemoveAgent, row, self._remove, _said(off, short=True),
                    where=_on("agents.remove", calls.RemoveAgent, _has_ended),
                ),
                _action(calls.FindUnsaved, calls.UnsavedWork, self._unsaved, _render_unsaved),
                _action(calls.MarkAgentRead, row, self._seen, _render_seen),
            )
        }  # fmt: skip

    async def agent(self, invocation: Invocation, parameters: AgentParameters) -> Outcome:
        action = self._chosen(parameters)
        if invocation.caller.is_agent and action.access is Access.HUMAN_ONLY:
            raise UsageError(f"`agent {parameters.action}` is for people only.")
        return await action.handle(invocation, self.bind(parameters))

    def bind(self, parameters: AgentParameters) -> Parameters:
        """What a line calls. Raises `UsageError`."""
        self._chosen(parameters)
        if parameters.action != "ls" and not parameters.target:
            hint = f"`agent {parameters.action} 12`; `agent ls` lists them."
            raise UsageError(f"`agent {parameters.action}` needs an agent.", hint=hint)
        return _bindings(parameters)

    def _chosen(self, parameters: AgentParameters) -> AnyAction:
        action = self.actions.get(parameters.action)
        if action is None:
            raise UsageError(f"`agent` has no action {parameters.action!r}.", hint=f"It has {', '.join(ACTIONS)}.")
        return action

    async def assess(self, invocation: Invocation, parameters: AgentParameters) -> Assessment:
        action = self.actions.get(parameters.action)
        subject = f"{parameters.action} {parameters.target} {one_line(parameters.text, 120)}".strip()
        effect = Effect.EXECUTE if action is None else action.effect
        return Assessment(effect, visible(subject), detail=visible(parameters.text))

    async def complete(self, _invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        if parameter == "action":
            return [action for action in ACTIONS if action.startswith(prefix)]
        if parameter == "target":
            rows = self._fleet.rows()
            return [word for row in rows for word in (row.name, row.id) if word.startswith(prefix)]
        if parameter == "status":
            return [status for status in ("starting", "thinking", "tool", *RESTS) if status.startswith(prefix)]
        return []

    # Looking

    async def _ls(self, invocation: Invocation, parameters: calls.ListAgents) -> calls.AgentList:
        await self._fleet.refresh()
        home = None if invocation.caller.is_agent else invocation.cwd
        rows = agent_tables.family_order(
            self._fleet.rows(everywhere=parameters.everywhere, home=home, archived=parameters.archived)
        )
        agents = [] if parameters.archived else self._local()
        if parameters.windows and not parameters.archived:
            agents = await self._in_windows(None if parameters.everywhere else str(invocation.cwd))
        return calls.AgentList([*agents, *map(AgentState, rows)])

    async def _in_windows(self, cwd: str | None) -> list[AgentState]:
        """This hub's and other windows' agents, once each; native agents in terminals are left out."""
        local = self._local()
        known = {key for row in self._fleet.rows() for key in (row.id, row.session)}
        known |= {agent.row.session for agent in local}
        try:
            windows = await self._windows(cwd)
        except StoreError as error:
            raise from_store_error(error) from error
        return [*local, *(one for one in windows if one.row.id not in known and one.row.session not in known)]

    def _render_list(self, _invocation: Invocation, found: calls.AgentList) -> Outcome:
        data = [agent_tables.state_json(agent, self._fleet.attach_words(agent.row)) for agent in found.agents]
        if not data:
            return Outcome([], "There are no agents here. `spawn` starts one.")
        table = agent_tables.agents_table(found.agents, self._fleet.attach_words)
        return Outcome(data, table, plain=padded(table).replace("`", ""))

    async def _show(self, _invocation: Invocation, parameters: calls.ShowAgent) -> calls.AgentReport:
        try:
            row = await self._fleet.find(parameters.agent)
        except FleetError:
            if (agent := await self._find_in_windows(parameters.agent)) is None:
                raise
            return calls.AgentReport(agent, agent.row.report, is_answer=parameters.answer)
        if parameters.answer:
            answer, source = await self._fleet.last_answer(row.id)
            self._fleet.seen(row.id)
            return calls.AgentReport(AgentState(row), answer, source, is_answer=True)
        report = await self._fleet.show(row.id)
        self._fleet.seen(row.id)
        return calls.AgentReport(AgentState(row), report)

    async def _find_in_windows(self, wanted: str) -> AgentState | None:
        """The one agent of a window with this name, or whose conversation's id begins like this."""
        found = [
            agent
            for agent in await self._in_windows(None)
            if wanted and (agent.row.name == wanted or agent.row.session.startswith(wanted))
        ]
        return found[0] if len(found) == 1 else None

    def _render_report(self, _invocation: Invocation, found: calls.AgentReport) -> Outcome:
        attach = self._fleet.attach_words(found.agent.row)
        if found.is_answer:
            row = found.agent.row
            data: dict[str, Any] = {"agent": row.id, "answer": found.report, "source": found.source}
            return _answer_outcome(row, data, found.report, found.source)
        report = found.report or "(no report yet)"
        text = f"{agent_tables.agent_details(found.agent, attach)}\n\n{report}"
        return Outcome(agent_tables.state_json(found.agent, attach) | {"report": found.report}, text, plain=report)

    async def _attach(self, _invocation: Invocation, parameters: calls.AttachAgent) -> calls.Attachment:
        row = await self._fleet.find(parameters.agent)
        if not row.pane or row.status == "lost":
            hint = f"`agent recover {row.id}` restores it."
            raise CommandError(f"{row.name} ({row.id}) has no terminal.", hint=hint)
        return calls.Attachment(row, self._fleet.attach_command(row))

    async def _wait(self, _invocation: Invocation, parameters: calls.WaitForAgent) -> calls.AwaitedStatus:
        wanted = parameters.statuses or RESTS
        known = {"starting", "thinking", "tool", *RESTS}
        if strange := set(wanted) - known:
            raise UsageError(f"There is no status {min(strange)!r}.", hint=f"The statuses: {', '.join(sorted(known))}.")
        try:
            row = await self._fleet.wait(parameters.agent, list(wanted), parameters.timeout)
        except TimeoutError:
            row = await self._fleet.find(parameters.agent)
            return calls.AwaitedStatus(row, wanted, timed_out=parameters.timeout)
        return calls.AwaitedStatus(row, wanted)

    async def _unsaved(self, _invocation: Invocation, parameters: calls.FindUnsaved) -> calls.UnsavedWork:
        row = await self._fleet.find(parameters.agent)
        return calls.UnsavedWork(row, await self._fleet.unsaved(row.id))

    async def _seen(self, _invocation: Invocation, parameters: calls.MarkAgentRead) -> AgentRow:
        row = await self._fleet.find(parameters.agent)
        self._fleet.seen(row.id)
        return row

    # Doing

    async def _send(self, invocation: Invocation, parameters: calls.SendToAgent) -> calls.SentMessage:
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

    def _streams(
        self, invocation: Invocation, parameters: calls.SendToAgent
    ) -> AsyncIterator[calls.SentMessage] | None:
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
        return calls.SentMessage(row, letter.id, waits=False, answer=letter.answer, source=letter.answer_source)

    async def _answer(self, _invocation: Invocation, parameters: calls.AnswerAgent) -> calls.AnsweredQuestion:
        row = await self._fleet.find(parameters.agent)
        asked = await self._fleet.question(row.id)
        if not parameters.choice.strip():
            return calls.AnsweredQuestion(row, asked)
        choice = _chosen(row, asked, parameters.choice.strip())
        after = await self._fleet.answer(row.id, choice.key, question=parameters.question or asked.id)
        return calls.AnsweredQuestion(row, asked, choice, after)

    async def _interrupt(self, invocation: Invocation, parameters: calls.InterruptAgent) -> AgentRow:
        row = await self._fleet.find(parameters.agent)
        if invocation.caller.is_agent and row.parent != invocation.caller.name:
            raise UsageError(
                f"{row.name} ({row.id}) was not started by you.", hint="You can interrupt only agents that you started."
            )
        await self._fleet.interrupt(row.id)
        return row

    async def _ask_restart(self, _invocation: Invocation, parameters: calls.RestartAgent) -> Question | None:
        row = await self._fleet.find(parameters.agent)
        return None if is_over(row) else restart_question(row)

    async def _restart(self, _invocation: Invocation, parameters: calls.RestartAgent) -> RevivedAgent:
        return await self._fleet.restart(parameters.agent)

    def _render_restarted(self, _invocation: Invocation, back: RevivedAgent) -> Outcome:
        row, how = back.row, f": it {back.how}" if back.how else ""
        return Outcome(self._revived(back), f"{row.name} ({row.id}) was restarted{how}.")

    async def _fork(self, _invocation: Invocation, parameters: calls.ForkAgent) -> RevivedAgent:
        original = await self._fleet.find(parameters.agent)
        wish = SpawnRequest(
            fork=original.id,
            prompt=parameters.message,
            name=parameters.name,
            worktree=parameters.branch,
            here=parameters.here,
            anew=parameters.anew,
        )
        return await self._fleet.fork(wish)

    def _render_forked(self, _invocation: Invocation, made: RevivedAgent) -> Outcome:
        row, where = made.row, f" in {visible(made.row.worktree)}" if made.row.worktree else ""
        said = f"{row.name} ({row.id}) is a fork of {row.fork}{where}; it {made.how}."
        return Outcome(self._revived(made), said, plain=row.id, aside=said)

    async def _rename(self, _invocation: Invocation, parameters: calls.RenameAgent) -> AgentRow:
        if not parameters.name.strip():
            raise UsageError("No new name given.", hint=f"Write `agent rename {parameters.agent} NAME`.")
        return await self._fleet.rename(parameters.agent, parameters.name)

    async def _ask_kill(self, _invocation: Invocation, parameters: calls.KillAgent) -> Question | None:
        if parameters.yes:
            return None
        row = await self._fleet.find(parameters.agent)
        try:
            losses = await self._fleet.unsaved(row.id)
        except FleetError as error:
            losses = [f"Can't tell what is unsaved: {command_error(error)}"]
        if not parameters.now:
            return kill_question(row, losses)
        agreed = calls.KillAgent(agent=row.id, yes=bool(losses), now=True)
        return Question(agreed, f"End {row.name} ({row.id}) for good?", yes="End", losses=tuple(losses))

    async def _kill(self, _invocation: Invocation, parameters: calls.KillAgent) -> AgentRow:
        row = await self._fleet.find(parameters.agent)
        if not parameters.yes and (unsaved := await self._fleet.unsaved(row.id)):
            raise Unconfirmed(
                f"{row.name} ({row.id}) has unsaved work. {' '.join(unsaved)}",
                hint=f"`agent kill {row.id} yes=true` kills it anyway.",
                data={"agent": row.id, "unsaved": unsaved},
            )
        return await self._fleet.kill(row.id, now=parameters.now)

    def _render_killed(self, _invocation: Invocation, row: AgentRow) -> Outcome:
        undo = "" if row.ended else f" `agent undo {row.id}` restores it within {self._fleet.grace:.0f} s."
        return Outcome(agent_tables.row_json(row), f"{row.name} ({row.id}) was killed.{undo}")

    async def _undo(self, _invocation: Invocation, parameters: calls.UndoKill) -> AgentRow:
        return await self._fleet.undo_kill(parameters.agent)

    async def _recover(self, _invocation: Invocation, parameters: calls.RecoverAgents) -> calls.RecoveryReport:
        everyone = parameters.agent == "all"
        if parameters.dry_run:
            return calls.RecoveryReport(plans=await self._fleet.plan_recovery("" if everyone else parameters.agent))
        if everyone:
            return calls.RecoveryReport(await self._fleet.recover_all())
        return calls.RecoveryReport(RecoveredAgents([await self._fleet.recover(parameters.agent)]))

    def _render_recovered(self, _invocation: Invocation, found: calls.RecoveryReport) -> Outcome:
        if found.plans is not None:
            return _planned(found.plans)
        done = found.done
        names = [f"{_named(one.row)}{f', which {one.how}' if one.how else ''}" for one in done.back]
        lines = [f"Recovered: {'; '.join(names) or 'nobody'}."]
        lines += [f"Not recovered: {_named(one.row)}. {one.why}" for one in done.lost if one.tried]
        if left := [one for one in done.lost if not one.tried]:
            lines.append(f"Left: {', '.join(_named(one.row) for one in left)}. {left[0].why}")
        data = [self._revived(one) | {"recovered": True, "why": ""} for one in done.back]
        data += [self._plain(one.row) | {"recovered": False, "tried": one.tried, "why": one.why} for one in done.lost]
        return Outcome(data, "\n".join(lines), is_error=bool(done.lost))

    async def _archive(self, _invocation: Invocation, parameters: calls.ArchiveAgent) -> AgentRow:
        return await self._fleet.archive(parameters.agent)

    async def _unarchive(self, _invocation: Invocation, parameters: calls.UnarchiveAgent) -> AgentRow:
        return await self._fleet.unarchive(parameters.agent)

    async def _remove(self, _invocation: Invocation, parameters: calls.RemoveAgent) -> AgentRow:
        row = await self._fleet.find(parameters.agent)
        await self._fleet.remove(row.id)
        return row

    def _revived(self, back: RevivedAgent) -> dict[str, Any]:
        return self._plain(back.row) | {"how": back.how}

    def _plain(self, row: AgentRow) -> dict[str, Any]:
        return agent_tables.row_json(row, self._fleet.attach_words(row))


def _named(row: AgentRow) -> str:
    return f"{row.name} ({row.id})"


def _planned(plans: list[RecoveryPlan]) -> Outcome:
    """What recovering would do, a line and an item of the data for each agent."""
    lines: list[str] = []
    data: list[dict[str, Any]] = []
    for plan in plans:
        would = "" if plan.why else "resume" if plan.conversation else "start anew"
        data.append(
            {"id": plan.row.id, "name": plan.row.name, "would": would, "how": plan.how,
             "conversation": plan.conversation, "why": plan.why}
        )  # fmt: skip
        if plan.why:
            lines.append(f"{_named(plan.row)} would not be recovered. {plan.why}")
        elif plan.conversation:
            lines.append(f"{_named(plan.row)} would resume its conversation {plan.conversation}.")
        elif plan.how:
            lines.append(f"{_named(plan.row)} would start anew: it {plan.how.split(';')[0]}.")
        else:
            lines.append(f"{_named(plan.row)} would start as its command line says.")
    return Outcome(data, "\n".join(lines) or "No agent is lost.", is_error=any(plan.why for plan in plans))


async def _terminal(_invocation: Invocation, found: calls.Attachment) -> AttachView:
    return AttachView(found.row.id)


def _render_attachment(_invocation: Invocation, found: calls.Attachment) -> Outcome:
    data = agent_tables.row_json(found.row, found.argv) | {"argv": found.argv}
    return Outcome(data, f"`{shlex.join(found.argv)}`")


def _render_sent(_invocation: Invocation, sent: calls.SentMessage) -> Outcome:
    waits = " It is busy; it gets the message when it is idle." if sent.waits else ""
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


def _answer_outcome(row: AgentRow, data: dict[str, Any], answer: str, source: AnswerSource) -> Outcome:
    """An answer for people, with where it comes from; alone, as it is, for a script."""
    if not answer.strip():
        said = f"{row.name} ({row.id}) has said nothing."
        return Outcome(data, said, aside=said)
    seen = ", from its screen" if source == "screen" else ""
    aside = f"{row.name} ({row.id}): the answer is from its screen." if seen else ""
    return Outcome(data, f"{row.name} ({row.id}) says{seen}:\n\n{answer}", plain=answer, aside=aside)


def _chosen(row: AgentRow, asked: OpenQuestion, wanted: str) -> QuestionChoice:
    """The choice with this number or these words. Raises `UsageError`."""
    words = wanted.casefold()
    found = [one for one in asked.choices if wanted == one.key]
    found = found or [one for one in asked.choices if one.label.casefold() == words]
    found = found or [one for one in asked.choices if one.label.casefold().startswith(words)]
    if len(found) == 1:
        return found[0]
    if not asked.choices:
        raise UsageError(
            f"The choices of {row.name} ({row.id}) cannot be read: {one_line(asked.subject, 120)}.",
            hint=f"Answer in its terminal: `agent attach {row.id}`.",
        )
    offered = " · ".join(f"{one.key} {one.label}" for one in asked.choices)
    why = "fits several of its choices" if found else "is none of its choices"
    raise UsageError(f"{one_line(wanted, 40)!r} {why}.", hint=f"{row.name} ({row.id}) offers: {offered}.")


def _render_answered_question(_invocation: Invocation, found: calls.AnsweredQuestion) -> Outcome:
    row, asked = found.row, found.question
    data: dict[str, Any] = {"agent": row.id, "question": agent_tables.question_json(asked)}
    if found.choice is None:
        choices = [f"{one.key}  {one.label}" for one in asked.choices] or [f"Answer with `agent attach {row.id}`."]
        lines = [f"{row.name} ({row.id}) asks: {asked.subject}", *([asked.detail] if asked.detail else []), *choices]
        return Outcome(data, "\n\n".join((lines[0], *lines[1 : -len(choices)], "\n".join(choices))))
    data |= {"choice": found.choice.key, "next": agent_tables.question_json(found.next) if found.next else None}
    after = f" It asks next: {found.next.subject}" if found.next is not None else ""
    return Outcome(data, f"Answered {row.name} ({row.id}): {found.choice.label}.{after}")


def _render_awaited(_invocation: Invocation, found: calls.AwaitedStatus) -> Outcome:
    row = found.row
    if found.timed_out is not None:
        text = f"{row.name} ({row.id}) is still {row.status} after {found.timed_out:g} s."
        return Outcome(agent_tables.row_json(row), text, is_error=True, timed_out=True)
    said = f"{row.name} ({row.id}) is {agent_tables.status_words(row)}."
    missed = row.status not in found.wanted
    return Outcome(agent_tables.row_json(row) | {"report": row.report}, said, is_error=missed)


def _render_unsaved(_invocation: Invocation, found: calls.UnsavedWork) -> Outcome:
    said = " ".join(found.losses) or "It has no unsaved work."
    data = {"agent": found.row.id, "unsaved": found.losses}
    return Outcome(data, f"{found.row.name} ({found.row.id}): {said}")


def _render_renamed(_invocation: Invocation, row: AgentRow) -> Outcome:
    return Outcome(agent_tables.row_json(row), f"{row.id} is now called {row.name}.")


def _render_seen(_invocation: Invocation, row: AgentRow) -> Outcome:
    return Outcome(agent_tables.row_json(row) | {"unread": 0}, f"{row.name} ({row.id}) is marked as read.")


def _said(words: str, *, short: bool = False) -> Callable[[Invocation, AgentRow], Outcome]:
    """A renderer that says this about the agent. `short`: its data is only the id."""

    def render(_invocation: Invocation, row: AgentRow) -> Outcome:
        data = {"agent": row.id} if short else agent_tables.row_json(row)
        return Outcome(data, f"{row.name} ({row.id}) {words}")

    return render
