"""The connection to one server: started when it is first needed, watched, started again after a growing pause when it
is lost, and given up after too many failures until somebody needs it again.

One task enters and leaves the SDK's session; everybody else calls through it.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from gshtui.mcp_client.server_definition import McpError, ServerDefinition
from gshtui.mcp_client.server_requests import ServerHost, ToolCaller
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

if TYPE_CHECKING:
    from gshtui.guard.sandbox.stdio_server import FindSandbox
    from gshtui.mcp_client.sdk_session import SdkSession, SessionEvents
    from gshtui.mcp_client.tool_pins import ServerPins

ConnectionState = Literal["off", "starting", "ready", "waiting", "failed"]
"""off: nobody needed it yet, or it was stopped. waiting: it is started again after a pause."""
T = TypeVar("T")
_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 30.0
_MOST_FAILURES = 5
"""In a row; then it stays down until somebody needs it."""
_STEADY = 60.0
"""Seconds after which a connection counts as one that works."""
_PROBE_EVERY = 30.0
_PROBE_WITHIN = 10.0
_CLOSE_WITHIN = 6.0
_OTHERS_WITHIN = 10.0
"""Seconds that other calls get to end before a server is connected in another manner."""


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """What a connection works with."""

    environ: Mapping[str, str]
    find_sandbox: FindSandbox | None
    host: ServerHost
    start_seconds: float
    memory: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Where tokens of servers are, until this process ends."""


class ServerConnection:
    """See the module's text. Create it inside a running event loop; `close` it at the end."""

    def __init__(
        self,
        definition: ServerDefinition,
        options: ConnectionOptions,
        *,
        on_state: Callable[[ServerConnection], None] | None = None,
        on_offer: Callable[[ServerConnection, ServerPins], Awaitable[None]] | None = None,
    ) -> None:
        """
        Args:
            on_state: called after each change of `state`.
            on_offer: called with all that it offers after each start, and after its tools changed.
        """
        self.definition = definition
        self.state: ConnectionState = "off"
        self.why = ""
        """Why it is not ready, as a sentence."""
        self.hint = ""
        self.started_in = 0.0
        """Seconds that its last start took."""
        self.starts = 0
        self.legacy = False
        """It is known to need the handshake of earlier versions of MCP."""
        self.outside = ""
        """Why its program is outside the sandbox, as the end of a sentence; empty: it is inside, or there is none."""
        self._options = options
        self._on_state = on_state
        self._on_offer = on_offer
        self._session: SdkSession | None = None
        self._events: SessionEvents | None = None
        self._callers: list[ToolCaller] = []
        self._unused = asyncio.Event()
        """Set while nobody uses it."""
        self._unused.set()
        self._changing = asyncio.Lock()
        self._said: list[str] = []
        self._refused: list[str] = []
        self._owner: asyncio.Task[None] | None = None
        self._change = asyncio.Condition()
        self._closing = False
        self._ending = False
        self._relisting: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def _starts_within(self) -> float:
        return self.definition.start_seconds(self._options.start_seconds)

    @property
    def said(self) -> list[str]:
        """The last lines of its program's error output."""
        process = self._events.process if self._events is not None else None
        return process.said if process is not None else self._said

    @property
    def refused(self) -> list[str]:
        """What the sandbox refused to its program, with what would allow that."""
        process = self._events.process if self._events is not None else None
        refused = process.refused if process is not None else self._refused
        return [self._with_own_settings(each) for each in refused]

    def _with_own_settings(self, text: str) -> str:
        """What the sandbox says, with the server's own settings in place of the general ones."""
        own = f"mcp.servers.{self.name}"
        return text.replace("[sandbox] hosts", f"{own}.hosts").replace("[sandbox] writable_paths", f"{own}.writable")

    @property
    def left_out(self) -> tuple[str, ...]:
        """What of its results is not MCP and was left out, as phrases."""
        return tuple(self._events.left_out) if self._events is not None else ()

    @property
    def session(self) -> SdkSession | None:
        """The open session; `None`: there is none now."""
        return self._session

    async def ready(self, within: float | None = None) -> SdkSession:
        """Start it, unless it is started, and wait until it can be used. `within`: seconds; by default, those that a
        start may take. Raises `McpError`: it cannot be used; the message says why.
        """
        if (session := self._usable()) is not None:
            return session
        if self._closing:
            raise McpError(f"The MCP server {self.name} was stopped.")
        if self._owner is None or self._owner.done():
            self.state, self.why = "starting", ""
            self._owner = start_job(self._own(), f"the MCP server {self.name}")
        limit = self._starts_within if within is None else within
        try:
            async with time_limit(limit), self._change:
                await self._change.wait_for(lambda: self._usable() is not None or self.state == "failed")
        except TimeoutError:
            if self.state == "starting" and self.why:
                raise McpError(self.why, "Then try again.") from None
            raise McpError(
                f"The MCP server {self.name} did not start within {limit:g} s.",
                f"`gsh-tui mcp doctor {self.name}` checks it.",
            ) from None
        if (session := self._usable()) is None:
            raise McpError(self.why or f"The MCP server {self.name} is not there.", self.hint)
        return session

    def _usable(self) -> SdkSession | None:
        lost = self._events is None or self._events.lost.is_set()
        return None if lost else self._session

    async def run(self, do: Callable[[SdkSession], Awaitable[T]], caller: ToolCaller, seconds: float) -> T:
        """Do something with the server, on behalf of an agent. `seconds`: how long it may take, without what its
        questions to people take. Raises `McpError`: it failed, the server is lost, or it did not answer in time.
        """
        return await self.run_watched(do, caller, CallWatch(seconds))

    async def run_watched(self, do: Callable[[SdkSession], Awaitable[T]], caller: ToolCaller, watch: CallWatch) -> T:
        """As `run`; news of the work begin its time again (`watch.news`).

        Where the server needs the handshake of earlier versions to ask something, it is connected so, and the work is
        done again: nobody has been asked yet.
        """
        session = await self.ready()
        from gshtui.mcp_client.sdk_session import HandshakeNeeded  # loaded by now, with the SDK

        try:
            return await self._run_in(session, do, caller, watch)
        except HandshakeNeeded:
            session = await self._with_handshake(session)
            watch.news()
            return await self._run_in(session, do, caller, watch)

    async def _with_handshake(self, before: SdkSession) -> SdkSession:
        """Connect it by the handshake of earlier versions instead. Raises `McpError`: it does not know that."""
        async with self._changing:
            if self._session is before:
                with contextlib.suppress(TimeoutError):
                    async with time_limit(_OTHERS_WITHIN):
                        await self._unused.wait()
                self.legacy = True
                try:
                    await self.restart()
                except McpError:
                    self.legacy = False
                    raise
        return await self.ready()

    async def _run_in(
        self, session: SdkSession, do: Callable[[SdkSession], Awaitable[T]], caller: ToolCaller, watch: CallWatch
    ) -> T:
        events = self._events
        if events is None:
            raise McpError(self.why or f"The MCP server {self.name} is gone.", self.hint)
        self._callers.append(caller)
        self._unused.clear()
        work = asyncio.ensure_future(session.translated(do(session), events))
        try:
            while not work.done():
                left = watch.left()
                if left <= 0 and not events.questions:
                    raise McpError(
                        f"The MCP server {self.name} did not answer within {watch.seconds:g} s; the call was given up.",
                        f"`mcp.servers.{self.name}.timeout` says how long to wait.",
                    )
                await asyncio.wait([work], timeout=max(left, 0.2))
            return work.result()
        finally:
            self._callers.remove(caller)
            if not self._callers:
                self._unused.set()
                for question in events.questions:  # nobody waits for what they are for any more
                    question.cancel()
            if not work.done():
                await cancel_and_wait(work, within=_CLOSE_WITHIN)
                self._look_after(session, events)

    async def restart(self) -> None:
        """End it and start it again. Raises `McpError`."""
        await self._end()
        await self.ready()

    async def stop(self) -> None:
        """End it; it is started again when it is needed."""
        await self._end()
        self._set("off")

    async def close(self) -> None:
        self._closing = True
        await self._end()
        self._set("off")

    async def relist(self) -> None:
        """Read its tools again. Raises `McpError`."""
        session, events = self._session, self._events
        if session is None or events is None or self._on_offer is None:
            return
        async with time_limit(self._options.start_seconds):
            offer = await session.translated(session.offer(), events)
        await self._on_offer(self, offer)

    async def _end(self) -> None:
        owner, self._owner = self._owner, None
        await cancel_and_wait(self._relisting)
        if owner is not None:
            await cancel_and_wait(owner, within=_CLOSE_WITHIN + 4)

    async def _own(self) -> None:
        """Start it, and again after each loss."""
        self._ending = False
        pause, failures = _FIRST_PAUSE, 0
        while True:
            self.why, self.hint = "", ""
            self._set("starting")
            began = time.monotonic()
            inner = asyncio.ensure_future(self._live())
            try:
                await asyncio.wait([inner])
            except asyncio.CancelledError:
                # The session is left in its own task, which must not be cancelled from outside before it had its time.
                self._ending = True
                if self._events is not None:
                    self._events.lost.set()
                await asyncio.wait([inner], timeout=_CLOSE_WITHIN)
                await cancel_and_wait(inner, within=_CLOSE_WITHIN)
                raise
            self._note_end(inner)
            lived = time.monotonic() - began
            failures = 0 if lived > _STEADY else failures + 1
            pause = _FIRST_PAUSE if lived > _STEADY else pause
            if failures >= _MOST_FAILURES or not self.starts:
                self._set("failed")
                return
            self._set("waiting")
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _note_end(self, inner: asyncio.Future[None]) -> None:
        self._said, self._refused = self.said, self.refused
        self._session = self._events = None
        error = None if inner.cancelled() else inner.exception()
        if isinstance(error, McpError):
            self.why, self.hint = self._with_own_settings(error.message), error.hint
        elif error is not None:
            from gshtui.mcp_client.sdk_session import first_error, said

            found = first_error(error)
            self.why = f"The MCP server {self.name} failed: {said(str(found) or type(found).__name__)}"

    async def _live(self) -> None:
        """One session, from its start to its loss. Raises `McpError` and what the SDK raises."""
        resolved = self.definition.resolved(self._options.environ)
        sdk = await asyncio.to_thread(importlib.import_module, "gshtui.mcp_client.sdk_session")
        began = time.monotonic()
        events: SessionEvents = sdk.SessionEvents(self._tools_changed, self._caller)
        options = self._options
        self._events = events
        opening: Any = sdk.open_session(
            self.definition,
            resolved,
            options.environ,
            options.find_sandbox,
            options.host,
            events,
            legacy=self.legacy,
            memory=options.memory,
        )
        try:
            async with contextlib.AsyncExitStack() as starting:
                limit = await starting.enter_async_context(time_limit(self._starts_within))

                def wait_for_person(seconds: float) -> None:
                    self.why = f"The MCP server {self.name} waits for you to sign in."
                    limit.reschedule(asyncio.get_running_loop().time() + seconds)

                events.waits = wait_for_person
                session = await starting.enter_async_context(opening)
                self.legacy = not session.is_modern
                if self._on_offer is not None:
                    await self._on_offer(self, await session.translated(session.offer(), events))
                limit.reschedule(None)
                self.outside = session.process.outside if session.process is not None else ""
                self.starts += 1
                self.started_in = time.monotonic() - began
                self._session, self.why, self.hint = session, "", ""
                self._set("ready")
                await self._watch(session, events)
        except TimeoutError:
            raise McpError(
                f"The MCP server {self.name} did not start within {self._starts_within:g} s.",
                f"`gsh-tui mcp doctor {self.name}` checks it.",
            ) from None
        finally:
            self._session = None

    async def _watch(self, session: SdkSession, events: SessionEvents) -> None:
        """Wait until it is lost; while nothing else asks it, ask from time to time whether it is there."""
        while not events.lost.is_set():
            with contextlib.suppress(TimeoutError):
                async with time_limit(_PROBE_EVERY):
                    await events.lost.wait()
            if not events.lost.is_set() and not self._callers and not self.definition.is_http:
                await self._probe(session, events)
        if self._ending:
            return
        self.why = f"The MCP server {self.name} is gone: {await session.why_lost()}."
        self.hint = "It is started again when it is needed."

    async def _probe(self, session: SdkSession, events: SessionEvents) -> None:
        try:
            async with time_limit(_PROBE_WITHIN):
                await session.translated(session.probe(), events)
        except TimeoutError:
            self.why = f"The MCP server {self.name} does not answer any more."
            events.lost.set()
        except McpError:
            pass  # it answers, or its loss is noted

    def _look_after(self, session: SdkSession, events: SessionEvents) -> None:
        """After a call that was given up: find out whether it still answers, so that the next one need not wait."""
        if self._relisting is None or self._relisting.done():
            self._relisting = start_job(self._probe(session, events), f"a look at the MCP server {self.name}")

    def _caller(self) -> ToolCaller:
        return self._callers[-1] if self._callers else ToolCaller()

    def _tools_changed(self) -> None:
        if self._relisting is None or self._relisting.done():
            self._relisting = start_job(self._relist_quietly(), f"the tools of the MCP server {self.name}")

    async def _relist_quietly(self) -> None:
        with contextlib.suppress(McpError, TimeoutError):
            await self.relist()

    def _set(self, state: ConnectionState) -> None:
        self.state = state
        start_job(self._tell(), "news of an MCP server")
        if self._on_state is not None:
            self._on_state(self)

    async def _tell(self) -> None:
        async with self._change:
            self._change.notify_all()


class CallWatch:
    """How long a call may still take."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._until = time.monotonic() + seconds

    def left(self) -> float:
        return self._until - time.monotonic()

    def news(self) -> None:
        """It goes on: its time begins again."""
        self._until = time.monotonic() + self.seconds
