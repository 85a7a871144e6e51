"""`gsh-tui acp` as a program, driven by the official SDK's client against a provider on this machine."""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import acp
import pytest
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    EnvVariable,
    ImageContentBlock,
    McpServerStdio,
    RequestPermissionResponse,
    ResourceContentBlock,
    SseMcpServer,
)

from gshtui.settings import paths
from gshtui.shell.hub_registry import is_live
from tests.kit import warm_program
from tests.kit.command import ROOT, command, environment
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say, Think
from tests.kit.resident import beside
from tests.kit.tmux import eventually
from tests.kit.warm_program import run_gsh

__all__ = ["beside"]

PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
        "0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082"
    )
).decode()
FLOOD = 3_000
LOADED = warm_program.ACP
pytestmark = [pytest.mark.timeout(180), pytest.mark.usefixtures("beside")]


@dataclass
class RecordingClient:
    """The SDK's client: keeps what it is told, and answers questions with one option."""

    answer: str = "once"
    updates: list[Any] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)
    told: asyncio.Event = field(default_factory=asyncio.Event)

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self.told.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Sequence[Any], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, options))
        self.told.set()
        if not self.answer:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=self.answer))

    def on_connect(self, conn: Any) -> None: ...

    def of(self, kind: str) -> list[Any]:
        return [update for update in self.updates if update.session_update == kind]

    @property
    def text(self) -> str:
        return "".join(update.content.text for update in self.of("agent_message_chunk"))

    async def until(self, kind: str) -> None:
        """Wait for an update of this kind."""
        async with asyncio.timeout(60):
            while not self.of(kind):
                self.told.clear()
                await self.told.wait()


@dataclass
class Served:
    """`gsh-tui acp`, and the client that started it."""

    connection: Any
    client: RecordingClient
    process: asyncio.subprocess.Process
    provider: Any
    raw: list[Any]


@contextlib.asynccontextmanager
async def served(
    folder: Path, script: Any, *arguments: str, answer: str = "once", argv: Sequence[str] = ()
) -> AsyncGenerator[Served]:
    """The agent as a program, with these answers of its model. `argv`: in place of a fork of one that is loaded."""
    argv = argv or warm_program.shared(*LOADED).argv()
    async with loopback("anthropic", script, strict=False) as provider:
        env = environment() | variables("anthropic", provider.url)
        process = await asyncio.create_subprocess_exec(
            *argv,
            "acp",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=folder,
            env=env,
            limit=1 << 26,
        )
        client: Any = RecordingClient(answer)
        raw: list[Any] = []
        connection = acp.connect_to_agent(
            client, process.stdin, process.stdout, observers=[lambda event: raw.append(event.message)]
        )
        try:
            await connection.initialize(acp.PROTOCOL_VERSION, ClientCapabilities())
            yield Served(connection, client, process, provider, raw)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
            await connection.close()


async def test_a_whole_turn_with_a_question_a_diff_and_thoughts(tmp_path: Path) -> None:
    script = [
        [Think("A file, then."), Say("I write it. "), Call("write", {"path": "made.txt", "content": "made\n"})],
        [Say("It is written.")],
    ]
    async with served(tmp_path, script, argv=command([])) as at:
        session = await at.connection.new_session(str(tmp_path))
        assert session.modes.current_mode_id == "ask"
        chosen = {option.id: option.current_value for option in session.config_options}
        assert chosen["mode"] == "ask" and chosen["model"].startswith("anthropic/")
        done = await at.connection.prompt(session.session_id, [acp.text_block("make a file")])
        assert done.stop_reason == "end_turn" and done.usage.output_tokens > 0
        client = at.client
        full = client.of("usage_update")[-1]
        assert 0 < full.used < full.size
        assert client.text == "I write it. \n\nIt is written.", "set apart, since clients put them together"
        assert client.of("agent_thought_chunk")[0].content.text.startswith("A file")
        ((call, options),) = client.asked
        assert (call.kind, call.title) == ("edit", "write made.txt")
        assert [option.kind for option in options] == ["allow_once", "allow_always", "allow_always", "reject_once"]
        assert (call.content[0].type, call.content[0].new_text) == ("diff", "made\n")
        (started,) = client.of("tool_call")
        ended = client.of("tool_call_update")[-1]
        assert started.tool_call_id == ended.tool_call_id == call.tool_call_id
        assert ended.status == "completed" and ended.content[0].path == str(tmp_path / "made.txt")
        assert (tmp_path / "made.txt").read_text("utf-8") == "made\n"


async def test_a_refused_question_writes_nothing_and_a_client_without_an_answer_neither(tmp_path: Path) -> None:
    script = [[Call("write", {"path": "made.txt", "content": "made\n"})], [Say("Then not.")]]
    for answer in ("deny", "", "nonsense"):
        async with served(tmp_path, script, answer=answer) as at:
            session = await at.connection.new_session(str(tmp_path))
            await at.connection.prompt(session.session_id, [acp.text_block("make a file")])
            assert len(at.client.asked) == 1
            assert at.client.of("tool_call_update")[-1].status == "failed"
            assert not (tmp_path / "made.txt").exists()


async def test_a_session_is_loaded_with_its_past_and_listed(tmp_path: Path) -> None:
    async with served(tmp_path, [[Say("First answer.")]]) as at:
        session = await at.connection.new_session(str(tmp_path))
        await at.connection.prompt(session.session_id, [acp.text_block("first question")])
        at.process.stdin.close()  # type: ignore[union-attr]
        assert await asyncio.wait_for(at.process.wait(), 60) == 0
    async with served(tmp_path, [[Say("Second answer.")]]) as at:
        listed = await at.connection.list_sessions(cwd=str(tmp_path))
        assert [(one.session_id, one.title) for one in listed.sessions] == [(session.session_id, "first question")]
        await at.connection.load_session(str(tmp_path), session.session_id)
        told = [
            (update.session_update, update.content.text) for update in at.client.updates if hasattr(update, "content")
        ]
        assert told[:2] == [("user_message_chunk", "first question"), ("agent_message_chunk", "First answer.")]
        await at.connection.prompt(session.session_id, [acp.text_block("second")])
        assert at.client.text.endswith("Second answer.")
        async with served(tmp_path, [[Say("Third answer.")]]) as other:
            with pytest.raises(acp.RequestError, match="open in another window or process"):
                await other.connection.resume_session(cwd=str(tmp_path), session_id=session.session_id)
            await at.connection.close_session(session.session_id)
            await other.connection.resume_session(cwd=str(tmp_path), session_id=session.session_id)
            assert other.client.of("user_message_chunk") == [], "what the client knows was told again"
            await other.connection.prompt(session.session_id, [acp.text_block("third")])
            assert other.client.text == "Third answer."
            assert "First answer." in str(other.provider.chats[-1].body)


async def test_plan_mode_of_the_client_is_the_guards(tmp_path: Path) -> None:
    script = [[Call("write", {"path": "made.txt", "content": "made\n"})], [Say("Refused.")]]
    async with served(tmp_path, script) as at:
        session = await at.connection.new_session(str(tmp_path))
        await at.connection.set_session_mode(session_id=session.session_id, mode_id="plan")
        await at.client.until("current_mode_update")
        await at.connection.prompt(session.session_id, [acp.text_block("make a file")])
        assert at.client.asked == [] and not (tmp_path / "made.txt").exists()
        with pytest.raises(acp.RequestError, match="no mode"):
            await at.connection.set_session_mode(session_id=session.session_id, mode_id="wild")
        await at.client.until("available_commands_update")
        names = {one.name for one in at.client.of("available_commands_update")[-1].available_commands}
        assert {"help", "model", "mode", "session"} <= names


async def test_the_client_chooses_mode_model_and_effort(tmp_path: Path) -> None:
    async with served(tmp_path, [[Say("Here.")]]) as at:
        session = await at.connection.new_session(str(tmp_path))
        (models,) = [one for one in session.config_options if one.id == "model"]
        other = next(one.value for one in models.options if one.value != models.current_value)
        for id, value in (("model", other), ("effort", "high"), ("mode", "edit")):
            answer = await at.connection.set_config_option(config_id=id, session_id=session.session_id, value=value)
            assert {one.id: one.current_value for one in answer.config_options}[id] == value
        for id, value in (("model", "nowhere/none"), ("effort", "huge"), ("colour", "red")):
            with pytest.raises(acp.RequestError):
                await at.connection.set_config_option(config_id=id, session_id=session.session_id, value=value)
        await at.connection.prompt(session.session_id, [acp.text_block("who are you?")])
        assert at.provider.chats[-1].body["model"] == other.partition("/")[2]
        told = at.client.of("config_option_update")[-1].config_options
        assert {one.id: one.current_value for one in told}["model"] == other


async def test_what_a_command_prints_grows_in_its_call(tmp_path: Path) -> None:
    line = "printf one; sleep 0.3; printf two; sleep 0.3; printf three"
    async with served(tmp_path, [[Call("bash", {"command": line})], [Say("Done.")]], "--mode", "yolo") as at:
        session = await at.connection.new_session(str(tmp_path))
        await at.connection.prompt(session.session_id, [acp.text_block("count")])
        running = [one for one in at.client.of("tool_call_update") if one.status is None]
        shown = [one.content[0].content.text for one in running]
        assert shown and all(later.startswith(earlier) for earlier, later in itertools.pairwise(shown))
        assert "onetwo" in shown[-1]


async def test_images_and_texts_of_the_client_reach_the_model(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("inside\n", "utf-8")
    async with served(tmp_path, [[Say("Seen.")]]) as at:
        session = await at.connection.new_session(str(tmp_path))
        blocks = [
            acp.text_block("what is this?"),
            ImageContentBlock(type="image", data=PNG, mime_type="image/png"),
            ResourceContentBlock(type="resource_link", name="a.txt", uri=f"file://{tmp_path}/a.txt"),
            acp.resource_block(acp.embedded_text_resource("file:///b.txt", "embedded words")),
        ]
        await at.connection.prompt(session.session_id, blocks)
        sent = str(at.provider.chats[-1].body)
        assert PNG in sent and "embedded words" in sent and f"@{tmp_path}/a.txt" in sent
        with pytest.raises(acp.RequestError, match="not valid base64"):
            await at.connection.prompt(
                session.session_id, [ImageContentBlock(type="image", data="?", mime_type="image/png")]
            )


def passed_server(name: str, kind: str, **variables: str) -> McpServerStdio:
    """A server of `tests.kit.mcp_server` as an editor passes it on."""
    env = {"PYTHONPATH": str(ROOT), **variables}
    words = ["-m", "tests.kit.mcp_server", kind]
    given = [EnvVariable(name=one, value=value) for one, value in env.items()]
    return McpServerStdio(name=name, command=sys.executable, args=words, env=given)


async def test_the_editors_mcp_servers_are_used_once_the_person_agrees(tmp_path: Path) -> None:
    script = [[Call("My-kit__add", {"a": 2, "b": 40})], [Say("It is 42.")]]
    servers = [
        passed_server("My kit", "tools", KIT_API_KEY="sk-0123456789abcdefghij"),
        SseMcpServer(type="sse", name="old", url="http://127.0.0.1:9", headers=[]),
    ]
    for answer, known in (("deny", False), ("once", True)):
        async with served(tmp_path, script, answer=answer) as at:
            session = await at.connection.new_session(str(tmp_path), mcp_servers=servers)
            await at.connection.prompt(session.session_id, [acp.text_block("/mcp doctor My-kit")])
            assert ("✓ My-kit" in at.client.text) is known, at.client.text
            call, _ = at.client.asked[0]
            shown = str(call)
            assert "Your editor brings the MCP server My-kit" in shown and "sk-0123456789" not in shown
            if known:
                await at.connection.prompt(session.session_id, [acp.text_block("add them")])
                assert at.client.text.endswith("It is 42.") and len(at.client.asked) == 2
                assert at.client.of("tool_call_update")[-1].content[0].content.text == "42"
            told = "".join(update.content.text for update in at.client.of("agent_thought_chunk"))
            assert "The MCP server old is not used" in told


async def test_cancel_ends_the_turn_and_the_question(tmp_path: Path) -> None:
    script = [[Call("bash", {"command": "sleep 30"})], [Say("never")]]
    async with served(tmp_path, script, "--mode", "yolo") as at:
        session = await at.connection.new_session(str(tmp_path))
        turn = asyncio.ensure_future(at.connection.prompt(session.session_id, [acp.text_block("sleep")]))
        await at.client.until("tool_call")
        await at.connection.cancel(session.session_id)
        assert (await asyncio.wait_for(turn, 60)).stop_reason == "cancelled"


async def test_it_ends_when_its_client_vanishes_in_mid_turn(tmp_path: Path) -> None:
    script = [[Call("bash", {"command": "sleep 30"})], [Say("never")]]
    async with served(tmp_path, script, "--mode", "yolo") as at:
        session = await at.connection.new_session(str(tmp_path))
        turn = asyncio.ensure_future(at.connection.prompt(session.session_id, [acp.text_block("sleep")]))
        await at.client.until("tool_call")
        at.process.stdin.close()  # type: ignore[union-attr]
        assert await asyncio.wait_for(at.process.wait(), 60) == 0
        turn.cancel()


async def test_what_cannot_be_is_one_sentence_and_only_messages_are_printed(tmp_path: Path) -> None:
    async with served(tmp_path, [[Say("ok")]]) as at:
        for folder in ("relative", "/nowhere/at/all"):
            with pytest.raises(acp.RequestError, match="does not exist, or is not an absolute path"):
                await at.connection.new_session(folder)
        with pytest.raises(acp.RequestError, match="There is no session"):
            await at.connection.prompt("none", [acp.text_block("x")])
        with pytest.raises(acp.RequestError):
            await at.connection.load_session(str(tmp_path), "zzzzzz")
        session = await at.connection.new_session(str(tmp_path))
        await at.connection.prompt(session.session_id, [acp.text_block("/help")])
        assert at.client.text
        assert all(message.get("jsonrpc") == "2.0" for message in at.raw)


async def test_a_request_before_initialize_and_garbage_do_no_harm(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "gshtui",
        "acp",
        cwd=tmp_path,
        env=environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    lines = (
        b'hello\n{"jsonrpc":"2.0","id":1,"method":"nonsense"}\n[]\n'
        b'{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":9}}\n'
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(lines)
    answers = [await asyncio.wait_for(process.stdout.readline(), 60) for _ in range(2)]
    assert b"-32601" in answers[0] and b'"protocolVersion":1' in answers[1]
    flood = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"nonsense"}\n' % number for number in range(FLOOD))
    process.stdin.write(flood)  # and nothing is read meanwhile
    told = [json.loads(await asyncio.wait_for(process.stdout.readline(), 60))["id"] for _ in range(FLOOD)]
    assert sorted(told) == list(range(FLOOD))
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_the_next_hub_goes_on_with_the_sessions_and_their_modes(
    beside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if beside == "alone":
        return
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    async with served(tmp_path, [[Say("one")], [Say("two")]]) as at:
        session = (await at.connection.new_session(str(tmp_path))).session_id
        await at.connection.set_session_mode(session_id=session, mode_id="plan")
        await at.connection.prompt(session, [acp.text_block("first")])
        ended = int(run_gsh("hub", "status", "--json").json["pid"])
        os.kill(ended, signal.SIGKILL)
        await eventually(lambda: asyncio.to_thread(lambda: not is_live(paths.keeper_sockets()[0])))
        await at.connection.prompt(session, [acp.text_block("second")])
        assert at.client.text == "onetwo"
        assert "first" in json.dumps(at.provider.requests[-1].body), "it is the same conversation"
        resumed = await at.connection.resume_session(cwd=str(tmp_path), session_id=session)
        assert resumed.modes is not None and resumed.modes.current_mode_id == "plan"
        assert int(run_gsh("hub", "status", "--json").json["pid"]) != ended
    assert run_gsh("hub", "stop", "--yes").code == 0
