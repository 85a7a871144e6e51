"""`gsh-tui mcp serve`: our commands for other programs, until they leave or it is stopped. Nobody is asked here."""

from __future__ import annotations

import asyncio
import io
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gshtui.headless import exits, streams
from gshtui.headless.called_here import load_settings, working_folder
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import claim_for_protocol, complain
from gshtui.settings import paths
from gshtui.settings.contract import FeatureOffError
from gshtui.system.files import private_files
from gshtui.system.tasks import cancel_and_wait, end_all, start_job

if TYPE_CHECKING:
    from gshtui.headless.servers.asked_programs import ProgramOpening
    from gshtui.hub.hub import Hub
    from gshtui.hub.hub_options import HubOptions
    from gshtui.settings.loader import Loaded

_PARTS = frozenset({"store", "guard", "providers", "fleet"})
_SHORTEST_TOKEN = 32
Serve = Callable[[socket.socket, str, asyncio.Event], Awaitable[None]]
"""Serves on a socket those who have a token, until asked to stop."""
ServeLines = Callable[[io.RawIOBase, Callable[[str], None]], Awaitable[None]]
"""Serves one program, whose lines are read there and answered by the function, until it leaves."""


class McpServeOptions(msgspec.Struct, frozen=True):
    """How to serve.

    Attributes:
        allowed: names of the writing commands that may be called.
        http: over HTTP on this machine, not over standard input and output.
        port: 0: any free one.
        token_file: has the token over HTTP; empty: a new one at each start.
    """

    allowed: tuple[str, ...] = ()
    http: bool = False
    port: int = 0
    json: bool = False
    token_file: str = ""


def serve_commands(options: McpServeOptions) -> int:
    """Serve until the program leaves, or it is asked to stop; returns the exit code."""
    return run_command(lambda stop: _run(options, stop))


async def _run(options: McpServeOptions, stop: Stop) -> int:
    protocol: tuple[int, int] | None = None
    from gshtui.headless.servers.program_relay import McpProtocol, relayed

    wanted = {"allowed": list(options.allowed)}
    if not options.http:
        try:
            protocol = claim_for_protocol()
        except OSError as error:
            complain(f"standard input or output cannot be used: {error.strerror}.", "Or serve with --http.")
            return exits.ERROR
        if (code := await relayed(McpProtocol(), wanted, *protocol, stop)) is not None:
            return code
    from gshtui.fleet.keeper.keeper import running_keeper
    from gshtui.headless.commands.command_hub import bring_hub, unreached

    own = load_settings()
    if not own.settings.features.mcp_server:
        off = FeatureOffError("mcp_server")
        complain(off.message, off.hint)
        return exits.USAGE
    if not await bring_hub(own.settings):
        return await _serve_here(options, own, protocol, stop)
    if protocol is None:
        return await _serve_hub(options, wanted, stop)
    if (code := await relayed(McpProtocol(), wanted, *protocol, stop)) is not None:
        return code
    running = await asyncio.to_thread(running_keeper, own.settings.general.session_dir)
    raise unreached(running)


async def _serve_hub(options: McpServeOptions, wanted: Mapping[str, Any], stop: Stop) -> int:
    """Serve what the hub offers to programs that come by HTTP; returns the exit code."""
    from gshtui.features.mcp_server.mcp_face import McpFace
    from gshtui.features.mcp_server.relayed_tools import RelayedTools

    tools = RelayedTools(wanted)
    try:
        await tools.list_tools("")  # or it is said at once why there are none
        return await _serve_http(McpFace(tools).serve_http, options, stop)
    finally:
        await tools.close()


async def _serve_here(options: McpServeOptions, own: Loaded, protocol: tuple[int, int] | None, stop: Stop) -> int:
    """Serve on the hub of this process; returns the exit code."""
    from gshtui.features.mcp_server.mcp_face import McpFace, ServedTools
    from gshtui.features.mcp_server.served_commands import ServedCommands
    from gshtui.headless.commands.command_hub import only_hub
    from gshtui.headless.servers.asked_programs import allowing

    loaded = load_settings(allowing(own.settings.agent.auto_approve, options.allowed), quiet=True)
    async with only_hub(_hub_options(working_folder(), loaded)) as hub:

        async def start() -> bool:
            await hub.start()
            for failed in hub.failed.values():
                complain(f"{failed.part}: {failed.why}", failed.hint)
            return not hub.failed

        commands = ServedCommands(hub, frozenset(options.allowed), start)
        face = McpFace(ServedTools(commands))
        try:
            if protocol is None:
                return await _serve_http(face.serve_http, options, stop) if await commands.ready() else exits.ERROR
            serving = start_job(_serve_lines(face.serve_lines, *protocol), "the MCP server")
            stopping = asyncio.ensure_future(stop.asked.wait())
            await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
            await cancel_and_wait(serving, stopping, within=2.0)
        finally:
            await commands.started()
    return exits.DONE


async def serve_opening(host: Hub, opening: ProgramOpening, program: Any, begin: Callable[[], None]) -> None:
    """Serve the program of another process on the record of a hub of this one, until it has gone."""
    await asyncio.to_thread(import_module, "gshtui.features.mcp_server.mcp_face")
    from gshtui.bus.bus import Bus
    from gshtui.features.mcp_server.mcp_face import McpFace, ServedTools
    from gshtui.features.mcp_server.served_commands import ServedCommands
    from gshtui.hub.composition import build_hub

    hub = build_hub(_hub_options(Path(opening.cwd), program.loaded), Bus(), host)

    async def start() -> bool:
        await hub.start()
        return not hub.failed

    commands = ServedCommands(hub, frozenset(opening.allowed), start)
    begin()
    try:
        await McpFace(ServedTools(commands)).serve_messages(program.receive, program.send)
    finally:
        await end_all("the end of an MCP server", commands.started, hub.stop, hub.bus.close)


def _hub_options(cwd: Path, loaded: Loaded) -> HubOptions:
    from gshtui.hub.hub_options import HubOptions

    return HubOptions(
        cwd=cwd, loaded=loaded, respondent="nobody", mode="ask", parts=_PARTS, visiting=True, where="gsh-tui mcp serve"
    )


async def _serve_lines(serve: ServeLines, source: int, sink: int) -> None:
    await serve(io.FileIO(source), lambda text: streams.pass_on(sink, text.encode()))


async def _serve_http(serve: Serve, options: McpServeOptions, stop: Stop) -> int:
    try:
        listener = socket.create_server(("127.0.0.1", options.port))
    except OSError as error:
        complain(f"Cannot listen on port {options.port} of this machine: {error.strerror or error}.")
        return exits.ERROR
    port = listener.getsockname()[1]
    file = Path(options.token_file or paths.data_dir() / f"mcp-token-{port}").absolute()
    with listener:
        try:
            token = await asyncio.to_thread(_kept_token if options.token_file else _new_token, file)
        except (OSError, ValueError) as error:
            complain(f"Cannot use the token in {file}: {getattr(error, 'strerror', None) or error}.")
            return exits.ERROR
        url = f"http://127.0.0.1:{port}/mcp"
        if options.json:
            streams.result_json({"url": url, "token_file": str(file)})
        else:
            streams.result(f"Serving {url}. The token that programs send as `Authorization: Bearer …` is in {file}.")
        try:
            await serve(listener, token, stop.asked)
        finally:
            if not options.token_file:
                await asyncio.to_thread(file.unlink, missing_ok=True)
    return exits.DONE


def _new_token(file: Path) -> str:
    """A token for this run alone, written there, 0600. Raises `OSError`."""
    token = secrets.token_urlsafe(32)
    private_files.write_whole(file, f"{token}\n".encode())
    return token


def _kept_token(file: Path) -> str:
    """The token of a file that the person made. Raises `OSError`, `ValueError`."""
    with file.open(encoding="ascii") as opened:
        if os.fstat(opened.fileno()).st_mode & 0o077:
            raise ValueError("others can read it: chmod 600 it")
        token = opened.read(4_096).strip()
    if len(token) < _SHORTEST_TOKEN or not token.isprintable() or " " in token:
        raise ValueError(f"it must be one word of at least {_SHORTEST_TOKEN} characters")
    return token
