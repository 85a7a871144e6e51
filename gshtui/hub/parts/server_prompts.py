"""The prompts of MCP servers as kept prompts, `/SERVER:PROMPT`: listed without a start, made by the server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.agents.prompts.prompt_store import KeptPrompt, PromptError
from gshtui.mcp_client.server_definition import McpError
from gshtui.mcp_client.server_pool import ServerPool
from gshtui.mcp_client.server_requests import ToolCaller

if TYPE_CHECKING:
    from gshtui.mcp_client.sdk_session import SdkSession


class ServerPrompts:
    """The prompts of one server: see `PromptSource`."""

    def __init__(self, servers: ServerPool, name: str, files: Path) -> None:
        """`files`: folder for pictures and files in prompts."""
        self._servers = servers
        self._name = name
        self._files = files

    @property
    def name(self) -> str:
        """The server's name."""
        return self._name

    async def prompts(self) -> list[KeptPrompt]:
        """Those that it had when it last ran."""
        await self._servers.load()
        return [
            KeptPrompt(
                f"{self._name}:{pin.name}",
                self._name,
                description=pin.description,
                arguments=pin.arguments,
                remote=self,
            )
            for pin in self._servers.pins(self._name).prompts
            if not set(pin.name) & set(" \t|;$()'\"")
        ]

    async def text(self, prompt: KeptPrompt, arguments: Mapping[str, str]) -> str:
        """The text of one, as the server makes it now. Raises `PromptError`."""
        name = prompt.name.removeprefix(f"{self._name}:")

        async def get(session: SdkSession) -> str:
            from gshtui.mcp_client import answer_outcome  # with the SDK's types

            result = await session.get_prompt(name, dict(arguments))
            return await asyncio.to_thread(answer_outcome.prompt_text, result, self._files)

        try:
            connection = await self._servers.started(self._name, "")
            return await connection.run(get, ToolCaller(), connection.definition.settings.timeout)
        except McpError as error:
            raise PromptError(error.message, error.hint) from error
