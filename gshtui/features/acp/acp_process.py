"""`gsh-tui acp`: our agent for one client on standard input and output, until the client has gone.

Nothing but the protocol reaches standard output: whatever else is printed in this process goes to the error output. A
client that asks faster than it is answered, or reads no answers, is read no further until it has fewer unanswered
requests.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gshtui.headless import exits
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import claim_for_protocol, complain
from gshtui.programs.acp.acp_connection import NO_SDK
from gshtui.programs.acp.acp_transport import LineTransport
from gshtui.settings.contract import FeatureOffError
from gshtui.system.tasks import end_all

if TYPE_CHECKING:
    from gshtui.bus.agent_data import GuardMode
    from gshtui.headless.servers.asked_programs import ProgramOpening
    from gshtui.hub.hub import Hub
    from gshtui.settings.loader import ClientServers
    from gshtui.store.record.store import Store


class AcpOptions(msgspec.Struct, frozen=True):
    """The model and the mode of every session; empty values come from the settings."""

    provider: str = ""
    model: str = ""
    mode: GuardMode | None = None
    flags: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])


def serve_acp(options: AcpOptions) -> int:
    """Serve one client; returns the exit code."""
    return run_command(lambda stop: _serve(options, stop))


async def _serve(options: AcpOptions, stop: Stop) -> int:
    if find_spec("acp") is None:
        complain(NO_SDK, "Run gsh-tui with Python 3.14 or older.")
        return exits.UNREACHABLE
    try:
        source, sink = claim_for_protocol()
    except OSError as error:
        complain(f"standard input or output cannot be used: {error.strerror}.")
        return exits.ERROR
    from gshtui.headless.called_here import load_settings
    from gshtui.headless.commands.command_hub import bring_hub, own_hub
    from gshtui.headless.servers.program_relay import AcpProtocol, relayed

    wanted = {"provider": options.provider, "model": options.model, "mode": options.mode, "flags": dict(options.flags)}
    if (code := await relayed(AcpProtocol(), wanted, source, sink, stop)) is not None:
        return code
    loaded = await asyncio.to_thread(load_settings, options.flags, quiet=True)
    if not loaded.settings.features.acp:
        off = FeatureOffError("acp")
        complain(off.message, off.hint)
        return exits.USAGE
    started = await bring_hub(loaded.settings)
    if started and (code := await relayed(AcpProtocol(), wanted, source, sink, stop)) is not None:
        return code
    async with AsyncExitStack() as own:
        host: Hub | None = None
        with suppress(OSError):
            host = (await own.enter_async_context(own_hub(loaded))).hub
        return await _serve_client(options, host, source, sink, stop)


async def _serve_client(options: AcpOptions, host: Hub | None, source: int, sink: int, stop: Stop) -> int:
    """Serve it on the hub of this process; returns the exit code. `host`: `None` where no record can be written."""
    from acp.agent.connection import AgentSideConnection

    from gshtui.features.acp.acp_server import AcpServer

    async def open_hub(cwd: Path, session: str, servers: ClientServers) -> Hub:
        return await open_session_hub(options, cwd, session, servers, host=host)

    async def open_store() -> Store:
        return await _open_store(options) if host is None or host.store is None else host.store

    server: Any = AcpServer(open_hub, open_store, shared=host is not None)
    reader, writer = await _streams(source, sink)
    transport = ClientTransport(reader, writer, _note)
    connection = AgentSideConnection(server, transport, listening=False, use_unstable_protocol=True)
    listening = asyncio.ensure_future(connection.listen())
    asked = asyncio.ensure_future(stop.asked.wait())
    await asyncio.wait((listening, asked), return_when=asyncio.FIRST_COMPLETED)
    stopped = not listening.done()
    asked.cancel()
    await server.close()
    listening.cancel()
    await connection.close()
    writer.close()
    if transport.fault:
        complain(f"the client {transport.fault}, so the connection was ended.")
        return exits.ERROR
    return exits.INTERRUPTED if stopped else exits.DONE


async def serve_opening(host: Hub, opening: ProgramOpening, transport: Any, begin: Callable[[], None]) -> None:
    """Serve the client of another process on the record of a hub of this one, until the client has gone."""
    await asyncio.to_thread(import_module, "gshtui.features.acp.acp_server")
    from acp.agent.connection import AgentSideConnection

    from gshtui.features.acp.acp_server import AcpServer

    options = AcpOptions(opening.provider, opening.model, opening.mode, opening.flags)

    async def open_hub(cwd: Path, session: str, servers: ClientServers) -> Hub:
        return await open_session_hub(options, cwd, session, servers, opening.environ, host)

    async def open_store() -> Store:
        assert host.store is not None
        return host.store

    server: Any = AcpServer(open_hub, open_store, shared=True)
    served = AgentSideConnection(server, transport, listening=False, use_unstable_protocol=True)
    begin()
    try:
        await served.listen()
    finally:
        await end_all("the end of an ACP server", server.close, served.close)


async def open_session_hub(
    options: AcpOptions,
    cwd: Path,
    session: str,
    servers: ClientServers,
    environ: Mapping[str, str] | None = None,
    host: Hub | None = None,
) -> Hub:
    """A started hub with our agent. Raises `ExpectedError`.

    Args:
        environ: the client's variables; by default this process's.
        host: the hub of this process, on whose record it works; by default it opens the record itself.
    """
    from gshtui.bus.bus import Bus
    from gshtui.hub.composition import build_hub
    from gshtui.hub.hub_options import HubOptions
    from gshtui.settings.loader import load
    from gshtui.system.expected_error import ExpectedError

    loaded = await asyncio.to_thread(partial(load, cwd, flags=options.flags, environ=environ))
    hub = build_hub(
        HubOptions(
            cwd=cwd,
            loaded=replace(loaded, client=servers),
            session=session,
            provider=options.provider,
            model=options.model,
            mode=options.mode,
            visiting=True,
            where="gsh-tui acp",
        ),
        None if host is None else Bus(),
        host,
    )
    await hub.start()
    failed = next((hub.failed[part] for part in ("store", "guard", "providers", "agents") if part in hub.failed), None)
    held = "" if failed is not None else _held(hub)
    if failed is not None or held:
        await hub.stop()
        if not hub.owns_bus:
            await hub.bus.close()
        raise ExpectedError(failed.why, failed.hint) if failed is not None else ExpectedError(held)
    return hub


async def _open_store(options: AcpOptions) -> Store:
    """The record of the folder in which the client has started us. Raises `StoreError`."""
    from gshtui.settings.loader import load
    from gshtui.store.record.store import Store

    loaded = await asyncio.to_thread(partial(load, Path.cwd(), flags=options.flags))
    return await Store.open(loaded.settings.general.session_dir / "gsh.db")


def _held(hub: Hub) -> str:
    """Why the conversation cannot be written to; empty: it can."""
    if hub.session_of(hub.options.agent):
        return ""
    return "This conversation is open in another window or process; close it there first."


async def _streams(source: int, sink: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb"))
    output = os.fdopen(sink, "wb", closefd=False)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, output)
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


def _note(line: str) -> None:
    complain(f"a line that is no message of the protocol was skipped: {line}")


MOST_UNANSWERED = 128


class ClientTransport:
    """Implements the SDK's `Transport`."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        noted: Callable[[str], None],
    ) -> None:
        """
        Args:
            noted: receives the first line that is no message, for a person.
        """
        self._lines = LineTransport(reader, writer, pace=self._pace, noted=noted)
        self._unanswered = 0
        self._room = asyncio.Event()
        self._room.set()

    @property
    def fault(self) -> str:
        """Why the connection ended; empty: the client has gone."""
        return self._lines.fault

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message. Raises `ConnectionError` if the client reads no more."""
        try:
            await self._lines.send(message)
        finally:
            if "method" not in message:
                self._unanswered -= 1
                self._room.set()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; `None` at the end."""
        message = await self._lines.receive()
        if message is not None and "method" in message and "id" in message:
            self._unanswered += 1
            if self._unanswered >= MOST_UNANSWERED:
                self._room.clear()
        return message

    async def close(self) -> None:
        await self._lines.close()

    async def _pace(self) -> None:
        await self._room.wait()
