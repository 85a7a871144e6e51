"""The virtual file system of a whole hub: memory, agents and contexts as files, and real files below /shared."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.calls.call_service import person_name
from gshtui.commands.declaration import Assessment, Caller, CommandError
from gshtui.commands.language import parse
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from gshtui.text.markdown_table import bare
from gshtui.vfs import FileError, Node, ReadOnlyMount, Right, VirtualPath
from tests.kit.configuration import made_project, user_file
from tests.kit.home import Home
from tests.kit.native_agents import prepare_spec
from tests.kit.running_hub import running_hub
from tests.real.test_context_service import Here

PERSON, AGENT = Caller(), Caller("main", is_agent=True)


class Files:
    """The file commands of a hub."""

    def __init__(self, hub: Hub, project: Path, elsewhere: Path) -> None:
        self.hub, self.project, self.elsewhere = hub, project, elsewhere

    async def text(self, line: str, caller: Caller = PERSON) -> str:
        return bare((await self.hub.run(line, caller)).text)

    async def data(self, line: str, caller: Caller = PERSON) -> Any:
        return (await self.hub.run(line, caller)).data

    async def names(self, line: str, caller: Caller = PERSON) -> list[str]:
        return [entry["name"] for entry in (await self.data(line, caller))["entries"]]

    async def refused(self, line: str, caller: Caller = PERSON) -> str:
        with pytest.raises(CommandError) as refused:
            await self.hub.run(line, caller)
        assert refused.value.message.endswith((".", "…")) and refused.value.message.isprintable()
        return refused.value.message

    async def judged(self, line: str, caller: Caller = AGENT) -> Assessment:
        parsed = parse(self.hub.registry, line)
        assert parsed.command.assess is not None
        return await parsed.command.assess(self.hub.invocation(caller), parsed.parameters)


@pytest.fixture
async def files(tmp_path: Path, home: Home) -> AsyncIterator[Files]:
    project, elsewhere = made_project(tmp_path / "project"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    user_file(home, f'[shared]\ndocs = "{elsewhere}"\n')
    (project / "README.md").write_text("one\ntwo\nthree\n")
    async with running_hub(project) as hub:
        assert hub.failed == {}
        yield Files(hub, project, elsewhere)


async def test_the_root_and_what_is_listed(files: Files) -> None:
    assert await files.names("ls /") == ["agents", "calls", "context", "memory", "shared"]
    assert await files.names("ls /shared") == ["docs", "project"]
    assert (await files.data("ls"))["entries"] == [{"name": "README.md", "type": "file", "size": 14}]
    assert await files.names("ls /shared/project") == ["README.md"]
    assert await files.names("ls all=true") == [".git", "README.md"]
    assert "README.md  (14 bytes, 20" in await files.text("ls long=true")
    with pytest.raises(CommandError) as unknown:
        await files.hub.run("ls /shared/other", PERSON)
    assert str(unknown.value) == "There is no /shared/other. Known folders: docs, project."
    assert await files.text("ls /memory") == "(the folder is empty)"


async def test_notes_are_files(files: Files) -> None:
    assert (
        await files.text('write to=/memory/main/style.mem content="tabs"') == "Created /memory/main/style.mem: 4 bytes"
    )
    await files.hub.run("append to=/memory/main/style.mem content=wide", AGENT)
    assert await files.text("cat path=/memory/main/style.mem") == "tabs\nwide"
    assert await files.text("read /memory/main/style.mem") == "     1│tabs\n     2│wide"
    assert await files.text("head /memory/main/style.mem n=1") == "tabs\n"
    assert await files.text("tail path=/memory/main/style.mem n=1") == "wide"
    assert (await files.data("memory"))["notes"][0]["value"] == "tabs\nwide"
    entries = (await files.data("ls /memory/main"))["entries"]
    assert entries == [{"name": "style.mem", "type": "file", "author": "main", "everywhere": False, "size": 9}]
    assert "memory/main/style.mem\n     1│tabs\n     2:wide" in await files.text(
        "grep pattern=WIDE in=/memory ignore_case=true"
    )
    assert await files.text("cat /memory/main/*.mem") == "tabs\nwide"
    await files.hub.run("remember key=all value=x everywhere=true")
    await files.hub.run("write to=/memory/main/all.mem content=y")
    assert [note["everywhere"] for note in (await files.data("memory"))["notes"]] == [False, True]
    assert "it holds in every project" in await files.refused("rm /memory/main/all.mem", AGENT)
    assert await files.text("rm /memory/main/all.mem") == "Removed /memory/main/all.mem"
    assert "is a folder" in await files.refused("rm /memory/main")
    await files.hub.run("rm /memory/main recursive=true")
    assert (await files.data("memory"))["notes"] == []


async def test_what_cannot_be_done_is_one_sentence(files: Files) -> None:
    for line in (
        "write to=/memory/main/x.txt content=a",
        "write to=/memory/main content=a",
        "write to=/memory/x.mem content=a",
        "write to=/memory/main/a/b.mem content=a",
        "mkdir /memory/main/a",
        "mkdir /memory/other",
        "write to=/context/main/full.ctx content=a",
        "write to=/agents/main/.status content=a",
        "append to=/context/_assembly.md content=a",
        "rm /agents/main recursive=true",
        "rm /memory recursive=true",
        "rm /shared recursive=true",
        "write to=/shared content=a",
        "mkdir /shared/new",
        "write to=/ content=a",
        "cat /memory/nobody/x.mem",
        "cat /agents/nobody/.status",
        f"cat /agents/{person_name('')}/.system",
        "cat /context/nobody/full.ctx",
        "cat /context/main/other.ctx",
        "cat /memory",
        "cat /memory/*.mem",
        "ls /context/main/full.ctx/x",
        "glob * path=/memory",
        "edit /memory/main/x.mem a b",
        "cd /memory/main/x.mem",
        "cd README.md",
        "cd ..",
        "cat",
        "grep pattern= in=/memory",
        "grep ( in=/context",
    ):
        await files.refused(line)


async def test_an_agent_writes_only_its_own_memory(files: Files) -> None:
    await files.hub.run("remember agent=claude key=tone value=brief")
    for line in ("write to=/memory/claude/tone.mem content=rude", "append to=/memory/claude/x.mem content=y"):
        assert "Only a person changes" in await files.refused(line, AGENT)
        with pytest.raises(CommandError, match="Only a person changes"):
            await files.judged(line)
    with pytest.raises(CommandError, match="Only a person changes"):
        await files.judged("rm /memory/claude recursive=true")
    assert (await files.judged("write to=/memory/main/x.mem content=a")).inside
    for line in (
        "cat /memory/claude/tone.mem",
        "read /memory/claude/tone.mem",
        "ls /memory/claude",
        "cd /memory/claude",
    ):
        assert not (await files.judged(line)).inside, line
    assert await files.text("cat /memory/claude/tone.mem") == "brief"
    assert (await files.data("grep pattern=brief in=/memory", AGENT))["count"] == 0
    assert (await files.data("grep pattern=brief in=/memory"))["count"] == 1


async def test_a_question_about_several_files_names_each(files: Files, tmp_path: Path) -> None:
    """What one of them needs is not hidden behind another."""
    harmless, key = tmp_path / "harmless.txt", tmp_path / "home" / ".ssh" / "id_rsa"
    key.parent.mkdir(parents=True, exist_ok=True)
    for file in (harmless, key):
        file.write_text("x")
    judged = await files.judged(f"cat paths=[README.md, {harmless}, {key}]")
    assert not judged.inside
    assert str(harmless) in judged.detail and str(key) in judged.detail and str(key) in judged.subject
    assert any("may hold" in warning for warning in judged.warnings) and not judged.pattern
    assert [one.subject for one in judged.every] == ["README.md", str(harmless), str(key)]
    assert judged.key != (await files.judged(f"cat paths=[README.md, {harmless}]")).key
    assert (await files.judged("cat paths=[README.md, README.md]")).inside


async def test_a_folder_of_files_that_ask_is_no_way_round_the_question(files: Files) -> None:
    await Here(files.hub).ask("read README.md")
    store = files.hub.store
    assert store is not None
    row = await store.agents.add(AgentRow(id="", name="bob", home=str(files.project)), SpawnRequest())
    bob = Caller(row.id, is_agent=True)
    for line in ("head path=/context/main n=900", "tail path=/context/main", "cat /context/main/*"):
        judged = await files.judged(line, bob)
        assert not judged.inside and "/context/main/" in judged.detail, line
        assert (await files.judged(line)).inside, line
    assert (await files.judged("ls /context/main", bob)).inside, "which files there are is no secret"
    notes = await files.judged("cat paths=[/memory/bob/a.mem, /memory/main/b.mem]", bob)
    assert not notes.inside and notes.subject == "/memory/main/b.mem"


async def test_contexts_and_statuses_are_computed(files: Files) -> None:
    await files.hub.run("remember key=style value=tabs")
    await Here(files.hub).ask("read README.md")
    assert await files.names("ls /context") == ["_assembly.md", "main"]
    assert await files.names("ls /context/main") == [
        f"{name}.ctx" for name in ("full", "system", "call", "memory", "tools", "history", "thinking")
    ]
    view = await files.hub.contexts.queries.view("main") if files.hub.contexts else None
    assert view is not None
    full = await files.text("cat /context/main/full.ctx")
    for block in view.blocks:
        assert f"{block.tokens:,} tokens]" in full
    assert "===== memory =====" in full and "style (person): tabs" in await files.text("cat /context/main/memory.ctx")
    assert "read README.md" in await files.text("cat /context/main/history.ctx")
    assert "1. system" in await files.text("cat /context/_assembly.md")
    assert await files.names("ls /agents/main all=true") == [".status", ".system"]
    assert "status: idle" in await files.text("cat /agents/main/.status")
    assert "You are main" in await files.text("cat /agents/main/.system")
    store = files.hub.store
    assert store is not None
    row = await store.agents.add(AgentRow(id="", name="helper", home=str(files.project)), SpawnRequest())
    other = Caller(row.id, is_agent=True)
    person = person_name("")
    assert await files.names("ls /agents") == ["main", "helper", person]
    assert "status: offline" in await files.text(f"cat /agents/{person}/.status")
    await files.hub.run("create call=audio; join audio; status set='soldering'")
    said = await files.text(f"cat /calls/audio/members/{person}/.status")
    assert "status: online" in said and "call: audio" in said and "doing: soldering" in said
    assert (await files.judged("cat /agents/main/.status", other)).inside
    for line in (
        "cat /context/main/full.ctx",
        "cat /agents/main/.system",
        "cat paths=[README.md,/context/main/call.ctx]",
    ):
        assert not (await files.judged(line, other)).inside, line
        assert (await files.judged(line)).inside, line


async def test_an_agent_that_was_never_asked_shows_what_is_known_of_its_first_request(files: Files) -> None:
    """In each face by its name; one whose conversation has not begun is listed, and says so."""
    hub, home = files.hub, str(files.project)
    assert hub.store is not None
    for id, name in (("0001", "scout"), ("0002", "mute")):
        row = AgentRow(id=id, name=name, kind="native", runtime="tmux", cwd=home, home=home)
        await hub.store.agents.add(row, SpawnRequest(), ())
    session = (await hub.store.sessions.create(cwd=home, agent="0001", title="", parent="agent 0001")).id
    await hub.store.agents.update("0001", session=session)
    await hub.run("remember agent=scout key=parser value=winnow")
    told = "scout has sent nothing yet: its system, call and tools are known once it has"
    assert "memory.ctx" in await files.names("ls /context/scout")
    memory = await files.text("cat /context/scout/memory.ctx")
    assert told in memory and "winnow" in memory
    for line in ("context agent=scout", "context agent=0001 section=memory", "cat /context/scout/full.ctx"):
        assert told in await files.text(line), line
    assert "parser.mem" in await files.text("context agent=scout section=memory")
    assert "full.ctx" in await files.names("ls /context/mute")
    for line in ("cat /context/mute/full.ctx", "context agent=mute"):
        assert "mute has no conversation here yet" in await files.refused(line)


async def test_an_agent_that_was_never_asked_shows_what_it_would_begin_with(tmp_path: Path) -> None:
    """The own agent of a window that is not open, and one with a process of its own, by its file; both leave nothing.

    `test_what_is_shown_before_the_first_prompt_is_sent_with_it` compares that with what is sent.
    """
    parts = frozenset({"store", "guard", "providers"})
    hub = build_hub(HubOptions(cwd=tmp_path, loaded=load(tmp_path), parts=parts))
    await hub.start()
    assert hub.store is not None
    folder = str(tmp_path)
    row = AgentRow(id="", name="scout", kind="native", runtime="tmux", cwd=folder, home=folder)
    row = await hub.store.agents.add(row, SpawnRequest(), ())
    prepare_spec(tmp_path, agent=row.id, tools=("read", "glob"))
    try:
        files = Files(hub, tmp_path, tmp_path)
        assert {"main", "scout"} <= set(await files.names("ls /context"))
        for name in ("main", "scout"):
            assert "full.ctx" in await files.names(f"ls /context/{name}")
            assert f"{name} has sent nothing yet: " in await files.text(f"context agent={name}")
            assert "You are " in await files.text(f"cat /context/{name}/system.ctx")
        tools = await files.text("cat /context/scout/tools.ctx")
        assert "[read, " in tools and "[bash, " not in tools
        assert "[bash, " in await files.text("cat /context/main/tools.ctx")
        assert await hub.store.sessions.find_all() == []
        assert (await hub.store.agents.find(row.id)).session == ""
    finally:
        await hub.stop()


async def test_real_files_by_their_virtual_paths(files: Files) -> None:
    (files.elsewhere / "guide.md").write_text("guide\n")
    for path in ("README.md", "/shared/project/README.md", str(files.project / "README.md")):
        assert await files.text(f"cat {path}") == "one\ntwo\nthree\n"
        assert (await files.judged(f"cat {path}")).subject == "README.md"
        assert (await files.judged(f"write path={path} content=x")).subject == "README.md"
    assert (await files.judged("cat /shared/project/README.md")).inside
    outside = await files.judged("cat /shared/docs/guide.md")
    assert not outside.inside and outside.subject == str(files.elsewhere / "guide.md")
    assert await files.text("cat paths=[README.md,/shared/docs/guide.md]") == "one\ntwo\nthree\nguide\n"
    assert await files.text("tail n=1 path=/shared/project/README.md") == "three\n"
    assert await files.text("mkdir /shared/project/src/deep") == "Made src/deep"
    assert await files.text("append to=/shared/project/src/a.txt content=x") == "Created src/a.txt: 1 bytes"
    await files.hub.run("append to=src/a.txt content=y")
    assert (files.project / "src/a.txt").read_text() == "x\ny\n"
    assert await files.text("rm /shared/project/src recursive=true") == "Removed src and 1 file in it"
    assert not (files.project / "src").exists()


async def test_nothing_leads_out_of_a_shared_folder(files: Files, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden")
    (files.elsewhere / "link.txt").symlink_to(secret)
    (files.elsewhere / "up").symlink_to(tmp_path)
    (files.project / "out").symlink_to(tmp_path)
    for path in ("/shared/docs/link.txt", "/shared/docs/up/secret.txt", "/shared/project/out/secret.txt"):
        for line in (
            f"cat {path}",
            f"read {path}",
            f"write to={path} content=x",
            f"append to={path} content=x",
            f"rm {path}",
        ):
            assert "leads through a link out of its shared folder" in await files.refused(line), line
            with pytest.raises(CommandError, match="leads through a link"):
                await files.judged(line)
    assert secret.read_text() == "hidden"
    for line in ("ls /shared/docs/up", "cd /shared/docs/up", "grep hidden path=/shared/docs/up"):
        assert "leads through a link" in await files.refused(line)


async def test_a_link_that_is_put_in_the_way_after_the_question(files: Files, tmp_path: Path) -> None:
    folder, outside = files.project / "docs", tmp_path / "outside"
    for one in (folder, outside):
        one.mkdir()
        (one / "a.txt").write_text("a\n")
    for line in ("append to=/shared/project/docs/a.txt content=x", "rm /shared/project/docs/a.txt"):
        parsed = parse(files.hub.registry, line)
        invocation = replace(files.hub.invocation(AGENT), call="c1")
        assert parsed.command.assess is not None
        await parsed.command.assess(invocation, parsed.parameters)
        shutil.move(folder, files.project / "kept")
        folder.symlink_to(outside)
        with pytest.raises(CommandError):
            await parsed.command.handler(invocation, parsed.parameters)
        folder.unlink()
        shutil.move(files.project / "kept", folder)
    assert (outside / "a.txt").read_text() == "a\n"


async def test_what_no_tool_may_write_stays(files: Files) -> None:
    (files.project / "sub/.git").mkdir(parents=True)
    for line in (
        "rm .git recursive=true",
        "rm sub recursive=true",
        "rm . recursive=true",
        "rm /shared/project recursive=true",
        "append to=.git/config content=x",
        "mkdir .git/hooks",
    ):
        await files.refused(line)
        with pytest.raises(CommandError):
            await files.judged(line)
    (files.project / "pipe").parent.mkdir(exist_ok=True)
    os.mkfifo(files.project / "pipe")
    for line in ("cat pipe", "append to=pipe content=x", "rm pipe"):
        await files.refused(line)


async def test_removing_asks_in_every_mode(files: Files) -> None:
    judged = await files.judged("rm README.md")
    assert judged.only_person and judged.subject == "README.md"
    bound = files.hub.bound("rm README.md")
    assert bound is not None
    question = await files.hub.question(bound)
    assert question is not None and question.title == "Permanently remove README.md?"
    for line in ("cat README.md", "head README.md", "ls"):
        assert (await files.judged(line)).reads


async def test_the_working_folder_is_the_callers(files: Files) -> None:
    (files.project / "src").mkdir()
    (files.project / "src/a.py").write_text("print()\n")
    assert await files.text("pwd") == "/shared/project"
    assert await files.text("cd src") == "/shared/project/src"
    assert await files.names("ls") == ["a.py"]
    assert await files.text("cat ../README.md") == "one\ntwo\nthree\n"
    assert "src/a.py" in await files.text("grep print")
    assert await files.text("pwd", AGENT) == "/shared/project"
    assert await files.text("cd /memory") == "/memory"
    await files.hub.run("write to=main/x.mem content=hello")
    assert await files.text("cat main/x.mem") == "hello"
    assert await files.text("cd main") == "/memory/main"
    assert await files.text("cat ../../shared/project/README.md") == "one\ntwo\nthree\n"
    assert await files.text("cd ../..") == "/"
    assert await files.text("cat shared/project/src/a.py") == "print()\n"
    assert await files.text("cd") == "/shared/project"
    assert await files.text("cat README.md") == "one\ntwo\nthree\n"


class Calls(ReadOnlyMount):
    """A mount with a link to another."""

    async def right(self, caller: Caller, steps: tuple[str, ...], *, writes: bool) -> Right:
        return "never" if writes else "free"

    async def stat(self, caller: Caller, steps: tuple[str, ...]) -> Node:
        return Node("calls", "folder") if not steps else (await self.list(caller, ()))[len(steps[0]) - 1]

    async def list(self, caller: Caller, steps: tuple[str, ...]) -> list[Node]:
        return [
            Node("a", "link", target="/memory/main"),
            Node("bb", "link", target="/calls/bb"),
            Node("ccc", "link", target="/etc"),
            Node("dddd", "folder", type="call", about={"members": 1, "messages": 47}),
        ]

    async def read(self, caller: Caller, steps: tuple[str, ...]) -> str:
        raise FileError("missing", "There is nothing.")


async def test_a_part_adds_its_mount_and_links_lead_between_mounts(files: Files) -> None:
    files.hub.files.mount("calls", Calls)
    await files.hub.run("remember key=x value=hello")
    assert await files.text("cat /calls/a/x.mem") == "hello"
    assert "too many links" in await files.refused("cat /calls/bb/x")
    assert "leads out of the virtual files" in await files.refused("cat /calls/ccc/passwd")
    assert (await files.text("ls /calls")).splitlines()[-1] == "dddd/  (1 member, 47 messages)"
    assert (await files.data("ls /calls"))["entries"][-1] == {
        "name": "dddd",
        "type": "call",
        "members": 1,
        "messages": 47,
    }
    other = Caller("0042", is_agent=True)
    assert not (await files.judged("cat /calls/a/x.mem", other)).inside, "the link gives no rights"
    assert await files.hub.files.right(other, VirtualPath(("calls", "a", "x.mem")), writes=True) == "never"


async def test_files_in_pipes_and_values(files: Files) -> None:
    await files.hub.run("write to=/memory/main/goals.mem content=$(cat README.md)")
    assert await files.text("cat /memory/main/goals.mem") == "one\ntwo\nthree\n"
    await files.hub.run("head README.md n=1 | append to=/memory/main/goals.mem")
    assert await files.text("tail n=1 path=/memory/main/goals.mem") == "one\n"
    await files.hub.run("cat paths=[README.md, /memory/main/goals.mem] | remember key=both")
    assert (await files.data("memory key=both"))["notes"][0]["bytes"] == 32


async def test_too_much_is_refused(files: Files) -> None:
    with pytest.raises(FileError, match="at most 1,024 KB"):
        await files.hub.files.write(PERSON, VirtualPath(("memory", "main", "a.mem")), "x" * (1 << 20) + "x")
    with pytest.raises(FileError, match="at most 16 KB"):
        await files.hub.files.write(PERSON, VirtualPath(("memory", "main", "a.mem")), "x" * (1 << 15))


async def test_completion(files: Files) -> None:
    complete = files.hub.registry.get("cat").complete
    assert complete is not None
    await files.hub.run("remember key=style value=x")
    (files.project / "src").mkdir()
    invocation = files.hub.invocation(PERSON)
    for typed, found in (
        ("/me", ["/memory/"]),
        ("/memory/main/s", ["/memory/main/style.mem"]),
        ("/shared/p", ["/shared/project/"]),
        ("/shared/project/s", ["/shared/project/src/"]),
        ("RE", ["README.md"]),
        ("s", ["src/"]),
    ):
        assert await complete(invocation, "path", typed) == found, typed
