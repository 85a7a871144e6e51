"""The MCP servers of a hub: their questions go to the inbox, their wish for a model's answer to the agent's own model.

Made when the first server is needed. Starts nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gshtui.commands.declaration import Assessment, Effect
from gshtui.guard.approval.gate import Call, Verdict
from gshtui.hub.hub import Hub
from gshtui.mcp_client.configured_servers import configured_servers
from gshtui.mcp_client.elicitations import checked_values, defaults, question_text
from gshtui.mcp_client.server_connection import ConnectionOptions
from gshtui.mcp_client.server_definition import McpError
from gshtui.mcp_client.server_pool import ServerPool, ServerQuestion
from gshtui.mcp_client.server_requests import Elicitation, SamplingAnswer, SamplingRequest, ToolCaller
from gshtui.settings import paths
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.sanitise import literal, one_line, visible

_ANSWER_WITHIN = 600.0
"""Seconds that a question of a server waits for a person."""


def make_servers(hub: Hub) -> ServerPool:
    """The servers of a hub's settings."""
    host = HubServerHost(hub)
    environ = {**hub.environ, **hub.options.loaded.client.variables}
    options = ConnectionOptions(environ, hub.offers.sandboxes.sandbox, host, hub.settings.mcp.start_seconds)
    files = paths.state_dir(create=False) / "mcp-files"
    return ServerPool(hub.bus, configured_servers(hub.options.loaded), options, host.ask, files)


class HubServerHost:
    """Answers what servers ask: see `ServerHost`."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._one_at_a_time: dict[str, asyncio.Lock] = {}
        """Server → held while a question of it with a form is open: the person answers one after the other."""

    def roots(self) -> list[Path]:
        """The project."""
        return [self._hub.project]

    async def ask(self, agent: str, question: ServerQuestion) -> bool:
        """Ask a person about a server, in the inbox."""
        return await self._asked(agent, "", "mcp_server", question.title, question.detail, question.exact)

    async def sample(self, server: str, caller: ToolCaller, request: SamplingRequest) -> SamplingAnswer | None:
        """Ask the model of the agent for whose call the server works, once the person has agreed to that."""
        agent = self._hub.local_agent(caller.agent)
        if agent is None:
            return None
        whole = f"{request.system}\n\n{request.prompt}".strip()
        most = f" of at most {request.max_tokens:,} tokens" if request.max_tokens > 0 else ""
        title = f"The MCP server {server} wants an answer{most} from the model of {caller.agent}, which you pay for."
        if not await self._asked(caller.agent, caller.session, "mcp_sampling", title, whole, ""):
            return None
        answer = await agent.ask(whole, max(request.max_tokens, 0))
        return SamplingAnswer(answer.text, answer.model, answer.is_cut)

    async def elicit(self, server: str, caller: ToolCaller, asked: Elicitation) -> Mapping[str, Any] | None:
        """Ask the person."""
        title = f"The MCP server {server} asks: {asked.message}"
        if asked.url or not asked.fields:
            agreed = await self._asked(caller.agent, caller.session, "mcp_question", title, asked.url, "")
            return {} if agreed else None
        async with self._one_at_a_time.setdefault(server, asyncio.Lock()):
            return await self._filled(server, caller, asked, title)

    async def _filled(
        self, server: str, caller: ToolCaller, asked: Elicitation, title: str
    ) -> Mapping[str, Any] | None:
        """The values that the person gives in a form, or by `mcp answer`; `None`: they decline."""
        values = self._hub.mcp_servers().elicitations.open(server, asked)
        names = " ".join(f"{name}=…" for name in asked.fields)
        told = (
            f"{question_text(asked)}\nWhere there is no form, answer with"
            f" /mcp answer {server} '{one_line(literal(names), 300)}', or deny."
        )
        form = {"fields": dict(asked.fields), "required": list(asked.required)}
        question = start_job(
            self._review(caller.agent, caller.session, "mcp_question", title, told, form),
            "a question of an MCP server",
        )
        try:
            await asyncio.wait([values, question], return_when=asyncio.FIRST_COMPLETED)
            if values.done():
                return values.result()
            verdict = question.result()
            if verdict is None or not verdict.allowed:
                return None
            with contextlib.suppress(McpError):  # values that are not what it asks for are no answer
                return checked_values(asked, verdict.values) if verdict.values else defaults(asked)
            return None
        finally:
            values.cancel()
            await cancel_and_wait(question)

    async def sign_in(self, server: str, url: str) -> bool:
        """Ask the person to sign in."""
        title = f"The MCP server {server} wants you to sign in. Open this address:"
        return await self._asked("", "", "mcp_sign_in", title, url, "")

    async def _asked(self, agent: str, session: str, tool: str, title: str, detail: str, exact: str) -> bool:
        return (await self._review(agent, session, tool, title, detail, {"exact": exact} if exact else {})).allowed

    async def _review(
        self, agent: str, session: str, tool: str, title: str, detail: str, more: Mapping[str, Any]
    ) -> Verdict:
        gate = self._hub.gate
        if gate is None:
            return Verdict(False)
        arguments = {"question": title, "detail": detail, **more}
        call = Call(agent or self._hub.options.agent, session, new_id(), tool, arguments)
        assessment = Assessment(
            Effect.EXECUTE,
            one_line(literal(title), 300),
            inside=False,
            only_person=True,
            detail=visible(detail),
        )
        try:
            async with time_limit(_ANSWER_WITHIN):
                return await gate.review(call, assessment)
        except TimeoutError:
            return Verdict(False)
