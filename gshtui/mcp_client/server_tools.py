"""A server's tools as commands: `SERVER__TOOL`, with what the guard decides on and what a person is shown.

Each call asks unless a rule names the tool: what a server says of itself widens nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import ConfigDict, model_validator
from pydantic.json_schema import DEFAULT_REF_TEMPLATE, GenerateJsonSchema, JsonSchemaMode

from gshtui.commands.declaration import Access, Assessment, Command, CommandError, Effect, Invocation, Outcome
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import ToolParameters
from gshtui.mcp_client.server_connection import CallWatch, ServerConnection
from gshtui.mcp_client.server_requests import ToolCaller
from gshtui.mcp_client.tool_pins import ToolPin
from gshtui.text.sanitise import literal, one_line, plain, visible

if TYPE_CHECKING:
    from gshtui.mcp_client.sdk_session import SdkSession

SEPARATOR = "__"
_LONGEST = 64
"""Characters of a tool's name that every provider accepts."""
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")
_SAID_EVERY = 0.2
"""Seconds between two lines about a call's progress."""


class McpParameters(ToolParameters):
    """Parameters of a server's tool: any names, since its schema is the server's. Each tool has a subclass."""

    model_config = ConfigDict(extra="allow")
    SCHEMA: ClassVar[dict[str, Any]] = {"type": "object", "properties": {}}

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, given: dict[str, object]) -> dict[str, object]:
        required = cast("list[str]", cls.SCHEMA.get("required") or [])
        if missing := [name for name in required if name not in given]:
            raise ValueError(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
        known = cast("dict[str, object]", cls.SCHEMA.get("properties") or {})
        if cls.SCHEMA.get("additionalProperties") is False and (more := [name for name in given if name not in known]):
            raise ValueError(f"there is no parameter {', '.join(more)}")
        return given

    @classmethod
    def model_json_schema(
        cls,
        by_alias: bool | None = True,
        ref_template: str = DEFAULT_REF_TEMPLATE,
        schema_generator: type[GenerateJsonSchema] = GenerateJsonSchema,
        mode: JsonSchemaMode = "validation",
        **more: Any,
    ) -> dict[str, Any]:
        return cast("dict[str, Any]", json.loads(json.dumps(cls.SCHEMA)))


def tool_names(server: str, pins: Iterable[ToolPin]) -> dict[str, ToolPin]:
    """The tools of a server by the names that models call them by: its own, made usable, short enough and distinct."""
    found: dict[str, ToolPin] = {}
    for pin in pins:
        usable = _UNUSABLE.sub("_", pin.name).strip("_") or "tool"
        name = f"{server}{SEPARATOR}{usable}"
        if len(name) > _LONGEST or name in found:
            mark = hashlib.sha256(pin.name.encode()).hexdigest()[:6]
            name = f"{name[: _LONGEST - 7]}_{mark}"
        found[name] = pin
    return found


def tool_commands(
    connection: Callable[[], ServerConnection],
    server: str,
    names: dict[str, ToolPin],
    withheld: Callable[[str], str],
    files: Path,
) -> list[AnyCommand]:
    """A server's tools as commands. `withheld`: why a tool, by the server's name of it, must not be called now; empty:
    it may be. `files`: folder for pictures and files in answers.
    """
    return [_ServerTool(connection, server, name, pin, withheld, files).command() for name, pin in names.items()]


class _ServerTool:
    """One tool of one server."""

    def __init__(
        self,
        connection: Callable[[], ServerConnection],
        server: str,
        name: str,
        pin: ToolPin,
        withheld: Callable[[str], str],
        files: Path,
    ) -> None:
        self._connection = connection
        self._server = server
        self._name = name
        self._pin = pin
        self._withheld = withheld
        self._files = files

    def command(self) -> AnyCommand:
        pin = self._pin
        parameters = type("ServerToolParameters", (McpParameters,), {"SCHEMA": pin.schema, "__doc__": pin.description})
        first = one_line(pin.description.partition(". ")[0], 120)
        return Command(
            self._name,
            first or pin.name,
            cast("type[McpParameters]", parameters),
            self.run,
            access=Access.AGENT_PRIMARY,
            effect=Effect.NETWORK,
            description=pin.description or pin.name,
            family=self._server,
            tool=True,
            assess=self.assess,
        )

    async def assess(self, invocation: Invocation, parameters: McpParameters) -> Assessment:
        """Show the person the server, the tool and every argument. Raises `CommandError`: it must not be called."""
        if why := self._withheld(self._pin.name):
            raise CommandError(why, hint=f"A person accepts it by `mcp accept {self._server}`.")
        arguments = parameters.model_dump(mode="json", exclude_unset=True)
        exact = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        shown = ", ".join(f"{key}={_short(value)}" for key, value in arguments.items())
        definition = self._connection().definition
        where = f"the MCP server {self._server}: {one_line(literal(definition.line), 300)}"
        whole = visible(json.dumps(arguments, indent=1, ensure_ascii=False), counted=False)
        return Assessment(
            Effect.NETWORK,
            one_line(literal(shown), 200),
            inside=False,
            detail=f"The tool {visible(self._pin.name)} of {where}\n{whole}",
            key=f"{self._pin.digest}\0{exact}",
            pattern=f"the tool {self._name}",
            why="it is a tool of an MCP server, and what that does is not known here",
            reads=self._pin.reads,
        )

    async def run(self, invocation: Invocation, parameters: McpParameters) -> Outcome:
        """Call it. Raises `ExpectedError`."""
        from gshtui.mcp_client import answer_outcome  # with the SDK's types

        arguments = parameters.model_dump(mode="json", exclude_unset=True)
        connection = self._connection()
        watch = CallWatch(connection.definition.settings.timeout)
        caller = invocation.caller
        agent = caller.name if caller.is_agent else invocation.agent
        said_at = 0.0

        def note(done: float, total: float | None, message: str) -> None:
            nonlocal said_at
            watch.news()
            if (now := time.monotonic()) - said_at < _SAID_EVERY:
                return
            said_at = now
            of = f"/{total:g}" if total else ""
            invocation.output(f"[{done:g}{of}] {one_line(plain(message), 200)}".rstrip() + "\n")

        async def call(session: SdkSession) -> Any:
            return await session.call_tool(self._pin.name, arguments, note)

        result = await connection.run_watched(call, ToolCaller(agent, invocation.session, invocation.call), watch)
        return await asyncio.to_thread(answer_outcome.call_outcome, result, self._files)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"
