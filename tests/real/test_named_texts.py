"""Pages of the web and other agents that a prompt names with `@`: read once, cut, and not from private places."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gshtui.hub.named_texts import html_text, named_texts, page_text
from gshtui.settings import paths
from gshtui.system.expected_error import ExpectedError
from tests.kit.loopback.script import Say
from tests.kit.mcp_turns import agent_with, ask

PAGE = (
    "<!DOCTYPE html><html><head><title>t</title></head><body><h1>The  WOMBAT</h1><script>evil()</script>"
    "<ul><li>one<li>two &amp; three</ul>\x1b[31m</body></html>"
)
"""Of a server of the tests."""


@asynccontextmanager
async def served(answers: dict[str, bytes]) -> AsyncIterator[str]:
    """A server of this machine; gives its address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
        writer.write(answers.get(path, b"HTTP/1.1 404 no\r\ncontent-length: 0\r\n\r\n"))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def ok(body: str, kind: str = "text/html") -> bytes:
    raw = body.encode()
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(raw)}\r\n\r\n".encode() + raw


def moved(to: str) -> bytes:
    return f"HTTP/1.1 302 there\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n".encode()


async def test_a_page_is_its_words() -> None:
    answers = {
        "/a": ok(PAGE),
        "/to": moved("/a"),
        "/round": moved("/round"),
        "/long": ok("x" * 2_100_000, "text/plain"),
    }
    answers |= {"/away": moved("http://10.1.2.3/secret"), "/data": ok("\0\1", "application/zip")}
    async with served(answers) as address:
        here = [address.removeprefix("http://")]
        for path in ("/a", "/to"):
            text = await page_text(address + path, here)
            assert "The WOMBAT\n\n- one\n- two & three\n" in text
            assert "evil" not in text and "\x1b" not in text
        assert "its server answered 404" in await page_text(f"{address}/none", here)
        assert "it leads on and on" in await page_text(f"{address}/round", here)
        assert "10.1.2.3 is in a private network" in await page_text(f"{address}/away", here)
        assert "its rest was not read" in await page_text(f"{address}/long", here)
        assert "it is no text but application/zip" in await page_text(f"{address}/data", here)
        assert f"[sandbox] hosts has no rule '{address.removeprefix('http://')}'" in await page_text(f"{address}/a", [])
        assert "private network" in await page_text(address.replace("127.0.0.1", "localhost"), [])


@pytest.mark.parametrize(
    "address",
    [
        *(
            "http://169.254.169.254/latest/meta-data",
            "http://[::1]:80/",
            "http://[::ffff:10.0.0.1]/",
            "http://127.1.1.1/",
        ),
        *("https://user:secret@example.com/", "http://", "https://[bad", "http://10.0.0.1:99999/"),
    ],
)
async def test_other_places_are_named_and_not_reached(address: str) -> None:
    text = await page_text(address, [])
    assert text.startswith("[@") and "was not read" in text


def test_broken_pages_have_words_too() -> None:
    assert html_text("<p>a<p>b</div></script>c<li>") == "a\nb\nc\n-"


async def test_what_a_prompt_names_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        served({"/a": ok(PAGE)}) as address,
        agent_with(tmp_path, monkeypatch, [[Say("done")]]) as (hub, provider, _),
    ):
        hub.settings.sandbox.hosts.append(address.removeprefix("http://"))
        await ask(hub, f"Explain @{address}/a, and mail to me@example.com.")
    (request,) = [one.body for one in provider.requests if one.body]
    assert "The WOMBAT" in str(request["messages"]) and f"The page {address}/a, which" in str(request["messages"])


async def test_an_agent_that_a_prompt_names_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("a file of an agent's name comes first")
    rows = [SimpleNamespace(name=name, id=name, status="idle") for name in ("fix", "notes", "main", "quiet", "gone")]

    async def last_answer(id: str) -> tuple[str, str]:
        if id == "gone":
            raise ExpectedError("Its record is gone.")
        return ("The NUMBAT\x1b[2J is fixed." if id == "fix" else "", "")

    fleet = SimpleNamespace(rows=lambda: rows, last_answer=last_answer)
    hub: Any = SimpleNamespace(fleet=fleet, has_mcp_servers=False, options=SimpleNamespace(cwd=tmp_path))
    found = dict(await named_texts(hub)("Do as @fix says, @notes @main @quiet @gone @nobody, a@fix", "main"))
    assert list(found) == ["fix", "quiet", "gone"]
    (paths.config_dir(create=True) / "agents").mkdir()
    (paths.config_dir() / "agents" / "rev.md").write_text("---\ndescription: Reviews\n---\nReview.\n")
    told = dict(
        await named_texts(hub)(f"Let @rev, @agent-rev, @norev and @{'x' * 300} look at @fix and @notes", "main")
    )
    assert list(told) == ["fix", "rev", "agent-rev"]
    assert told["rev"] == told["agent-rev"] and "rev is a persona (Reviews)" in told["rev"]
    assert "What the agent fix (idle) said last" in found["fix"] and "NUMBAT" in found["fix"]
    assert "\x1b" not in found["fix"]
    assert "has said nothing yet" in found["quiet"] and "Its record is gone" in found["gone"]
