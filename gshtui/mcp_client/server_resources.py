"""A server's resources: named by a person as `@SERVER:URI`, or read by an agent with the tool `SERVER__resource`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from gshtui.commands.declaration import Access, Assessment, Command, Effect, Invocation, Outcome
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import ToolParameters
from gshtui.mcp_client.server_connection import ServerConnection
from gshtui.mcp_client.server_requests import ToolCaller
from gshtui.text.sanitise import literal, one_line, plain

if TYPE_CHECKING:
    from gshtui.mcp_client.sdk_session import SdkSession

_MENTION = re.compile(r"(?:^|(?<=[\s(\[{,;]))@([A-Za-z0-9][A-Za-z0-9_-]{0,40}):([^\s]{1,2000})")
_TRAILING = ".,;:!?)]}\"'"
_LISTED = 200


class ResourceParameters(ToolParameters):
    """Which resource."""

    uri: str = Field(default="", description="Its URI; empty lists them")


def mentioned_resources(text: str) -> list[tuple[str, str]]:
    """(server, URI) of each `@SERVER:URI` in a text, in order, without duplicates.

    `@mcp:SERVER:URI` is one, too; since a server may have that name, it is also one of `mcp`.
    """
    found: list[tuple[str, str]] = []
    for server, uri in _MENTION.findall(text):
        found.append((server, uri.rstrip(_TRAILING)))
        inner, sign, rest = found[-1][1].partition(":")
        found += [(inner, rest)] if server == "mcp" and sign else []
    return list(dict.fromkeys(one for one in found if one[1]))


async def read_resource(connection: ServerConnection, uri: str, caller: ToolCaller, files: Path) -> str:
    """What a resource has, as text; files are kept and named. Raises `McpError`."""
    from gshtui.mcp_client import answer_outcome  # with the SDK's types

    async def read(session: SdkSession) -> str:
        result = await session.read_resource(uri)
        return await asyncio.to_thread(answer_outcome.contents_text, result.contents, files)

    return await connection.run(read, caller, connection.definition.settings.timeout)


async def list_resources(connection: ServerConnection, caller: ToolCaller) -> str:
    """The resources of a server, a line each. Raises `McpError`."""

    async def listed(session: SdkSession) -> str:
        resources, templates = await session.resources()
        lines = [f"- {one.uri}: {one.description or one.title or one.name}" for one in resources[:_LISTED]]
        lines += [f"- {one.uri_template}: {one.description or one.title or one.name}" for one in templates[:_LISTED]]
        if len(resources) > _LISTED:
            lines.append(f"… and {len(resources) - _LISTED} more")
        return "\n".join(one_line(plain(line), 300) for line in lines) or "It has no resources now."

    return await connection.run(listed, caller, connection.definition.settings.timeout)


async def named_resources(connection: ServerConnection, caller: ToolCaller) -> list[tuple[str, str]]:
    """(URI, what it is) of each resource of a server; patterns of more end at their first variable.

    Raises `McpError`.
    """

    async def listed(session: SdkSession) -> list[tuple[str, str]]:
        resources, templates = await session.resources()
        found = [(str(one.uri), one.title or one.description or one.name) for one in resources[:_LISTED]]
        found += [
            (str(one.uri_template).partition("{")[0], f"… {one.title or one.description or one.name}")
            for one in templates[:_LISTED]
        ]
        clean = [(one_line(plain(uri), 400), one_line(plain(about or ""), 120)) for uri, about in found]
        return [(uri, about) for uri, about in clean if uri and not any(char.isspace() for char in uri)]

    return await connection.run(listed, caller, connection.definition.settings.timeout)


def resource_command(connection: Callable[[], ServerConnection], server: str, files: Path) -> AnyCommand:
    """The tool with which an agent lists and reads a server's resources; each reading asks as any of its tools does."""

    async def run(invocation: Invocation, parameters: ResourceParameters) -> Outcome:
        agent = invocation.caller.name if invocation.caller.is_agent else invocation.agent
        caller = ToolCaller(agent, invocation.session, invocation.call)
        if not parameters.uri:
            return Outcome(None, await list_resources(connection(), caller))
        text = await read_resource(connection(), parameters.uri, caller, files)
        return Outcome({"uri": parameters.uri, "text": text}, text or "(empty)")

    async def assess(_invocation: Invocation, parameters: ResourceParameters) -> Assessment:
        subject = one_line(literal(parameters.uri), 200) or "list"
        return Assessment(
            Effect.NETWORK,
            subject,
            inside=False,
            detail=f"A resource of the MCP server {server}: {subject}",
            key=parameters.uri,
            pattern=f"the tool {server}__resource",
            why="it is of an MCP server, and what that does is not known here",
            reads=True,
        )

    return Command(
        f"{server}__resource",
        f"List the resources of {server}, or read one",
        ResourceParameters,
        run,
        access=Access.AGENT_PRIMARY,
        effect=Effect.NETWORK,
        positions=("uri",),
        description=f"List the resources of the MCP server {server}, or read one by its URI.",
        family=server,
        tool=True,
        assess=assess,
    )
