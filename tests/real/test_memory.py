"""An agent's memory: the record, the commands of people and agents, and what a request has of it."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gshtui.agents.memory.commands import commands
from gshtui.agents.memory.memory_mount import MemoryOwners
from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.commands.declaration import Caller, CommandError, Invocation, Outcome
from gshtui.commands.evaluation import run_line
from gshtui.commands.language import parse
from gshtui.commands.registry import Registry
from gshtui.settings import paths
from gshtui.store.engine import migrations
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables.memory_table import NOTE_BYTES, NoteName
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.providers import MODELS
from tests.kit.warm_program import run_gsh
from tests.unit.test_instruction_files import git

PERSON, AGENT = Caller(), Caller("main", is_agent=True)


class Notes:
    """The commands on a real record."""

    def __init__(self, store: Store, project: Path) -> None:
        self.store, self.project = store, project
        owners = MemoryOwners(store.agents.find, "main", project)
        self.registry = Registry(commands(store, owners, lambda text: text.replace("hunter2", "[redacted]")))

    def invocation(self, caller: Caller) -> Invocation:
        return Invocation(caller, self.project, self.project, agent="main")

    async def run(self, line: str, caller: Caller = PERSON) -> Outcome:
        return await run_line(self.registry, line, self.invocation(caller))

    async def keys(self, line: str = "memory list", caller: Caller = PERSON) -> list[str]:
        return [note["key"] for note in (await self.run(line, caller)).data["notes"]]

    async def free(self, line: str, caller: Caller) -> bool:
        """Whether the guard asks nothing about it."""
        parsed = parse(self.registry, line)
        assert parsed.command.assess is not None
        return (await parsed.command.assess(self.invocation(caller), parsed.parameters)).inside


@pytest.fixture
async def notes(tmp_path: Path) -> AsyncIterator[Notes]:
    store = await Store.open(tmp_path / "gsh.db")
    try:
        yield Notes(store, tmp_path)
    finally:
        await store.close()


async def test_what_is_remembered_is_listed_found_and_forgotten(notes: Notes) -> None:
    said = await notes.run('remember key=parser value="we use winnow"')
    assert said.text == "Noted `parser` in the memory of main."
    await notes.run("remember colours blue = good", AGENT)
    again = await notes.run("remember parser we use lark")
    assert again.text == "Replaced `parser` in the memory of main. It was: we use winnow"
    assert again.data["before"] == "we use winnow"
    for form in (
        "memory",
        "memory list",
        "memory list=true",
        "memory show=main",
        "memory show main",
        "memory agent=main",
    ):
        assert await notes.keys(form) == ["parser", "colours"]
    for form in ('memory search query="LARK"', "memory search lark", "memory search=lark", "memory key=parser"):
        assert await notes.keys(form) == ["parser"]
    assert [note["author"] for note in (await notes.run("memory")).data["notes"]] == ["person", "main"]
    gone = await notes.run("forget parser")
    assert gone.text == "Removed `parser` from the memory of main. It said: we use lark"
    with pytest.raises(CommandError, match="has no note 'parser'"):
        await notes.run("forget key=parser")


async def test_an_agent_writes_its_own_notes_and_a_person_any(notes: Notes) -> None:
    await notes.run("remember agent=claude key=tone value=brief")
    with pytest.raises(CommandError, match="An agent writes only its own memory, not that of claude"):
        await notes.run("remember agent=claude key=tone value=rude", AGENT)
    with pytest.raises(CommandError, match="only its own memory"):
        await notes.run("forget agent=claude key=tone", AGENT)
    with pytest.raises(CommandError, match="Only a person writes notes for every project"):
        await notes.run("remember key=a value=b everywhere=true", AGENT)
    assert await notes.free("remember key=a value=b", AGENT)
    assert await notes.free("memory show=main", AGENT) and not await notes.free("memory show=claude", AGENT)
    assert await notes.keys("memory show=claude") == ["tone"]


async def test_a_memory_is_a_personas_or_else_a_names(notes: Notes) -> None:
    agents = notes.store.agents
    one = await agents.add(AgentRow(id="", name="first", persona="reviewer"), SpawnRequest())
    two = await agents.add(AgentRow(id="", name="second", persona="reviewer"), SpawnRequest())
    three = await agents.add(AgentRow(id="", name="helper"), SpawnRequest())
    await notes.run("remember key=style value=short", Caller(one.id, is_agent=True))
    assert await notes.keys("memory", Caller(two.id, is_agent=True)) == ["style"]
    assert await notes.keys("memory show=reviewer") == ["style"] == await notes.keys("memory show=first")
    assert await notes.keys("memory", Caller(three.id, is_agent=True)) == []
    assert (await notes.run("memory", Caller(three.id, is_agent=True))).data["agent"] == "helper"


async def test_notes_hold_in_their_project_and_a_persons_everywhere(notes: Notes, tmp_path: Path) -> None:
    elsewhere = Notes(notes.store, tmp_path / "other")
    await notes.run("remember key=a value=here", AGENT)
    await notes.run("remember key=b value=all everywhere=true")
    assert (await notes.keys(), await elsewhere.keys()) == (["a", "b"], ["b"])
    await elsewhere.run("remember key=b value=ours", AGENT)
    assert [note["value"] for note in (await elsewhere.run("memory")).data["notes"]] == ["ours"]
    with pytest.raises(CommandError, match="holds in every project") as refused:
        await notes.run("forget key=b", AGENT)
    assert "everywhere=true" in refused.value.hint
    await notes.run("forget key=b everywhere=true")
    assert (await notes.keys(), await elsewhere.keys()) == (["a"], ["b"])


async def test_a_worktree_shares_the_memory_of_its_repository(notes: Notes, tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    (main / "a").write_text("a")
    git(main, "add", ".")
    git(main, "commit", "-qm", "one")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "topic")
    await Notes(notes.store, main).run("remember key=a value=b")
    assert await Notes(notes.store, tmp_path / "tree").keys() == ["a"]
    (tmp_path / "liar").mkdir()
    (tmp_path / "liar" / ".git").write_text(f"gitdir: {main}/.git/worktrees/tree\n")
    assert await Notes(notes.store, tmp_path / "liar").keys() == []


@pytest.mark.parametrize("key", ["../x", "~x", "a\x00b", "cl\u0430ude", "x" * 101, "．．"])
async def test_names_that_are_paths_or_disguises_are_refused(notes: Notes, key: str) -> None:
    for line in (f'remember key="{key}" value=x', f'remember agent="{key}" key=a value=x'):
        with pytest.raises(CommandError) as refused:
            await notes.run(line)
        assert refused.value.message.endswith(".") and refused.value.message.isprintable()


async def test_limits_and_secrets(notes: Notes) -> None:
    with pytest.raises(StoreError, match="at most 16 KB"):
        await notes.store.memory.put(NoteName("main", "/p", "a"), "main", lambda _: "x" * (NOTE_BYTES + 1))
    for number in range(32):
        await notes.store.memory.put(NoteName("main", "/p", f"n{number}"), "main", lambda _: "x" * NOTE_BYTES)
    with pytest.raises(StoreError, match="The memory of main is full"):
        await notes.store.memory.put(NoteName("main", "/p", "more"), "main", lambda _: "x")
    await notes.store.memory.put(NoteName("main", "/p", "n0"), "main", lambda old: old[:-1])
    await notes.run("remember agent=other key=mine value=hunter2")
    await notes.run("remember key=theirs value=hunter2", Caller("other", is_agent=True))
    assert [note["value"] for note in (await notes.run("memory show=other")).data["notes"]] == ["hunter2", "[redacted]"]


async def asked(project: Path, script: list[list[Any]], *words: str) -> list[dict[str, Any]]:
    """The requests of one prompt."""
    async with loopback("anthropic", script, models=[MODELS["anthropic"]]) as server:
        line = ("prompt", "--json", "--provider", "anthropic", "--model", MODELS["anthropic"], *words, "hello")
        ran = await asyncio.to_thread(run_gsh, *line, cwd=project, env=variables("anthropic", server.url))
        assert ran.code == 0, ran.err
        return [chat.body for chat in server.chats]


def memory_of(body: dict[str, Any]) -> list[str]:
    texts = [part["text"] for part in body["system"]]
    start = next((at for at, text in enumerate(texts) if text.startswith("Your memory:")), len(texts))
    return texts[start + 1 :]


async def test_what_an_agent_remembers_is_in_its_next_conversations_requests(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    script = [[Call("remember", {"key": "greeting", "value": "Say salve."})], [Say("Noted.")]]
    first, _ = await asked(project, script)
    assert memory_of(first) == []
    (second,) = await asked(project, [[Say("Salve.")]])
    assert memory_of(second) == ["greeting: Say salve."]
    ran = await asyncio.to_thread(run_gsh, "run", "--json", "memory list", cwd=project)
    assert [note["key"] for note in ran.json["notes"]] == ["greeting"], ran.err
    shown = await asyncio.to_thread(run_gsh, "context", "main", "--json", "--iteration", "-1", cwd=project)
    sections = {section["name"]: section for section in shown.json["sections"]}
    assert [block["source"] for block in sections["memory"]["blocks"]] == ["memory", "greeting.mem"]
    assert sections["memory"]["tokens"] > 0
    (third,) = await asked(project, [[Say("Salve.")]], "--set", "context.memory_tokens=0")
    assert memory_of(third) == []
    assert json.dumps(second["system"])[:200] == json.dumps(third["system"])[:200]


def test_a_record_from_before_gets_the_table(tmp_path: Path, home: Home) -> None:
    """A backup is made."""
    project = made_project(tmp_path / "project")
    file = paths.data_dir() / "gsh.db"
    before = migrations.MIGRATIONS[: migrations.MIGRATIONS.index(migrations.MEMORY)]
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        migrations.migrate(connection, file, before)
    file.chmod(0o600)
    ran = run_gsh("run", "--json", "memory list", cwd=project)
    assert (ran.code, ran.json["notes"]) == (0, []), ran.err
    assert list(file.parent.glob(f"gsh.db.v{len(before)}-*"))
