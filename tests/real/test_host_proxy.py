"""Network by host: real servers, and curl and Python in the sandbox; what is not granted sees nothing."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import pytest

from gshtui.guard.sandbox import network_start
from gshtui.guard.sandbox.host_proxy import HostProxy
from gshtui.guard.sandbox.sandbox import ProjectSandbox, find_bubblewrap
from gshtui.guard.sandbox.sandbox_refusal import refused_host
from gshtui.guard.sandbox.sandbox_run import SandboxRun
from gshtui.guard.sandbox.sandboxes import Sandboxes
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.text.host_rules import Address, HostRules, target
from gshtui.tools.files.workspace import ToolConfig
from tests.kit.tool_harness import ToolHarness
from tests.real.test_sandbox import in_sandbox


@dataclass
class Server:
    """A server of HTTP on this machine that remembers the bytes of every connection."""

    port: int
    seen: list[bytes] = field(default_factory=list[bytes])


@pytest.fixture
async def serve() -> AsyncIterator[Callable[[], asyncio.Future[Server]]]:
    async with contextlib.AsyncExitStack() as closing:

        async def make() -> Server:
            made = Server(0)

            async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                at = len(made.seen)
                made.seen.append(b"")
                with contextlib.suppress(OSError):
                    while block := await reader.read(65_536):
                        made.seen[at] += block
                        if b"\r\n\r\n" in made.seen[at]:
                            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
                            break
                    await writer.drain()
                    writer.close()

            server = await asyncio.start_server(answer, "127.0.0.1", 0)
            closing.push_async_callback(server.wait_closed)
            closing.callback(server.close)
            made.port = server.sockets[0].getsockname()[1]
            return made

        yield make  # type: ignore[misc]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "state").mkdir()
    return Path(os.path.realpath(tmp_path / "project"))


def tools(project: Path, *hosts: str) -> ToolHarness:
    settings = SandboxSettings(hosts=list(hosts))
    return ToolHarness(project, ToolConfig(os.environ, sandboxes=Sandboxes(settings, (project.parent / "state",))))


async def test_a_granted_host_is_reached_and_no_other(serve, project: Path) -> None:
    granted, other = await serve(), await serve()
    harness = tools(project, f"localhost:{granted.port}")
    done = await in_sandbox(harness, f"curl -sS http://localhost:{granted.port}/x?y=1")
    assert (done.data["exit_code"], done.data["output"]) == (0, "hello"), done.text
    assert granted.seen[0].startswith(b"GET /x?y=1 HTTP/1.1\r\nHost: localhost:%d\r\n" % granted.port)
    done = await in_sandbox(harness, f"curl -sSp http://localhost:{granted.port}/tunnel")
    assert done.data["output"] == "hello", done.text
    done = await in_sandbox(
        harness,
        f"python3 -c \"import urllib.request as r; print(r.urlopen('http://localhost:{granted.port}').read())\"",
    )
    assert done.data["output"] == "b'hello'\n", done.text
    (project / "connect.sh").write_text(f"exec 3<>/dev/tcp/127.0.0.1/{other.port}", "utf-8")
    for line in (
        f"curl -sSf http://localhost:{other.port}/",
        f"curl -sSpf http://localhost:{other.port}/",
        f"curl -sSf --noproxy '*' http://127.0.0.1:{other.port}/",
        f"curl -sSf --noproxy '*' http://127.0.0.1:{granted.port}/",
        f"curl -sSf http://127.0.0.1:{granted.port}/",
        "bash connect.sh",
    ):
        assert (await in_sandbox(harness, line)).data["exit_code"], line
    assert len(granted.seen) == 3
    assert other.seen == []


async def test_what_is_refused_is_named_with_what_would_allow_it(serve, project: Path) -> None:
    server = await serve()
    harness = tools(project, "pypi.org")
    done = await in_sandbox(harness, f"curl -sS http://evil.example:{server.port}/; curl -sS http://127.0.0.1.:80/")
    assert f"evil.example:{server.port} is covered by no rule" in done.text
    assert f'[sandbox] hosts = ["evil.example:{server.port}"]` allows it' in done.text
    assert ("host", f"evil.example:{server.port}") in [(each["kind"], each["subject"]) for each in done.data["refused"]]
    assert server.seen == []
    none = tools(project)
    done = await in_sandbox(none, "curl -sS https://example.org/")
    assert [(each["kind"], each["subject"]) for each in done.data["refused"]] == [("host", "example.org")]
    done = await in_sandbox(none, "touch /etc/x")
    assert [(each["kind"], each["subject"]) for each in done.data["refused"]] == [("path", "/etc/x")]
    assert "writable_paths" in done.text


async def test_names_are_looked_up_outside_only_and_nothing_else_leaves(serve, project: Path) -> None:
    server = await serve()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as letters:
        letters.bind(("127.0.0.1", 0))
        letters.setblocking(False)
        harness = tools(project, f"localhost:{server.port}")
        script = (
            "import socket as s; u=s.socket(s.AF_INET,s.SOCK_DGRAM)\n"
            f"u.sendto(b'x',('127.0.0.1',{letters.getsockname()[1]}))\n"
            "try: print(s.getaddrinfo('pypi.org',443))\nexcept OSError as e: print('no name')\n"
            "try: s.create_connection(('1.1.1.1',53),1)\nexcept OSError as e: print('no way')\n"
        )
        (project / "try.py").write_text(script, "utf-8")
        done = await in_sandbox(harness, "python3 try.py")
        assert done.data["output"] == "no name\nno way\n", done.text
        with pytest.raises(BlockingIOError):
            letters.recv(10)


async def test_the_command_does_not_hold_the_way_out(serve, project: Path) -> None:
    harness = tools(project, "pypi.org")
    done = await in_sandbox(harness, "ls -l /proc/self/fd | grep -c socket; exit 0")
    assert done.data["output"] == "0\n", done.text


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    near, far = socket.socketpair()
    with near, far:
        argv = [sys.executable, "-I", "-S", str(network_start.__file__), str(far.fileno()), "0", "no-such-program"]
        ran = subprocess.run(argv, pass_fds=(far.fileno(),), capture_output=True, timeout=10)
    assert (ran.returncode, ran.stderr) == (127, b"no-such-program: No such file or directory\n")


async def test_a_session_may_be_granted_a_host(serve, project: Path) -> None:
    server = await serve()
    sandboxes = Sandboxes(SandboxSettings(), (project.parent / "state",))
    harness = ToolHarness(project, ToolConfig(os.environ, sandboxes=sandboxes))
    line = f"curl -sS http://localhost:{server.port}/"
    assert (await in_sandbox(harness, line)).data["exit_code"]
    sandboxes.grant_host(harness.invocation().session, f"localhost:{server.port}")
    assert (await in_sandbox(harness, line)).data["output"] == "hello"
    made = await sandboxes.sandbox(project, session="another")
    assert isinstance(made, ProjectSandbox)
    assert not made.hosts
    with pytest.raises(ValueError, match="too much"):
        sandboxes.grant_host("s", "*.com")


@contextlib.asynccontextmanager
async def proxy(rules: HostRules, **more) -> AsyncIterator[tuple[HostProxy, int]]:
    made = HostProxy(rules, **more)
    listener = socket.create_server(("127.0.0.1", 0))
    await made.serve(listener)
    try:
        yield made, listener.getsockname()[1]
    finally:
        await made.close()


async def said(port: int, request: bytes) -> bytes:
    """The whole answer to one request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    answer = b""
    with contextlib.suppress(OSError):
        answer = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    return answer


async def test_a_name_that_leads_to_a_private_address_is_not_followed(serve) -> None:
    server = await serve()
    answers = [[ip_address("127.0.0.1")], [ip_address("169.254.169.254"), ip_address("::1")]]

    async def resolve(name: str, _port: int) -> list[Address]:
        return answers.pop(0)

    rules = HostRules.parse([f"rebound.example:{server.port}"])
    async with proxy(rules, resolve=resolve) as (made, port):
        for _ in range(2):
            assert b" 403 " in await said(port, b"CONNECT rebound.example:%d HTTP/1.1\r\n\r\n" % server.port)
        for address in ("127.0.0.1", "169.254.169.254"):
            why = made.refused[f"{address}:{server.port}"]
            assert why.startswith("rebound.example") and "private network" in why
            # What is said to allow it does.
            host = refused_host(f"{address}:{server.port}", why).host
            also = HostRules.parse([f"rebound.example:{server.port}", host])
            assert also.covers_address(target(f"rebound.example:{server.port}"), ip_address(address))
    assert server.seen == []


async def test_the_address_that_was_checked_is_the_one_that_is_reached(serve) -> None:
    """It is looked up once: the second answer would be another."""
    server = await serve()
    asked: list[str] = []

    async def resolve(name: str, _port: int) -> list[Address]:
        asked.append(name)
        return [ip_address("127.0.0.1")] if len(asked) == 1 else [ip_address("10.9.9.9")]

    rules = HostRules.parse([f"inner.example:{server.port}", "127.0.0.0/8"])
    async with proxy(rules, resolve=resolve) as (_, port):
        assert b"hello" in await said(port, b"GET http://inner.example:%d/ HTTP/1.1\r\n\r\n" % server.port)
    assert asked == ["inner.example"]


@pytest.mark.parametrize(
    "request_line",
    [
        b"CONNECT good.example:80\0.evil.example:80 HTTP/1.1",
        b"CONNECT good.example.:80 HTTP/1.1",
        b"CONNECT user@good.example:80 HTTP/1.1",
        b"CONNECT 127.0.0.1:80 HTTP/1.1",
        b"CONNECT 2130706433:80 HTTP/1.1",
        b"GET http://user:word@good.example/ HTTP/1.1",
        b"GET http://good.example@evil.example/ HTTP/1.1",
        b"GET http://evil.example\\@good.example/ HTTP/1.1",
        b"GET https://good.example/ HTTP/1.1",
        b"GET / HTTP/1.1\r\nHost: good.example",
        b"GET http://good.example/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
        b"GET http://good.example/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
        b"GET http://good.example/ HTTP/1.1\r\nTransfer-Encoding: gzip",
        b"GET http://good.example/ HTTP/1.1\r\n folded: x",
        b"GET http://good.example/\xff HTTP/1.0 HTTP/1.1",
        b"\x16\x03\x01",
        b"GET http://good.example/ HTTP/1.1\r\nX: " + b"x" * 70_000,
    ],
    ids=range(17),
)
async def test_what_is_no_plain_request_for_a_granted_host_connects_to_nothing(request_line: bytes) -> None:
    asked: list[str] = []

    async def resolve(name: str, _port: int) -> list[Address]:
        asked.append(name)
        raise OSError("nothing is looked up")

    async with proxy(HostRules.parse(["good.example"]), resolve=resolve) as (_, port):
        answer = await said(port, request_line + b"\r\n\r\n")
        assert answer[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 403", b"HTTP/1.1 431"} or not answer
    assert asked == []


async def test_one_connection_carries_one_request_for_the_host_that_was_checked(serve) -> None:
    server = await serve()
    rules = HostRules.parse([f"localhost:{server.port}"])
    first = b"POST http://localhost:%d/a HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 4\r\n\r\nbody" % server.port
    async with proxy(rules) as (_, port):
        answer = await said(port, first + b"GET http://evil.example/ HTTP/1.1\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200") == 1
    assert b"evil" not in b"".join(server.seen)


async def test_bodies_in_chunks_pass_whole(serve) -> None:
    server = await serve()
    head = b"POST http://localhost:%d/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" % server.port
    async with proxy(HostRules.parse([f"localhost:{server.port}"])) as (_, port):
        assert b"hello" in await said(port, head + b"4\r\nbody\r\n0\r\n\r\n")


async def test_a_long_lived_child_keeps_its_way_and_its_descriptors(serve, project: Path) -> None:
    server = await serve()
    sandbox = ProjectSandbox(
        find_bubblewrap(), project, project.parent / "state", hosts=HostRules.parse([f"localhost:{server.port}"])
    )
    reading, writing = os.pipe()
    script = (
        "import os,sys,urllib.request as r\n"
        "for line in sys.stdin:\n"
        f" os.write({writing}, r.urlopen(line.strip()).read())\n"
    )
    async with SandboxRun(sandbox, ["python3", "-c", script], project, {"PATH": os.defpath}) as run:
        child = await asyncio.create_subprocess_exec(
            *run.argv, stdin=asyncio.subprocess.PIPE, env={}, pass_fds=(*run.descriptors, writing)
        )
        run.started(child.pid)
        os.close(writing)
        assert child.stdin is not None
        for _ in range(3):
            child.stdin.write(b"http://localhost:%d/\n" % server.port)
            await child.stdin.drain()
            assert await asyncio.to_thread(os.read, reading, 100) == b"hello"
        child.stdin.close()
        assert await asyncio.wait_for(child.wait(), 30) == 0
    os.close(reading)
    assert len(server.seen) == 3
