"""What an inspector shows, loaded: the request, its blocks' texts, its bytes, a comparison; and changes to blocks.

Owns the state and the order of reading; a failure is shown and costs nothing else. Refuses keys and drawing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace
from textual.widget import Widget

from gshtui.context.views import ContextError, ContextView
from gshtui.text.sanitise import one_line
from gshtui.ui.context import inspector_state as states
from gshtui.ui.context.context_port import ContextPort
from gshtui.ui.context.inspector_state import InspectorState
from gshtui.ui.kit.bridge import NotReady

ContextSource = Callable[[], Awaitable[ContextPort]]
"""Gives the context service. Raises `NotReady` or `ContextError`."""
PEEKED = 400
"""Characters of a block's text of which its line shows the beginning."""


class BlockBeginnings:
    """The beginnings of blocks' texts, for their lines: read all at once, after the frame in which they were missed.

    Args:
        host: the widget that owns the worker.
        came: called when there are more of them.
    """

    def __init__(self, host: Widget, source: ContextSource, came: Callable[[], object]) -> None:
        self._host = host
        self._source = source
        self._came = came
        self._known: dict[str, str] = {}
        self._missed: dict[str, None] = {}

    def of(self, hash: str) -> str:
        """The beginning of a text; empty while it is not known."""
        if hash not in self._known:
            if not self._missed:
                self._host.call_after_refresh(self._read)
            self._missed[hash] = None
        return self._known.get(hash, "")

    def _read(self) -> None:
        hashes, self._missed = list(self._missed), {}
        self._host.run_worker(self._read_all(hashes), exit_on_error=False, group="peeks")

    async def _read_all(self, hashes: list[str]) -> None:
        try:
            contexts = await self._source()
            for hash in hashes:
                self._known[hash] = beginning(await contexts.text(hash))
        except (NotReady, ContextError):
            self._known.update({hash: "" for hash in hashes if hash not in self._known})
        self._came()


def beginning(text: str) -> str:
    """The beginning of a block's text, on one line."""
    return one_line(text[:PEEKED], 120)


class InspectorLoader:
    """The state of one inspector, and what it lacks read into it.

    Args:
        host: the widget that owns the workers and says what failed.
        changed: called with the state before each change.
    """

    def __init__(
        self, host: Widget, source: ContextSource, state: InspectorState, changed: Callable[[InspectorState], None]
    ) -> None:
        self.state = state
        self.source = source
        self._host = host
        self._changed = changed
        self._reading = False
        self._counted = ("", 0)

    def become(self, state: InspectorState) -> None:
        """Take another state; read what it lacks."""
        before, self.state = self.state, state
        if not self._host.is_mounted:
            return
        self._changed(before)
        if states.wanted(state):
            self._host.run_worker(self._read_texts(), exit_on_error=False, exclusive=True, group="texts")
        counted = (state.agent, len(state.iterations))
        if counted != self._counted and any(id.startswith("b:") for id in state.opened):
            self._counted = counted
            self._host.run_worker(self._read_carry(), exit_on_error=False, exclusive=True, group="carry")
        if state.stale:
            self.read()

    # Reading

    def read(self) -> None:
        """Read the request again; a wish that comes while that happens is granted after it."""
        self.state = replace(self.state, stale=True)
        if not self._reading:
            self._reading = True
            self._host.run_worker(self._read(), exit_on_error=False, group="inspect")

    async def _read(self) -> None:
        try:
            while self.state.stale:
                self.state = replace(self.state, stale=False)
                await self._read_once()
        except (NotReady, ContextError) as error:
            self.become(replace(self.state, stale=False, problem=str(error)))
        finally:
            self._reading = False

    async def _read_once(self) -> None:
        contexts, agent = await self.source(), self.state.agent
        at = self.state.at
        view = await contexts.view(agent, at)
        iterations = tuple(await contexts.iterations(agent))
        if at != self.state.at:
            self.state = replace(self.state, stale=True)
            return
        again = self.state.stale
        self.become(replace(states.with_view(self.state, view, iterations), stale=False))
        if self.state.mode == "request" and self.state.request is None:
            await self._read_request(contexts)
        if self.state.other is not None:
            await self._compare_with(contexts, self.state.other)
        self.state = replace(self.state, stale=again or self.state.stale)

    async def _read_carry(self) -> None:
        """What each source has cost: it goes through all requests, so only where it is shown, and once a request."""
        try:
            carry = {one.source: one for one in await (await self.source()).carry(self.state.agent)}
        except (NotReady, ContextError):
            return
        self.become(replace(self.state, carry=carry))

    async def _read_texts(self) -> None:
        try:
            contexts = await self.source()
            while wanted := states.wanted(self.state):
                found = {hash: await contexts.text(hash) for hash in wanted[:20]}
                self.become(states.with_texts(self.state, found))
        except (NotReady, ContextError) as error:
            missing = dict.fromkeys(states.wanted(self.state), f"⟨This text cannot be read. {error!s}⟩")
            self.become(states.with_texts(self.state, missing))

    async def _read_request(self, contexts: ContextPort) -> None:
        at = self.state.at
        request = await contexts.request(self.state.agent, at)
        if at == self.state.at:
            self.become(replace(self.state, request=request))

    def show_request(self) -> None:
        """Show the request as it is sent."""
        self.become(replace(self.state, mode="request", other=None, differences=()))
        if self.state.request is None:
            self.work(self._shown_request)

    async def _shown_request(self, contexts: ContextPort) -> str:
        await self._read_request(contexts)
        return ""

    # Comparing

    def compare(self, agent: str, iteration: str) -> None:
        """Compare what is shown with a request of this or another agent."""

        async def work(contexts: ContextPort) -> str:
            await self._compare_with(contexts, await contexts.view(agent, iteration))
            return ""

        self.work(work)

    async def _compare_with(self, contexts: ContextPort, other: ContextView) -> None:
        agent, at = self.state.agent, self.state.at
        shown = self.state.view
        if shown is None or (shown.iteration.id if shown.iteration is not None else "") != at:
            shown = await contexts.view(agent, at)
            self.become(states.with_view(self.state, shown, tuple(await contexts.iterations(agent))))
        found = tuple(await contexts.difference(other, shown))
        if at == self.state.at:
            self.become(states.compared(self.state, other, found))

    # Doing

    def work(self, do: Callable[[ContextPort], Awaitable[str]]) -> None:
        """Do something with the service, say what it says, and look again where something changed."""
        self._host.run_worker(self._work(do), exit_on_error=False, group="work")

    async def _work(self, do: Callable[[ContextPort], Awaitable[str]]) -> None:
        try:
            said = await do(await self.source())
        except (NotReady, ContextError) as error:
            self._host.notify(str(error), severity="error", markup=False, timeout=8)
            return
        if said:
            self._host.notify(said, markup=False, timeout=4)
            self.read()
