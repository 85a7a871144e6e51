"""The fleet: all agents in terminals, of this folder and others, as one service.
Parts that only some calls need (starting, killing, following, recovering) are imported on first use.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from gshtui.bus.agent_data import AgentRow, AnswerSource, GuardMode, OpenQuestion, ProgramOption, SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import WaitReported
from gshtui.fleet.core.accounts import Accounts
from gshtui.fleet.core.agent_programs import PERSON, Programs
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.core.fleet_context import (
    AgentRows,
    FleetContext,
    fleet_errors,
    from_store_error,
    is_away,
    is_over,
    is_recoverable,
    out_of_reach,
)
from gshtui.fleet.core.ports import (
    FleetError,
    FleetOptions,
    Launcher,
    MessageTransport,
    RecoveredAgents,
    RecoveryPlan,
    RevivedAgent,
    SetupPlan,
)
from gshtui.fleet.lifecycle.agent_buses import AgentBuses
from gshtui.fleet.lifecycle.handlers import FleetHandlers, Reports, WaitingLine
from gshtui.fleet.lifecycle.reconciler import JournalReader, Reconciler
from gshtui.store.engine.store_errors import PASSING, StoreError
from gshtui.store.record.store import Store
from gshtui.system.caller_environment import AGENT, caller_environ, caller_pid
from gshtui.system.processes import process_tree
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import end_all
from gshtui.text.sanitise import literal, one_line

if TYPE_CHECKING:
    from gshtui.fleet.core.agent_calls import ExplainedStatus
    from gshtui.fleet.lifecycle.answerer import Answerer, AnswerFeed
    from gshtui.fleet.lifecycle.follower import AgentFollower
    from gshtui.fleet.lifecycle.killer import Killer
    from gshtui.fleet.lifecycle.program_options import ProgramOptions
    from gshtui.fleet.lifecycle.starter import Recoverer, Starter
    from gshtui.fleet.lifecycle.transport import SentMessages
    from gshtui.guard.approval.open_approvals import OpenApprovals
    from gshtui.tools.git.setup_record import SetupRecord


def remove_agent_files(data: Path, agent: str) -> None:
    """Remove the agent's files, if any. Blocks for a moment; never raises."""
    from gshtui.fleet.native.spec import SpecError, spec_path
    from gshtui.programs.hooks.hook_reports import spool_path  # a short call takes nobody off the roster

    try:
        orders = spec_path(data, agent)
    except SpecError:
        return
    for path in (orders, orders.with_suffix(".waiting"), spool_path(data, agent)):
        try:
            path.unlink(missing_ok=True)
        except OSError:
            continue  # a leftover file does no harm: numbers are never reused


KEPT_DAYS = 14.0
"""Days that an ended agent stays on the roster."""
_STALE = 1.0


class Fleet:
    """All agents in terminals. Use it between `start` and `stop`. Its methods raise only `FleetError`."""

    def __init__(
        self,
        bus: Bus,
        store: Store,
        options: FleetOptions,
        launcher: Launcher,
        *,
        transport: Callable[[], MessageTransport] | None = None,
        terminals: AgentTerminals | None = None,
        programs: Programs | None = None,
        session_of: Callable[[str], str] = lambda agent: "",
        buses: AgentBuses | None = None,
        accounts: Accounts | None = None,
        open_approvals: Callable[[], OpenApprovals] | None = None,
        host: Fleet | None = None,
    ) -> None:
        """
        Args:
            options: the folders, the tmux server and the limits of this hub.
            launcher: makes command lines.
            transport: creates the transport of messages; by default through the terminals.
            terminals: the tmux servers, if shared with others.
            programs: other people's programs, likewise.
            session_of: returns the conversation of a local agent of this hub.
            buses: reaches our own agents.
            accounts: those that agents may work under, and their groups.
            open_approvals: the questions asked here; `None`: nobody here may answer our own agents.
            host: the fleet of this process that looks after all agents; this one does so for those that it starts.
        """
        self._host = host
        self._open_approvals = open_approvals
        self._buses = buses = buses or AgentBuses(bus)
        self.terminals = terminals or AgentTerminals()
        rows = AgentRows(bus, store, None if host is None else host._context.rows)
        self._programs = programs or Programs()

        def terminal_transport() -> MessageTransport:
            from gshtui.fleet.lifecycle.transport import TerminalTransport

            return TerminalTransport(bus, self.terminals, self._programs, buses)

        self._context = FleetContext(
            bus,
            store,
            rows,
            self.terminals,
            launcher,
            transport or terminal_transport,
            options,
            accounts or Accounts(),
        )
        self._session_of = session_of
        self._reports = Reports(self._context, session_of)
        self._reconciler = Reconciler(
            self._context,
            JournalReader(self._context, buses.connected),
            self._programs,
            on_ended=self._reports.announce_end,
            on_killed=lambda row: self._killer.watch(row),
        )
        self._handlers = FleetHandlers(self._context, self._reports, self.spawn)
        self._waiting_line = WaitingLine(self._context) if not options.visiting else None

    # What a short call such as `agent ls` never needs is made, and loaded, when it is first used.

    @cached_property
    def _starter(self) -> Starter:
        from gshtui.fleet.lifecycle.forks import Forks
        from gshtui.fleet.lifecycle.starter import Starter

        return Starter(self._context, self._programs, Forks(self._context, self._programs))

    @cached_property
    def _killer(self) -> Killer:
        from gshtui.fleet.lifecycle.killer import Killer

        return Killer(self._context, self._reports.announce_end)

    @cached_property
    def _recoverer(self) -> Recoverer:
        from gshtui.fleet.lifecycle.starter import Recoverer

        return Recoverer(self._context, self._starter, self._killer, self._programs)

    @cached_property
    def sent(self) -> SentMessages:
        """What becomes of the messages that agents are sent."""
        from gshtui.fleet.lifecycle.transport import SentMessages

        return SentMessages(self._context, self.refresh)

    @cached_property
    def _answerer(self) -> Answerer:
        from gshtui.fleet.lifecycle.answerer import Answerer

        follower = self._follower
        return Answerer(
            self._context,
            self._programs,
            self._buses,
            self._open_approvals,
            follower.approve,
            follower.questions,
            follower.replace_question,
        )

    @cached_property
    def _options(self) -> ProgramOptions:
        from gshtui.fleet.lifecycle.program_options import ProgramOptions

        return ProgramOptions(self._buses)

    @cached_property
    def _follower(self) -> AgentFollower:
        from gshtui.fleet.lifecycle.follower import AgentFollower

        return AgentFollower(self._context, self._programs, self._reconciler.check_now)

    async def start(self) -> None:
        """Load the roster, check what really runs, report lost agents, and keep checking."""
        context = self._context
        self.terminals.on_connection = self._reconciler.check_now
        if context.options.visiting:
            return  # whatever it is asked to do begins with a look
        self._reconciler.on_look = self._follow
        try:
            await context.store.agents.delete_old(KEPT_DAYS)
            self._reconciler.tell_lost(await self._reconciler.find_lost())
        except StoreError as error:
            if error.kind not in PASSING:
                raise from_store_error(error) from error
            await context.rows.load(force=True)  # it looks again, also once there is room
        self._reconciler.start()
        for row in context.rows.all():
            if is_over(row) and row.background and not row.reported:
                await self._reports.hand_over(row)

    async def _follow(self, alive: list[AgentRow]) -> None:
        """Follow exactly these agents; while there have been none, no follower is made."""
        if alive or "_follower" in self.__dict__:
            await self._follower.follow(alive)

    async def stop(self) -> None:
        """Stop. The agents keep running, and the next hub of their folder takes over."""
        made = self.__dict__  # parts that were never used need no ending
        await end_all(
            "the end of the fleet",
            self._reconciler.stop,
            *((self._follower.stop,) if "_follower" in made else ()),
            self._handlers.stop,
            *((self._waiting_line.stop,) if self._waiting_line is not None else ()),
            *((self._starter.stop,) if "_starter" in made else ()),
            self._reports.stop,
            *((self._killer.stop,) if "_killer" in made else ()),
            self._programs.stop,
        )
        try:
            await self._context.rows.flush()
            await self._context.rows.release()
        except StoreError as error:
            raise from_store_error(error) from error
        finally:
            if self._host is not None:
                self._host.look_now()
            await self.terminals.close()

    def look_now(self) -> None:
        """Something has changed that no terminal tells of: look at the agents now."""
        self._reconciler.check_now()

    # What is there

    def rows(self, *, everywhere: bool = True, home: Path | None = None, archived: bool = False) -> list[AgentRow]:
        """The agents on the roster, ordered by number; unless `everywhere`, only those of one folder. `home`: that
        folder; by default this hub's. `archived`: exactly those that are archived, in place of all others.
        """
        folder = str(home or self._context.options.home)
        rows = self._context.rows.all()
        return [row for row in rows if (everywhere or row.home == folder) and bool(row.archived) is archived]

    def get(self, id: str) -> AgentRow | None:
        return self._context.rows.get(id)

    async def find(self, wanted: str) -> AgentRow:
        """The agent with this name or id; leading zeros may be omitted."""
        return await self._context.row(wanted)

    async def refresh(self) -> list[AgentRow]:
        """Check the terminals and the record now; returns every row."""
        with fleet_errors():
            self._reconciler.tell_lost(await self._reconciler.find_lost())
        return self.rows()

    async def show(self, id: str) -> str:
        """The agent's report or, if it has none yet, its terminal's content."""
        row = await self.find(id)
        if report := await self._reports.report_of(row):
            return report
        if is_away(row):
            raise out_of_reach(row)
        return await self._reports.screen(row)

    async def explain(self, id: str) -> ExplainedStatus:
        """The agent's status with what every source of it says."""
        from gshtui.fleet.core.agent_calls import ExplainedStatus

        row = await self.find(id)
        if is_away(row):
            raise out_of_reach(row)
        if row.kind != "cli" or is_over(row) or not row.pane:
            return ExplainedStatus(row, None)
        from gshtui.programs.hooks.hook_reports import spool_path

        known, files = await self._follower.explained(row)
        silent = await self._programs.silent_sources(row, {one.source for one in known.evidences} if known else set())
        now = self._context.rows.get(row.id) or row
        told = [path for path in [spool_path(self._context.options.data, row.id)] if path.exists()]
        read = [*await self._programs.files_read(now), *files, *told]
        return ExplainedStatus(now, known, self._follower.is_followed(row), tuple(silent), tuple(map(str, read)))

    async def setup_of(self, row: AgentRow) -> SetupRecord | None:
        """What became of the set-up command of the agent's worktree; `None` where there was none."""
        if not row.worktree:
            return None
        from gshtui.tools.git import setup_record  # only agents with a worktree have one

        folder = self._context.options.data / "worktrees"
        return await asyncio.to_thread(setup_record.find, folder, Path(row.worktree))

    async def unsaved(self, id: str) -> list[str]:
        """What killing the agent now would lose, one sentence per item."""
        return await self._killer.unsaved(await self.find(id))

    def attach_command(self, row: AgentRow) -> list[str]:
        """The command that shows the agent full-screen."""
        return self.terminals.server(row.socket).attach_command(row.tmux_session)

    def attach_words(self, row: AgentRow) -> list[str]:
        """The same, but empty for an agent without a terminal."""
        return self.attach_command(row) if row.pane and row.status != "lost" else []

    async def wait(self, id: str, statuses: Collection[str], timeout: float) -> AgentRow:
        """Wait until the agent has one of these statuses or has ended; returns its row. Raises `TimeoutError`: neither
        within `timeout` seconds.
        """
        row = await self.find(id)

        def matches(row: AgentRow) -> bool:
            return row.status in statuses or is_over(row)

        try:
            if self._context.options.visiting:
                return await self._visit(row, matches, timeout)
            return await self._context.rows.wait(row.id, matches, timeout)
        except KeyError:
            raise FleetError("ended", f"{row.name} ({row.id}) was already removed.") from None

    # What is done to them

    @property
    def data(self) -> Path:
        """The data folder, in which the record is."""
        return self._context.options.data

    @property
    def grace(self) -> float:
        """Seconds during which a kill can be undone."""
        return self._context.options.grace

    async def spawn(
        self, request: SpawnRequest, *, spawn: str = "", by_person: bool = False, setup: bool = False
    ) -> AgentRow:
        """Start an agent; it is running in its terminal when this returns.

        Args:
            spawn: id of the request, which the events that answer it carry.
            by_person: a person asks, so the limits for agents do not apply.
            setup: a person agreed to the set-up command of its worktree. No request carries that, as agents make them.
        """
        parent = self._context.rows.get(request.parent) if request.parent else None
        session = parent.session if parent is not None else self._session_of(request.parent)
        if request.parent:
            depth = parent.depth + 1 if parent is not None else 1
            request = msgspec.structs.replace(request, depth=max(depth, request.depth))
        # A program that uses our commands by MCP has neither a row nor a conversation here.
        around = await self.agent_around() if by_person or not (parent or session) else None
        row = await self._starter.spawn(
            request,
            parent_session=session,
            spawn=spawn,
            limited=not by_person,
            setup=setup,
            around=around.id if around is not None else "",
        )
        self._reconciler.check_now()
        if self._context.options.visiting:
            await self._starter.briefed()
        return row

    async def unasked_setup(self, cwd: str, branch: str) -> SetupPlan | None:
        """What runs in a new worktree for this branch (empty: a free one) if a person agrees, and about which nobody
        is asked here once that is made; `None`: nothing.
        """
        return await self._context.launcher.unasked_setup(Path(cwd), branch)

    async def fork(self, request: SpawnRequest, *, setup: bool = False) -> RevivedAgent:
        """Start a copy of the agent that `request.fork` names, for a person; says what became of its conversation."""
        row = await self.spawn(request, by_person=True, setup=setup)
        with fleet_errors():
            made = await self._context.store.agents.request(row.id)
        began = "started without the conversation" if request.anew else "started anew, since nothing had been said yet"
        return RevivedAgent(row, "goes on from a copy of the conversation" if made.conversation else began)

    async def send(self, id: str, text: str, *, source: str = "person", defer_if_busy: bool = True) -> str:
        """Send the agent a message; returns the message's id."""
        row = await self._alive(id)
        text = text.rstrip("\r\n")  # where it ends it is entered; a newline of its own would enter it once more
        if not text.strip():
            raise FleetError("invalid", "The message is empty.", hint="Add the text of the message.")
        return await self._context.transport.send(row, text, sender=source, defer_if_busy=defer_if_busy)

    async def follow(self, id: str) -> None:
        """Follow what the agent does, where no window does that: a command that waits for its answer calls this."""
        row = await self.find(id)
        if self._context.options.visiting and not row.owner:
            await self._follower.follow([row])

    async def answer_feed(self, id: str) -> AnswerFeed:
        """What the agent says from now on in the turn that handles a message that is about to be sent."""
        from gshtui.fleet.lifecycle.answerer import AnswerFeed

        stream = AnswerFeed(self._context, self._programs, await self.find(id), self.sent.handled)
        await stream.begin()
        return stream

    async def last_answer(self, id: str) -> tuple[str, AnswerSource]:
        """What the agent said last in its last turn, and where that is known from; empty if it said nothing yet."""
        row = await self.find(id)
        if row.speaks_events:
            return await self._reports.report_of(row), ""
        bound = await self._programs.bound(self.terminals.server(row.socket), row, self.rows())
        turn = await self._programs.last_turn(bound)
        if turn is not None and turn.answer:
            return turn.answer, "transcript"
        return row.report, "screen" if row.report else ""

    async def agent_around(self) -> AgentRow | None:
        """The agent whose program has started the process that asks, however deep below; `None`: no agent's has."""
        with fleet_errors():
            await self._context.rows.load()  # a folder's workspace may have looked at none yet
        around, named = await asyncio.to_thread(process_tree.above, caller_pid()), caller_environ().get(AGENT)
        rows = self._context.rows.all()
        of_program = (row for row in rows if (row.pid, row.pid_started) in around)
        return next(of_program, None) or next((row for row in rows if row.id == named and not row.ended), None)

    async def question(self, id: str) -> OpenQuestion:
        """What the agent asks now; a program, on its screen. Raises `FleetError` when it asks nothing."""
        return await self._answerer.question(await self._alive(id))

    async def answer(self, id: str, choice: str, *, question: str, reason: str = "") -> OpenQuestion | None:
        """Give a person's answer to a question of the agent, and see that the question is gone.

        Args:
            choice: the digit of the choice.
            question: the id of the question that the person saw; any other one is not answered.
            reason: with the denial of one of our own agents' calls, why.

        Returns:
            What it asks next; `None`: nothing.
        """
        return await self._answerer.answer(await self._alive(id), choice, question, reason)

    def options_of(self, row: AgentRow, option: str = "") -> tuple[ProgramOption, ...]:
        """What an agent's program lets a person choose: all, or this one. Raises `FleetError`: there is none."""
        self._options.check(row)
        return (self._options.find(row, option),) if option else row.options

    async def set_option(self, id: str, option: str, value: str) -> tuple[tuple[ProgramOption, ...], str]:
        """Choose a value for an option of an agent's program; the options as they are then, and what was done."""
        row = await self._alive(id)
        found = self._options.find(row, option)
        wanted = self._options.value(found, value)
        now = await self._options.set(row, found, wanted)
        shown = one_line(literal(wanted.name or wanted.value), 80)
        return now, f"{row.name} ({row.id}): {one_line(literal(found.name or found.id), 60)} is {shown}."

    async def change_mode(self, id: str, mode: GuardMode | Literal["next"]) -> AgentRow:
        """Put another vendor's program into one of its modes; the agent, with the one that it shows then."""
        from gshtui.fleet.lifecycle.program_options import change_mode, next_of

        row = await self._alive(id)
        wanted = next_of(await self._programs.profile(row), row) if mode == "next" else mode
        shown = await change_mode(self._programs, self.terminals.server(row.socket), row, wanted)
        return await self._change(row, held_to=wanted, held_by=PERSON, program_mode=shown)

    async def interrupt(self, id: str) -> None:
        await self._context.transport.interrupt(await self._alive(id))

    async def rename(self, id: str, name: str) -> AgentRow:
        """Rename the agent; a name that is taken is made unique."""
        row = await self.find(id)
        return await self._change(row, name=name)

    async def kill(self, id: str, *, now: bool = False) -> AgentRow:
        """Kill the agent. This can be undone for a while, unless `now` is set or nobody could undo it."""
        row = await self.find(id)
        if is_over(row):
            raise FleetError(
                "ended", f"{row.name} ({row.id}) has ended.", hint=f"`agent remove {row.id}` removes it from the list."
            )
        with fleet_errors():
            return await self._killer.kill(row, now=now or self._context.options.visiting)

    async def undo_kill(self, id: str) -> AgentRow:
        """Undo a kill: let the agent continue."""
        with fleet_errors():
            return await self._killer.undo(await self.find(id))

    async def restart(self, id: str) -> RevivedAgent:
        """Restart the agent, with its conversation if its program supports that."""
        back = await self._recoverer.restart(await self.find(id))
        self._reconciler.check_now()
        return back

    async def recover(self, id: str) -> RevivedAgent:
        """Restore a lost agent with its conversation, and verify that it lives."""
        await self._lost()
        return await self._recoverer.recover(await self.find(id))

    async def recover_all(self) -> RecoveredAgents:
        """Restore every lost agent of this folder, one at a time; stops when two do not come up.

        One that could not be restored before is tried again, after the others.
        """
        return await self._recoverer.recover_all(await self._lost())

    async def plan_recovery(self, id: str = "") -> list[RecoveryPlan]:
        """What restoring this agent, or every lost one of this folder, would do; changes nothing."""
        lost = await self._lost()
        return await self._recoverer.plan([await self.find(id)] if id else lost)

    async def _lost(self) -> list[AgentRow]:
        with fleet_errors():
            self._reconciler.tell_lost(await self._reconciler.find_all_lost())
        return [row for row in self.rows(everywhere=False) if is_recoverable(row)]

    async def remove(self, id: str) -> None:
        """Remove an ended agent from the roster, and close its terminal; its conversation is kept."""
        row = await self.find(id)
        if not is_over(row):
            raise FleetError("busy", f"{row.name} ({row.id}) has not ended.", hint=f"`agent kill {row.id}` kills it.")
        with fleet_errors():
            await self._killer.clear(row)
            await self._context.store.agents.remove(row.id)
        self._context.rows.drop(row.id)
        await asyncio.to_thread(remove_agent_files, self._context.options.data, row.id)

    async def archive(self, id: str) -> AgentRow:
        """Put an ended agent away: it leaves every list, and is kept for as long as the record is."""
        row = await self.find(id)
        if not is_over(row):
            raise FleetError("busy", f"{row.name} ({row.id}) has not ended.", hint=f"`agent kill {row.id}` kills it.")
        if row.archived:
            return row
        with fleet_errors():
            await self._killer.clear(row)
        return await self._change(row, archived=time.time(), unread=0, needs_you=False, pane="")

    async def unarchive(self, id: str) -> AgentRow:
        """Put an archived agent back into the lists."""
        row = await self.find(id)
        if not row.archived:
            raise FleetError("invalid", f"{row.name} ({row.id}) is not archived.")
        return await self._change(row, archived=0.0)

    def seen(self, id: str) -> None:
        """Mark it as read by a person."""
        self._context.rows.change_soon(id, {"unread": 0})

    # Below

    async def _alive(self, id: str) -> AgentRow:
        row = await self.find(id)
        if row.killed or is_over(row):
            what = "was killed" if row.killed else f"has ended ({row.status})"
            raise FleetError("ended", f"{row.name} ({row.id}) {what}.", hint=f"`agent restart {row.id}` restarts it.")
        return row

    async def _change(self, row: AgentRow, **fields: object) -> AgentRow:
        with fleet_errors():
            return await self._context.rows.change(row.id, **fields)

    async def _visit(self, row: AgentRow, matches: Callable[[AgentRow], bool], timeout: float) -> AgentRow:
        """Wait by polling, in a hub that follows no agents."""
        said = ""
        async with time_limit(timeout):
            while True:
                await self.refresh()
                found = self._context.rows.get(row.id)
                if found is None:
                    raise KeyError(row.id)
                if matches(found):
                    return found
                doing = f": {one_line(found.doing, 60)}" if found.doing else ""
                now = f"Waiting for {found.name} ({found.id}), which is {found.status}{doing}"
                if now != said:
                    self._context.bus.publish(WaitReported(text=now, about=found.id))
                    said = now
                await asyncio.sleep(_STALE / 4)
