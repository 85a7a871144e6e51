"""What an inspector shows, loaded: the request, its blocks' texts, its bytes, a comparison; and changes to blocks.

Owns the workers; a failure is shown and costs nothing else. Refuses keys. `InspectorPane` is built on it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace
from textual.containers import Vertical
from textual.widgets import Static

from gshtui.bus.context_data import Block
from gshtui.context.views import ContextError, ContextView
from gshtui.text.sanitise import one_line
from gshtui.ui.context import inspector_state as states
from gshtui.ui.context.context_port import ContextService
from gshtui.ui.context.inspector_lines import inspector_entries, inspector_title, inspector_words
from gshtui.ui.context.inspector_state import InspectorState
from gshtui.ui.context.outline import EntryWords, OutlineEntry
from gshtui.ui.context.outline_view import OutlineView
from gshtui.ui.kit.bridge import NotReady

ContextSource = Callable[[], Awaitable[ContextService]]
"""Gives the context service. Raises `NotReady` or `ContextError`."""
PEEKED = 400
"""Characters of a block's text of which its line shows the beginning."""


class InspectorLoader(Vertical):
    """The waiting half of an inspector.

    Args:
        agent: its id; `name` is what people call it.
        clock: seconds since the epoch.
    """

    def __init__(self, agent: str, name: str, source: ContextSource, clock: Callable[[], float], at: str = "") -> None:
        super().__init__(classes="inspector-pane")
        self.state = InspectorState(agent, at=at)
        self.view = OutlineView(self._words)
        self._name = name
        self._source = source
        self._clock = clock
        self._head = Static("", markup=False, classes="inspector-title")
        self._peeks: dict[str, str] = {}
        self._unread: dict[str, None] = {}
        self._reading = False
        self._counted = ("", 0)

    # Showing

    def become(self, state: InspectorState) -> None:
        """Show another state; read what it lacks."""
        before, self.state = self.state, state
        if not self.is_mounted:
            return
        self._head.update(inspector_title(state, self._name, self.size.width - 4))
        lines = (state.view, state.mode, state.opened, state.texts, state.request, state.differences, state.carry)
        was = (before.view, before.mode, before.opened, before.texts, before.request, before.differences, before.carry)
        if any(one is not other for one, other in zip(lines, was, strict=True)):
            self.view.show(inspector_entries(state))
        if states.wanted(state):
            self.run_worker(self._read_texts(), exit_on_error=False, exclusive=True, group="texts")
        counted = (state.agent, len(state.iterations))
        if counted != self._counted and any(id.startswith("b:") for id in state.opened):
            self._counted = counted
            self.run_worker(self._read_carry(), exit_on_error=False, exclusive=True, group="carry")
        if state.stale:
            self.read()

    def _words(self, entry: OutlineEntry, width: int) -> EntryWords:
        return inspector_words(entry, width, self._clock(), self._peek)

    def _peek(self, block: Block) -> str:
        text = self.state.texts.get(block.hash)
        if text is not None:
            return one_line(text[:PEEKED], 120)
        if block.hash not in self._peeks:
            if not self._unread:
                self.call_after_refresh(self._read_peeks)
            self._unread[block.hash] = None
        return self._peeks.get(block.hash, "")

    def _read_peeks(self) -> None:
        hashes, self._unread = list(self._unread), {}
        self.run_worker(self._peeked(hashes), exit_on_error=False, group="peeks")

    async def _peeked(self, hashes: list[str]) -> None:
        try:
            contexts = await self._source()
            for hash in hashes:
                self._peeks[hash] = one_line((await contexts.text(hash))[:PEEKED], 120)
        except (NotReady, ContextError):
            self._peeks.update({hash: "" for hash in hashes if hash not in self._peeks})
        self.view.refresh()

    # Reading

    def read(self) -> None:
        """Read the request again; a wish that comes while that happens is granted after it."""
        self.state = replace(self.state, stale=True)
        if not self._reading:
            self._reading = True
            self.run_worker(self._read(), exit_on_error=False, group="inspect")

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
        contexts, agent = await self._source(), self.state.agent
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
            carry = {one.source: one for one in await (await self._source()).carry(self.state.agent)}
        except (NotReady, ContextError):
            return
        self.become(replace(self.state, carry=carry))

    async def _read_texts(self) -> None:
        try:
            contexts = await self._source()
            while wanted := states.wanted(self.state):
                found = {hash: await contexts.text(hash) for hash in wanted[:20]}
                self.become(states.with_texts(self.state, found))
        except (NotReady, ContextError) as error:
            missing = dict.fromkeys(states.wanted(self.state), f"⟨This text cannot be read. {error!s}⟩")
            self.become(states.with_texts(self.state, missing))

    async def _read_request(self, contexts: ContextService) -> None:
        at = self.state.at
        request = await contexts.request(self.state.agent, at)
        if at == self.state.at:
            self.become(replace(self.state, request=request))

    def show_request(self) -> None:
        """Show the request as it is sent."""
        self.become(replace(self.state, mode="request", other=None, differences=()))
        if self.state.request is None:
            self.work(self._shown_request)

    async def _shown_request(self, contexts: ContextService) -> str:
        await self._read_request(contexts)
        return ""

    # Comparing

    def compare(self, agent: str, iteration: str) -> None:
        """Compare what is shown with a request of this or another agent."""

        async def work(contexts: ContextService) -> str:
            await self._compare_with(contexts, await contexts.view(agent, iteration))
            return ""

        self.work(work)

    async def _compare_with(self, contexts: ContextService, other: ContextView) -> None:
        agent, at = self.state.agent, self.state.at
        shown = self.state.view
        if shown is None or (shown.iteration.id if shown.iteration is not None else "") != at:
            shown = await contexts.view(agent, at)
            self.become(states.with_view(self.state, shown, tuple(await contexts.iterations(agent))))
        found = tuple(await contexts.difference(other, shown))
        if at == self.state.at:
            self.become(states.compared(self.state, other, found))

    # Doing

    def work(self, do: Callable[[ContextService], Awaitable[str]]) -> None:
        """Do something with the service, say what it says, and look again where something changed."""
        self.run_worker(self._work(do), exit_on_error=False, group="work")

    async def _work(self, do: Callable[[ContextService], Awaitable[str]]) -> None:
        try:
            said = await do(await self._source())
        except (NotReady, ContextError) as error:
            self.notify(str(error), severity="error", markup=False, timeout=8)
            return
        if said:
            self.notify(said, markup=False, timeout=4)
            self.read()
