"""OpenCode by the HTTP server inside of the program whose screen is in the terminal.

Says what it does and asks by the server's events; gives it prompts, answers and interrupts without a key. Connects
again when the connection breaks; while it is away it says nothing, so that the next rank counts. A prompt goes to the
conversation on its screen, with the agent and the model that are chosen there; where the screen does not tell these,
the prompt is typed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.programs.opencode.server_client import ServerClient, ServerError, ServerState
from gshtui.programs.opencode.server_launch import ServerAddress, find_server
from gshtui.programs.opencode.server_questions import ServerRequest, is_server_question, with_reason
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.pane.program_link import ProgramLink
from gshtui.programs.screen.line_styles import without_styles
from gshtui.programs.status.evidence import Evidence
from gshtui.programs.transcripts.opencode_transcript import is_shown_as, title_shown
from gshtui.system.json_types import obj, objects, seq, string
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.tmux_errors import TmuxError

_PAUSE, _LONGEST_PAUSE = 0.3, 15.0
"""Seconds between two attempts to connect, each time half as long again."""
_STEADY = 20.0
"""Seconds after which a connection was a good one, so that the next attempt comes soon."""
_GIVEN_UP = 300.0
"""Seconds without a connection after which a program that never had one has no server."""
_LISTENS_WITHIN, _CONNECTED_WITHIN, _TAKEN_WITHIN = 1.5, 12.0, 30.0
"""Seconds to wait for a server, for a connection to one that listens, and for a prompt of which nobody knows to be in
its conversation."""
_COMMAND = re.compile(r"/[\w-]+(?:\s|$)")
"""A text that its screen takes for a command."""
_UNTITLED = re.compile(r"(?:New|Child) session - ")
_PLAIN_TITLE = "OpenCode"
"""The terminal's title while its screen is in no conversation, or in one that has no title yet."""
_CHOSEN, _GAP = re.compile(r" *+┃ {2}(\S.*)"), " " * 8
"""The row of the input that names the agent, the model and its provider, and, behind another `·`, a variant.

What stands behind a gap is no part of it.
"""
_BELOW_INPUT = re.compile(r"^ *╹▀")
_LOGO = "█▀▀█ █▀▀█ █▀▀█"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class _Screen(NamedTuple):
    """What its terminal shows: plain rows, and the title."""

    rows: Sequence[str]
    title: str


class ScreenView(Protocol):
    """A tmux server whose screens are read (`gshtui.tmux.server.TmuxServer`)."""

    async def capture_screen(self, pane: str) -> tuple[PaneInfo, tuple[str, ...]]: ...


class OpenCodeLink(ProgramLink):
    """See the module."""

    def __init__(self, server: ScreenView, row: AgentRow, port: int) -> None:
        """
        Args:
            server: where its terminal is.
            port: of the program's own server.
        """
        super().__init__(row.name)
        self._server = server
        self._row = row
        self._port = port
        self._client: ServerClient | None = None
        self._state = ServerState(conversation=row.external_id)
        self._version = ""
        self._over = False
        """It is certain that there is no server that can be used."""
        self._listens = False
        """There is a server at its port, with which it is connected, or is about to be."""
        self._painted = False
        """Its screen has shown its input."""
        self._later: asyncio.TimerHandle | None = None
        self._models: dict[str, tuple[str, str]] = {}
        """Model and provider as its screen names them → their ids."""
        self._agents: dict[str, str] = {}
        """Agents, as its screen names them → their names."""

    # -- what it says ----------------------------------------------------------------------------------------------

    @property
    def evidence(self) -> Evidence | None:
        """What it does now."""
        if self._client is None:
            return None
        state, now = self._state, time.time()
        status = state.activity(now)
        if status == "idle" and not self._painted:
            return None  # its server is up before its screen is
        return self._evidence(status, state.since, state.doing, f"its server: {status}")

    @property
    def is_connected(self) -> bool:
        return self._client is not None

    @property
    def asked(self) -> ServerRequest | None:
        return self._state.asked

    @property
    def conversation(self) -> str:
        """The id of the conversation that was given a prompt last."""
        return self._state.conversation

    @property
    def version(self) -> str:
        return self._version

    def _begin(self) -> None:
        if self._task is None and not self._over:
            self._client = None  # until it is told of changes
        super()._begin()

    async def refresh(self, *, quiet: bool) -> None:
        """Changes come by themselves, but that its screen is up."""
        if self._client is not None and not self._painted:
            await self._see_whether_painted()
            if self._painted:
                self._tell()

    async def _see_whether_painted(self) -> None:
        with contextlib.suppress(TmuxError):
            self._painted = bool(chosen_on_screen((await self._look()).rows)[0])

    async def stop(self) -> None:
        """End the connection."""
        if self._later is not None:
            self._later.cancel()
        await super().stop()

    # -- what is done by it ----------------------------------------------------------------------------------------

    async def connected(self) -> bool:
        """See `ProgramLink`. Where nobody follows it by this link, it is asked how it stands, once for each call: more
        than ten who listen to its events are too many for it.
        """
        if self._task is None:
            return await self._visited()
        self._wanted.set()
        if not await self._until(lambda: self._listens or self._client is not None or self._over, _LISTENS_WITHIN):
            return False
        await self._until(lambda: self._client is not None or self._over or not self._listens, _CONNECTED_WITHIN)
        return self._client is not None

    async def prompt(self, text: str) -> bool:
        """See `ProgramLink`."""
        client = self._client
        if client is None or not text.strip() or _COMMAND.match(text):
            return False
        try:
            screen = await self._look()
            chosen = await self._chosen(client, screen)
            session = await self._session_shown(client, screen) if chosen is not None else ""
            if chosen is None or not session:
                return False
            message = await self._message_id(client, session)
        except (ServerError, TmuxError):
            return False
        body = {"messageID": message, **chosen, "parts": [{"type": "text", "text": text}]}
        try:
            await client.post(f"/session/{session}/prompt_async", body)
        except ServerError as error:
            if error.kind != "unsure":
                return False
            if not await self._is_there(client, session, message):
                raise self._unsure("text", error, "Look at its terminal before you send it again.") from error
        self._state.prompted(session, time.time())
        self._tell()
        return True

    async def interrupt(self) -> bool:
        """See `ProgramLink`."""
        client = self._client
        if client is None:
            return False
        done = False
        sessions, asked = self._state.working(), list(self._state.requests.values())
        for session in sessions:
            with contextlib.suppress(ServerError):
                await client.post(f"/session/{session}/abort")
                done = True
        for request in asked:  # it leaves them open, on its screen as well
            with contextlib.suppress(ServerError):
                await client.post(*request.refusal)
                done = True
        return done

    def asks(self, question: str) -> bool:
        return is_server_question(question)

    async def answer(self, question: str, choice: str, reason: str = "") -> OpenQuestion | None:
        """See `ProgramLink`."""
        client, request = self._client, self._state.find(question)
        given = self._checked(request, choice)
        assert client is not None and request is not None
        if reason and (given := with_reason(given, reason)) is None:
            raise self._takes_no_reason()
        path, body = given
        if not path:
            self._state.answered_in_part(request, body["answers"], body.get("chosen", ()))
            self._tell()
            return await self.question()
        try:
            await client.post(path, body)
        except ServerError as error:
            if error.kind == "missing":
                self._forget(request)
                raise self._over_now() from error
            if error.kind == "unsure":
                raise self._unsure("answer", error) from error
            message = f"{self._name} did not take the answer: {error}."
            raise SessionError("terminal", message, "Answer it in its terminal.") from error
        self._forget(request)
        return await self.question()

    def _forget(self, request: ServerRequest) -> None:
        """It is answered: the event that tells that may be under way."""
        self._state.handle_event({"type": "permission.replied", "properties": {"requestID": request.id}}, time.time())
        self._tell()

    # -- a prompt's way --------------------------------------------------------------------------------------------

    async def _look(self) -> _Screen:
        """Its terminal. Raises `TmuxError`."""
        info, lines = await self._server.capture_screen(self._row.pane)
        return _Screen([without_styles(line) for line in lines], info.title)

    async def _chosen(self, client: ServerClient, screen: _Screen) -> dict[str, Any] | None:
        """The agent, model and variant that are chosen on its screen; `None`: it does not tell them exactly."""
        agent, model, variant = chosen_on_screen(screen.rows)
        if not agent:
            return None
        if agent not in self._agents or model not in self._models:
            await self._learn(client)
        if agent not in self._agents or model not in self._models:
            return None
        provider, id = self._models[model]
        chosen = {"agent": self._agents[agent], "model": {"providerID": provider, "modelID": id}}
        return {**chosen, "variant": variant} if variant else chosen

    async def _learn(self, client: ServerClient) -> None:
        """The names that its screen may show. Raises `ServerError`."""
        agents = [string(obj(each).get("name")) for each in seq(await client.get("/agent"))]
        self._agents = {name[:1].upper() + name[1:]: name for name in agents if name}
        found: dict[str, tuple[str, str]] = {}
        twice: set[str] = set()
        for provider in objects(obj(await client.get("/config/providers")).get("providers")):
            for id, model in obj(provider.get("models")).items():
                name = f"{string(obj(model).get('name'))} {string(provider.get('name'))}"
                twice |= {name} if name in found else set()
                found[name] = string(provider.get("id")), id
        self._models = {name: ids for name, ids in found.items() if name not in twice}

    async def _session_shown(self, client: ServerClient, screen: _Screen) -> str:
        """The conversation on its screen, a new one where it is in none; empty: that cannot be told. Raises
        `ServerError`.
        """
        if any(_LOGO in row for row in screen.rows):
            made = string(obj(await client.post("/session")).get("id"))
            if made:
                await client.post("/tui/select-session", {"sessionID": made})
            return made
        shown, known = title_shown(screen.title), self._state.conversation
        if not shown and screen.title != _PLAIN_TITLE:
            return ""

        def is_it(title: str) -> bool:
            return is_shown_as(title, shown) if shown else bool(_UNTITLED.match(title))

        listed = objects(await client.get("/session", roots="true", limit="60"))
        like = [string(each.get("id")) for each in listed if is_it(string(each.get("title")))]
        if known not in like:
            return like[0] if len(like) == 1 else ""
        if len(like) > 1:
            await client.post("/tui/select-session", {"sessionID": known})
        return known

    async def _message_id(self, client: ServerClient, session: str) -> str:
        """An id by which the prompt is known again: above those in the conversation, as OpenCode makes them itself.
        Raises `ServerError`.
        """
        last = seq(await client.get(f"/session/{session}/message", limit="1"))
        before = string(obj(obj(last[-1]).get("info")).get("id")) if last else ""
        id = new_message_id(time.time())
        if id <= before:
            raise ServerError("refused", "its messages have ids of another kind")
        return id

    async def _is_there(self, client: ServerClient, session: str, message: str) -> bool:
        """Whether a prompt is in its conversation, once the server answers. It is asked for a while, since the prompt
        may be taken late.
        """
        until = time.monotonic() + _TAKEN_WITHIN
        while time.monotonic() < until:
            try:
                await client.get(f"/session/{session}/message/{message}")
            except ServerError:
                await asyncio.sleep(1.0)
                continue
            return True
        return False

    # -- the connection --------------------------------------------------------------------------------------------

    async def _visited(self) -> bool:
        """Learn how everything stands now; whether there is a server that can be used."""
        self._client = None
        address = await asyncio.to_thread(find_server, self._row.pid, self._port) if not self._over else None
        if address is None:
            return False
        client = ServerClient(address)
        try:
            if await client.is_open_to_all():
                self._over = True
                return False
            await self._catch_up(client)
        except ServerError:
            return False
        await self._see_whether_painted()
        return True

    async def _run(self) -> None:
        pause, began, once = _PAUSE, time.monotonic(), False
        while not self._over:
            address = await asyncio.to_thread(find_server, self._row.pid, self._port)
            tried = time.monotonic()
            if address is not None and await self._follow(address):
                once = True
                pause = _PAUSE if time.monotonic() - tried > _STEADY else pause
            if not once and time.monotonic() - began > _GIVEN_UP:
                self._end()
                return
            await self._pause(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    async def _follow(self, address: ServerAddress) -> bool:
        """Listen to the server until the connection ends; whether there was one."""
        client = ServerClient(address)
        self._listens = True
        self._tell()
        try:
            if await client.is_open_to_all():
                self._end()
                return False
            self._version = string(obj(await client.get("/global/health")).get("version"))
            async with contextlib.aclosing(client.events()) as events:
                async for event in events:
                    if event.get("type") in _ANEW or self._client is None:
                        await self._catch_up(client)
                    if event.get("type") in _LEAVES:
                        break
                    self._state.handle_event(event, time.time())
                    self._tell()
        except ServerError:
            pass
        finally:
            was = self._client is not None
            self._client, self._listens = None, False
            self._tell()
        return was

    async def _catch_up(self, client: ServerClient) -> None:
        """Learn how everything stands. Raises `ServerError`."""
        statuses, permissions, questions = await asyncio.gather(
            client.get("/session/status"), client.get("/permission"), client.get("/question")
        )
        self._state.begin(statuses, permissions, questions, time.time())
        self._client = client

    def _end(self) -> None:
        """There is no server that can be used."""
        self._over = True
        self._tell()

    def _tell(self) -> None:
        """Look again once a prompt should have been taken up, besides."""
        if self._later is not None:
            self._later.cancel()
        left = self._state.expects_work(time.time()) if self._client is not None else 0.0
        self._later = asyncio.get_running_loop().call_later(left, self._tell) if left else None
        super()._tell()


_ANEW = frozenset(("server.connected",))
_LEAVES = frozenset(("server.instance.disposed", "global.disposed"))
"""Events after which everything may be different."""


def chosen_on_screen(rows: Sequence[str]) -> tuple[str, str, str]:
    """The agent, the model with its provider, and the variant that its input names; empty where it does not."""
    for at, row in enumerate(rows[1:], 1):
        if _BELOW_INPUT.match(row) and (found := _CHOSEN.match(rows[at - 1])) is not None:
            agent, _, chosen = found.group(1).partition(" · ")
            model, _, variant = chosen.partition(_GAP)[0].rstrip().partition(" · ")
            if model:
                return agent, model, variant
    return "", "", ""


def new_message_id(now: float) -> str:
    """An id as OpenCode makes them for messages: they sort by time."""
    moment = (int(now * 1000) * 0x1000) & 0xFFFFFFFFFFFF
    return f"msg_{moment:012x}" + "".join(secrets.choice(_BASE62) for _ in range(14))
