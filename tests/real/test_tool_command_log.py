"""Commands that agents run are rows of the history: once each, as running only while they run, never when denied."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentAdded, ToolFinished, ToolOutput, ToolStarted
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.fleet_events import AgentChanged
from gshtui.bus.events.shell_events import ShellRecorded
from gshtui.bus.messages import ResultStatus
from gshtui.bus.shell_data import ShellRecord
from gshtui.settings import paths
from gshtui.shell.log.shell_log import ShellLog, ShellLogOptions
from gshtui.shell.log.virtual_shells import VirtualShells
from gshtui.store.record.store import Store
from gshtui.store.tables.command_history import HistoryQuery
from tests.kit.tmux import eventually

NOW = 1_760_000_000.0


class Agents:
    def __init__(self, bus: Bus, store: Store, log: ShellLog) -> None:
        self.bus, self.store, self.log = bus, store, log
        self.told: list[Event] = []
        bus.subscribe(self.told.extend, ShellRecorded, name="test")

    def begins(self, call: str, command: str, *, later: float = 0.0, **arguments: str) -> None:
        arguments = {"command": command, **arguments}
        at = NOW + later
        self.bus.publish(
            ToolStarted(agent="main", session="s", message="m", call=call, tool="bash", arguments=arguments, at=at)
        )

    def ends(self, call: str, content: str, status: ResultStatus = "ok") -> None:
        self.bus.publish(
            ToolFinished(
                agent="main",
                session="s",
                call=call,
                tool="bash",
                status=status,
                content=content,
                duration=2.0,
                at=NOW + 9,
            )
        )

    async def records(self, count: int) -> list[ShellRecord]:
        async def look() -> list[ShellRecord]:
            return [event.record for event in self.told if isinstance(event, ShellRecorded)]

        return await eventually(look, until=lambda records: len(records) >= count)


@contextlib.asynccontextmanager
async def agents() -> AsyncGenerator[Agents]:
    store, bus = await Store.open(paths.data_dir() / "gsh.db"), Bus()
    terms = ShellLogOptions(paths.runtime_dir() / "gsh.sock", paths.data_dir(), Path("/p"), 0)
    log = ShellLog(bus, store, terms, lambda text: text.replace("s3cret", "[redacted]"))
    await log.start()
    try:
        yield Agents(bus, store, log)
    finally:
        await log.stop()
        await bus.close()
        await store.close()


async def test_a_call_is_one_row_with_its_exit_and_output() -> None:
    async with agents() as here:
        here.begins("c1", "make s3cret", working_dir="sub")
        here.bus.publish(ToolOutput(agent="main", session="s", call="c1", text="building"))
        (running,) = await here.records(1)
        assert (running.state, running.command, running.cwd) == ("running", "make [redacted]", "/p/sub")
        assert await VirtualShells(here.store, lambda _: None).find_dead() == set(), "its hub lives"
        here.ends("c1", "built s3cret\n[exit code: 2]", "error")
        done = (await here.records(3))[-1]
        assert (done.state, done.exit, done.duration, done.agent, done.id) == ("done", 2, 2.0, "main", running.id)
        assert await here.store.outputs.get(done.output) == "built [redacted]\n"
        # The window reads the same events again from the record of a conversation.
        here.begins("c1", "make s3cret")
        assert await VirtualShells(here.store, lambda _: None).find_dead() == set(), "its hub lives"
        here.ends("c1", "built s3cret\n[exit code: 2]", "error")
        await here.records(4)
        assert await here.store.shells.count() == 1
        assert await here.store.shells.find_all(HistoryQuery(agent="")) == []


async def test_an_agents_commands_are_listed_in_the_order_in_which_they_ran() -> None:
    async with agents() as here:
        for number in range(8):
            here.begins(f"c{number}", f"make t{number}", later=number / 4)
            here.ends(f"c{number}", "built")
        await here.records(16)  # each with and without its output
        newest_first = await here.store.shells.find_all(HistoryQuery())
        assert [row.command for row in newest_first] == [f"make t{number}" for number in range(7, -1, -1)]


async def test_a_call_ran_in_the_folder_of_its_agent() -> None:
    """An agent in a worktree says its folder; what it names is seen from there."""
    async with agents() as here:
        for call, more in (("c1", {}), ("c2", {"working_dir": "sub"}), ("c3", {"working_dir": "/else"})):
            told = ToolStarted(
                agent="coder",
                session="s",
                message="m",
                call=call,
                tool="bash",
                arguments={"command": "make", **more},
                at=NOW,
                cwd="/w/coder",
            )
            here.bus.publish(told)
            here.ends(call, "built")
        found = {record.cwd for record in await here.records(6)}  # each with and without its output
        assert found == {"/w/coder", "/w/coder/sub", "/else"}


async def test_a_command_names_its_agent_as_the_person_does() -> None:
    async with agents() as here:
        here.bus.publish(AgentAdded(agent="main", name="explore"))
        here.begins("c1", "ls")
        here.ends("c1", "(no output)")
        renamed = AgentRow(id="main", name="lexer")
        here.bus.publish(AgentChanged(agent="main", row=renamed))
        here.begins("c2", "ls")
        here.ends("c2", "(no output)")
        assert [record.agent for record in await here.records(2)] == ["explore", "lexer"]


async def test_a_call_waits_for_its_permission_and_leaves_nothing_when_it_is_denied() -> None:
    async with agents() as here:
        asked = ApprovalRequested(
            approval="a", agent="main", session="s", call="c1", tool="bash", effect="execute", subject=""
        )
        here.begins("c1", "rm -rf /")
        here.bus.publish(asked)
        here.begins("c0", "make")  # nobody is asked about it, so it counts as running after a moment
        assert [record.command for record in await here.records(1)] == ["make"]
        here.bus.publish(ApprovalSettled(approval="a", agent="main", call="c1", decision="deny"))
        here.ends("c1", "denied", "denied")
        here.begins("c2", "ls")
        here.ends("c2", "(no output)")
        only = (await here.records(2))[-1]
        assert (only.command, only.exit, only.output, only.at) == ("ls", 0, "", NOW + 7)
        assert await here.store.shells.count() == 2


async def test_a_call_that_its_tool_refuses_is_no_command() -> None:
    async with agents() as here:
        here.begins("c1", "make", why="because")
        here.ends("c1", "bash: there is no parameter 'why'.", "error")
        here.begins("c2", "ls")
        here.ends("c2", "here")
        assert {record.command for record in await here.records(2)} == {"ls"}
        assert await here.store.shells.count() == 1


async def test_what_runs_when_the_window_closes_counts_as_lost() -> None:
    async with agents() as here:
        here.begins("c1", "sleep 100")
        await here.records(1)
        await here.log.stop()
        assert [(row.command, row.state) for row in await here.store.shells.find_all()] == [("sleep 100", "lost")]
        here.begins("c1", "nobody listens any more")
