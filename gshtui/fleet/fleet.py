"""The fleet: every agent that lives in a terminal of its own, of this folder and of others, as one service.
What only some calls need (starting, killing, following, recovering) is imported when first used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import WaitReported
from gshtui.fleet.agent_programs import Programs
from gshtui.fleet.agent_terminals import AgentTerminals
from gshtui.fleet.fleet_context import AgentRows, FleetContext, from_store_error, is_over
from gshtui.fleet.handlers import FleetHandlers, Reports
from gshtui.fleet.ports import FleetError, FleetOptions, Launcher, MessageTransport
from gshtui.fleet.reconciler import JournalReader, Reconciler
from gshtui.store.store import Store
from gshtui.store.store_errors import StoreError
from gshtui.system.tasks import end_all
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.fleet.follower import AgentFollower
    from gshtui.fleet.killer import Killer
    from gshtui.fleet.starter import Recoverer, Starter


def remove_agent_files(data: Path, agent: str) -> None:
    """Remove the agent's files, as far as there are any. Blocks for a moment; never raises."""
    from gshtui.fleet.native.spec import SpecError, spec_path
    from gshtui.programs.hook_reports import spool_path  # a short call takes nobody off the roster

    try:
        orders = spec_path(data, agent)
    except SpecError:
        return
    for path in (orders, orders.with_suffix(".waiting"), spool_path(data, agent)):
        try:
            path.unlink(missing_ok=True)
        except OSError:
            continue  # a file that cannot be removed harms nobody: numbers are never given twice


KEPT_DAYS = 14.0
"""Days that an agent which has ended stays on the roster."""
_STALE = 1.0


class Fleet:
    """Made by the hub; `start` and `stop` bracket its life. Every method raises `FleetError` alone."""

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
        connected: Callable[[str], bool] = lambda agent: False,
    ) -> None:
        """
        Args:
            options: where it lives.
            launcher: makes command lines.
            transport: makes what delivers messages; by the terminals when none is given.
            terminals: the tmux servers, when they are shared with others.
            programs: somebody's programs, likewise.
            session_of: the conversation that a local agent of this hub is in.
            connected: whether an agent's own process talks to this hub.
        """
        self.terminals = terminals or AgentTerminals()
        rows = AgentRows(bus, store)
        self._programs = programs or Programs()

        def terminal_transport() -> MessageTransport:
            from gshtui.fleet.transport import TerminalTransport

            return TerminalTransport(bus, self.terminals, self._programs, connected)

        self._context = FleetContext(
            bus, store, rows, self.terminals, launcher, transport or terminal_transport, options
        )
        self._session_of = session_of
        self._reports = Reports(self._context, session_of)
        self._reconciler = Reconciler(
            self._context,
            JournalReader(self._context, connected),
            self._programs,
            on_ended=self._reports.ended,
            on_killed=lambda row: self._killer.watch(row),
        )
        self._handlers = FleetHandlers(self._context, self._reports, self.spawn)

    # What a short call such as `agent ls` never needs is made, and loaded, when it is first used.

    @cached_property
    def _starter(self) -> Starter:
        from gshtui.fleet.starter import Starter

        return Starter(self._context)

    @cached_property
    def _killer(self) -> Killer:
        from gshtui.fleet.killer import Killer

        return Killer(self._context, self._reports.ended)

    @cached_property
    def _recoverer(self) -> Recoverer:
        from gshtui.fleet.starter import Recoverer

        return Recoverer(self._context, self._starter, self._killer)

    @cached_property
    def _follower(self) -> AgentFollower:
        from gshtui.fleet.follower import AgentFollower

        return AgentFollower(self._context, self._programs, self._reconciler.check_now)

    async def start(self) -> None:
        """Take the roster up: look what really runs, say who is lost, and go on looking."""
        context = self._context
        if context.options.visiting:
            return  # whatever it is asked to do begins with a look
        self._reconciler.on_look = self._follower.keep
        try:
            await context.store.agents.delete_old(KEPT_DAYS)
            lost = await self._reconciler.find_lost()
        except StoreError as error:
            raise from_store_error(error) from error
        self._reconciler.tell_lost(lost)
        self._reconciler.start()
        for row in context.rows.all():
            if is_over(row) and row.background and not row.reported:
                await self._reports.hand_over(row)

    async def stop(self) -> None:
        """Let go: the agents go on, and the next hub of their folder looks after them."""
        made = self.__dict__  # what was never used has nothing to end
        await end_all(
            "the end of the fleet",
            self._reconciler.stop,
            *((self._follower.stop,) if "_follower" in made else ()),
            self._handlers.stop,
            *((self._starter.stop,) if "_starter" in made else ()),
            self._reports.stop,
            *((self._killer.stop,) if "_killer" in made else ()),
        )
        try:
            await self._context.rows.flush()
            await self._context.store.agents.release()
        except StoreError as error:
            raise from_store_error(error) from error
        finally:
            await self.terminals.close()

    # What is there

    def rows(self, *, everywhere: bool = True) -> list[AgentRow]:
        """Every agent on the roster in the order of the numbers; of this folder alone unless `everywhere`."""
        home = str(self._context.options.home)
        return [row for row in self._context.rows.all() if everywhere or row.home == home]

    def get(self, id: str) -> AgentRow | None:
        """The agent of this very id, as it is known here."""
        return self._context.rows.get(id)

    async def find(self, wanted: str) -> AgentRow:
        """The agent of this id (leading zeros may be missing) or name."""
        return await self._context.row(wanted)

    async def refresh(self) -> list[AgentRow]:
        """Look at the terminals and the record now; every row."""
        try:
            self._reconciler.tell_lost(await self._reconciler.find_lost())
        except StoreError as error:
            raise from_store_error(error) from error
        return self.rows()

    async def show(self, id: str) -> str:
        """The agent's report; of one that has none yet, what its terminal shows."""
        row = await self.find(id)
        return await self._reports.report_of(row) or await self._reports.screen(row)

    async def unsaved(self, id: str) -> list[str]:
        """What would be lost if the agent were killed now, a sentence each."""
        return await self._killer.unsaved(await self.find(id))

    def attach_command(self, row: AgentRow) -> list[str]:
        """What a person runs to see the agent full-screen."""
        return self.terminals.server(row.socket).attach_command(row.tmux_session)

    def attach_words(self, row: AgentRow) -> list[str]:
        """The same, empty for an agent that has no terminal now."""
        return self.attach_command(row) if row.pane and row.status != "lost" else []

    async def wait(self, id: str, statuses: Collection[str], timeout: float) -> AgentRow:
        """The agent once its status is one of these, or it has ended.

        Raises:
            TimeoutError: neither within `timeout` seconds.
        """
        row = await self.find(id)

        def matches(row: AgentRow) -> bool:
            return row.status in statuses or is_over(row)

        try:
            if self._context.options.visiting:
                return await self._visit(row, matches, timeout)
            return await self._context.rows.wait(row.id, matches, timeout)
        except KeyError:
            raise FleetError("ended", f"{row.name} ({row.id}) is off the roster.") from None

    # What is done to them

    @property
    def grace(self) -> float:
        """Seconds in which a kill can be undone."""
        return self._context.options.grace

    async def spawn(self, request: SpawnRequest, *, spawn: str = "", by_person: bool = False) -> AgentRow:
        """Start an agent; it runs in its terminal when this returns.

        Args:
            spawn: id of the wish; the events that answer it carry it.
            by_person: a person asks, whom the limits on agents do not hold back.
        """
        parent = self._context.rows.get(request.parent) if request.parent else None
        session = parent.session if parent is not None else self._session_of(request.parent)
        if request.parent:
            depth = parent.depth + 1 if parent is not None else 1
            request = msgspec.structs.replace(request, depth=max(depth, request.depth))
        row = await self._starter.spawn(request, parent_session=session, spawn=spawn, limited=not by_person)
        self._reconciler.check_now()
        if self._context.options.visiting:
            await self._starter.briefed()
        return row

    async def send(self, id: str, text: str, *, source: str = "person", defer_if_busy: bool = True) -> str:
        """Give the agent a message; the message's id."""
        row = await self._alive(id)
        text = text.rstrip("\r\n")  # where it ends it is entered; a newline of its own would enter it once more
        if not text.strip():
            raise FleetError("invalid", "There is nothing to say.", hint="Give the words of the message.")
        return await self._context.transport.send(row, text, sender=source, defer_if_busy=defer_if_busy)

    async def is_queued(self, message: str) -> bool:
        """Whether a message still waits; one that was typed at once was never kept."""
        try:
            return (await self._context.store.mail.find(message)).state == "queued"
        except StoreError as error:
            if error.kind == "unknown":
                return False
            raise from_store_error(error) from error

    async def interrupt(self, id: str) -> None:
        """Stop what the agent is doing; it stays."""
        await self._context.transport.interrupt(await self._alive(id))

    async def rename(self, id: str, name: str) -> AgentRow:
        """Give it another name; made unique when it is taken."""
        row = await self.find(id)
        return await self._change(row, name=name)

    async def kill(self, id: str, *, now: bool = False) -> AgentRow:
        """End the agent. Unless `now`, or nobody could undo it, that can be undone for a while."""
        row = await self.find(id)
        if is_over(row):
            raise FleetError(
                "ended", f"{row.name} ({row.id}) has ended.", hint=f"`agent remove {row.id}` takes it off the roster."
            )
        try:
            return await self._killer.kill(row, now=now or self._context.options.visiting)
        except StoreError as error:
            raise from_store_error(error) from error

    async def undo_kill(self, id: str) -> AgentRow:
        """Let a killed agent go on."""
        try:
            return await self._killer.undo(await self.find(id))
        except StoreError as error:
            raise from_store_error(error) from error

    async def restart(self, id: str) -> AgentRow:
        """End what runs of it and start it again, with its conversation where its program can."""
        row = await self._recoverer.restart(await self.find(id))
        self._reconciler.check_now()
        return row

    async def recover(self, id: str) -> AgentRow:
        """Bring a lost agent back with its conversation, and see that it lives."""
        return await self._recoverer.recover(await self.find(id))

    async def recover_all(self) -> tuple[list[AgentRow], list[str]]:
        """Bring back every lost agent of this folder, one at a time; stops when several in a row fail.

        Returns:
            Those that are back, and a sentence for each trouble.
        """
        await self.refresh()
        return await self._recoverer.recover_all([row for row in self.rows(everywhere=False) if row.status == "lost"])

    async def remove(self, id: str) -> None:
        """Take an agent that has ended off the roster, and close its terminal; its conversation is kept."""
        row = await self.find(id)
        if not is_over(row):
            raise FleetError("busy", f"{row.name} ({row.id}) is not over.", hint=f"`agent kill {row.id}` ends it.")
        try:
            await self._killer.clear(row)
            await self._context.store.agents.remove(row.id)
        except StoreError as error:
            raise from_store_error(error) from error
        self._context.rows.drop(row.id)
        await asyncio.to_thread(remove_agent_files, self._context.options.data, row.id)

    def seen(self, id: str) -> None:
        """A person has looked at it: nothing of it is unread."""
        self._context.rows.change_soon(id, {"unread": 0})

    # Below

    async def _alive(self, id: str) -> AgentRow:
        row = await self.find(id)
        if row.killed or is_over(row):
            what = "is killed" if row.killed else f"has ended ({row.status})"
            raise FleetError(
                "ended", f"{row.name} ({row.id}) {what}.", hint=f"`agent restart {row.id}` starts it again."
            )
        return row

    async def _change(self, row: AgentRow, **fields: object) -> AgentRow:
        try:
            return await self._context.rows.change(row.id, **fields)
        except StoreError as error:
            raise from_store_error(error) from error

    async def _visit(self, row: AgentRow, matches: Callable[[AgentRow], bool], timeout: float) -> AgentRow:
        """Wait without looking after anybody: by looking again."""
        said = ""
        async with asyncio.timeout(timeout):
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
