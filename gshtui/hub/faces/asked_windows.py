"""Hubs for windows in other processes: each window has one of its own in here, on the host's record.

It has the folder, the settings and the variables of its window, which starts it, calls it and stops it as one in its
own process, and is told all events. Another window that asks for its conversation comes to it, and both see and do the
same. One that hangs up without a word has left. A turn that is in progress when the last has left may go on, and the
next window in its folder comes to it; nothing else starts. A window that reads slowly gets what came meanwhile merged;
one that does not read is given up, as if it had left.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gshtui.bus import wire
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TurnFinished
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.fleet_events import AgentEnded
from gshtui.bus.events.hub_events import Noticed, QuitRequested
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.client.window_calls import CALLS
from gshtui.client.window_protocol import WindowOpening, may_publish, plain_error
from gshtui.commands.declaration import Question
from gshtui.fleet.keeper.keeper import LINGER, LOGGED_OUT
from gshtui.guard.approval.question_text import waiting_words
from gshtui.hub.faces.face_host import FaceHost
from gshtui.hub.faces.face_outbox import FaceOutbox
from gshtui.hub.faces.window_history import WindowHistory
from gshtui.hub.faces.window_hub import WindowHub, window_options
from gshtui.hub.hub import Hub
from gshtui.settings.loader import Loaded, load
from gshtui.shell.hub_listener import HubConnection
from gshtui.shell.line_stream import BadLine
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.caller_environment import Inherited, working_for
from gshtui.system.expected_error import ExpectedError
from gshtui.system.plain_values import PlainValueError, from_plain, to_plain
from gshtui.system.tasks import cancel_and_wait, end_all, report, start_job
from gshtui.text.sanitise import one_line

_BACKGROUND = "the background"
_CALLED = 200
"""Characters of what the person is called for."""
_encoder = msgspec.json.Encoder()


class AskedWindows(FaceHost):
    """Handles connections of the kind `window`."""

    def __init__(self, host: Hub, *, after_logout: bool = False) -> None:
        """
        Args:
            after_logout: a logout ended the last process of this kind, which the first window is told.
        """
        super().__init__(host)
        host.is_shown = self.shows
        self._after_logout = after_logout
        self._faces: dict[HubConnection, _Face] = {}
        self._windows: list[_HostedWindow] = []
        self._changed = asyncio.Event()
        """A window was opened or has ended."""
        self._ends = host.bus.subscribe(self._pass_on_ends, AgentEnded, name="ends for windows")

    @property
    def open(self) -> bool:
        """Whether there are windows, or turns that they have left behind."""
        return bool(self._windows)

    @property
    def works(self) -> bool:
        """Whether a turn is in progress."""
        return any(window.working for window in self._windows)

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """Open a window, or handle what an open one says."""
        face = self._faces.get(connection)
        if face is not None:
            face.handle_message(fields)
            return
        opening = self.opening(WindowOpening, fields)
        face = self._faces[connection] = _Face(connection)
        start_job(self._serve(connection, face, opening), "a window in another process")

    def disconnected(self, connection: HubConnection) -> None:
        """It has left."""
        if (face := self._faces.pop(connection, None)) is None:
            return
        if face.window is not None:
            face.window.leave(face)
        else:
            face.close()

    def shows(self, home: str) -> bool:
        """Whether a window is open in this folder."""
        return any(window.shown and window.home == home for window in self._windows)

    def publish(self, event: Event) -> None:
        """Say something in every window."""
        for window in self._windows:
            window.bus.publish(event)

    def _pass_on_ends(self, batch: Sequence[Event]) -> None:
        """Tell the windows of its folder that an agent has ended: the others' agents end on the host's bus alone."""
        rows = {row.id: row for row in self.host.fleet.rows()} if self.host.fleet is not None else {}
        for event in batch:
            row = rows.get(event.agent) if isinstance(event, AgentEnded) else None
            if row is not None and not row.killed:
                for window in self._windows:
                    window.send_event(event, row.home)

    async def finish(self) -> None:
        """Wait until no window is open, and no turn of one goes on."""
        while self._windows:
            self._changed.clear()
            await self._changed.wait()

    async def rest(self) -> None:
        """Wait until no turn is in progress in any window."""
        while working := [window for window in self._windows if window.working]:
            await working[0].turned()

    async def close(self) -> None:
        """Stop the hubs of all windows, and wait until they have recorded what they have."""
        self._ends.unsubscribe()
        for window in self._windows:
            window.end()
        await self.finish()

    async def _serve(self, connection: HubConnection, face: _Face, opening: WindowOpening) -> None:
        if why := await self.stranger(connection, "only a person has a window, and an agent asks"):
            face.send(declined=why)
            return
        loaded = await asyncio.to_thread(load, Path(opening.cwd), environ=opening.environ)
        if why := self.difference(opening, loaded):
            face.send(declined=why)
            return
        session = await self._named_session(opening, loaded)
        while session in (window.given_up for window in self._windows if window.given_up):
            self._changed.clear()
            await self._changed.wait()
        if connection not in self._faces:
            return  # it has left meanwhile
        if (there := next((window for window in self._windows if window.is_for(opening, session)), None)) is not None:
            there.attach(face)
            await there.note_place(opening.where)
            return
        inherited = self.inherited(opening)
        window = _HostedWindow(self.host, opening, loaded, inherited, self._has_open, after_logout=self._after_logout)
        self._after_logout = False
        self._windows.append(window)
        try:
            with working_for(opening.environ, inherited=inherited):
                await window.serve(face)
        finally:
            self._windows.remove(window)
            self._changed.set()

    def _has_open(self, opening: WindowOpening, session: str) -> bool:
        """Whether a window from this folder would come to a conversation that other windows have open."""
        return any(window.is_for(opening, session) for window in self._windows)

    async def _named_session(self, opening: WindowOpening, loaded: Loaded) -> str:
        """The conversation that it names; empty: a new one, or none that there is."""
        if opening.session == "new" or self.host.store is None:
            return ""
        try:
            return (await self.host.store.sessions.find(opening.session, str(loaded.cwd))).id
        except StoreError:
            return ""  # which its hub says


class _Face:
    """A window at the other end of a connection."""

    def __init__(self, connection: HubConnection) -> None:
        self.window: _HostedWindow | None = None
        self.outbox = FaceOutbox(connection)
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._answers: dict[int, asyncio.Future[bool]] = {}
        self._asked = 0
        self._commands: tuple[str, ...] = ()
        """Those that it was told of."""

    def send(self, **fields: object) -> None:
        """Send one line."""
        self.outbox.put(_encoder.encode(fields) + b"\n")

    def close(self) -> None:
        """Send what waits, and do no more for it. It starts nothing: the loop itself may be about to end."""
        for call in self._calls.values():
            call.cancel()
        self.outbox.close()

    def handle_message(self, fields: dict[str, Any]) -> None:
        """What it says. Raises `BadLine`."""
        if self.window is None:
            raise BadLine("it is not open yet")
        try:
            match fields:
                case {"event": event}:
                    self.window.publish(self, wire.from_plain(msgspec.convert(event, dict[str, Any])))
                case {"do": "cease"}:
                    self.window.cease(self)
                case {"id": int() as number, "do": str() as name, "with": given} if name in CALLS:
                    arguments = from_plain(msgspec.convert(given, dict[str, Any]))
                    with working_for(self.window.opening.environ, inherited=self.window.inherited):
                        task = start_job(self._call(self.window, number, name, arguments), f"the window's {name}")
                    self._calls[number] = task
                case {"cancel": int() as number}:
                    if number in self._calls:
                        self._calls[number].cancel()
                case {"answer": int() as number, "yes": bool() as yes}:
                    if (waiting := self._answers.pop(number, None)) is not None and not waiting.done():
                        waiting.set_result(yes)
                case _:
                    raise BadLine("a window sends events, calls and answers")
        except (wire.WireError, PlainValueError, msgspec.ValidationError) as error:
            raise BadLine(str(error)) from error

    async def _call(self, window: _HostedWindow, number: int, name: str, given: dict[str, Any]) -> None:
        try:
            match name:
                case "start":
                    result = await window.start(self)
                case "stop":
                    result = await window.stop(self)
                case _:
                    if given.pop("asks", False):
                        given["ask"] = self._asker(number)
                    method: Callable[..., Any] = getattr(window.door, name)
                    result = await method(**given)
            if self._commands:  # those that were told may have changed
                self._tell_commands(window.door)
            self.send(id=number, value=to_plain(result))
        except ExpectedError as error:
            self.send(id=number, failed=plain_error(error))
        except Exception as error:
            report(f"the window's {name}", error)
            self.send(id=number, fault=f"{type(error).__name__}: {error}")
        finally:
            self._calls.pop(number, None)
        if name == "start":
            await self._load_commands(window.door)  # a prompt that was typed meanwhile goes first
        elif name == "stop":
            window.leave(self)

    def _asker(self, call: int) -> Callable[[Question], Any]:
        async def ask(question: Question) -> bool:
            self._asked += 1
            number = self._asked
            waiting = self._answers[number] = asyncio.get_running_loop().create_future()
            self.send(ask=number, of=call, question=to_plain(question))
            return await waiting

        return ask

    async def _load_commands(self, door: WindowHub) -> None:
        """Load them one after the other, and say which there are."""
        for name in door.commands:
            await asyncio.sleep(0)
            door.commands.get(name)
        self._tell_commands(door)

    def _tell_commands(self, door: WindowHub) -> None:
        """Say which commands there are, where that has changed."""
        names = tuple(door.commands)
        if names != self._commands:
            self._commands = names
            self.send(commands=to_plain(dict(door.commands)))


class _HostedWindow:
    """A window's hub. Windows may come to it, and leave it in the middle of a turn."""

    def __init__(
        self,
        host: Hub,
        opening: WindowOpening,
        loaded: Loaded,
        inherited: Inherited,
        has_open: Callable[[WindowOpening, str], bool],
        *,
        after_logout: bool,
    ) -> None:
        from gshtui.hub.composition import build_hub

        self.opening = opening
        self.inherited = inherited
        self.home = str(loaded.cwd)
        self._host = host
        self.bus = Bus()
        self._hub = build_hub(window_options(opening, loaded), self.bus, host)
        self.door = WindowHub(self._hub)
        self._after_logout = after_logout
        self._has_open = has_open
        self._history = WindowHistory()
        self._faces: list[_Face] = []
        """The windows that are there, or coming."""
        self._told: list[_Face] = []
        """Those of them that are sent events."""
        self._starting: asyncio.Task[None] | None = None
        """Begun with its first window, which then loads meanwhile."""
        self.given_up = ""
        """The conversation that it is about to give free; empty: none yet."""
        self._over = asyncio.Event()
        self._left: set[asyncio.Task[None]] = set()

    @property
    def shown(self) -> bool:
        """Whether there are windows."""
        return bool(self._faces)

    @property
    def working(self) -> bool:
        """Whether a turn is in progress."""
        return any(agent.working for agent in self._hub.roster or ())

    @property
    def _goes_on(self) -> bool:
        """Whether it goes on without its window."""
        return self.working and self._hub.settings.hub.closing == "finish"

    async def turned(self) -> None:
        """Wait for the end of a turn, or of all."""
        turned = self.bus.wait_for(TurnFinished)
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait((turned, over), return_when=asyncio.FIRST_COMPLETED)
        finally:
            turned.cancel()
            over.cancel()

    def is_for(self, opening: WindowOpening, session: str) -> bool:
        """Whether a window wants its conversation; or whatever goes on in its folder, where nobody is, with the words
        that it was begun with or with none. `session`: the conversation that the opening names; empty: none.
        """
        if self._over.is_set() or (opening.cwd, opening.agent) != (self.opening.cwd, self.opening.agent):
            return False
        if session and session == self._hub.session_of(opening.agent):
            return True
        begun = (opening.provider, opening.model, opening.mode)
        same = begun in (("", "", None), (self.opening.provider, self.opening.model, self.opening.mode))
        return not self._faces and (opening.session == "latest" or (opening.session == "new" and same))

    def attach(self, face: _Face) -> None:
        """Take another window: it is told what there is once it starts."""
        self._faces.append(face)
        face.window = self
        face.send(begins=True)

    async def serve(self, face: _Face) -> None:
        """Take its first window, and be there until nothing goes on any more."""
        self.bus.subscribe(self._pass_on, name="window")
        self._told.append(face)
        self.attach(face)
        self._starting = start_job(self._start(), "the start of a window")
        try:
            await self._over.wait()
        finally:
            await cancel_and_wait(self._starting, *self._left)
            await end_all("the end of a window", self.door.stop, self.bus.close)

    async def start(self, face: _Face) -> None:
        """Wait until the hub has started; a later window is told what there is."""
        if self._starting is not None:
            await asyncio.shield(self._starting)
        if face not in self._told:
            face.outbox.put(*self._history.events())
            self._told.append(face)

    async def _start(self) -> None:
        await self.door.start()
        if self._after_logout:
            self.bus.publish(Noticed(level="warning", text=LOGGED_OUT, hint=LINGER, about="hub"))

    def publish(self, face: _Face, event: Event) -> None:
        """Say what a window says. Raises `BadLine`."""
        if not may_publish(event):
            raise BadLine(f"a window may not send {type(event).__name__}")
        match event:
            case QuitRequested():
                self.cease(face)
                face.outbox.put(event)
            case SessionChangeRequested() if self._leads_elsewhere(event):
                face.send(move=event.session)
            case _:
                self.bus.publish(event)

    def _leads_elsewhere(self, event: SessionChangeRequested) -> bool:
        """Whether a window is to go to others that have the conversation open, rather than to read along."""
        return (
            event.agent == self.opening.agent
            and not self.working
            and event.session not in ("new", "latest", self._hub.session_of(event.agent))
            and self._has_open(self.opening, event.session)
        )

    def cease(self, face: _Face) -> None:
        """Start nothing from now on, for a window that leaves, if it is the last; a turn in progress may go on."""
        if self._faces == [face]:
            self._cease()

    def _cease(self) -> None:
        if self._goes_on and self._hub.roster is not None:
            self._hub.roster.hold("The window was closed, so what was queued waits.")
        else:
            self.door.cease()

    async def stop(self, face: _Face) -> bool:
        """A window leaves in order. Whether a turn goes on."""
        if self._faces != [face]:
            return self.working
        if self._goes_on:
            return True
        await self.door.stop()
        return False

    def leave(self, face: _Face) -> None:
        """A window is not there any more."""
        if face.window is not self:
            return
        face.window = None
        face.close()
        self._faces.remove(face)
        if face in self._told:
            self._told.remove(face)
        if self._faces:
            return
        self._cease()
        if self._goes_on:
            self._keep(start_job(self.note_place(_BACKGROUND), "the place of a closed window's turn"))
            self._keep(start_job(self._end_after_turn(), "the turn of a closed window"))
        else:
            self.end()

    async def note_place(self, where: str) -> None:
        """Say for others where its conversation is open now."""
        if self._hub.store is not None and (session := self._hub.session_of(self.opening.agent)):
            with contextlib.suppress(StoreError):
                await self._hub.store.holds.move(session, where)

    def end(self) -> None:
        """Stop the hub, whoever is there."""
        self.given_up = self._hub.session_of(self.opening.agent)
        self.door.cease()
        self._over.set()

    async def _end_after_turn(self) -> None:
        while self.working and not self._faces:
            await self.turned()
        if not self._faces:
            self.end()

    def _call_for(self, event: ApprovalRequested | TurnFinished) -> None:
        """Call the person who has closed the window: its turn asks, or has ended."""
        if self._over.is_set() or (call := self._host.call_person) is None:
            return
        who = f"{event.agent} in {Path(self.opening.cwd).name}"
        if isinstance(event, ApprovalRequested):
            text = waiting_words(event, who)
        else:
            text = f"{who} is done" if event.stop == "end" else f"{who} stopped: {event.error or event.stop}"
        call(one_line(text, _CALLED), event.agent)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._left.add(task)
        task.add_done_callback(self._left.discard)

    def send_event(self, event: Event, home: str) -> None:
        """Tell those who look at this folder; nothing here acts on it."""
        if home == self.home:
            for face in self._told:
                face.outbox.put(event)

    def _pass_on(self, batch: Sequence[Event]) -> None:
        for event in batch:
            self._history.note(event)
            if not self._faces and isinstance(event, ApprovalRequested | TurnFinished):
                self._call_for(event)
        for face in self._told:
            face.outbox.put(*batch)
