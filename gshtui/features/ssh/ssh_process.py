"""`gsh-tui serve --ssh`: has the hub open the door for people elsewhere, until it is stopped.

They talk in this record's calls. The door of a hub that ends, as when a newer program replaces it, is opened again by
the next one; who was inside comes in again. Where no hub may stay, this process opens it itself.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from gshtui.client.hub_greeting import HubUnavailable, surroundings
from gshtui.headless import exits, streams
from gshtui.headless.called_here import load_settings, working_folder
from gshtui.headless.commands.command_hub import bring_hub, only_hub
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.servers.hub_reach import COMES_WITHIN, start_hub, taken
from gshtui.headless.streams import complain
from gshtui.system.tasks import cancel_and_wait

_LONGEST = 1024 * 1024
"""Bytes of a line of the hub's."""


class ServeOptions(msgspec.Struct, frozen=True):
    """Where to listen; empty values come from `[ssh]` in the configuration."""

    host: str = ""
    port: int | None = None
    json: bool = False


def serve_people(host: str, port: int | None, as_json: bool) -> int:
    """Serve until asked to stop; returns the exit code. What is empty comes from `[ssh]` in the configuration."""
    return run_command(lambda stop: _run(ServeOptions(host, port, as_json), stop))


async def _run(options: ServeOptions, stop: Stop) -> int:
    face = _Face(options)
    if (code := await face.be_served(stop)) is not None:
        return code
    loaded = load_settings()
    if await bring_hub(loaded.settings) and (code := await face.be_served(stop)) is not None:
        return code
    from gshtui.features.ssh.people_door import PeopleDoor
    from gshtui.headless.servers.asked_doors import door_options

    async with only_hub(door_options(working_folder(), loaded)) as hub:
        return await PeopleDoor(hub, options.host, options.port, face).serve(stop.asked)


class _Face:
    """Prints what is said about the door, whoever keeps it."""

    def __init__(self, options: ServeOptions) -> None:
        self._options = options
        self._port = options.port
        """The one that it was opened at, from then on."""
        self._was_open = False

    def complain(self, text: str, hint: str = "") -> None:
        complain(text, hint)

    def opened(self, address: Mapping[str, str | int]) -> None:
        """Say where it is; of a door that is open again, that it is."""
        if self._was_open:
            complain(f"the door is open again on {address['host']} port {address['port']}.")
        elif self._options.json:
            streams.result_json(dict(address))
        else:
            streams.result(f"Listening on {address['host']} port {address['port']}; host key {address['host_key']}.")
        self._was_open = True
        self._port = int(address["port"])

    async def be_served(self, stop: Stop) -> int | None:
        """Have the hub keep the door until asked to stop; returns the exit code, `None` where no hub takes it."""
        if (connected := await self._connected()) is None:
            return None
        while (code := await self._until_ended(connected, stop)) is None:
            complain("the hub ended, and with it the door; it opens again with the next one.")
            try:
                if (connected := await self._connected(again=True)) is None:
                    await start_hub()
                    connected = await self._connected(again=True)
            except HubUnavailable as error:
                complain(error.message, "Start this anew.")
                return exits.ERROR
            if connected is None:
                complain("no hub runs, and none could be started.", "`gsh-tui hub start` says why.")
                return exits.ERROR
        return code

    async def _connected(self, *, again: bool = False) -> socket.socket | None:
        """A connection to the hub that opens the door. Raises `HubUnavailable`."""
        fields = {"host": self._options.host, "port": self._port, **surroundings(str(working_folder()))}
        opening = json.dumps(fields).encode() + b"\n"
        return await asyncio.to_thread(taken, "ssh", opening, of_any_version=again)

    async def _until_ended(self, connected: socket.socket, stop: Stop) -> int | None:
        """Print what the hub says of the door; returns the exit code, `None`: the hub has ended."""
        connected.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=connected, limit=_LONGEST)
        asked = asyncio.ensure_future(stop.asked.wait())
        hearing = asyncio.ensure_future(self._hear(reader))
        try:
            await asyncio.wait({asked, hearing}, return_when=asyncio.FIRST_COMPLETED)
            if not hearing.done():
                writer.write(b'{"stop":true}\n')
                await asyncio.wait({hearing}, timeout=COMES_WITHIN)
                return exits.DONE
            return hearing.result()
        finally:
            await cancel_and_wait(asked, hearing)
            writer.close()

    async def _hear(self, reader: asyncio.StreamReader) -> int | None:
        with suppress(OSError, ValueError):
            while line := await reader.readline():
                match json.loads(line):
                    case {"complain": [str(text), str(hint)]}:
                        complain(text, hint)
                    case {"opened": {"host": str(), "port": int(), "host_key": str()} as address}:
                        self.opened(address)
                    case {"end": int() as code}:
                        return code
                    case {"bye": _}:
                        break
                    case _:
                        pass
        return None
