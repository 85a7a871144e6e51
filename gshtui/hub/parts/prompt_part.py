"""The hub's side of kept prompts: their commands and files go through the tools of the agent in front."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gshtui.hub.hub import Hub
from gshtui.system.expected_error import ExpectedError
from gshtui.system.tasks import start_job

if TYPE_CHECKING:
    from gshtui.agents.prompts.commands import PromptCommands
    from gshtui.agents.prompts.prompt_expansion import PromptToolAnswer
    from gshtui.hub.parts.server_prompts import ServerPrompts


def provide_prompts(hub: Hub) -> None:
    """Provide for `prompt` and `prompts`, and offer soon a command for each kept prompt of the folder."""

    async def use_tool(agent: str, tool: str, arguments: dict[str, object]) -> PromptToolAnswer:
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
    from gshtui.hub.parts.server_prompts import ServerPrompts

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


async def _use_tool(hub: Hub, agent: str, tool: str, arguments: dict[str, object]) -> PromptToolAnswer:
    """A call of the agent that gets the prompt; where it lives elsewhere, of this hub's own. Raises `ExpectedError`."""
    local = hub.local_agent(agent) or hub.local_agent(hub.options.agent)
    if local is None:
        raise ExpectedError("A prompt with commands or files needs an agent of this window, and there is none.")
    return await local.use_tool(tool, arguments)
