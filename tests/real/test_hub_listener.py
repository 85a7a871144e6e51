"""A hub's socket: who may have it, who may connect, what is taken, and how much of it comes through."""

import asyncio
import contextlib
import importlib
import json
import os
import resource
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus import wire
from gshtui.bus.events.agent_events import AgentAdded, AgentStatusChanged, PromptSubmitted, TextDelta
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ModeChangeRequested
from gshtui.bus.events.session_events import SessionOpened
from gshtui.cli import declared_forms
from gshtui.commands.declaration import Assessment, Effect
from gshtui.guard.approval.gate import Call, Gate
from gshtui.guard.sandbox.sandbox import ProjectSandbox
from gshtui.guard.sandbox.sandbox_run import SandboxRun
from gshtui.guard.sandbox.sandboxes import Sandboxes
from gshtui.settings import paths
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.shell import event_table, hub_listener, hub_registry
from gshtui.shell.hub_registry import HubEntry, HubRegistryError, SocketInUse
from gshtui.system.network import peer
from tests.kit.command import ROOT
from tests.kit.home import Home
from tests.kit.native_agents import AGENT, RelayWindow, prepare_spec, relay_window


class Caller:
    """A client without any of our code around it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def say(self, *lines: bytes | dict[str, Any]) -> None:
        for line in lines:
            self.writer.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        await self.writer.drain()

    async def hear(self) -> dict[str, Any]:
        """The next line; empty at the end."""
        async with asyncio.timeout(30):
            line = await self.reader.readline()
        return json.loads(line) if line else {}

    async def hear_of(self, key: str) -> Any:
        """What the next line with this key says."""
        while key not in (line := await self.hear()):
            assert line, f"it hung up before it said {key}"
        return line[key]


@contextlib.asynccontextmanager
async def calling(path: str) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_unix_connection(path, limit=16 * 1024 * 1024)
    try:
        yield Caller(reader, writer)
    finally:
        writer.transport.abort()


async def as_agent(caller: Caller, token: str, *, agent: str = AGENT, run: str = "r1") -> dict[str, Any]:
    """Say hello and prove it; the welcome, or the refusal."""
    await caller.say({"hello": "agent", "agent": agent, "pid": os.getpid(), "nonce": "n", "run": run})
    answer = await caller.hear()
    if "challenge" not in answer:
        return answer
    assert peer.holds(token, "hub", "n", answer["proof"])
    await caller.say({"proof": peer.proof(token, "client", answer["challenge"])})
    return await caller.hear()


async def opened(caller: Caller, session: str = "s1") -> None:
    """The first word of an agent: which conversation is its own."""
    await caller.say(wire.encode(SessionOpened(session=session, agent=AGENT)))


# The place


async def test_the_folder_and_the_socket_are_private(tmp_path: Path, home: Home) -> None:
    async with relay_window(tmp_path) as hub:
        path = Path(hub.relay.socket)
        assert path.parent == home.runtime / "gsh"
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
        assert stat.S_IMODE(path.with_suffix(".json").stat().st_mode) == 0o600
        (entry,) = hub_registry.hubs(path.parent)
        assert (entry.pid, entry.socket, entry.cwd, entry.answers) == (os.getpid(), str(path), str(tmp_path), True)
    assert not path.exists()
    assert hub_registry.hubs(path.parent) == []


async def test_a_folder_that_is_a_link_or_a_strangers_is_refused(tmp_path: Path, home: Home) -> None:
    (home.runtime / "gsh").symlink_to(tmp_path)
    with pytest.raises(HubRegistryError, match="is a link or a file"):
        async with relay_window(tmp_path):
            pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["file", "link", "dangling link", "folder"])
def test_what_is_no_socket_is_left_alone(home: Home, tmp_path: Path, what: str) -> None:
    path, target = hub_registry.folder() / "hub-1.sock", tmp_path / "target"
    if what == "file":
        path.write_text("mine")
    elif what == "folder":
        path.mkdir()
    else:
        if what == "link":
            target.write_text("mine")
        path.symlink_to(target)
    with pytest.raises(HubRegistryError, match="not a socket"):
        hub_registry.claim(path)
    assert path.is_symlink() or path.read_text() == "mine" if what != "folder" else path.is_dir()
    assert target.exists() == (what == "link")


def test_a_socket_of_another_user_is_left_alone(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path = hub_registry.folder() / "hub-1.sock"
    hub_registry.claim(path).close()
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.raises(HubRegistryError, match="belongs to user"):
        hub_registry._make_room(path)
    assert path.exists()


def test_a_live_socket_is_not_stolen_and_a_stale_one_is_replaced(home: Home) -> None:
    path = hub_registry.folder() / "hub-1.sock"
    with hub_registry.claim(path) as living:
        before = hub_registry.identity(path)
        with pytest.raises(SocketInUse):
            hub_registry.claim(path)
        assert hub_registry.identity(path) == before
        living.close()
    with hub_registry.claim(path) as again:
        assert again.getsockname() == str(path)
        # One whose queue is full is only busy.
        clients: list[socket.socket] = []
        again.listen(0)
        for _ in range(3):
            client = socket.socket(socket.AF_UNIX)
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                client.connect(str(path))
            clients.append(client)
        assert hub_registry.is_live(path)
        for client in clients:
            client.close()


def test_a_path_that_is_too_long_says_so(tmp_path: Path) -> None:
    with pytest.raises(HubRegistryError, match="too long") as caught:
        hub_registry.claim(tmp_path / ("x" * 120))
    assert "XDG_RUNTIME_DIR" in caught.value.hint


async def test_two_hubs_of_one_process_have_a_socket_each_and_dead_ones_are_swept(tmp_path: Path, home: Home) -> None:
    dead = hub_registry.folder() / "hub-999999.sock"
    hub_registry.claim(dead).close()
    hub_registry.announce(HubEntry(999999, str(dead), str(tmp_path)))
    async with relay_window(tmp_path) as one, relay_window(tmp_path) as other:
        assert one.relay.socket != other.relay.socket
        assert not dead.exists()
        assert {entry.socket for entry in hub_registry.hubs(dead.parent)} == {one.relay.socket, other.relay.socket}


def test_the_socket_of_a_killed_process_is_stale(home: Home) -> None:
    path = hub_registry.folder() / "hub-7.sock"
    code = f"""
import os, pathlib, signal
from gshtui.shell import hub_registry
listening = hub_registry.claim(pathlib.Path({str(path)!r}))
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=30)
    assert path.exists()
    assert not hub_registry.is_live(path)
    assert hub_registry.sweep(path.parent) == 1
    assert not path.exists()


# Who may speak


async def test_an_agent_must_prove_who_it_is(tmp_path: Path) -> None:
    async with relay_window(tmp_path) as hub:
        spec, _ = prepare_spec(tmp_path, hub=hub.relay.socket)
        async with calling(hub.relay.socket) as right:
            assert "welcome" in await as_agent(right, spec.token)
        async with calling(hub.relay.socket) as forger:
            await forger.say({"hello": "agent", "agent": AGENT, "pid": os.getpid(), "nonce": "n"})
            answer = await forger.hear()
            # What the hub said may not be said back to it.
            await forger.say({"proof": answer["proof"]}, wire.encode(AgentAdded(agent=AGENT, name="forged")))
            assert "the proof is wrong" in await forger.hear_of("error")
            assert await forger.hear() == {}
        assert hub.heard.of(AgentAdded) == []


@pytest.mark.parametrize(
    ("hello", "said"),
    [
        (b"hello\n", "not JSON"),
        (b"[1]\n", "not a JSON object"),
        (b'{"hello": "root"}\n', "first line"),
        (b'{"hello": ["agent"]}\n', "first line"),
        (b'{"hello": "face", "pid": 1}\n', "not"),
        (b'{"hello": "agent", "agent": "../../x", "pid": PID}\n', "no agent"),
        (b'{"hello": "agent", "agent": "0099", "pid": PID}\n', "no agent"),
        (b"x" * 40_000 + b"\n", "line of"),
    ],
)
async def test_a_bad_hello_is_answered_and_ends_the_connection(tmp_path: Path, hello: bytes, said: str) -> None:
    async with relay_window(tmp_path) as hub, calling(hub.relay.socket) as caller:
        await caller.say(hello.replace(b"PID", str(os.getpid()).encode()))
        assert said in await caller.hear_of("error")
        assert await caller.hear() == {}
        assert hub.relay.listener.counts.refused == 1


async def test_an_agent_speaks_for_itself_alone(tmp_path: Path) -> None:
    async with relay_window(tmp_path) as hub:
        spec, _ = prepare_spec(tmp_path, hub=hub.relay.socket)
        async with calling(hub.relay.socket) as caller:
            await as_agent(caller, spec.token)
            await opened(caller)
            forged = [
                wire.encode(ApprovalAnswered(approval="a", decision="always")),
                wire.encode(PromptSubmitted(prompt="p", agent="main", text="rm")),
                wire.encode(AgentStatusChanged(agent="main", status="idle")),
                wire.encode(TextDelta(agent=AGENT, session="another", message="m", text="x")),
                b'{"type": "SettingChanged", "key": "agent.auto_approve", "value": ["bash"]}\n',
                b'{"type": "MadeUp"}\n',
                b'{"type": "TextDelta"}\n',
                b'{"type": "TextDelta", "seq": "x"}\n',
                b"\xff\xfe\n",
            ]
            for line in forged:
                await caller.say(line)
                assert await caller.hear_of("error")
            await caller.say(wire.encode(AgentStatusChanged(agent=AGENT, status="thinking")))
            await hub.heard.wait_for(AgentStatusChanged, status="thinking")
        assert hub.relay.listener.counts.bad_lines == len(forged)
        kinds = {type(event) for event in hub.heard.events}
        assert kinds == {SessionOpened, AgentStatusChanged}


FORGER = """
import json, socket, sys
from gshtui.bus import wire
from gshtui.bus.events.approval_events import ApprovalAnswered, ModeChangeRequested
path, approval = sys.argv[1:3]
lines = (wire.encode(ApprovalAnswered(approval=approval, decision="always")),
         wire.encode(ModeChangeRequested(agent="main", mode="yolo")))
for hello in ("agent", "face", "shell", "hub", "reader", "command"):
    way = socket.socket(socket.AF_UNIX)
    way.connect(path)
    way.settimeout(5)
    way.sendall(json.dumps({"hello": hello, "agent": sys.argv[3], "pid": 1, "nonce": "n"}).encode() + b"\\n")
    for line in lines:
        try:
            way.sendall(line)
            heard = way.recv(65536)
        except OSError as error:
            heard = str(error).encode()
        print(hello, heard[:200])
"""


async def test_no_command_answers_a_question_with_our_own_code(tmp_path: Path, home: Home) -> None:
    """A command that runs outside the sandbox as this user has our code and the socket, and still no way to answer."""
    for kind in event_table.KINDS.values():
        assert not kind.may_publish(ApprovalAnswered(approval="a", decision="once")), kind
        assert not kind.may_publish(ModeChangeRequested(agent="main", mode="yolo")), kind
    served = {form.name: form for form in declared_forms.COMMANDS if form.by_keeper and form.yes}
    about_rights = ("agent answer", "approvals", "mode", "guard", "config", "hook", "plugins", "people", "mcp")
    found = {name: form for name, form in served.items() if name.startswith(about_rights)}
    assert {"agent answer", "config trust", "plugins approve"} <= found.keys()
    for name, form in found.items():
        shell = getattr(importlib.import_module(form.module), form.parameters).SHELL
        assert shell.for_person, f"{name}: an agent's process is not served"
    async with relay_window(tmp_path) as hub:
        gate = Gate(hub.bus, respondent="person", auto_approve=frozenset())
        asked = asyncio.create_task(
            gate.review(Call("main", "s1", "c1", "bash", {"command": "make"}), Assessment(Effect.EXECUTE, "make"))
        )
        question = await hub.heard.wait_for(ApprovalRequested)
        ran = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", FORGER, hub.relay.socket, question.approval, AGENT],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=ROOT,
        )
        assert ran.stdout.count("\n") >= 12, ran.stderr
        await hub.bus.drained()
        assert not asked.done()
        assert gate.modes.mode_of("main") == "ask"
        assert not [event for event in hub.heard.events if isinstance(event, ApprovalAnswered | ModeChangeRequested)]
        hub.bus.publish(ApprovalAnswered(approval=question.approval, decision="deny"))
        assert not (await asked).allowed
        await gate.close()


async def test_in_the_sandbox_a_command_does_not_even_find_the_socket(tmp_path: Path, home: Home) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (tmp_path / "project").mkdir()
    project = Path(os.path.realpath(tmp_path / "project"))
    sandbox = await Sandboxes(SandboxSettings(), (state,)).sandbox(project)
    assert isinstance(sandbox, ProjectSandbox)
    async with relay_window(tmp_path) as hub:
        script = f"import os, socket; print(os.path.exists({hub.relay.socket!r})); socket.socket(socket.AF_UNIX)"
        async with SandboxRun(sandbox, ["python3", "-c", script], project, {"PATH": os.environ["PATH"]}) as run:
            child = await asyncio.create_subprocess_exec(
                *run.argv, env={}, pass_fds=run.descriptors, stdout=-1, stderr=-1
            )
            run.started(child.pid)
            out, error = await asyncio.wait_for(child.communicate(), 30)
    assert out == b"False\n"
    assert b"Address family not supported" in error


async def test_a_question_gets_an_id_of_the_hubs_own(tmp_path: Path) -> None:
    """No agent can put its words to the question of another: the answer goes to who asked, under its own id."""
    async with relay_window(tmp_path) as hub:
        spec, _ = prepare_spec(tmp_path, hub=hub.relay.socket)
        async with calling(hub.relay.socket) as caller:
            await as_agent(caller, spec.token)
            await opened(caller)
            request = ApprovalRequested(
                approval="of-main", agent=AGENT, session="s1", call="c", tool="bash", effect="execute", subject="ls"
            )
            await caller.say(wire.encode(request))
            shown = await hub.heard.wait_for(ApprovalRequested)
            assert shown.approval != "of-main"
            hub.bus.publish(ApprovalAnswered(approval="of-main", decision="once"))
            hub.bus.publish(ApprovalAnswered(approval=shown.approval, decision="deny", reason="no"))
            line = await caller.hear()
            while line.get("type") != "ApprovalAnswered":
                line = await caller.hear()
            assert (line["approval"], line["decision"], line["reason"]) == ("of-main", "deny", "no")


# Bad weather


async def test_too_many_bad_lines_end_the_connection(tmp_path: Path) -> None:
    async with relay_window(tmp_path) as hub, calling(hub.relay.socket) as caller:
        await caller.say({"hello": "face", "pid": os.getpid()})
        assert "welcome" in await caller.hear()
        await caller.say(b"rubbish\n" * 100)
        errors = 0
        while line := await caller.hear():
            errors += "error" in line
        assert errors == hub_listener.BAD_LINES + 1


async def test_a_line_without_end_costs_no_memory(tmp_path: Path) -> None:
    async with relay_window(tmp_path) as hub, calling(hub.relay.socket) as caller:
        await caller.say({"hello": "face", "pid": os.getpid()})
        await caller.hear()
        await caller.say(b"x" * 8_000_000)
        assert "more than" in await caller.hear_of("error")
        prompt = wire.encode(PromptSubmitted(prompt="p1", agent="main", text="after it"))
        await caller.say(b"\n", prompt)
        heard = await hub.heard.wait_for(PromptSubmitted)
        assert (heard.text, heard.source) == ("after it", f"process {os.getpid()}")
        assert hub.relay.listener.counts.bad_lines == 1


async def test_who_is_too_slow_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_listener, "HELLO_WITHIN", 0.2)
    monkeypatch.setattr(hub_listener, "LINE_WITHIN", 0.2)
    async with relay_window(tmp_path) as hub, calling(hub.relay.socket) as silent, calling(hub.relay.socket) as drip:
        await drip.say({"hello": "face", "pid": os.getpid()}, b'{"type": "Prompt')
        assert "too slow" in await silent.hear_of("error")
        assert "too slow" in await drip.hear_of("error")
        assert hub.relay.listener.counts.slow == 2


async def test_fifteen_hundred_connections(tmp_path: Path) -> None:
    """All are served at once, and the loop stays responsive; one more agent gets through among them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8_192)), hard))
    try:
        async with relay_window(tmp_path) as hub, contextlib.AsyncExitStack() as stack:
            callers: list[Caller] = []
            for number in range(1_500):
                callers.append(caller := await stack.enter_async_context(calling(hub.relay.socket)))
                prompt = wire.encode(PromptSubmitted(prompt=f"p{number}", agent="main", text=str(number)))
                await caller.say({"hello": "face", "pid": os.getpid()}, prompt)
            for caller in callers:
                assert "welcome" in await caller.hear()
            await hub.heard.wait_for(PromptSubmitted, number=1_500)
            assert {event.text for event in hub.heard.of(PromptSubmitted)} == {str(n) for n in range(1_500)}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_flood_comes_through_whole_and_in_order(tmp_path: Path) -> None:
    """25,000 numbered events on one connection, with a hundred that were sent twice: each once, in order."""
    async with relay_window(tmp_path) as hub:
        spec, _ = prepare_spec(tmp_path, hub=hub.relay.socket)
        async with calling(hub.relay.socket) as caller:
            await as_agent(caller, spec.token)
            await opened(caller)
            for start in range(0, 25_000, 500):
                numbers = [*range(max(0, start - 2), start), *range(start, start + 500)]
                await caller.say(b"".join(_delta(number) for number in numbers))
            while await caller.hear_of("ack") < 25_000:
                pass
        await hub.heard.wait_for(TextDelta, number=25_000)
        assert [event.text for event in hub.heard.of(TextDelta)] == [str(n) for n in range(25_000)]


def _delta(number: int) -> bytes:
    line = wire.encode(TextDelta(agent=AGENT, session="s1", message="m", text=str(number)))
    return line.rstrip()[:-1] + b',"seq":%d}\n' % (number + 1)


async def test_a_hub_that_stops_hangs_up_on_everyone(tmp_path: Path) -> None:
    hub = RelayWindow(tmp_path)
    await hub.start()
    async with calling(hub.relay.socket) as caller:
        await caller.say({"hello": "face", "pid": os.getpid()})
        assert "welcome" in await caller.hear()
        path = Path(hub.relay.socket)
        await hub.stop()
        assert "bye" in await caller.hear()
        assert await caller.hear() == {}
    assert not path.exists()
    assert paths.runtime_dir().exists()
