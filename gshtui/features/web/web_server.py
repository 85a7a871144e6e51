"""The window in a browser, on this machine only: textual-serve's terminal and protocol, behind links that work once.

The pages are the same for everybody, and hold nothing; the window is behind their websocket. Every request from another
page or under another name, and every websocket without a secret, is refused in the same way; the pages load nothing
from elsewhere. One browser types; those with the viewer's link see the same window. Raises `WebServerError` where it
cannot listen.

Who may see the window in a browser: whoever opened a link that nobody had opened before. A link makes one browser the
owner, another one a viewer, who sees and cannot type. A link works once: the browser gets a secret of its own for it,
which it keeps as long as its tab and says at each connection. Nothing of this is a cookie, which a browser sends to
every port of this machine, nor part of an address that is sent. A missing secret is never told apart from a wrong one.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import importlib.util
import json
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from string import Template
from typing import Any, Literal, cast

import msgspec
from aiohttp import WSMsgType, web

from gshtui.features.web.web_window import Browser, WebWindow
from gshtui.system.expected_error import ExpectedError
from gshtui.system.network.local_address import LocalAddress, is_loopback
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

Role = Literal["owner", "viewer"]
PROTOCOL = "gsh-tui"
"""What a page names as its websocket's protocol, beside its secrets."""


class WebAccess:
    """The secrets of one run of the server."""

    def __init__(self) -> None:
        self._links: dict[Role, str] = {"owner": _secret("link"), "viewer": _secret("link")}
        self._tabs: dict[Role, list[str]] = {"owner": [], "viewer": []}

    def link(self, role: Role) -> str:
        """The secret of the link that makes the next browser this."""
        return self._links[role]

    def open(self, offered: Sequence[str], role: Role) -> str:
        """Whether somebody who offers these secrets is this: the secret of their tab; empty: they are not.

        A link that is used is used up.
        """
        for tab in self._tabs[role]:
            if _offers(offered, tab):
                return tab
        if not _offers(offered, self._links[role]):
            return ""
        self._links[role] = _secret("link")
        tab = _secret("tab")
        self._tabs[role].append(tab)
        return tab


def _secret(kind: str) -> str:
    return f"{kind}.{secrets.token_urlsafe(32)}"


def _offers(offered: Sequence[str], secret: str) -> bool:
    """Whether the secret is among these; each comparison takes as long for any wrong one of its length."""
    return any(hmac.compare_digest(one.encode(errors="replace"), secret.encode()) for one in offered)


_HEARTBEAT = 15.0
"""Seconds between two signs of life of a browser."""
_LARGEST_MESSAGE = 1024 * 1024
_BACKLOG = 64
_STOPS_WITHIN = 10.0
_OWN = Path(__file__).parent
_FONT = 16
_CLOSED = "The window is closed here. Reload the page to open it again."
_REFUSED = "This link was opened before, or is not valid. gsh-tui serve has printed a new one."
_PAGES: dict[str, Role] = {"/": "owner", "/watch": "viewer"}
_SOCKETS: dict[str, Role] = {"/ws": "owner", "/watch/ws": "viewer"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebServerError(ExpectedError):
    """The server cannot listen; one sentence and what to do."""


class WebAddress(msgspec.Struct, frozen=True):
    """Where the window is: the first who opens a link can use it."""

    url: str
    viewer_url: str


class WebServer:
    """Listens between `open` and `close`."""

    def __init__(
        self,
        window: WebWindow,
        host: str = "127.0.0.1",
        port: int = 0,
        opened: Callable[[WebAddress], None] = lambda _: None,
    ) -> None:
        """
        Args:
            port: 0: any free one.
            opened: called with the new links each time that one was opened.
        """
        self._window = window
        self._host, self._port = host, port
        self._opened = opened
        self._access = WebAccess()
        self._runner: web.AppRunner | None = None

    async def open(self) -> WebAddress:
        """Listen. Raises `WebServerError`."""
        if not is_loopback(self._host):
            raise WebServerError(
                f"The window is only served on this machine, not on {self._host}.",
                f"From elsewhere: `ssh -L {self._port or 8000}:127.0.0.1:{self._port or 8000} HOST`.",
            )
        try:
            listening = socket.create_server(
                (self._host.strip("[]"), self._port), backlog=_BACKLOG, family=_family(self._host)
            )
        except OSError as error:
            raise WebServerError(
                f"Cannot listen on {self._host} port {self._port}: {error.strerror or error}.",
                "Choose another port with `--port`.",
            ) from error
        self._port = int(listening.getsockname()[1])
        self._runner = web.AppRunner(self._make_app(), access_log=None, handle_signals=False, shutdown_timeout=2.0)
        await self._runner.setup()
        await web.SockSite(self._runner, listening).start()
        return self.address

    @property
    def address(self) -> WebAddress:
        """The links that work now."""
        base = f"http://{self._here.authority}"
        return WebAddress(f"{base}/#{self._access.link('owner')}", f"{base}/watch#{self._access.link('viewer')}")

    @property
    def _here(self) -> LocalAddress:
        return LocalAddress(self._host, self._port)

    async def close(self) -> None:
        """End the window, and listen no longer."""
        await self._window.close()
        if self._runner is not None:
            with contextlib.suppress(TimeoutError):
                async with time_limit(_STOPS_WITHIN):
                    await self._runner.cleanup()

    def _make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=64 * 1024)
        app.add_routes(
            [
                web.get("/", self._page),
                web.get("/watch", self._page),
                web.get("/ws", self._serve_socket),
                web.get("/watch/ws", self._serve_socket),
                web.static("/static", _browser_files()),
            ]
        )
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse who may not ask, and say to browsers what the pages may do."""
        if not self._here.is_ours(request.headers, needs_origin=request.path in _SOCKETS):
            return _refusal()
        try:
            return _with_headers(await handler(request), request.host)
        except OSError as error:
            return _with_headers(web.Response(status=500, text=f"{error.strerror or error}\n"), "")
        except web.HTTPException as error:
            return _with_headers(web.Response(status=error.status, text=error.reason), "")

    async def _page(self, request: web.Request) -> web.Response:
        watches = _PAGES[request.path] == "viewer"
        nonce = secrets.token_urlsafe(16)
        script = await asyncio.to_thread(_script, "viewer.js" if watches else "owner.js")
        page = Template(await asyncio.to_thread((_OWN / "page.html").read_text)).substitute(
            title="gsh-tui (viewing)" if watches else "gsh-tui",
            nonce=nonce,
            script=script,
            socket=f"ws://{request.host}{'/watch/ws' if watches else '/ws'}",
            font=_FONT,
            closed=_CLOSED,
            refused=_REFUSED,
        )
        response = web.Response(text=page, content_type="text/html")
        response.headers["X-Nonce"] = nonce
        return response

    async def _serve_socket(self, request: web.Request) -> web.StreamResponse:
        """Show the window to one browser until either is gone."""
        role, before = _SOCKETS[request.path], self.address
        offered = request.headers.get("Sec-WebSocket-Protocol", "")
        tab = self._access.open([one.strip() for one in offered.split(",")], role)
        if not tab:
            return _refusal()
        if self.address != before:
            self._opened(self.address)
        websocket = web.WebSocketResponse(heartbeat=_HEARTBEAT, max_msg_size=_LARGEST_MESSAGE, protocols=(PROTOCOL,))
        await websocket.prepare(request)
        browser = Browser(websocket)
        browser.put(json.dumps(["tab", tab]))
        reading: asyncio.Task[Any] | None = None
        gone = asyncio.ensure_future(browser.gone.wait())
        try:
            if role == "owner":
                await self._window.open_to(browser, (_number(request, "width", 80), _number(request, "height", 24)))
            elif not self._window.watch(browser):
                return websocket
            reading = start_job(self._read(websocket, browser), "what a browser types")
            await asyncio.wait({reading, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait(reading, gone)
            await self._window.leave(browser)
            await browser.close()
        return websocket

    async def _read(self, websocket: web.WebSocketResponse, browser: Browser) -> None:
        """What the browser sends; the window itself knows who may type."""
        async for message in websocket:
            if message.type != WSMsgType.TEXT:
                continue
            match _envelope(message.data):
                case ["stdin", str(keys)]:
                    await self._window.type(browser, keys)
                case ["resize", {"width": int(columns), "height": int(rows)}]:
                    self._window.resize(browser, (columns, rows))
                case ["ping", str(sent)]:
                    browser.put(json.dumps(["pong", sent[:40]]))
                case _:
                    continue


def size_text(columns: int, rows: int) -> str:
    """The message that tells a viewer's page how large the window is."""
    return json.dumps(["window_size", {"width": columns, "height": rows}])


def _envelope(text: str) -> object:
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return None


def _number(request: web.Request, name: str, default: int) -> int:
    given = request.query.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 6 else default


def _script(name: str) -> str:
    """What a page of ours does before and beside textual-serve's script."""
    return (_OWN / "access.js").read_text() + (_OWN / name).read_text()


def _refusal() -> web.StreamResponse:
    return _with_headers(web.Response(status=403, text="This link is not valid.\n"), "")


def _browser_files() -> Path:
    """textual-serve's script for browsers, with the terminal in it, its style and its fonts."""
    found = importlib.util.find_spec("textual_serve")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "static"


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _with_headers(response: web.StreamResponse, host: str) -> web.StreamResponse:
    """What the page may do: load from here, and be shown in no other page."""
    if response.prepared:
        return response  # a websocket, or a download in progress
    nonce = response.headers.pop("X-Nonce", "")
    scripts = f"script-src 'self' 'nonce-{nonce}'; " if nonce else ""
    response.headers.update(
        {
            "Content-Security-Policy": f"default-src 'none'; {scripts}style-src 'self' 'unsafe-inline'; img-src 'self'"
            f" data:; font-src 'self'; connect-src 'self' ws://{host}; frame-ancestors 'none'; base-uri 'none';"
            " form-action 'none'",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }
    )
    return response
