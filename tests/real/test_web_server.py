"""The window in a browser, spoken to as a browser does: who gets in, types or only sees, and what is left behind."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest
from aiohttp import web

from gshtui.features.web import web_window
from gshtui.features.web.web_server import WebAddress, WebServer, WebServerError, size_text
from gshtui.features.web.web_window import WebWindow
from tests.kit.tmux import eventually
from tests.kit.warm_program import run_gsh, start_gsh

ECHO = """exec python3 -uc '
import os, signal, tty
tty.setraw(0)
signal.signal(signal.SIGWINCH, lambda *_: print("size", *reversed(os.get_terminal_size())))
print("begin")
while keys := os.read(0, 64):
    os.write(1, keys)
'"""
"""A stand-in for the window: prints what is typed, and its size when that changes."""


@dataclass
class Site:
    """A running server."""

    url: str
    viewer_url: str
    server: WebServer
    window: WebWindow

    told: list[WebAddress]
    """The links that were printed after one was opened."""

    @property
    def base(self) -> str:
        return self.url.split("/#")[0]

    @property
    def program(self) -> int:
        assert self.window._program is not None
        return self.window._program._process.pid


@asynccontextmanager
async def site(folder: Path, line: str = ECHO) -> AsyncGenerator[Site]:
    window = WebWindow(("/bin/sh", "-c", line), {"PATH": "/usr/bin:/bin"}, folder, size_text)
    told: list[WebAddress] = []
    server = WebServer(window, opened=told.append)
    address = await server.open()
    try:
        yield Site(address.url, address.viewer_url, server, window, told)
    finally:
        await server.close()


class Tab:
    """What a browser has after it opened a link: what its page keeps for this origin, and the cookies of the machine.

    It says at a connection what our page does.
    """

    def __init__(self, session: aiohttp.ClientSession, link: str) -> None:
        self.session = session
        self.offered = ["gsh-tui", link.partition("#")[2]]

    async def connect(self, url: str, origin: str, **options: Any) -> aiohttp.ClientWebSocketResponse:
        """A websocket of the page."""
        socket = await self.session.ws_connect(url, origin=origin, protocols=self.offered, **options)
        assert socket.protocol == "gsh-tui"
        kind, secret = json.loads((await socket.receive()).data)
        assert kind == "tab"
        self.offered = ["gsh-tui", secret]
        return socket


@asynccontextmanager
async def browser(url: str) -> AsyncGenerator[Tab]:
    """A browser that opened a link."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        async with session.get(url) as page:
            assert page.status == 200, await page.text()
            assert "Set-Cookie" not in page.headers
        yield Tab(session, url)


class Terminal:
    """The websocket of a page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.seen = b""
        self.told: list[Any] = []

    async def until(self, text: bytes) -> bytes:
        async with asyncio.timeout(60.0):
            while text not in self.seen:
                message = await self.socket.receive()
                assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), (message, self.seen)
                if message.type == aiohttp.WSMsgType.BINARY:
                    self.seen = (self.seen + message.data)[-100_000:]
                else:
                    self.told.append(json.loads(message.data))
        before, _, self.seen = self.seen.partition(text)
        return before + text

    async def send(self, *envelope: Any) -> None:
        await self.socket.send_str(json.dumps(list(envelope)))

    async def closed(self) -> None:
        async with asyncio.timeout(60.0):
            while (await self.socket.receive()).type not in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
                pass


async def opened(tab: Tab, place: Site, path: str = "/ws?width=100&height=30") -> Terminal:
    return Terminal(await tab.connect(place.base + path, place.base))


async def test_the_one_with_the_link_types_and_its_size_is_the_window_s(tmp_path: Path) -> None:
    async with site(tmp_path) as place, browser(place.url) as session:
        async with session.session.get(place.base) as page:
            text = await page.text()
            assert place.url.split("#")[1] not in text and "https://" not in text
            assert "default-src 'none'" in page.headers["Content-Security-Policy"]
            assert page.headers["X-Frame-Options"] == "DENY" and page.headers["Cache-Control"] == "no-store"
        async with session.session.get(f"{place.base}/static/js/textual.js") as script:
            assert script.status == 200 and len(await script.read()) > 100_000
        terminal = await opened(session, place)
        await terminal.until(b"begin")
        await terminal.send("stdin", "h\u00e9llo")
        await terminal.until("h\u00e9llo".encode())
        await terminal.send("resize", {"width": 70, "height": 20})
        await terminal.until(b"size 20 70")
        await terminal.send("ping", "12")
        await terminal.send("stdin", "z")
        await terminal.until(b"z")
        assert ["pong", "12"] in terminal.told


async def test_without_a_secret_there_is_no_window(tmp_path: Path) -> None:
    async with site(tmp_path) as place, aiohttp.ClientSession() as stranger:
        for path in ("/nothing", "/static", "/static/../../../../etc/passwd", "/page.html"):
            async with stranger.get(place.base + path, allow_redirects=False) as answer:
                assert answer.status in (403, 404) and len(await answer.read()) < 100, path
        link, viewer = place.url.split("#")[1], place.viewer_url.split("#")[1]
        for path, offered in (
            ("/ws", ()),
            ("/ws", ("gsh-tui",)),
            ("/ws", ("gsh-tui", viewer)),
            ("/watch/ws", ("gsh-tui", link)),
            (f"/ws?token={link}", ("gsh-tui",)),
            ("/ws", ("gsh-tui", link.partition(".")[2])),
        ):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await stranger.ws_connect(place.base + path, origin=place.base, protocols=offered)
            assert refused.value.status == 403, path
        assert place.window._program is None and place.told == []


async def test_a_link_works_once_and_the_next_one_is_told(tmp_path: Path) -> None:
    async with site(tmp_path) as place, browser(place.url) as tab, browser(place.url) as late:
        first = await opened(tab, place)
        await first.until(b"begin")
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await opened(late, place)
        (links,) = place.told
        assert links.url != place.url and links.viewer_url == place.viewer_url
        await opened(tab, place)
        assert len(place.told) == 1, "a reload uses no link"
        async with browser(links.url) as other:
            await opened(other, place)
        assert len(place.told) == 2


async def test_no_other_server_of_this_machine_gets_anything_that_opens_the_window(tmp_path: Path) -> None:
    """A server on another port is the same site to a browser, and gets its cookies."""
    heard: list[str] = []

    async def listen(request: web.Request) -> web.Response:
        heard.append(f"{request.raw_path} {dict(request.headers)}")
        return web.Response(text="hello")

    app = web.Application()
    app.router.add_get("/{path:.*}", listen)
    runner = web.AppRunner(app)
    await runner.setup()
    other = web.TCPSite(runner, "127.0.0.1", 0)
    await other.start()
    assert runner.addresses
    try:
        async with site(tmp_path) as place, browser(place.url) as tab:
            await (await opened(tab, place)).until(b"begin")
            elsewhere = f"http://127.0.0.1:{runner.addresses[0][1]}"
            async with tab.session.get(f"{elsewhere}/", headers={"Referer": place.base + "/"}) as answer:
                assert answer.status == 200
            assert len(heard) == 1 and "Cookie" not in heard[0]
            secrets = [place.url.split("#")[1], *tab.offered[1:]]
            assert not [one for one in secrets if one in heard[0]]
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await tab.connect(f"{place.base}/ws", elsewhere)
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1:1"},
        {"Host": "127.0.0.1:1", "Origin": "http://127.0.0.1:1"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
        {},
    ],
)
async def test_another_page_gets_no_window_though_it_has_the_secret(tmp_path: Path, headers: dict[str, str]) -> None:
    async with site(tmp_path) as place, browser(place.url) as tab:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await tab.session.ws_connect(f"{place.base}/ws", headers=headers, protocols=tab.offered)
        assert refused.value.status == 403
        if "Host" in headers:
            async with tab.session.get(place.base, headers=headers) as answer:
                assert answer.status == 403
        assert place.window._program is None and place.told == []


async def test_a_viewer_sees_the_same_window_and_cannot_type(tmp_path: Path) -> None:
    async with site(tmp_path) as place, browser(place.url) as owner, browser(place.viewer_url) as guest:
        first = await opened(owner, place)
        await first.until(b"begin")
        viewer = await opened(guest, place, "/watch/ws?width=10&height=5")
        await viewer.until(b"size 30 100")
        assert viewer.told[0] == ["window_size", {"width": 100, "height": 30}]
        await viewer.send("stdin", "owned")
        await viewer.send("resize", {"width": 3, "height": 3})
        await viewer.send("ping", "1")
        await first.send("stdin", "end")
        assert b"owned" not in await first.until(b"end") and b"size 3 3" not in await viewer.until(b"end")
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await opened(guest, place)
        await first.send("resize", {"width": 90, "height": 25})
        await viewer.until(b"size 25 90")
        assert ["window_size", {"width": 90, "height": 25}] in viewer.told


async def test_a_browser_that_vanishes_finds_its_window_again(tmp_path: Path) -> None:
    async with site(tmp_path) as place, browser(place.url) as session:
        first = await opened(session, place)
        await first.until(b"begin")
        program = place.program
        connection = first.socket._response.connection
        assert connection is not None and connection.transport is not None
        connection.transport.abort()
        second = await opened(session, place, "/ws?width=100&height=30")
        seen = await second.until(b"\x1b[?1003h")
        assert b"\x1b[?1049h" in seen
        await second.send("stdin", "again")
        await second.until(b"again")
        assert place.program == program
        third = await opened(session, place)
        await second.closed()
        await third.send("stdin", "third")
        await third.until(b"third")


async def test_the_window_ends_with_the_person_and_begins_anew(tmp_path: Path) -> None:
    async with site(tmp_path, "echo begin; read line; exit 0") as place, browser(place.url) as session:
        first = await opened(session, place)
        await first.until(b"begin")
        await first.send("stdin", "\r")
        await first.closed()
        second = await opened(session, place)
        await second.until(b"begin")


async def test_nothing_outlives_the_server(tmp_path: Path) -> None:
    async with site(tmp_path, "trap '' HUP; echo begin; exec sleep 1000") as place, browser(place.url) as session:
        await (await opened(session, place)).until(b"begin")
        program = place.program
    assert not psutil.pid_exists(program)


async def test_a_window_without_a_browser_ends_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_window, "KEPT", 0.05)
    async with site(tmp_path, "echo begin; exec sleep 1000") as place, browser(place.url) as session:
        terminal = await opened(session, place)
        await terminal.until(b"begin")
        program = place.program
        await terminal.socket.close()

        async def there() -> bool:
            return psutil.pid_exists(program)

        await eventually(there, until=lambda found: not found)


async def test_what_is_no_message_is_passed_over(tmp_path: Path) -> None:
    async with site(tmp_path) as place, browser(place.url) as session:
        terminal = await opened(session, place)
        await terminal.until(b"begin")
        for text in (
            "",
            "{",
            "[]",
            "1",
            '["stdin"]',
            '["stdin", 1]',
            '["resize", {"width": "x"}]',
            "[" * 100_000,
            '["resize", {"width": 99999999, "height": -5}]',
            '["unknown", 1]',
        ):
            await terminal.socket.send_str(text)
        await terminal.socket.send_bytes(b"\x00\xff")
        await terminal.send("stdin", "alive")
        await terminal.until(b"alive")
        assert place.window.size == (1_000, 1)


async def test_a_browser_that_does_not_read_is_let_go_and_delays_nobody(tmp_path: Path) -> None:
    line = "echo begin; read line; head -c 30000000 /dev/zero; echo end; read line"
    async with site(tmp_path, line) as place, browser(place.url) as owner, browser(place.viewer_url) as guest:
        first = await opened(owner, place)
        await first.until(b"begin")
        await opened(guest, place, "/watch/ws")
        assert len(place.window._viewers) == 1
        await first.send("stdin", "\r")
        await first.until(b"end")

        async def viewers() -> int:
            return len(place.window._viewers)

        await eventually(viewers, until=lambda count: count == 0)


async def test_it_is_served_on_this_machine_only(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "192.0.2.1", "example.com"):
        window = WebWindow(("/bin/true",), {}, tmp_path, size_text)
        with pytest.raises(WebServerError, match="only served on this machine"):
            await WebServer(window, host).open()


def test_the_command_prints_the_links_and_ends_when_asked(tmp_path: Path) -> None:
    with start_gsh("serve", "--web", "--json", cwd=tmp_path) as process:
        assert process.stdout is not None
        links = json.loads(process.stdout.readline())
        assert links["url"].startswith("http://127.0.0.1:") and "/watch#link." in links["viewer_url"]
        process.terminate()
        assert process.wait(20) == 0
    for wrong in (("serve",), ("serve", "--web", "--ssh")):
        done = run_gsh(*wrong, cwd=tmp_path)
        assert done.code == 2 and "--ssh" in done.err
    refused = run_gsh("serve", "--web", "--host", "0.0.0.0", cwd=tmp_path)
    assert refused.code == 1 and "only served on this machine" in refused.err
