"""A session with one server, by the official SDK. Imported only when a server is used: the SDK takes long to load."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import httpx2
import mcp_types
import msgspec
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from gshtui import __version__
from gshtui.guard.sandbox.stdio_server import FindSandbox, ServerProcess
from gshtui.mcp_client.http_transport import http_streams
from gshtui.mcp_client.server_definition import McpError, ResolvedServer, ServerDefinition
from gshtui.mcp_client.server_process import start_server
from gshtui.mcp_client.server_requests import Elicitation, SamplingRequest, ServerHost, ToolCaller
from gshtui.mcp_client.stdio_transport import StdioState, stdio_streams
from gshtui.mcp_client.tool_pins import ServerPins, prompt_pin, tool_pin
from gshtui.system.expected_error import ExpectedError
from gshtui.system.json_types import is_array, is_object
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import literal, one_line

T = TypeVar("T")
_PAGES = 50
_MOST_TOOLS = 1_000
"""Tools of one server that are looked at."""
_MOST_PAGES = 5
"""Pages that one call may have the person open."""
_MOST_LEFT_OUT = 20
_NO_WAY_BACK = "no back-channel"
"""What the SDK's servers say where a tool asks the client something in the manner of earlier versions of MCP."""
_DEATH_WITHIN = 1.0
"""Seconds in which a process that closed its output is expected to end, so that one can say how."""


def _no_time(_: float) -> None:
    """The default: its start has no limit that could be moved."""


class HandshakeNeeded(McpError):
    """The server asks something in a manner that only the handshake of earlier versions of MCP makes possible."""


class SessionEvents(msgspec.Struct):
    """What happens to a session, for its owner.

    Attributes:
        lost: set once the server cannot be reached any more.
        on_tools_changed: called when the server says that its tools are others now.
        process: the server's program, once it was started.
        waits: called with the seconds that a person may take now, before it is there.
        questions: those of the server that are being answered now; its calls' time does not run meanwhile.
        caller: gives the agent for whose call it works.
        left_out: items of its results that are not MCP, as phrases.
    """

    on_tools_changed: Callable[[], None]
    caller: Callable[[], ToolCaller]
    lost: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    questions: set[asyncio.Future[Any]] = msgspec.field(default_factory=set[asyncio.Future[Any]])
    process: ServerProcess | None = None
    waits: Callable[[float], None] = _no_time
    left_out: dict[str, None] = msgspec.field(default_factory=dict[str, None])

    def note_left_out(self, item: str) -> None:
        """One item of a result was left out."""
        if len(self.left_out) < _MOST_LEFT_OUT:
            self.left_out[one_line(literal(item), 100)] = None


class SdkSession:
    """An open session. Made by `open_session`."""

    def __init__(
        self,
        definition: ServerDefinition,
        client: Client,
        process: ServerProcess | None,
        state: StdioState,
        answers: _Answers,
    ) -> None:
        self._definition = definition
        self._client = client
        self._state = state
        self._answers = answers
        self.process = process

    @property
    def name(self) -> str:
        return self._definition.name

    @property
    def protocol(self) -> str:
        """The version of MCP that they agreed on."""
        return self._client.protocol_version

    @property
    def about(self) -> str:
        """What the server calls itself, with its version."""
        info = self._client.server_info
        return one_line(literal(f"{info.name} {info.version}".strip()), 80) if info is not None else ""

    @property
    def capabilities(self) -> frozenset[str]:
        """What it offers: tools, resources, prompts."""
        told = self._client.server_capabilities
        return frozenset(name for name in ("tools", "resources", "prompts") if getattr(told, name, None) is not None)

    @property
    def is_modern(self) -> bool:
        """Whether it speaks a version without a handshake."""
        return self.protocol not in HANDSHAKE_PROTOCOL_VERSIONS

    async def offer(self) -> ServerPins:
        """All that it offers, as models and people get it. Raises as `translated` does."""
        offers = self.capabilities
        tools = await self._tools() if "tools" in offers else []
        prompts: list[mcp_types.Prompt] = []
        if "prompts" in offers:
            with contextlib.suppress(MCPError):
                prompts = (await self._client.list_prompts()).prompts[:_MOST_TOOLS]
        return await asyncio.to_thread(
            _offer, self._definition.digest, not self.is_modern, tools, prompts, "resources" in offers
        )

    async def _tools(self) -> list[mcp_types.Tool]:
        found: list[mcp_types.Tool] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await self._client.list_tools(cursor=cursor, cache_mode="refresh" if cursor is None else "bypass")
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or len(found) >= _MOST_TOOLS:
                break
        return found[:_MOST_TOOLS]

    async def resources(self) -> tuple[list[mcp_types.Resource], list[mcp_types.ResourceTemplate]]:
        """Its resources, and the patterns of more."""
        found: list[mcp_types.Resource] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await self._client.list_resources(cursor=cursor)
            found += page.resources
            cursor = page.next_cursor
            if cursor is None or len(found) >= _MOST_TOOLS:
                break
        try:
            templates = (await self._client.list_resource_templates()).resource_templates
        except MCPError:
            templates = []
        return found[:_MOST_TOOLS], templates[:_MOST_TOOLS]

    async def read_resource(self, uri: str) -> mcp_types.ReadResourceResult:
        return await self._client.read_resource(uri)

    async def get_prompt(self, name: str, arguments: dict[str, str]) -> mcp_types.GetPromptResult:
        return await self._client.get_prompt(name, arguments)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], on_progress: Callable[[float, float | None, str], None]
    ) -> mcp_types.CallToolResult:
        """Call a tool; its time is limited by the caller. Cancelling tells the server so.

        A tool that needs the person to open a page first is called again once they have agreed. Raises `McpError`: the
        person does not open a page that it needs; `HandshakeNeeded`: the tool asks something in the manner of earlier
        versions of MCP.
        """

        async def note(progress: float, total: float | None, message: str | None) -> None:
            on_progress(progress, total, message or "")

        async def call() -> mcp_types.CallToolResult:
            return await self._client.call_tool(name, arguments, progress_callback=note)

        try:
            result = await call()
        except MCPError as error:
            if error.code != mcp_types.URL_ELICITATION_REQUIRED:
                raise
            await self._answers.visit(UrlElicitationRequiredError.from_error(error.error).elicitations)
            result = await call()
        if result.is_error:
            for block in result.content:
                if isinstance(block, mcp_types.TextContent):
                    self._check_way_back(block.text)
        return result

    def _check_way_back(self, said_of_failure: str) -> None:
        """Raises `HandshakeNeeded`: it failed because the server can ask nothing on this connection."""
        if self.is_modern and _NO_WAY_BACK in said_of_failure:
            raise HandshakeNeeded(
                f"The MCP server {self.name} asks in the manner of earlier versions of MCP, and cannot be reached so."
            )

    async def probe(self) -> None:
        """Ask whether it is there. Raises as `translated` does."""
        if self.is_modern:
            await self._client.session.send_discover(self.protocol)
        else:
            await self._client.session.send_ping()

    async def why_lost(self) -> str:
        """Why it cannot be reached any more, as the end of a sentence."""
        if self._state.fault:
            return self._state.fault
        if self.process is None:
            return "it closed the connection"
        with contextlib.suppress(TimeoutError):
            async with time_limit(_DEATH_WITHIN):
                await self.process.process.wait()
        return self.process.end

    async def translated(self, work: Awaitable[T], events: SessionEvents) -> T:
        """Await work of the SDK. Raises `HandshakeNeeded`: the server asks something in the manner of earlier versions
        of MCP; `McpError`: the server refused it, or is lost.
        """
        try:
            return await work
        except MCPError as error:
            if error.code == mcp_types.CONNECTION_CLOSED:
                events.lost.set()
                raise McpError(f"The MCP server {self.name} is gone: {await self.why_lost()}.") from error
            self._check_way_back(error.message)
            raise McpError(f"The MCP server {self.name} refused it: {said(error.message)}") from error
        except ValidationError as error:
            raise McpError(f"The MCP server {self.name} answered with something that is not MCP.") from error
        except (httpx2.HTTPError, OSError) as error:
            events.lost.set()
            raise McpError(f"The MCP server {self.name} cannot be reached: {said(str(error))}") from error
        except ExpectedError:
            raise
        except Exception as error:
            found = first_error(error)
            raise McpError(f"The MCP server {self.name} failed: {said(str(found) or type(found).__name__)}") from error


def _offer(
    digest: str, legacy: bool, tools: list[mcp_types.Tool], prompts: list[mcp_types.Prompt], resources: bool
) -> ServerPins:
    pins = [
        tool_pin(
            tool.name,
            tool.description or tool.title or "",
            tool.input_schema,
            reads=bool(tool.annotations and tool.annotations.read_only_hint),
        )
        for tool in tools
    ]
    kept = [
        prompt_pin(one.name, one.description or one.title or "", [argument.name for argument in one.arguments or ()])
        for one in prompts
    ]
    return ServerPins(digest, legacy, tuple(pins), (), tuple(kept), resources)


def said(text: str) -> str:
    """What a server or the SDK says, as the end of a sentence."""
    clean = one_line(literal(text), 400)
    return clean if clean.endswith((".", "!", "?")) else f"{clean}."


def first_error(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


@asynccontextmanager
async def open_session(
    definition: ServerDefinition,
    resolved: ResolvedServer,
    environ: Mapping[str, str],
    find_sandbox: FindSandbox | None,
    host: ServerHost,
    events: SessionEvents,
    *,
    legacy: bool = False,
    memory: MutableMapping[str, str],
) -> AsyncGenerator[SdkSession]:
    """Start or reach a server, and agree on a version of MCP. Enter and leave it in one task.

    Args:
        memory: where tokens are, until this process ends.
        legacy: it is known to need the handshake of earlier versions.

    Raises `McpError`: it cannot be started or reached.
    """
    answers = _Answers(definition, host, events)
    state = StdioState()
    async with contextlib.AsyncExitStack() as stack:
        process: ServerProcess | None = None
        if definition.is_http:
            transport = http_streams(definition, resolved, host, memory, events.waits, events.note_left_out)
        else:
            process = events.process = await start_server(definition, resolved, environ, find_sandbox)
            stack.push_async_callback(process.close)
            transport = stdio_streams(process, state, events.lost, events.note_left_out)
        client = Client(
            transport,
            mode="legacy" if legacy else "auto",
            client_info=mcp_types.Implementation(name="gsh-tui", version=__version__),
            list_roots_callback=answers.list_roots,
            sampling_callback=answers.sample,
            elicitation_callback=answers.elicit,
            message_handler=answers.handle_message,
        )
        try:
            await stack.enter_async_context(client)
        except (MCPError, httpx2.HTTPError, OSError, ValidationError, RuntimeError, BaseExceptionGroup) as error:
            found = first_error(error)
            if isinstance(found, ExpectedError):
                raise found from error
            if not isinstance(found, Exception):
                raise
            if isinstance(found, MCPError) and found.code == mcp_types.CONNECTION_CLOSED:
                why = await SdkSession(definition, client, process, state, answers).why_lost()
                raise McpError(f"The MCP server {definition.name} did not start: {why}.") from error
            if isinstance(found, ValidationError):
                raise McpError(f"The MCP server {definition.name} greets with something that is not MCP.") from error
            why = said(str(found) or type(found).__name__)
            raise McpError(f"The MCP server {definition.name} cannot be reached: {why}") from error
        yield SdkSession(definition, client, process, state, answers)


class _Answers:
    """The SDK's callbacks: what a server asks, answered by the host."""

    def __init__(self, definition: ServerDefinition, host: ServerHost, events: SessionEvents) -> None:
        self._server = definition.name
        self._host = host
        self._events = events

    async def list_roots(self, context: ClientRequestContext) -> mcp_types.ListRootsResult:
        """The folders that it may work in."""
        folders = [{"uri": path.as_uri(), "name": path.name or "/"} for path in self._host.roots()]
        return mcp_types.ListRootsResult.model_validate({"roots": folders})

    async def sample(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> mcp_types.CreateMessageResult | mcp_types.ErrorData:
        lines: list[str] = []
        for message in params.messages:
            blocks = message.content if isinstance(message.content, list) else [message.content]
            for block in blocks:
                if not isinstance(block, mcp_types.TextContent):
                    return _refused("Only text can be sampled here.")
                lines.append(f"{message.role}: {block.text}" if len(params.messages) > 1 else block.text)
        request = SamplingRequest("\n\n".join(lines), params.system_prompt or "", params.max_tokens)
        try:
            answer = await self._asked(self._host.sample(self._server, self._events.caller(), request))
        except ExpectedError as error:
            return _refused(error.message)
        if answer is None:
            return _refused("The person does not allow it.")
        content = mcp_types.TextContent(type="text", text=answer.text)
        stop = "maxTokens" if answer.is_cut else "endTurn"
        return mcp_types.CreateMessageResult(role="assistant", content=content, model=answer.model, stop_reason=stop)

    async def elicit(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        """The person's values."""
        if isinstance(params, mcp_types.ElicitRequestURLParams):
            asked = Elicitation(params.message, url=params.url)
        else:
            schema = params.requested_schema
            fields = schema.get("properties")
            required = schema.get("required")
            asked = Elicitation(
                params.message,
                fields if is_object(fields) else {},
                tuple(str(one) for one in required) if is_array(required) else (),
            )
        values = await self._asked(self._host.elicit(self._server, self._events.caller(), asked))
        if values is None:
            return mcp_types.ElicitResult(action="decline")
        return mcp_types.ElicitResult(action="accept", content=dict(values))

    async def visit(self, pages: list[mcp_types.ElicitRequestURLParams]) -> None:
        """Have the person open the pages without which a call cannot go on. Raises `McpError`: they decline."""
        for page in pages[:_MOST_PAGES]:
            asked = Elicitation(page.message, url=page.url)
            if await self._asked(self._host.elicit(self._server, self._events.caller(), asked)) is None:
                raise McpError(f"The MCP server {self._server} goes on once the person has opened {said(page.url)}")

    async def handle_message(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._events.on_tools_changed()

    async def _asked(self, answer: Coroutine[Any, Any, T | None]) -> T | None:
        """The answer; `None` where the question is withdrawn with the call that it belongs to."""
        question = asyncio.ensure_future(answer)
        self._events.questions.add(question)
        try:
            await asyncio.wait([question])
            return None if question.cancelled() else question.result()
        finally:
            self._events.questions.discard(question)
            question.cancel()


def _refused(why: str) -> mcp_types.ErrorData:
    return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=why)
