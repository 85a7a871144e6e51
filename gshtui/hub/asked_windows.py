"""Hubs for windows in other processes: each window has one of its own in here, on the host's record.

It has the folder, the settings and the variables of its window, which starts it, calls it and stops it as one in its
own process, and is told all events. A window that hangs up without a word has left. One that reads slowly gets what
came meanwhile merged; one that does not read is given up, as if it had left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from gshtui import __version__
from gshtui.bus import wire
from gshtui.bus.bus import Bus, merged
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TurnFinished
from gshtui.bus.events.hub_events import QuitRequested
from gshtui.client.window_protocol import CALLS, WindowOpening, may_publish, plain_error
from gshtui.commands.declaration import Question
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.hub.surroundings import difference
from gshtui.hub.window_hub import WindowHub
from gshtui.settings.loader import Loaded, load
from gshtui.shell.hub_listener import HubConnection, NoHost
from gshtui.shell.line_stream import BadLine
from gshtui.system import process_limits
from gshtui.system.caller_environment import working_for
from gshtui.system.expected_error import ExpectedError
from gshtui.system.installation import INSTALLED_AT
from gshtui.system.peer import sees_the_same
from gshtui.system.plain_values import PlainValueError, from_plain, to_plain
from gshtui.system.struct_types import learned
from gshtui.system.tasks import cancel_and_wait, end_all, report, start_job

QUEUE = 5_000
"""Events that may wait for a window; then they are merged."""
_MOST = 50_000
"""Events that may wait for it in the end."""
_encoder = msgspec.json.Encoder()


class AskedWindows(NoHost):
    """Handles connections of the kind `window`."""

    def __init__(self, host: Hub) -> None:
        self._host = host
        self._umask = process_limits.umask()
        self._windows: dict[HubConnection, _HostedWindow] = {}
        self._none = asyncio.Event()
        self._none.set()

    @property
    def open(self) -> list[str]:
        """What is open here: each window's place and folder."""
        return [window.what for window in self._windows.values()]

    def admit(self, connection: HubConnection) -> dict[str, Any]:
        """Say which version this is."""
        return {"serves": __version__, "installed": INSTALLED_AT}

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """Open a window, or handle what an open one says."""
        window = self._windows.get(connection)
        if window is not None:
            window.handle_message(fields)
            return
        try:
            opening = msgspec.convert(fields, learned(WindowOpening))
        except msgspec.ValidationError as error:
            raise BadLine(str(error)) from error
        window = self._windows[connection] = _HostedWindow(self._host, connection, opening)
        self._none.clear()
        start_job(self._serve(connection, window), "a window in another process")

    def disconnected(self, connection: HubConnection) -> None:
        """It has left."""
        if (window := self._windows.get(connection)) is not None:
            window.leave()

    async def finish(self) -> None:
        """Wait until no window is open."""
        await self._none.wait()

    async def rest(self) -> None:
        """Wait until no turn is in progress in any window."""
        while working := [window for window in self._windows.values() if window.working]:
            await working[0].turned()

    async def close(self) -> None:
        """Stop the hubs of all windows, and wait until they have recorded what they have."""
        for window in self._windows.values():
            window.leave()
        await self.finish()

    async def _serve(self, connection: HubConnection, window: _HostedWindow) -> None:
        try:
            if not sees_the_same(connection.peer):
                window.send(declined="it is in other namespaces")
                return
            opening = window.opening
            loaded = await asyncio.to_thread(load, Path(opening.cwd), environ=opening.environ)
            if why := difference(self._host, self._umask, opening, loaded):
                window.send(declined=why)
                return
            with working_for(opening.environ):
                await window.serve(loaded)
        finally:
            await window.close()
            del self._windows[connection]
            if not self._windows:
                self._none.set()


class _Outbox:
    """What waits to be sent to a window, in its order: nothing here waits for a window that does not read."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection
        self._waiting: list[Event | bytes] = []
        self._came = asyncio.Event()
        self._sending = start_job(self._send(), "what is sent to a window")

    def put(self, *items: Event | bytes) -> None:
        """Send events and whole lines, once the window has read what was sent before."""
        self._waiting += items
        self._came.set()
        if len(self._waiting) > QUEUE:
            self._waiting = _folded(self._waiting)
            if len(self._waiting) > _MOST:
                self._connection.close()  # it has not read for hours

    async def close(self) -> None:
        """Send what waits, and no more."""
        if self._waiting:
            self._connection.send(self._lines())
        await cancel_and_wait(self._sending)

    async def _send(self) -> None:
        while True:
            await self._came.wait()
            self._came.clear()
            self._connection.send(self._lines())
            await self._connection.sent()

    def _lines(self) -> bytes:
        waiting, self._waiting = self._waiting, []
        return b"".join(
            item if isinstance(item, bytes) else b'{"event":%b}\n' % wire.encode(item).rstrip(b"\n") for item in waiting
        )


def _folded(items: list[Event | bytes]) -> list[Event | bytes]:
    """The same with the events between two lines merged."""
    out: list[Event | bytes] = []
    for is_event, run in groupby(items, lambda item: isinstance(item, Event)):
        held = list(run)
        out += merged(item for item in held if isinstance(item, Event)) if is_event else held
    return out


class _HostedWindow:
    """A window's hub, and the window at the other end of the connection."""

    def __init__(self, host: Hub, connection: HubConnection, opening: WindowOpening) -> None:
        self.opening = opening
        self._host = host
        self._outbox = _Outbox(connection)
        self._bus = Bus()
        self._hub: Hub | None = None
        self._door: WindowHub | None = None
        self._left = asyncio.Event()
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._answers: dict[int, asyncio.Future[bool]] = {}
        self._asked = 0
        self._commands: tuple[str, ...] = ()
        """Those that the window was told of."""

    @property
    def what(self) -> str:
        """For people."""
        return f"{self.opening.where} in {self.opening.cwd}"

    @property
    def working(self) -> bool:
        """Whether a turn is in progress."""
        return self._hub is not None and any(agent.working for agent in self._hub.roster or ())

    async def turned(self) -> None:
        """Wait for the end of a turn, or of the window."""
        turned = self._bus.wait_for(TurnFinished)
        left = asyncio.ensure_future(self._left.wait())
        try:
            await asyncio.wait((turned, left), return_when=asyncio.FIRST_COMPLETED)
        finally:
            turned.cancel()
            left.cancel()

    def leave(self) -> None:
        """Nothing starts any more, and the hub stops."""
        if self._door is not None:
            self._door.cease()
        self._left.set()

    def send(self, **fields: Any) -> None:
        """Send one line."""
        self._outbox.put(_encoder.encode(fields) + b"\n")

    async def close(self) -> None:
        """Send what waits."""
        await self._outbox.close()

    async def serve(self, loaded: Loaded) -> None:
        """Take it, until it has left."""
        from gshtui.hub.composition import build_hub

        opening = self.opening
        options = HubOptions(
            cwd=loaded.cwd,
            loaded=loaded,
            session=opening.session,
            agent=opening.agent,
            provider=opening.provider,
            model=opening.model,
            mode=opening.mode,
            where=opening.where,
        )
        hub = self._hub = build_hub(options, self._bus, self._host)
        door = self._door = WindowHub(hub)
        self._bus.subscribe(lambda batch: self._outbox.put(*batch), name="window")
        self._bus.subscribe(lambda _: door.cease(), QuitRequested, name="leaving")
        self.send(begins=True)
        try:
            await self._left.wait()
        finally:
            await cancel_and_wait(*self._calls.values())
            await end_all("the end of a window", door.stop, self._bus.close)

    def handle_message(self, fields: dict[str, Any]) -> None:
        """What the window says. Raises `BadLine`."""
        if self._door is None:
            raise BadLine("it is not open yet")
        try:
            match fields:
                case {"event": event}:
                    self._publish(wire.from_plain(msgspec.convert(event, dict[str, Any])))
                case {"do": "cease"}:
                    self._door.cease()
                case {"id": int() as number, "do": str() as name, "with": given} if name in CALLS:
                    arguments = from_plain(msgspec.convert(given, dict[str, Any]))
                    with working_for(self.opening.environ):
                        task = start_job(self._call(self._door, number, name, arguments), f"the window's {name}")
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

    def _publish(self, event: Event) -> None:
        if not may_publish(event):
            raise BadLine(f"a window may not send {type(event).__name__}")
        self._bus.publish(event)

    async def _call(self, door: WindowHub, number: int, name: str, given: dict[str, Any]) -> None:
        try:
            if name == "run":
                given["ask"] = self._asker(number) if given.pop("asks") else None
            method: Callable[..., Any] = getattr(door, name)
            result = to_plain(await method(**given))
            self._tell_commands(door)
            self.send(id=number, value=result)
        except ExpectedError as error:
            self.send(id=number, failed=plain_error(error))
        except Exception as error:
            report(f"the window's {name}", error)
            self.send(id=number, fault=f"{type(error).__name__}: {error}")
        finally:
            self._calls.pop(number, None)
        if name == "stop":
            self._left.set()

    def _asker(self, call: int) -> Callable[[Question], Any]:
        async def ask(question: Question) -> bool:
            self._asked += 1
            number = self._asked
            waiting = self._answers[number] = asyncio.get_running_loop().create_future()
            self.send(ask=number, of=call, question=to_plain(question))
            return await waiting

        return ask

    def _tell_commands(self, door: WindowHub) -> None:
        """Say which commands there are, where that has changed."""
        names = tuple(door.commands)
        if names != self._commands:
            self._commands = names
            self.send(commands=to_plain(dict(door.commands)))
