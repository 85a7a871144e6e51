"""Codex by its app-server, beside the screen of its own that is connected to the same server.

Says what it does and asks, gives it prompts, answers and interrupts without a key. Connects again when the server comes
back; while it is away it says nothing, so that the next rank counts. Starts no conversation: its screen does.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

from gshtui.bus.agent_data import AgentRow, GuardMode, OpenQuestion, ProgramMode
from gshtui.programs.codex.app_server_connection import AppServerConnection, AppServerError, ServerMessage
from gshtui.programs.codex.app_server_launch import goes_on
from gshtui.programs.codex.codex_questions import CodexRequest, is_codex_question
from gshtui.programs.codex.codex_threads import CodexThread, CodexThreads
from gshtui.programs.codex.thread_modes import is_wider, mode_of, permissions_of
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.pane.program_link import ProgramLink
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.status.evidence import Evidence
from gshtui.system.ids import new_id
from gshtui.system.json_types import obj, objects, string, strings
from gshtui.system.tasks import cancel_and_wait, start_job

_FIRST = 3.0
"""Seconds for which a new server is left to its own screen: it names itself to the model's provider as its first client
does."""
_PAUSE, _LONGEST_PAUSE = 0.25, 2.0
"""Seconds between two attempts to connect, each time twice as long."""
_CONNECTED_WITHIN, _SETTLED_WITHIN, _ASKED_WITHIN = 4.0, 5.0, 1.0
"""Seconds to wait for a connection, for an answer to count, and for the question of a program that says it waits."""
_JOIN_AGAIN, _MOST_JOINS = 0.2, 60
"""Seconds until a thread that is not written down yet is joined again, and how often: its first turn writes it down."""
_STOPPED = 2.0
"""Seconds to wait for an interrupt to be taken: one that is stopped takes it once it goes on."""
_MOST_LISTED = 30
"""Threads of a server that are looked at."""
_VERSION = re.compile(r"/(\d++(?:(?=\.\d)\.\d++)++\S*+)")


class CodexLink(ProgramLink):
    """See the module."""

    def __init__(self, socket: Path, row: AgentRow, profile: Profile) -> None:
        super().__init__(row.name)
        self._socket = socket
        self._profile = profile
        self._threads = CodexThreads()
        self._connection: AppServerConnection | None = None
        self._version = ""
        self._jobs: set[asyncio.Task[None]] = set()
        self._joining: set[str] = set()
        begins = row.status == "starting" and row.status_source == "spawn"
        held = permissions_of(profile, row.held_to) if begins and goes_on(row.argv) else None
        self._held = held
        """What a conversation may do that it has just been started with again, which keeps its own; `None`: that is
        settled."""

    # -- what it says ----------------------------------------------------------------------------------------------

    @property
    def evidence(self) -> Evidence | None:
        """What it does now."""
        if self._connection is None or not (status := self._threads.activity):
            return None
        return self._evidence(status, self._threads.since, self._threads.doing, f"its app-server: {status}")

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    @property
    def asked(self) -> CodexRequest | None:
        return self._threads.asked

    @property
    def mode(self) -> ProgramMode | None:
        """That of the conversation in its screen."""
        now = self._threads.permissions
        return mode_of(self._profile, now) if now is not None else None

    @property
    def conversation(self) -> str:
        return self._threads.main

    @property
    def file(self) -> Path | None:
        return self._socket if self.is_connected else None

    @property
    def version(self) -> str:
        return self._version

    @property
    def answer_text(self) -> str:
        """What it said last in the turn that is over; empty while it works."""
        return self._threads.answer if self._connection is not None else ""

    async def stop(self) -> None:
        """End the connection."""
        await super().stop()
        await cancel_and_wait(*self._jobs)
        await self._leave()

    # -- what is done by it ----------------------------------------------------------------------------------------

    async def connected(self) -> bool:
        """See `ProgramLink`."""
        self._begin()
        self._wanted.set()
        return await self._until(
            lambda: self.is_connected and bool(self._threads.main) and self._held is None, _CONNECTED_WITHIN
        )

    async def prompt(self, text: str) -> bool:
        """See `ProgramLink`."""
        connection, thread = self._connection, self._threads.main
        if connection is None or not thread:
            return False
        words = [{"type": "text", "text": text}]
        try:
            given = await connection.call("turn/start", threadId=thread, input=words, clientUserMessageId=new_id())
        except AppServerError as error:
            if error.kind != "unsure":
                return False
            raise self._unsure("text", error, "Look at its terminal before you send it again.") from error
        self._threads.prompted(thread, string(obj(given.get("turn")).get("id")), time.time())
        self._tell()
        return True

    async def interrupt(self) -> bool:
        """See `ProgramLink`."""
        connection = self._connection
        working = [thread for thread in self._threads.family() if thread.active]
        if connection is None or not working:
            return False
        done = False
        for thread in working:
            try:
                turn = thread.turn or await self._turn_of(connection, thread)
                if turn:
                    await connection.call("turn/interrupt", within=_STOPPED, threadId=thread.id, turnId=turn)
                    done = True
            except AppServerError as error:
                done = done or error.kind == "unsure"
        return done

    async def question(self) -> OpenQuestion | None:
        """See `ProgramLink`."""
        if self._threads.asks:
            await self._until(lambda: self.asked is not None, _ASKED_WITHIN)
        return await super().question()

    def asks(self, question: str) -> bool:
        return is_codex_question(question)

    async def answer(self, question: str, choice: str, reason: str = "") -> OpenQuestion | None:
        """See `ProgramLink`."""
        await self._until(lambda: self._threads.find(question) is not None, _ASKED_WITHIN)
        connection, request = self._connection, self._threads.find(question)
        result = self._checked(request, choice)
        assert connection is not None and request is not None
        if reason and not any(one.key == choice and one.means == "deny" for one in request.question.choices):
            raise self._takes_no_reason()
        try:
            await connection.respond(request.id, result)
        except AppServerError as error:
            raise self._unsure("answer", error) from error
        if not await self._until(lambda: self._threads.find(question) is None, _SETTLED_WITHIN):
            message = f"The answer was given, but {self._name} still asks the same."
            raise SessionError("waiting", message, "Look at its terminal.")
        if reason:
            await self.prompt(reason)  # its refusal has no place for words
        return self.asked.question if self.asked is not None else None

    async def change_mode(self, mode: GuardMode) -> bool:
        """See `ProgramLink`. It counts from its next turn on."""
        wanted, connection, thread = permissions_of(self._profile, mode), self._connection, self._threads.main
        if wanted is None or connection is None or not thread:
            return False
        try:
            await connection.call("thread/settings/update", threadId=thread, **wanted.settings)
        except AppServerError as error:
            if error.kind == "unsure":
                raise self._unsure("mode", error) from error
            return False
        self._threads.permit(thread, wanted)
        self._tell()
        return True

    # -- the connection --------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        pause = _PAUSE
        while True:
            await self._young()
            try:
                connection = await AppServerConnection.open(self._socket, self._take)
            except AppServerError:
                await self._pause(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            try:
                await self._greet(connection)
                pause = _PAUSE
                await connection.closed.wait()
            except AppServerError:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            finally:
                await self._leave(connection)

    async def _young(self) -> None:
        """Wait until a server that has just been started has been reached by its own screen."""
        try:
            age = time.time() - (await asyncio.to_thread(self._socket.lstat)).st_mtime
        except OSError:
            return
        if 0 <= age < _FIRST:
            await asyncio.sleep(_FIRST - age)

    async def _greet(self, connection: AppServerConnection) -> None:
        """Introduce us, and learn where it stands. Raises `AppServerError`."""
        us = {"name": "gsh-tui", "title": "gsh-tui", "version": "1"}
        hello = await connection.call("initialize", clientInfo=us, capabilities={"experimentalApi": True})
        found = _VERSION.search(string(hello.get("userAgent")))
        self._version = found.group(1) if found else ""
        before, self._threads = self._threads.main, CodexThreads()
        await connection.notify("initialized")
        loaded = await connection.call("thread/loaded/list")
        ids = strings(loaded.get("data"))
        threads: list[Mapping[str, Any]] = []
        for id in ids[-_MOST_LISTED:]:
            with contextlib.suppress(AppServerError):
                threads.append(obj((await connection.call("thread/read", threadId=id)).get("thread")))
        self._threads.begin(threads, await asyncio.to_thread(_begun, self._socket), time.time())
        if before in self._threads.threads:
            self._threads.main = before  # of a server that came back, the screen opens its conversation again
        self._connection = connection
        self._tell()

    async def _leave(self, connection: AppServerConnection | None = None) -> None:
        connection, self._connection = connection or self._connection, None
        if connection is not None:
            await connection.close()
        for thread in self._threads.threads.values():
            thread.joined = False
        self._threads.requests.clear()
        self._tell()

    def _take(self, message: ServerMessage) -> None:
        self._threads.add_message(message, time.time())
        if self._connection is not None:
            self._tell()

    def _tell(self) -> None:
        """Join the threads that work, besides."""
        connection = self._connection
        if connection is not None:
            for id in self._threads.unknown.keys() - self._threads.strangers - self._joining:
                self._start(id, self._meet(connection, id))
            for thread in self._threads.family():
                if not thread.joined and thread.id not in self._joining and (thread.active or thread.parent == ""):
                    self._start(thread.id, self._join(connection, thread))
        super()._tell()

    def _start(self, id: str, work: Coroutine[Any, Any, None]) -> None:
        self._joining.add(id)
        task = start_job(work, f"a conversation of {self._name}")
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)
        task.add_done_callback(lambda _: self._joining.discard(id))

    async def _meet(self, connection: AppServerConnection, id: str) -> None:
        """Ask about a thread that was only mentioned: its screen has opened it."""
        try:
            for _ in range(_MOST_JOINS):
                thread = obj((await connection.call("thread/read", threadId=id)).get("thread"))
                self._threads.open(thread, time.time())
                if id not in self._threads.unknown:
                    break
                await asyncio.sleep(_JOIN_AGAIN)  # one that has just begun may not be described yet
        except AppServerError:
            self._threads.strangers.add(id)
            return
        if id in self._threads.unknown:
            self._threads.strangers.add(id)
        self._joining.discard(id)
        self._tell()

    async def _join(self, connection: AppServerConnection, thread: CodexThread) -> None:
        """Have the requests and the items of a thread sent to us, and learn of its last turn."""
        for _ in range(_MOST_JOINS):
            try:
                told = await connection.call("thread/resume", threadId=thread.id, excludeTurns=True)
            except AppServerError as error:
                if error.kind != "refused":
                    return
                if not thread.active:
                    return  # it has no turn yet; its first one begins with a change of its status
                await asyncio.sleep(_JOIN_AGAIN)
                continue
            self._threads.join(thread.id, told)
            if thread.id == self._threads.main:
                await self._hold(thread)
            await self._catch_up(connection, thread)
            self._tell()
            return

    async def _hold(self, thread: CodexThread) -> None:
        """Put a conversation that goes on into the mode that it was started in, where its own is wider."""
        held, now = self._held, thread.permissions
        if held is not None and now is not None and is_wider(now, held):
            with contextlib.suppress(SessionError):  # then its row says that it does more
                await self.change_mode(held.like)
        self._held = None

    async def _catch_up(self, connection: AppServerConnection, thread: CodexThread) -> None:
        """Learn what was missed of its last turn before it was joined."""
        try:
            turn = await self._last_turn(connection, thread)
        except AppServerError:
            return
        if string(turn.get("status")) == "inProgress":
            self._threads.under_way(thread.id, turn)
        elif thread.since and not thread.active and not thread.said:
            self._threads.missed(thread.id, turn, await asyncio.to_thread(_begun, self._socket))

    async def _last_turn(self, connection: AppServerConnection, thread: CodexThread) -> Mapping[str, Any]:
        listed = await connection.call("thread/turns/list", threadId=thread.id, limit=1, itemsView="full")
        found = objects(listed.get("data"))
        return found[0] if found else {}

    async def _turn_of(self, connection: AppServerConnection, thread: CodexThread) -> str:
        turn = await self._last_turn(connection, thread)
        return string(turn.get("id")) if string(turn.get("status")) == "inProgress" else ""


def _begun(socket: Path) -> float:
    """When a server began, in seconds since 1970."""
    try:
        return socket.lstat().st_mtime
    except OSError:
        return time.time()
