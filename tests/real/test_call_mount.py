"""Calls as files: what each path shows, who may read and write it, and that no name leads elsewhere."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import yaml

from gshtui.bus.call_data import CallMember, CallMessage
from gshtui.commands.declaration import Caller
from gshtui.vfs import FileError, VirtualPath
from tests.kit.configuration import made_project
from tests.kit.running_hub import running_hub
from tests.real.test_virtual_files import Files

AGENT, OTHER, GUEST = Caller("0001", is_agent=True), Caller("0002", is_agent=True), Caller("bo", is_guest=True)


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[Files]:
    project = made_project(tmp_path / "project")
    (project / "goals.md").write_text("ship it\n")
    async with running_hub(project) as hub:
        assert hub.failed == {} and hub.store is not None
        await hub.run("create call=audio topic='JACK: \"why\"'; join audio")
        await hub.store.calls.add_member("audio", CallMember(member="0001", name="claude", is_agent=True))
        answer = CallMessage(
            call="audio",
            id="a1",
            author="0001",
            author_name="claude",
            role="assistant",
            text="---\nUse: JACK\n---",
            in_reply_to=0,
            tokens=4,
            at=1_732_721_520.0,
        )
        await hub.store.calls.add_message(CallMessage(call="audio", id="q1", author="person", text="how do we route?"))
        await hub.store.calls.add_message(answer)
        yield Files(hub, project, tmp_path)


async def test_what_there_is(files: Files) -> None:
    entries = {entry["name"]: entry for entry in (await files.data("ls /calls"))["entries"]}
    assert entries["audio"] | {"at": 0} == {"name": "audio", "type": "call", "members": 2, "messages": 2, "at": 0}
    assert set(entries) == {"audio", "lobby"}
    assert await files.names("ls /calls/audio all=true") == [".call", "context", "conversation", "members"]
    assert await files.names("ls /calls/audio/conversation") == ["000.msg", "001.msg"]
    assert await files.names("ls /calls/audio/members") == [files.hub.make_calls().person.name, "claude"]  # type: ignore[misc]
    about = yaml.safe_load(await files.text("cat /calls/audio/.call"))
    assert about["topic"] == 'JACK: "why"' and about["messages"] == 2 and "claude" in about["members"]


async def test_a_message_is_yaml_and_its_text(files: Files) -> None:
    _, head, text = (await files.text("cat /calls/audio/conversation/001.msg")).split("---\n", 2)
    facts = yaml.safe_load(head)
    assert facts == {
        "role": "assistant",
        "agent": "claude",
        "timestamp": facts["timestamp"],
        "tokens": 4,
        "in_reply_to": "000",
        "tool_calls": [],
    }
    assert facts["timestamp"].startswith("2024-11-27T15:32") and text.startswith("---\nUse: JACK\n---")


async def test_people_write_instructions_and_documents(files: Files) -> None:
    await files.hub.run("cd /calls/audio")
    await files.hub.run("write to=context/pinned/goals.md content=$(cat /shared/project/goals.md)")
    await files.hub.run("append to=context/pinned/goals.md content='and test it'")
    await files.hub.run("write to=context/system.prompt content='Answer in French.'")
    assert await files.names("ls context/pinned") == ["goals.md"]
    assert "ship it\nand test it" in await files.text("cat /calls/audio/context/pinned/goals.md")
    assert files.hub.store is not None
    assert (await files.hub.store.calls.find("audio")).instructions == "Answer in French."
    await files.hub.run("rm /calls/audio/context/pinned/goals.md")
    assert await files.names("ls context/pinned") == []
    for path in ("conversation/000.msg", ".call", "members/x", "context", "notes.md"):
        await files.refused(f"write to=/calls/audio/{path} content=x")
    assert "calls rm audio" in str(await files_error(files, "rm /calls/audio recursive=true"))


async def test_a_document_is_pinned_in_the_call_that_one_is_in(files: Files) -> None:
    """Unless there is such a folder where one works, which is then meant."""
    done = await files.hub.run("write to=context/pinned/goals.md content=$(cat goals.md)")
    assert "Created /calls/audio/context/pinned/goals.md" in done.text
    await files.hub.run("append to=./context/pinned/goals.md content='and test it'")
    await files.hub.run("cd /shared/project")
    assert "ship it\nand test it" in await files.text("cat /calls/audio/context/pinned/goals.md")
    assert await files.names("ls context/pinned") == ["goals.md"]
    assert "how do we route?" in await files.text("cat conversation/000.msg")
    await files.hub.run("rm context/pinned/goals.md")
    assert await files.names("ls context/pinned") == []
    await files.hub.run("leave")
    why = await files_error(files, "write to=context/pinned/goals.md content=x")
    assert "in no call" in why and "join NAME" in why
    assert not (files.project / "context").exists()
    (files.project / "context").mkdir()
    await files.hub.run("join audio")
    await files.hub.run("write to=context/pinned/goals.md content=mine")
    assert (files.project / "context/pinned/goals.md").read_text() == "mine"


async def test_an_agent_pins_in_its_own_call_what_a_person_has_agreed_to(files: Files) -> None:
    tree = files.hub.files
    here, lobby = VirtualPath(("calls", "audio", "context", "pinned", "x")), VirtualPath(("calls", "lobby", ".call"))
    assert await tree.right(AGENT, here, writes=True) == "ask"
    assert await tree.right(OTHER, here, writes=True) == "never"
    assert await tree.right(AGENT, lobby, writes=True) == "never"
    await tree.write(AGENT, here, "found")
    assert files.hub.store is not None
    assert [(pin.text, pin.author) for pin in await files.hub.store.calls.pins("audio")] == [("found", "0001")]
    for path in (VirtualPath((*here.steps[:3], "system.prompt")), lobby):
        with pytest.raises(FileError):
            await tree.write(AGENT, path, "owned")


async def files_error(files: Files, line: str) -> str:
    with pytest.raises(Exception) as refused:
        await files.hub.run(line)
    return str(refused.value)


async def test_agents_write_nothing_else_and_ask_before_they_read_another_call(files: Files) -> None:
    tree = files.hub.files
    for steps in (("context", "pinned", "x", "y"), ("context", "system.prompt"), ("conversation", "000.msg")):
        assert await tree.right(AGENT, VirtualPath(("calls", "audio", *steps)), writes=True) == "never"
    assert await tree.right(AGENT, VirtualPath(("calls", "audio", ".call"))) == "free"
    assert await tree.right(OTHER, VirtualPath(("calls", "audio", ".call"))) == "ask"
    assert await tree.right(OTHER, VirtualPath(("calls", "lobby", ".call"))) == "free"


async def test_a_guest_sees_only_its_own_calls_and_writes_nothing(files: Files) -> None:
    tree = files.hub.files
    assert [node.name for node in await tree.list(GUEST, VirtualPath(("calls",)))] == ["lobby"]
    for act in (
        tree.read(GUEST, VirtualPath(("calls", "audio", ".call"))),
        tree.list(GUEST, VirtualPath(("calls", "audio"))),
        tree.write(GUEST, VirtualPath(("calls", "lobby", "context", "pinned", "x")), "x"),
        tree.remove(GUEST, VirtualPath(("calls", "lobby", "context", "pinned", "x"))),
    ):
        with pytest.raises(FileError):
            await act
    assert files.hub.store is not None
    await files.hub.store.calls.add_member("audio", CallMember(member="bo", name="bo"))
    assert "JACK" in await tree.read(GUEST, VirtualPath(("calls", "audio", ".call")))


@pytest.mark.parametrize("name", ["../x", "..", "a/b", "x\0y", "", "\x1b[31m", "а-cyrillic\u202e"])
async def test_a_document_has_a_plain_name(files: Files, name: str) -> None:
    service = files.hub.make_calls
    assert service is not None
    with pytest.raises(Exception, match="cannot be used"):
        await service().pin("audio", name, "x", service().person)


async def test_messages_have_one_name_each(files: Files) -> None:
    for name in ("1.msg", "0001.msg", "-1.msg", "99.msg", "999.msg", "001", "٠٠١.msg", "001.msg.msg"):
        assert "no" in (await files.refused(f"cat '/calls/audio/conversation/{name}'")).lower()


async def test_a_long_call_is_listed_by_numbers(files: Files) -> None:
    assert files.hub.store is not None

    def many(connection: sqlite3.Connection) -> None:
        said = CallMessage(call="audio", id="", author="x", text="é")
        rows = [(seq, f"m{seq}", msgspec.json.encode(said).decode()) for seq in range(2, 10_000)]
        connection.executemany(
            "INSERT INTO call_messages (call, seq, message, author, at, data, pending) "
            " VALUES ('audio', ?, ?, 'x', 1, ?, 0)",
            rows,
        )
        connection.execute("UPDATE calls SET messages = 10000 WHERE name = 'audio'")

    await files.hub.store.calls._write(many)  # pyright: ignore[reportPrivateUsage]
    names = await files.names("ls /calls/audio/conversation")
    assert len(names) == 10_000 and names[999:1002] == ["0999.msg", "1000.msg", "1001.msg"] and names == sorted(names)
    assert (await files.text("tail /calls/audio/conversation/9999.msg n=1")).strip() == "é"
    assert "how do we route?" in await files.text("cat /calls/audio/conversation/000.msg"), "as it was called before"
    assert "how do we route?" in await files.text("cat /calls/audio/conversation/0000.msg")
    found = (await files.data("cat /calls/audio/conversation/100?.msg"))["files"]
    assert [one["path"][-8:] for one in found] == [f"{number}.msg" for number in range(1000, 1010)]
