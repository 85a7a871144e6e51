"""The commands about agents in terminals: `spawn`, and `agent ls show attach send wait interrupt restart kill …`.

A person may use all of them. An agent may look, wait, write to others and, with approval, interrupt agents that it
started. Each line becomes one of the calls in `agent_calls`. Registered by the hub.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import (
    Access,
    Action,
    AnyAction,
    Assessment,
    AttachView,
    CommandError,
    Effect,
    Invocation,
    Offered,
    Outcome,
    Parameters,
    Question,
    Returns,
    UsageError,
    Where,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.fleet.commands import agent_outcomes
from gshtui.fleet.commands.agent_lifecycle import AgentLifecycle
from gshtui.fleet.commands.agent_outcomes import AgentMessages, AgentOutcomes, about_agent
from gshtui.fleet.commands.registry_commands import registry_actions
from gshtui.fleet.commands.spawn_command import spawn_command
from gshtui.fleet.core import agent_calls as calls
from gshtui.fleet.core import agent_tables
from gshtui.fleet.core.agent_calls import ExplainedStatus
from gshtui.fleet.core.agent_states import AgentState
from gshtui.fleet.core.fleet_context import fleet_errors
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.text.markdown_table import bare_columns, cell
from gshtui.text.markdown_table import table as made_table
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import literal, one_line, visible

if TYPE_CHECKING:
    from gshtui.programs.status.evidence import Evidence


def explained_status(_invocation: Invocation, found: ExplainedStatus) -> Outcome:
    """The answer of `agent explain`."""
    row, known = found.row, found.known
    program = agent_tables.program_words(row)
    data: dict[str, Any] = {
        "agent": row.id,
        "name": row.name,
        "program": row.profile,
        "version": row.version,
        "version_seen": row.version_seen,
        "version_checked": row.version_checked,
        "mode": row.mode_words,
        "listed": {"status": row.status, "source": row.status_source, "age_s": agent_tables.status_age(row)},
    }
    listed = f"**{row.name}** ({row.id}) is listed as {cell(agent_tables.status_words(row))}."
    if known is None:
        why = "It does not run." if row.ended else "It tells its status by its own events."
        why = why if row.ended or row.speaks_events else "Its terminal could not be looked at."
        text = f"{listed} {why}"
        return Outcome(data | {"sources": [], "silent": [], "disagreements": []}, text, plain=bare_columns(text))
    from gshtui.programs.status.disagreements import parted, sentence

    now = time.time()
    apart = [sentence(*pair, now) for pair in parted(known.evidences)]
    sources = [
        {
            "rank": int(one.rank),
            "source": one.source,
            "status": one.status,
            "sure": one.sure,
            "age_s": _age(one.at, now),
            "read_s": _age(one.confirmed, now),
            "doing": one_line(one.doing),
            "why": one_line(one.why),
            "taken": one.source == known.source,
        }
        for one in known.evidences
    ]
    data |= {
        "status": known.status,
        "source": known.source,
        "sure": known.sure,
        "age_s": _age(known.at, now),
        "doing": one_line(known.doing),
        "followed": found.followed,
        "sources": sources,
        "silent": [{"source": source, "why": why} for source, why in found.silent],
        "disagreements": apart,
        "files": list(found.files),
    }
    head = ("source", "rank", "says", "for", "why")
    rows = [_table_row(one, taken=one.source == known.source, now=now) for one in known.evidences]
    rows += [(source, "", "nothing", "", why) for source, why in found.silent]
    table = made_table(head, rows, right=(1, 3))
    mark = "" if known.sure else "?"
    taken = f"Now: {known.status}{mark} by its {known.source}, for {_age(known.at, now):.0f} s."
    if known.status == "quiet":
        taken += " It seems to rest, and nothing shows that its turn is over."
    lines = [listed, f"Program: {program}." if program else "", taken]
    lines += [f"Mode: {cell(literal(one_line(row.mode_words)))}"] if row.mode_words else []
    lines += [f"They part: {cell(literal(one))}." for one in apart]
    lines += [] if found.followed else ["Another process follows it, or none: this was one look of its own."]
    words = "\n".join(line for line in lines if line)
    read = [f"- {cell(literal(one_line(file, 300)))}" for file in found.files]
    files = ["", "Read for it:", *read] if read else []
    shown = "\n".join([words, "", table, *files])
    return Outcome(data, shown, plain=bare_columns(shown))


def _table_row(one: Evidence, *, taken: bool, now: float) -> tuple[str, ...]:
    says = one.status if one.sure else f"{one.status}?"
    if one.doing:
        says = f"{says} · {cell(literal(one_line(one.doing, 60)))}"
    source = f"{one.source} ✓" if taken else one.source
    rank, since = str(int(one.rank)), f"{_age(one.at, now):.0f} s"
    return source, rank, says, since, cell(literal(one_line(one.why, 120)))


def _age(at: float, now: float) -> float:
    return round(max(0.0, now - at), 1) if at else 0.0


RESTS = ("idle", "waiting", "done", "failed", "lost")
"""The statuses that `wait` waits for by default."""
LocalAgents = Callable[[], list[AgentState]]
"""The agents of this hub that live in no terminal."""
WindowAgents = Callable[[str | None], Awaitable[list[AgentState]]]
"""Finds the agents of windows in this folder (`None`: in all folders). Raises `StoreError`."""
AcpRegistry = Callable[[], str]
"""The address of the ACP registry."""
A = TypeVar("A", bound=Parameters)
R = TypeVar("R")


async def _no_windows(_cwd: str | None) -> list[AgentState]:
    return []


def commands(
    fleet: Fleet,
    local: LocalAgents = list,
    windows: WindowAgents = _no_windows,
    registry: AcpRegistry = lambda: "",
) -> list[AnyCommand]:
    """The family."""
    agents = _Agents(fleet, local, windows, registry)
    return [
        spawn_command(fleet),
        group(
            "agent",
            "Agents in terminals: list, show, attach, send, wait, interrupt, restart, rename, kill, recover",
            *agents.actions,
            family="agents",
            shell=calls.AGENT_GROUP,
            elsewhere=dict.fromkeys(("spawn", *calls.SPAWN_SYNONYMS), "spawn"),
            assess=agents.assess,
            complete=agents.complete,
        ),
    ]


def _action(
    parameters: type[A],
    run: Callable[[Invocation, A], Awaitable[R]],
    render: Callable[[Invocation, R], Outcome],
    *,
    asks: Callable[[Invocation, A], Awaitable[Question | None]] | None = None,
    shows: Callable[[Invocation, R], Awaitable[AttachView]] | None = None,
    access: Access = Access.HUMAN_ONLY,
    effect: Effect = Effect.EXECUTE,
    where: Where[calls.ListedAgent, A] | None = None,
    streams: Callable[[Invocation, A], AsyncIterator[R] | None] | None = None,
    positions: tuple[str, ...] | None = None,
) -> Action[A, R]:
    """`effect`: the effect of an agent's call; text for a program can make it run anything."""
    places = () if where is None else (where,)
    return Action(parameters, run, render, asks, shows, access, effect, places, streams, positions=positions)


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


class _Agents:
    """The actions of `agent`, and the handlers of those that only look."""

    def __init__(self, fleet: Fleet, local: LocalAgents, windows: WindowAgents, registry: AcpRegistry) -> None:
        self._fleet = fleet
        life, messages, outcomes = AgentLifecycle(fleet), AgentMessages(fleet), AgentOutcomes(fleet)
        self._local = local
        self._windows = windows
        read, shared = Effect.READ, Access.SHARED
        off = "is removed from the list; its conversation is kept."
        self.actions: tuple[AnyAction, ...] = (
            _action(calls.ListAgents, self._ls, outcomes.agents, access=shared, effect=read),
            _action(
                calls.ShowAgent,
                self._show,
                outcomes.report,
                access=shared,
                effect=read,
                where=_on("agents.report", calls.ShowAgent, _any),
            ),
            _action(calls.ExplainAgent, self._explain, explained_status, access=shared, effect=read),
            _action(calls.AttachAgent, self._not_in_windows(self._attach), agent_outcomes.attachment, shows=_terminal),
            _action(
                calls.SendToAgent,
                messages.send,
                agent_outcomes.sent_message,
                access=shared,
                streams=messages.streams,
            ),
            _action(
                calls.AnswerAgent,
                self._not_in_windows(messages.answer),
                agent_outcomes.answered_question,
                asks=self._not_in_windows(messages.ask_answer),
            ),
            _action(calls.SetAgentOption, self._not_in_windows(self._option), agent_outcomes.agent_options),
            _action(calls.WaitForAgent, self._wait, agent_outcomes.awaited_status, access=shared, effect=read),
            _action(
                calls.InterruptAgent,
                self._not_in_windows(self._interrupt),
                about_agent("was asked to stop.", short=True),
                access=shared,
                effect=Effect.WRITE,
                where=_on("agents.interrupt", calls.InterruptAgent, _runs),
            ),
            _action(
                calls.RestartAgent,
                life.restart,
                outcomes.restarted,
                asks=life.ask_restart,
                where=_on("agents.restart", calls.RestartAgent, _is_not_killed),
            ),
            _action(
                calls.ForkAgent,
                life.fork,
                outcomes.forked,
                asks=life.ask_fork,
                positions=("agent", "message"),
                where=_on("agents.fork", calls.ForkAgent, _is_not_killed),
            ),
            _action(calls.RenameAgent, life.rename, agent_outcomes.renamed),
            _action(
                calls.KillAgent,
                life.kill,
                outcomes.killed,
                asks=life.ask_kill,
                where=_on("agents.kill", calls.KillAgent, _runs),
            ),
            _action(
                calls.UndoKill,
                life.undo,
                about_agent("continues."),
                where=_on("agents.undo", calls.UndoKill, _is_killed),
            ),
            _action(
                calls.RecoverAgents,
                life.recover,
                outcomes.recovered,
                where=_on("agents.recover", calls.RecoverAgents, _is_lost),
            ),
            _action(
                calls.ArchiveAgent,
                life.archive,
                about_agent("is archived; `agent ls --archived` lists it."),
                where=_on("agents.archive", calls.ArchiveAgent, _can_be_archived),
            ),
            _action(
                calls.UnarchiveAgent,
                life.unarchive,
                about_agent("is in the list again."),
                where=_on("agents.unarchive", calls.UnarchiveAgent, _is_archived),
            ),
            _action(
                calls.RemoveAgent,
                life.remove,
                about_agent(off, short=True),
                where=_on("agents.remove", calls.RemoveAgent, _has_ended),
            ),
            _action(calls.FindUnsaved, self._unsaved, agent_outcomes.unsaved_work),
            _action(calls.MarkAgentRead, self._seen, agent_outcomes.marked_read),
            *registry_actions(registry),
        )

    async def assess(self, _invocation: Invocation, given: Returns[Any]) -> Assessment:
        effect = next(one.effect for one in self.actions if one.parameters is type(given))
        text = given.text if isinstance(given, calls.SendToAgent) else ""
        subject = f"{given.words().removeprefix('agent ')} {one_line(text, 120)}".strip()
        return Assessment(effect, visible(subject), detail=visible(text))

    async def complete(self, _invocation: Invocation, parameter: str, prefix: str) -> Sequence[str]:
        words: Sequence[str] = ()
        if parameter == "agent":
            rows = self._fleet.rows()
            words = [Offered(row.name, f"{row.id} · {row.state}") for row in rows]
            words += [Offered(row.id, row.name) for row in rows if prefix]
        elif parameter == "statuses":
            words = ("starting", "thinking", "tool", "quiet", *RESTS)
        return [word for word in words if word.startswith(prefix)]

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
        found = [*agents, *map(AgentState, rows)]
        elsewhere = 0
        if not (found or parameters.everywhere or parameters.archived):
            others = await self._in_windows(None) if parameters.windows else []
            elsewhere = len(others) + sum(not row.ended for row in self._fleet.rows())
        return calls.AgentList(found, elsewhere)

    async def _in_windows(self, cwd: str | None) -> list[AgentState]:
        """This hub's and other windows' agents, once each; native agents in terminals are left out."""
        local = self._local()
        known = {key for row in self._fleet.rows() for key in (row.id, row.session)}
        known |= {agent.row.session for agent in local}
        with fleet_errors():
            windows = await self._windows(cwd)
        return [*local, *(one for one in windows if one.row.id not in known and one.row.session not in known)]

    async def _show(self, _invocation: Invocation, parameters: calls.ShowAgent) -> calls.AgentReport:
        try:
            row = await self._fleet.find(parameters.agent)
        except FleetError:
            found = await self._find_in_windows(parameters.agent)
            if len(found) != 1:
                raise
            (agent,) = found
            return calls.AgentReport(agent, agent.row.report, is_answer=parameters.answer)
        if parameters.answer:
            answer, source = await self._fleet.last_answer(row.id)
            self._fleet.seen(row.id)
            return calls.AgentReport(AgentState(row), answer, source, is_answer=True)
        report = await self._fleet.show(row.id)
        self._fleet.seen(row.id)
        return calls.AgentReport(AgentState(row), report, setup=await self._fleet.setup_of(row))

    async def _explain(self, _invocation: Invocation, parameters: calls.ExplainAgent) -> calls.ExplainedStatus:
        return await self._fleet.explain(parameters.agent)

    async def _find_in_windows(self, wanted: str) -> list[AgentState]:
        """The agents of windows with this name, or whose conversation's id begins like this."""
        return [
            agent
            for agent in await self._in_windows(None)
            if wanted and (agent.row.name == wanted or agent.row.session.startswith(wanted))
        ]

    def _not_in_windows(self, run: Callable[[Invocation, A], Awaitable[R]]) -> Callable[[Invocation, A], Awaitable[R]]:
        """The handler, which says of an agent that lives in a window where that is."""

        @wraps(run)
        async def ran(invocation: Invocation, parameters: A) -> R:
            try:
                return await run(invocation, parameters)
            except FleetError as error:
                wanted = str(getattr(parameters, "agent", ""))
                found = await self._find_in_windows(wanted) if error.kind == "unknown" else []
                if not found:
                    raise
                folders = ", ".join(sorted({visible(agent.row.cwd) for agent in found}))
                raise CommandError(
                    f"{one_line(wanted, 60)} lives in a window of {folders}, and is used there.",
                    hint=f"`agent show {found[0].row.session}` prints what it said last.",
                ) from error

        return ran

    async def _attach(self, _invocation: Invocation, parameters: calls.AttachAgent) -> calls.Attachment:
        row = await self._fleet.find(parameters.agent)
        if not row.pane or row.status == "lost":
            hint = f"`agent recover {row.id}` restores it."
            raise CommandError(f"{row.name} ({row.id}) has no terminal.", hint=hint)
        return calls.Attachment(row, self._fleet.attach_command(row))

    async def _wait(self, _invocation: Invocation, parameters: calls.WaitForAgent) -> calls.AwaitedStatus:
        wanted = parameters.statuses or RESTS
        known = {"starting", "thinking", "tool", "quiet", *RESTS}
        if strange := set(wanted) - known:
            raise UsageError(f"There is no status {min(strange)!r}.", hint=known_names("statuses", sorted(known)))
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

    async def _option(self, _invocation: Invocation, parameters: calls.SetAgentOption) -> calls.AgentOptions:
        await self._fleet.refresh()  # in a command of its own, what the journal says of them
        row = await self._fleet.find(parameters.agent)
        if not parameters.value:
            return calls.AgentOptions(row, self._fleet.options_of(row, parameters.option))
        if (around := await self._fleet.agent_around()) is not None:
            said = f"Only a person chooses it, and this command was started by {around.name} ({around.id})."
            raise CommandError(said, hint="Choose it in your window, or in a shell of your own.")
        options, said = await self._fleet.set_option(row.id, parameters.option, parameters.value)
        return calls.AgentOptions(row, options, said)

    async def _interrupt(self, invocation: Invocation, parameters: calls.InterruptAgent) -> AgentRow:
        row = await self._fleet.find(parameters.agent)
        if invocation.caller.is_agent and row.parent != invocation.caller.name:
            raise UsageError(
                f"{row.name} ({row.id}) was not started by you.", hint="You can interrupt only agents that you started."
            )
        await self._fleet.interrupt(row.id)
        return row


async def _terminal(_invocation: Invocation, found: calls.Attachment) -> AttachView:
    return AttachView(found.row.id)
