"""A Codex app-server as a test wants it: it keeps what it is asked, and says what it is told to say.

Its messages have the form of those that Codex 0.169 and 0.171 send.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, unix_serve

THREAD, TURN = "01a22185-001e-7e70-8659-11bc893cd46d", "01a22185-7dfe-7542-a856-080833dde2d1"
IDLE: dict[str, Any] = {"type": "idle"}


def active(*flags: str) -> dict[str, Any]:
    """The status of a thread in a turn."""
    return {"type": "active", "activeFlags": list(flags)}


def thread(id: str = THREAD, status: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A thread as the server describes it."""
    described: dict[str, Any] = {
        "id": id,
        "ephemeral": False,
        "parentThreadId": None,
        "threadSource": "user",
        "createdAt": 1795858694,
        "updatedAt": 1795858727,
        "recencyAt": 1795858726,
        "status": status or IDLE,
        "turns": [],
    }
    return described | more


def command_question(command: str = "touch made.txt", **more: Any) -> dict[str, Any]:
    """What is told with a request to run a command."""
    told: dict[str, Any] = {
        "kind": "command",
        "threadId": THREAD,
        "turnId": TURN,
        "itemId": "call_1",
        "startedAtMs": 1795858727069,
        "reason": "May I run it?",
        "command": f"/bin/bash -lc '{command}'",
        "cwd": "/srv/project",
        "availableDecisions": [
            "accept",
            {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["touch", "made.txt"]}},
            "cancel",
        ],
    }
    return told | more


class AppServer:
    """See the module. Use it as an async context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.threads: dict[str, dict[str, Any]] = {THREAD: thread()}
        self.written = {THREAD}
        """Threads that can be joined: what was said there is written down."""
        self.turns: dict[str, dict[str, Any]] = {}
        """Thread → its last turn."""
        self.joined: dict[str, Any] = {}
        """What is said to whoever joins one, besides."""
        self.asked: list[dict[str, Any]] = []
        """Every request and answer that came."""
        self.open: dict[int | str, tuple[str, dict[str, Any]]] = {}
        """Requests of its own that nobody has answered: they are sent again to whoever joins."""
        self.refuses: set[str] = set()
        self.silent: set[str] = set()
        """Methods that are refused, and that get no answer."""
        self.on_answer: Callable[[int | str, dict[str, Any]], None] = lambda id, result: None
        self._clients: set[ServerConnection] = set()
        self._server: Server | None = None
        self._stirred = asyncio.Event()

    async def __aenter__(self) -> AppServer:
        self.path.unlink(missing_ok=True)
        self._server = await unix_serve(self._serve, str(self.path), compression=None)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        self.path.unlink(missing_ok=True)

    async def say(self, method: str, **params: Any) -> None:
        """Tell every client something."""
        await self.raw(json.dumps({"method": method, "params": params}))

    async def ask(self, id: int | str, method: str, **params: Any) -> None:
        """Ask every client something."""
        self.open[id] = (method, params)
        await self.raw(json.dumps({"id": id, "method": method, "params": params}))

    async def resolve(self, id: int | str) -> None:
        """Say that a request is answered, by whomever."""
        self.open.pop(id, None)
        await self.say("serverRequest/resolved", threadId=THREAD, requestId=id)

    async def raw(self, text: str | bytes) -> None:
        """Send exactly this to every client."""
        for client in list(self._clients):
            await client.send(text)

    async def drop(self) -> None:
        """Break every connection, as a server does that is killed."""
        for client in list(self._clients):
            client.transport.abort()
            await client.wait_closed()

    async def until(self, method: str, times: int = 1) -> dict[str, Any]:
        """Wait until this was asked so often; the last of them."""
        while len(found := [one for one in self.asked if one.get("method") == method]) < times:
            self._stirred.clear()
            await self._stirred.wait()
        return found[-1]

    async def _serve(self, client: ServerConnection) -> None:
        self._clients.add(client)
        try:
            async for text in client:
                message = json.loads(text)
                self.asked.append(message)
                self._stirred.set()
                if "method" not in message:
                    self.on_answer(message["id"], message["result"])
                    await self.resolve(message["id"])
                elif "id" in message and message["method"] not in self.silent:
                    await client.send(json.dumps({"id": message["id"], **self._answer(message)}))
                    if message["method"] == "thread/resume":
                        for id, (method, params) in self.open.items():
                            await client.send(json.dumps({"id": id, "method": method, "params": params}))
        finally:
            self._clients.discard(client)

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        method, params = message["method"], message["params"]
        if method in self.refuses:
            return {"error": {"code": -32600, "message": "not now"}}
        thread = params.get("threadId", "")
        match method:
            case "initialize":
                return {"result": {"userAgent": "codex-tui/0.171.0 (Debian; x86_64) xterm (gsh-tui; 1)"}}
            case "thread/loaded/list":
                return {"result": {"data": list(self.threads), "nextCursor": None}}
            case "thread/read":
                return {"result": {"thread": self.threads[thread]}}
            case "thread/resume" if thread not in self.written:
                return {"error": {"code": -32600, "message": f"no rollout found for thread id {thread}"}}
            case "thread/resume":
                return {"result": self.joined}
            case "thread/turns/list":
                return {"result": {"data": [self.turns[thread]] if thread in self.turns else []}}
            case "turn/start":
                return {"result": {"turn": {"id": TURN, "items": [], "status": "inProgress"}}}
            case _:
                return {"result": {}}
