"""The hub's side of kept prompts: their commands and files go through the tools of the agent in front.

The prompts of MCP servers are kept prompts, too, `/SERVER:PROMPT`: listed without a start, made by the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.agents.prompts.prompt_store import KeptPrompt, PromptError
from gshtui.hub.hub import Hub
from gshtui.mcp_client.server_definition import McpError
from gshtui.mcp_client.server_pool import ServerPool
from gshtui.mcp_client.server_requests import ToolCaller
from gshtui.system.expected_error import ExpectedError
from gshtui.system.tasks import start_job

if TYPE_CHECKING:
    from gshtui.agents.prompts.commands import PromptCommands
    from gshtui.bus.messages import ToolResult
    from gshtui.mcp_client.sdk_session import SdkSession


def provide_prompts(hub: Hub) -> None:
    """Provide for `prompt` and `prompts`, and offer soon a command for each kept prompt of the folder."""

    async def use_tool(agent: str, tool: str, arguments: dict[str, object]) -> ToolResult:
        return await _use_tool(hub, agent, tool, arguments)

    def prompts() -> PromptCommands:
        from gshtui.agents.prompts.commands import PromptCommands

        return PromptCommands(hub.options.cwd, hub.environ, use_tool, lambda: _servers(hub))

    hub.offers.things.add(prompts)
    hub.read_prompts = lambda: register_prompts(hub, hub.offers.things.get(prompts))
    if "agents" in hub.options.parts and not hub.options.visiting:
        job = start_job(hub.read_prompts(), "the kept prompts")

        async def end() -> None:
            job.cancel()
            await asyncio.wait({job})

        hub.parts.stops_with("prompts", end)


def _servers(hub: Hub) -> list[ServerPrompts]:
    """The servers that may have prompts; none is started."""
    if not hub.has_mcp_servers:
        return []

    servers = hub.mcp_servers()
    servers.on_prompts = hub.read_prompts
    usable = [one.name for one in servers.definitions if one.settings.enabled]
    return [ServerPrompts(servers, name, servers.files) for name in usable]


async def register_prompts(hub: Hub, prompts: PromptCommands) -> None:
    """Register a command for each prompt whose name no other command has. Raises nothing for what a file holds."""
    store = await prompts.store()
    for prompt in store.prompts:
        if prompt.name not in hub.registry:
            hub.registry.register(prompts.of_prompt(prompt))


async def _use_tool(hub: Hub, agent: str, tool: str, arguments: dict[str, object]) -> ToolResult:
    """A call of the agent that gets the prompt; where it lives elsewhere, of this hub's own. Raises `ExpectedError`."""
    local = hub.local_agent(agent) or hub.local_agent(hub.options.agent)
    if local is None:
        raise ExpectedError("A prompt with commands or files needs an agent of this window, and there is none.")
    return await local.use_tool(tool, arguments)


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
