"""Starts agents: new ones, and those that ended or lost their terminal; then verifies that they live.
Refuses to nest agents too deeply or to start too many or too fast, and gives up on one that keeps failing.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow, SpawnRequest, remote_socket
from gshtui.bus.events.fleet_events import AgentSpawned, AgentSpawnFailed
from gshtui.bus.events.hub_events import Noticed
from gshtui.fleet.core.agent_programs import PERSON, Programs, is_known
from gshtui.fleet.core.agent_terminals import begin_of, session_mark, socket_name
from gshtui.fleet.core.fleet_context import (
    FleetContext,
    fleet_errors,
    from_store_error,
    is_away,
    is_over,
    is_recoverable,
    out_of_reach,
)
from gshtui.fleet.core.ports import (
    AgentStart,
    FailedRecovery,
    FleetError,
    OwnWorktree,
    RecoveredAgents,
    RecoveryPlan,
    RevivedAgent,
)
from gshtui.fleet.lifecycle.forks import Forks
from gshtui.fleet.lifecycle.killer import Killer
from gshtui.fleet.native.spec import MAX_DEPTH, TERMINAL
from gshtui.hosts.host_errors import HostError
from gshtui.programs.acp.acp_commands import program_name
from gshtui.settings.settings_tables import HostSettings
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.agent_table import check_name
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.plain_name import known_names, similar_names
from gshtui.text.sanitise import literal, one_line
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError

MAX_ALIVE = 16
"""Agents that one agent may have at work at once."""
RATE, RATE_SECONDS = 8, 60.0
"""Agents that one agent may start within so many seconds."""


def check_spawn(request: SpawnRequest, rows: Sequence[AgentRow], now: float) -> None:
    """Refuse what goes too far. Raises `FleetError`: `limit`."""
    if request.depth > MAX_DEPTH:
        raise FleetError(
            "limit",
            f"Agents can be nested {MAX_DEPTH} deep; this one would be at depth {request.depth}.",
            hint="Do the work yourself, or say in your report that it remains to be done.",
        )
    if not request.parent:
        return
    children = [row for row in rows if row.parent == request.parent]
    alive = sum(1 for row in children if row.status not in ENDED_STATUSES and not row.killed)
    if alive >= MAX_ALIVE:
        hint = "Wait for one of them to end."
        raise FleetError("limit", f"You have {alive} agents running, which is the limit.", hint=hint)
    recent = sorted(row.created for row in children if row.created > now - RATE_SECONDS)
    if len(recent) >= RATE:
        raise FleetError(
            "limit",
            f"You started {len(recent)} agents within {RATE_SECONDS:g} s; the limit is {RATE}.",
            hint=f"Wait {recent[-RATE] + RATE_SECONDS - now:.0f} s.",
        )


def check_host(request: SpawnRequest, hosts: Mapping[str, HostSettings]) -> None:
    """Refuse a machine that there is not, and what only this one has. Raises `FleetError`: `unknown`, `invalid`."""
    if request.host not in hosts:
        names = similar_names(request.host, hosts) or sorted(hosts)[:8]
        hint = known_names("hosts", names) if names else "Add [hosts.NAME] to your configuration."
        raise FleetError("unknown", f"There is no host {request.host!r} in the configuration.", hint=hint)
    if request.acp:
        hint = "Name a program there with `cli`, such as claude."
        raise FleetError("invalid", f"An agent over ACP cannot run on {request.host}.", hint=hint)
    if request.worktree:
        raise FleetError("invalid", f"A worktree cannot be made on {request.host}.", hint="Name its folder with `cwd`.")
    if request.account:
        hint = "Log in there, in the program itself."
        raise FleetError("invalid", f"The secrets of an account are not sent to {request.host}.", hint=hint)


AT_ONCE = 4
"""Agents that are brought up at the same time; more wait for their turn."""
_NAMES_TRIED = 20
_AGAIN = 1.0
"""Seconds between attempts to take back the row of an agent that could not be started."""
_REPORTED_EVERY = 0.1
"""Seconds between two looks whether a restarted agent has told its status."""
PROVEN_AFTER = 1.0
"""Seconds that a restarted agent must live before it counts as back; a known program has to show that it is up."""
ENDED_AT_ONCE = "ended at once"


class Starter:
    """Starts agents on one server."""

    def __init__(self, context: FleetContext, programs: Programs, forks: Forks) -> None:
        """`programs`: tells when another program is up."""
        self._context = context
        self._programs = programs
        self._forks = forks
        self._row_at_a_time = asyncio.Lock()
        self._places = asyncio.Semaphore(AT_ONCE)
        self._briefings: set[asyncio.Task[None]] = set()
        self._removals: set[asyncio.Task[None]] = set()
        self._made: dict[str, OwnWorktree] = {}
        """New worktrees of agents that are being started."""

    async def spawn(
        self,
        request: SpawnRequest,
        *,
        parent_session: str,
        spawn: str = "",
        limited: bool = True,
        setup: bool = False,
        around: str = "",
    ) -> AgentRow:
        """A new agent, running in its terminal.

        Args:
            setup: a person agreed to the set-up command of its worktree.
            around: the agent in whose terminal a command asks for it.

        Raises `FleetError`: it goes too far (`limit`), or could not be started.
        """
        try:
            check_name(request.name)
            if request.fork:
                request = await self._forks.completed(request)
            else:
                request = self._context.accounts.completed(request)
            request, held_by = await self._agreed(request, around)
            row = await self._new_row(request, parent_session, limited, held_by)
            try:
                row = await self._first(row, request, setup)
            except BaseException:
                await asyncio.shield(self._undo(row.id))
                raise
            finally:
                self._made.pop(row.id, None)
        except (FleetError, TmuxError, StoreError) as error:
            failed = _plain(error)
            self._context.bus.publish(
                AgentSpawnFailed(why=failed.message, hint=failed.hint, name=request.name, spawn=spawn)
            )
            raise failed from error
        except Exception as error:  # a fault of ours: who asked hears of it
            fault = self._context.bus.report("the start of an agent", error, shown=True)
            failed = FleetError(
                "failed",
                f"The agent was not started because of a fault inside gsh-tui: {fault.why}.",
                hint=fault.details,
            )
            self._context.bus.publish(
                AgentSpawnFailed(why=failed.message, hint=failed.hint, name=request.name, spawn=spawn)
            )
            raise failed from error
        self._context.bus.publish(AgentSpawned(agent=row.id, row=row, spawn=spawn))
        return row

    async def restart(self, row: AgentRow, *, blank_is_fine: bool) -> RevivedAgent:
        """An agent that was there before, in a new terminal, with its conversation. Raises `FleetError`: `blank` when
        its program cannot go on where it was and that is not fine; or it did not start.
        """
        context = self._context
        try:
            request = await context.store.agents.request(row.id)
            start = await context.launcher.restart(row, request)
            if start.blank and not blank_is_fine:
                raise _unknown_conversation(row)
            async with self._places:
                return RevivedAgent(await self._run(row, start), start.how)
        except (TmuxError, StoreError) as error:
            raise _plain(error) from error

    async def plan(self, row: AgentRow) -> RecoveryPlan:
        """What recovering it would do; changes nothing. Raises `StoreError`."""
        context = self._context
        try:
            if not row.host and not await asyncio.to_thread(Path(row.cwd).is_dir):
                raise FleetError("invalid", f"Its folder {row.cwd} does not exist.")
            start = await context.launcher.plan(row, await context.store.agents.request(row.id))
            if start.blank:
                raise _unknown_conversation(row)
        except FleetError as error:
            return RecoveryPlan(row, why=f"{error.message} {error.hint}".strip())
        return RecoveryPlan(row, start.how, start.external_id)

    async def trouble(self, row: AgentRow) -> str:
        """Wait until a restarted agent is up; what is wrong with it, as the end of a sentence, or empty."""
        server = self._context.terminals.server(row.socket)
        deadline = time.monotonic() + PROVEN_AFTER
        while time.monotonic() < deadline:
            try:
                if (await server.pane(row.pane)).dead:
                    return ENDED_AT_ONCE
            except TmuxError as error:
                if error.kind in ("no_such_pane", "gone"):
                    return ENDED_AT_ONCE
            if self._has_reported(row.id):
                return ""
            await asyncio.sleep(_REPORTED_EVERY)
        if row.speaks_events or not is_known(row):
            return ""
        booting = asyncio.ensure_future(self._programs.booted(server, row))
        try:
            while not booting.done():
                if self._has_reported(row.id):
                    return ""
                await asyncio.wait({booting}, timeout=_REPORTED_EVERY)
            why = booting.result()
        finally:
            await cancel_and_wait(booting)
        return f"is not up: {why}" if why else ""

    def _has_reported(self, id: str) -> bool:
        """Whether the agent has told its status by itself since it was started."""
        now = self._context.rows.get(id)
        return now is not None and now.status_source in ("event", "hook")

    async def briefed(self) -> None:
        """Wait until every first prompt is typed; a command that leaves at once calls it."""
        while self._briefings:
            await asyncio.wait(self._briefings)

    async def stop(self) -> None:
        """Give up what is still to be typed, and to be taken back."""
        await cancel_and_wait(*self._briefings, *self._removals)

    async def _agreed(self, request: SpawnRequest, around: str) -> tuple[SpawnRequest, str]:
        """The request with the mode that it comes to: of what is asked for, its starter's, and the original's of a
        fork, the strictest; and whose choice that is. Raises `FleetError`, before anything is made.
        """
        rows, above = self._context.rows, dict[str, AgentRow | None]()
        for id in filter(None, (request.parent, around)):
            above[id] = rows.get(id)
        by = PERSON if request.mode and not above else ""
        original = rows.get(request.fork) if request.fork else None
        if original is not None and original.kind == "cli":
            by = original.held_by if original.held_by == PERSON and not above else by
            request = msgspec.structs.replace(request, mode=original.held_to or request.mode)
            above[original.id] = original
        return await self._context.launcher.agreed(request, above), by

    async def _new_row(self, request: SpawnRequest, parent_session: str, limited: bool, held_by: str) -> AgentRow:
        options, rows = self._context.options, self._context.rows
        socket, cwd, place = await self._place(request)
        now = time.time()
        row = AgentRow(
            id="",
            name=request.name
            or request.persona
            or request.profile
            or (Path(request.cli[0]).name if request.cli else program_name(request.acp) or "agent"),
            kind="acp" if request.acp else "cli" if request.cli or request.profile else "native",
            status_at=now,
            parent=request.parent,
            parent_session=parent_session,
            depth=request.depth,
            cwd=str(cwd),
            place=place,
            home=str(options.home),
            socket=socket,
            profile=request.profile or program_name(request.acp),
            persona=request.persona,
            provider=request.provider,
            model=request.model,
            background=request.background,
            env=request.env,
            account=request.account,
            group=request.group,
            fork=request.fork,
            created=now,
            held_to=request.mode if request.cli or request.profile else "",
            held_by=held_by if request.cli or request.profile else "",
        )
        async with self._row_at_a_time:
            await rows.load()
            if limited:
                check_spawn(request, rows.all(), now)
            return await rows.add(row, request)

    async def _place(self, request: SpawnRequest) -> tuple[str, Path, str]:
        """The tmux server for a new agent, the folder that it starts in, and where its tools act, if elsewhere.
        Raises `FleetError`: it cannot be there; `TmuxError`: the machine cannot be used.
        """
        options, terminals = self._context.options, self._context.terminals
        if not request.host:
            cwd = Path(request.cwd or options.home)
            if not await asyncio.to_thread(cwd.is_dir):
                raise FleetError("invalid", f"The folder {cwd} does not exist.", hint="Choose another one to start in.")
            return options.socket, cwd, ""
        from gshtui.hosts.host_package import check_package  # few agents are on other machines

        check_host(request, terminals.hosts.settings)
        link = terminals.hosts.link(request.host)
        link.retry_now()
        socket = remote_socket(request.host, link.settings.socket_name)
        folder = await terminals.server(socket).folder(request.cwd or link.settings.cwd)
        if request.cli or request.profile:
            return socket, Path(folder), ""
        try:
            await check_package(link)
        except HostError as error:
            raise FleetError("invalid", error.message, hint=error.hint) from error
        return options.socket, options.home, f"{request.host}:{folder}"

    async def _first(self, row: AgentRow, request: SpawnRequest, setup: bool) -> AgentRow:
        context = self._context
        async with self._places:
            if request.worktree and request.fork:
                worktree, folder = await context.launcher.fork_worktree(row, request.worktree, setup=setup)
                self._made[row.id] = OwnWorktree(worktree, is_new=True, new_branch=request.worktree)
                row = await context.rows.change(row.id, worktree=str(worktree), cwd=str(folder))
            elif request.worktree:
                own = await context.launcher.worktree(row, request.worktree, setup=setup)
                if own.is_new:
                    self._made[row.id] = own
                row = await context.rows.change(row.id, worktree=str(own.path), cwd=str(own.path))
            if row.speaks_events and request.conversation:
                info = await context.store.sessions.fork(
                    request.conversation, cwd=row.cwd, agent=row.id, title=row.name, parent=f"agent {row.id}"
                )
                row = await context.rows.change(row.id, session=info.id)
            elif row.speaks_events:
                # A parent keeps it from being "the folder's latest conversation".
                info = await context.store.sessions.create(
                    cwd=row.cwd,
                    agent=row.id,
                    provider=row.provider,
                    model=row.model,
                    parent=row.parent_session or f"agent {row.id}",
                )
                row = await context.rows.change(row.id, session=info.id)
            return await self._run(row, await context.launcher.start(row, request))

    async def _run(self, row: AgentRow, start: AgentStart) -> AgentRow:
        context = self._context
        server = context.terminals.server(row.socket if row.host else context.options.socket)
        if row.host and start.argv and not await server.has_program(start.argv[0], row.cwd):
            program = one_line(literal(start.argv[0]), 100)
            text = f"Cannot start {program}: there is no such program on {row.host}."
            raise FleetError("invalid", text, hint="Install it there, or give its full path.")
        start = replace(start, env={**start.env, **await context.accounts.secrets(row)})
        pane = await self._open(server, row, start)
        begun = await begin_of(pane)
        fields = {
            "socket": socket_name(server),
            "tmux_session": pane.session,
            "pane": pane.pane,
            "pid": pane.pid,
            "pid_started": begun,
            "argv": list(start.argv),
            "status": "starting",
            "status_source": "spawn",
            "status_at": time.time(),
            "doing": "",
            "ended": 0.0,
            "exit_status": None,
            "needs_you": False,
            "question": None,
            "killed": False,
            "killed_at": 0.0,
            "archived": 0.0,
            "version": "",
            "version_seen": "",
            "version_checked": "",
            "unsent": None,
            "held_up": "",
        }
        if row.kind == "cli":
            fields |= {
                "external_id": start.external_id,
                "held_to": start.mode,
                "held_by": start.held_by,
                "program_mode": start.program_mode,
            }
        if start.profile:
            fields["profile"] = start.profile
        try:
            started = msgspec.structs.replace(row, profile=start.profile or row.profile, argv=tuple(start.argv))
            fields |= await self._programs.version(started, at_once=True)
            row = await context.rows.change(row.id, **fields)
        except BaseException:
            await asyncio.shield(_close(server, pane))
            raise
        if (notice := await self._programs.version_notice(row)) is not None:
            context.bus.publish(notice)
        if start.prompt:
            task = start_job(self._brief(row, start.prompt), f"the first prompt of {row.id}")
            self._briefings.add(task)
            task.add_done_callback(self._briefings.discard)
        return row

    async def _open(self, server: TmuxServer, row: AgentRow, start: AgentStart) -> PaneInfo:
        base = f"{self._context.options.prefix}-agent-{row.id}"
        number = 1
        for _ in range(_NAMES_TRIED):
            session = base if number == 1 else f"{base}-{number}"
            try:
                env = {**start.env, TERMINAL: session}
                return await server.spawn(
                    session, start.command or start.argv, cwd=Path(row.cwd), env=env, mark=session_mark(row)
                )
            except TmuxError as error:
                # A server that is just ending takes nothing in; the next attempt starts another one.
                if error.kind == "gone":
                    await asyncio.sleep(0.1)
                elif error.kind == "name_taken":
                    number += 1
                else:
                    raise
        raise FleetError("tmux", f"Cannot create a terminal named {base}, {base}-2 … on the tmux server.")

    async def _brief(self, row: AgentRow, prompt: str) -> None:
        try:
            await self._context.transport.send(row, prompt, sender=row.parent or "person", defer_if_busy=True)
        except FleetError as error:
            text = f"{row.name} ({row.id}) is running, but did not get its prompt: {error.message}"
            self._context.bus.publish(Noticed(level="warning", text=text, hint=error.hint, about=row.id))
        except Exception as error:
            fault = self._context.bus.report(f"the first prompt of {row.id}", error, shown=True)
            text = f"{row.name} ({row.id}) is running, but did not get its prompt: {fault.why}."
            hint = f"Send it again. {fault.details}"
            self._context.bus.publish(Noticed(level="warning", text=text, hint=hint, about=row.id))

    async def _undo(self, id: str) -> None:
        """Take back a start that failed: its terminal, its row, and what is new for it: worktree, conversation."""
        row = self._context.rows.get(id)
        if row is not None and row.pane:
            await _close(self._context.terminals.server(row.socket), row)
        if (made := self._made.get(id)) is not None:
            await self._context.launcher.discard_worktree(made.path, made.new_branch)
        if row is not None and row.session and row.speaks_events:
            with contextlib.suppress(StoreError):
                await self._context.store.sessions.delete(row.session)
        try:
            await self._context.store.agents.remove(id)
        except StoreError:
            # The record failed, which is what is being reported. Should it not come round, the row is found lost later.
            self._removals.add(task := start_job(self._remove(id), f"the removal of {id}"))
            task.add_done_callback(self._removals.discard)
        self._context.rows.drop(id)

    async def _remove(self, id: str) -> None:
        """Take a row back as soon as the record takes anything again."""
        while True:
            await asyncio.sleep(_AGAIN)
            try:
                await self._context.store.agents.remove(id)
            except StoreError as error:
                if error.kind != "unknown":  # else it is gone already
                    continue
            self._context.rows.drop(id)
            return


def _unknown_conversation(row: AgentRow) -> FleetError:
    return FleetError(
        "blank",
        f"{row.name} ({row.id}) cannot continue where it was: the conversation of its program is unknown.",
        hint=f"`agent restart {row.id}` restarts it without its memory.",
    )


async def _close(server: TmuxServer, pane: PaneInfo | AgentRow) -> None:
    try:
        await server.kill_pane(pane.pane)
    except TmuxError:
        pass  # it has gone by itself, or tmux has; what failed first is what is told


def _plain(error: FleetError | TmuxError | StoreError) -> FleetError:
    if isinstance(error, FleetError):
        return error
    if isinstance(error, StoreError):
        return from_store_error(error)
    return FleetError("tmux", error.message, hint=error.hint)


ENOUGH = 2
"""Failures after which no further agent is tried: their cause is likely a common one (a login that has expired)."""


class Recoverer:
    """Restarts and recovers; one agent at a time over all callers."""

    def __init__(self, context: FleetContext, starter: Starter, killer: Killer, programs: Programs) -> None:
        """`programs`: tells the conversation that a running program is in."""
        self._context = context
        self._programs = programs
        self._starter = starter
        self._killer = killer
        self._turn = asyncio.Lock()

    async def restart(self, row: AgentRow) -> RevivedAgent:
        """End what runs of it, then start it again; without its memory where its program cannot have it back."""
        async with self._turn:
            with fleet_errors():
                row = await self._bind(row)
                if row.kind == "cli" and not is_over(row):
                    await self._programs.written_down(row)  # what has ended writes nothing more
                async with self._context.rows.taken(row):
                    if not is_over(row) or row.pane:
                        await self._killer.clear(row)
                    fresh = await self._starter.restart(row, blank_is_fine=True)
                    again = await self._context.rows.change(fresh.row.id, failures=0, reported=False, report="")
                return RevivedAgent(again, fresh.how)

    async def recover(self, row: AgentRow) -> RevivedAgent:
        """Bring a lost agent back. Raises `FleetError` when it is not lost, has no memory left, or fails."""
        if is_away(row):
            raise out_of_reach(row)
        if not is_recoverable(row):
            hint = f"`agent restart {row.id}` restarts it anyway."
            raise FleetError("invalid", f"{row.name} ({row.id}) is not lost; its status is {row.status}.", hint=hint)
        async with self._turn:
            with fleet_errors():
                return await self._recover(row)

    async def recover_all(self, rows: list[AgentRow]) -> RecoveredAgents:
        """Bring back as many as can be, one by one; stops after two that did not come up.

        The result says all of it, so there are no notices.
        """
        done = RecoveredAgents()
        failures = 0
        rows = sorted(rows, key=lambda row: row.failures)  # one that failed before keeps no other from its turn
        for at, row in enumerate(rows):
            try:
                done.back.append(await self.recover(row))
            except FleetError as error:
                failures += 0 if error.kind in ("blank", "invalid") else 1
                done.lost.append(FailedRecovery(row, f"{error.message} {error.hint}".rstrip()))
            left = rows[at + 1 :]
            if failures >= ENOUGH and left:
                hint = "Find the common cause (a login, the network, a program), then `agent recover all` again."
                done.lost.extend(FailedRecovery(one, f"It was not tried. {hint}", tried=False) for one in left)
                break
        return done

    async def plan(self, rows: list[AgentRow]) -> list[RecoveryPlan]:
        """What recovering these would do; changes nothing."""
        with fleet_errors():
            return [await self._starter.plan(row) for row in rows]

    async def _recover(self, row: AgentRow) -> RevivedAgent:
        await self._killer.clear(row)
        back = await self._starter.restart(row, blank_is_fine=False)
        trouble = await self._starter.trouble(back.row)
        if not trouble:
            return RevivedAgent(await self._context.rows.change(back.row.id, failures=0), back.how)
        fresh = await self._context.rows.change(back.row.id, failures=row.failures + 1)
        again = trouble == ENDED_AT_ONCE and fresh.failures > 1
        times = f", {fresh.failures} times in a row" if again else ""
        raise FleetError(
            "failed",
            f"{row.name} ({row.id}) was restarted but {trouble}{times}".rstrip(".") + ".",
            hint=f"`agent show {row.id}` prints its last output.",
        )

    async def _bind(self, row: AgentRow) -> AgentRow:
        """Write down the conversation that the program is in now, since nobody can tell once it has ended."""
        server = self._context.terminals.server(row.socket)
        id = await self._programs.conversation(server, row, self._context.rows.all())
        return await self._context.rows.change(row.id, external_id=id) if id and id != row.external_id else row
