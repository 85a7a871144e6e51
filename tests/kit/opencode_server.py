"""A server that speaks OpenCode's HTTP API as far as gsh-tui uses it, on a port of this machine.

It keeps what it was told, asks and says what a test has it say, and can be made to break in the ways that a real one
does: an answer that never comes, one that is a page for browsers, a stream that ends.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import encode_basic_auth, web

USER, PASSWORD = "opencode", "secret"
SESSION = "ses_one"


class OpenCodeServer:
    """Use as an asynchronous context manager. `posts`: (path, body) of what it was asked to do."""

    def __init__(self, *, open_to_all: bool = False) -> None:
        self.port = 0
        self.posts: list[tuple[str, Any]] = []
        self.statuses: dict[str, Any] = {}
        self.permissions: list[dict[str, Any]] = []
        self.questions: list[dict[str, Any]] = []
        self.sessions = [{"id": SESSION, "title": "Small talk"}]
        self.messages: list[str] = []
        self.lost: set[str] = set()
        """Paths whose next answer never comes, although what was asked for is done."""
        self.pages: set[str] = set()
        """Paths that this version does not have: they are answered with a page."""
        self._open = open_to_all
        self._streams: list[web.StreamResponse] = []
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self.followed = asyncio.Event()
        """Somebody listens to its events."""

    async def __aenter__(self) -> OpenCodeServer:
        application = web.Application(middlewares=[self._guarded])
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.break_streams()
        assert self._runner is not None
        await self._runner.cleanup()

    async def listen(self) -> None:
        """Listen, at the same port as before."""
        assert self._runner is not None
        self._site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await self._site.start()
        self.port = self._runner.addresses[0][1]

    async def leave(self) -> None:
        """Listen no longer, and end every stream."""
        assert self._site is not None
        await self._site.stop()
        await self.break_streams()

    async def break_streams(self) -> None:
        """End every stream of events."""
        streams, self._streams = self._streams, []
        self.followed.clear()
        for stream in streams:
            if stream._payload_writer is not None and stream._req is not None and stream._req.transport is not None:
                stream._req.transport.abort()

    async def say(self, kind: str, **properties: Any) -> None:
        """An event to everybody who listens."""
        await self.say_raw(f"data: {json.dumps({'id': 'evt_1', 'type': kind, 'properties': properties})}\n\n".encode())

    async def say_raw(self, data: bytes) -> None:
        """Bytes in the stream of events."""
        for stream in self._streams:
            await stream.write(data)

    async def works(self, session: str = SESSION) -> None:
        self.statuses[session] = {"type": "busy"}
        await self.say("session.status", sessionID=session, status={"type": "busy"})

    async def rests(self, session: str = SESSION) -> None:
        """Its turn is over."""
        self.statuses.pop(session, None)
        await self.say("session.status", sessionID=session, status={"type": "idle"})
        await self.say("session.idle", sessionID=session)

    async def asks(self, id: str, session: str = SESSION, **more: Any) -> None:
        """It wants to run a command."""
        asked = {
            "id": id,
            "sessionID": session,
            "permission": "bash",
            "patterns": ["touch made.txt"],
            "metadata": {"command": "touch made.txt"},
            "always": ["touch *"],
            **more,
        }
        self.permissions.append(asked)
        await self.say("permission.asked", **asked)

    async def settled(self, id: str, reply: str = "once") -> None:
        """Somebody has answered, here or at its screen."""
        self.permissions = [each for each in self.permissions if each["id"] != id]
        await self.say("permission.replied", sessionID=SESSION, requestID=id, reply=reply)

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Any) -> web.StreamResponse:
        given = request.headers.get("Authorization", "")
        if not self._open and given != encode_basic_auth(USER, PASSWORD):
            return web.Response(status=401)
        return await handler(request)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path in self.pages:
            return web.Response(text="<!doctype html>", content_type="text/html")
        if path == "/event":
            return await self._stream(request)
        if request.method == "POST":
            body = await request.json()
            self.posts.append((path, body))
            answer = await self._done(path, body)
            if path in self.lost:
                self.lost.discard(path)
                assert request.transport is not None
                request.transport.abort()
            return answer
        found: dict[str, Any] = {
            "/global/health": {"healthy": True, "version": "1.18.33"},
            "/session/status": self.statuses,
            "/permission": self.permissions,
            "/question": self.questions,
            "/session": self.sessions,
            "/agent": [{"name": "build"}, {"name": "plan"}],
            "/config/providers": {"providers": [{"id": "loop", "name": "Loop", "models": {"fake": {"name": "fake"}}}]},
            f"/session/{SESSION}": self.sessions[0],
            "/session/ses_new/message": [],
            f"/session/{SESSION}/message": [{"info": {"id": id}} for id in self.messages[-1:]],
        }
        if path in found:
            return web.json_response(found[path])
        if path.rpartition("/")[2] in self.messages:
            return web.json_response({"info": {"id": path.rpartition("/")[2]}})
        return web.json_response({"message": "not found"}, status=404)

    async def _done(self, path: str, body: Any) -> web.Response:
        match path.split("/")[1:]:
            case ["session"]:
                self.sessions.append({"id": "ses_new", "title": "New session - 1"})
                return web.json_response(self.sessions[-1])
            case ["session", _, "prompt_async"]:
                self.messages.append(body["messageID"])
                return web.Response(status=204)
            case ["session", session, "abort"]:
                await self.rests(session)
                return web.json_response(True)
            case ["permission", id, "reply"]:
                if all(each["id"] != id for each in self.permissions):
                    return web.json_response({"message": "Permission request not found"}, status=404)
                await self.settled(id, body["reply"])
                return web.json_response(True)
            case ["question", id, how]:
                self.questions = [each for each in self.questions if each["id"] != id]
                await self.say("question.replied" if how == "reply" else "question.rejected", requestID=id)
                return web.json_response(True)
            case _:
                return web.json_response(True)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await stream.prepare(request)
        self._streams.append(stream)
        await stream.write(b'data: {"id":"evt_0","type":"server.connected","properties":{}}\n\n')
        self.followed.set()
        with_end = asyncio.get_running_loop().create_future()
        await with_end
        return stream
