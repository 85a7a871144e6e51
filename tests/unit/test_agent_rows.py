"""The rows in memory while the record is read and written: an older read never takes back what is newer."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.agent_reducer import local_row
from gshtui.bus.bus import Bus
from gshtui.commands.declaration import Caller, Invocation
from gshtui.fleet.commands.agent_outcomes import AgentOutcomes
from gshtui.fleet.core import agent_tables
from gshtui.fleet.core.agent_calls import AgentList
from gshtui.fleet.core.agent_states import AgentState
from gshtui.fleet.core.fleet_context import AgentRows
from gshtui.store.record.store import Store
from gshtui.text.markdown_table import bare_columns
from tests.kit.endings import closing_async
from tests.kit.fake_terminal import agent_row


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    made = await Store.open(tmp_path / "gsh.db")
    yield made
    await made.close()


class SlowRead:
    """Reads the rows at once, and hands them over when it is told to."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self._find_all = store.agents.find_all
        self.has_read, self.go_on = asyncio.Event(), asyncio.Event()
        monkeypatch.setattr(store.agents, "find_all", self.find_all)

    async def find_all(self) -> list[AgentRow]:
        found = await self._find_all()
        self.has_read.set()
        await self.go_on.wait()
        return found


async def made_rows(store: Store) -> tuple[AgentRows, str]:
    rows = AgentRows(Bus(), store)
    row = AgentRow(id="", name="cc", kind="cli", status="thinking", status_source="hook")
    return rows, (await rows.add(row, SpawnRequest(cli=("claude",)))).id


@pytest.mark.parametrize("how", ["soon", "at once", "before"])
async def test_what_is_written_while_the_record_is_read_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    rows, id = await made_rows(store)
    slow = SlowRead(store, monkeypatch)
    fields = {"status": "idle", "doing": "There are two ways."}
    if how == "before":
        rows.change_soon(id, fields)
    loading = asyncio.create_task(rows.load(force=True))
    await slow.has_read.wait()
    if how == "soon":
        rows.change_soon(id, fields)
    if how == "at once":
        await rows.change(id, **fields)
    await rows.flush()
    slow.go_on.set()
    await loading
    row = rows.get(id)
    assert row is not None
    assert (row.status, row.doing) == ("idle", "There are two ways.")
    assert (await store.agents.find(id)).status == "idle"


async def test_a_read_during_a_write_does_not_show_what_was_before(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, id = await made_rows(store)
    update, begun, go_on = store.agents.update, asyncio.Event(), asyncio.Event()

    async def slow_update(id: str, **fields: Any) -> AgentRow:
        begun.set()
        await go_on.wait()
        return await update(id, **fields)

    monkeypatch.setattr(store.agents, "update", slow_update)
    rows.change_soon(id, {"status": "idle"})
    writing = asyncio.create_task(rows.flush())
    await begun.wait()
    await rows.load(force=True)
    row = rows.get(id)
    assert row is not None and row.status == "idle"
    go_on.set()
    await writing


async def test_what_another_process_wrote_is_seen(store: Store, tmp_path: Path) -> None:
    rows, id = await made_rows(store)
    await rows.load()
    rows.change_soon(id, {"tokens": 5})
    async with closing_async(await Store.open(tmp_path / "gsh.db")) as other:
        await other.agents.update(id, status="idle")
    await rows.load()
    row = rows.get(id)
    assert row is not None
    assert (row.status, row.tokens) == ("idle", 5)


@pytest.mark.parametrize(("source", "words"), [("event", "idle (now)"), ("screen", "idle (screen, now)")])
def test_who_says_a_status_is_named_unless_the_agent_does_itself(source: str, words: str) -> None:
    row = AgentRow(id="0001", name="x", kind="native", status="idle", status_source=source)
    assert agent_tables.status_words(row) == words


def test_a_shell_has_no_model_no_context_and_no_cost() -> None:
    shell = AgentState(AgentRow(id="0001", name="w", kind="cli", profile="shell", status="idle"))
    for told in (agent_tables.agents_table([shell]), agent_tables.agent_details(shell)):
        assert "$" not in told and "none yet" not in told and "0 tokens" not in told


def test_a_list_of_agents_says_who_and_how_and_keeps_the_evidence_for_the_details() -> None:
    rows = [
        agent_row(id="0001", name="fix", status="tool", doing="make test", status_source="screen", status_at=0),
        agent_row(
            id="0002",
            name="fix",
            status="failed",
            exit_status=3,
            report="╭──╮\nNo network.",
            socket="ssh://box/gsh",
            status_at=0,
        ),
        agent_row(
            id="0003", name="docs", status="idle", report="# In short\n- **Two** `Findings`\n```", unread=2, status_at=0
        ),
    ]
    table = bare_columns(agent_tables.agents_table([AgentState(row) for row in rows])).splitlines()
    assert [" ".join(line.split()) for line in table] == [
        "name state since task or last line",
        "fix (0001) working now make test",
        "fix (0002) on box failed · exit 3 now No network.",
        "docs done now Two Findings",
    ]


@pytest.mark.parametrize(
    ("longest", "heading"), [(5, "task or last line"), (14, "task or last line"), (25, "task"), (31, "task")]
)
def test_a_row_and_its_headings_are_one_row_where_it_is_narrow(longest: int, heading: str) -> None:
    fleet: Any = SimpleNamespace(attach_words=lambda row: ())
    one = agent_row(id="0001", name="n" * longest, status="tool", doing="make test " * 9, status_at=0)
    found = AgentList([AgentState(one)])
    table = bare_columns(
        AgentOutcomes(fleet).agents(Invocation(Caller(), Path("/"), Path("/")), found).text
    ).splitlines()
    assert table[0].endswith(heading) and max(map(cell_len, table)) - 3 * len("  ") <= 48


def test_a_conversation_has_a_row_for_each_agent_and_a_shell_the_rest_of_its_task() -> None:
    fleet: Any = SimpleNamespace(attach_words=lambda row: ())
    rows = [
        agent_row(id=f"{name}", name=name, status="tool", doing=doing * 20, status_at=0)
        for name, doing in (("fix", "make test "), ("docs-of-parser", "日本語 "))
    ]
    found = AgentList([AgentState(row) for row in rows])
    outcome = AgentOutcomes(fleet).agents(Invocation(Caller(), Path("/"), Path("/")), found)
    widest = max(map(cell_len, bare_columns(outcome.text).splitlines()))
    assert widest - 3 * len("  ") <= 48 and outcome.text.count("…") == 2
    assert max(map(len, outcome.plain.splitlines())) > 190


def test_each_windows_agent_has_the_id_of_its_conversation() -> None:
    windows = [replace(local_row("main", 0.0), session=session) for session in ("1aaa", "1bbb")]
    table = agent_tables.agents_table([AgentState(row) for row in windows])
    assert "main (1aaa)" in table and "main (1bbb)" in table
    assert "main (1" not in agent_tables.agents_table([AgentState(windows[0])])


@pytest.mark.parametrize(("kind", "cost"), [("native", "$0.02"), ("cli", "$1.50")])
def test_what_info_says_of_the_cost_stands_once(kind: Literal["native", "cli"], cost: str) -> None:
    """One of ours has it counted with its context; another vendor's program knows its own."""
    row = AgentRow(id="0001", name="fix", kind=kind, status="idle", status_source="event", tokens=900, cost=1.5)
    told = agent_tables.agent_details(AgentState(row), in_context=[("context", "9k of 200k"), ("cost", "$0.02")])
    assert [line for line in told.splitlines() if "$" in line] == [line for line in told.splitlines() if cost in line]
    assert told.count("$") == 1 and told.count("of 200k") == 1
