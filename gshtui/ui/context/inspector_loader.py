"""Loads what an inspector shows: the request, its blocks' texts, its bytes, a comparison.

Owns the state and the order of loading; a failure is shown and affects nothing else. No keys, no drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace
from textual.widget import Widget

from gshtui.commands.declaration import Returns, Word
from gshtui.context.commands.view_calls import (
    CompareContexts,
    ReadContext,
    ReadIterations,
    ReadRequest,
    ReadText,
    RequestName,
)
from gshtui.context.commands.view_commands import CarryParameters
from gshtui.system.expected_error import ExpectedError
from gshtui.text.sanitise import one_line
from gshtui.ui.context import inspector_state as states
from gshtui.ui.context.inspector_state import InspectorState

PEEKED = 400
"""How many characters of a block's text its line may show."""


R = TypeVar("R")


class CommandCaller(Protocol):
    """Calls commands by value."""

    async def call(self, parameters: Returns[R]) -> R:
        """Returns the typed result. Raises `NotReady` or `CommandError`."""
        ...


class BlockBeginnings:
    """The beginnings of blocks' texts for their lines; missing ones are loaded together after the frame.

    Args:
        host: the widget that owns the worker.
        came: called when more have arrived.
    """

    def __init__(self, host: Widget, hub: CommandCaller, came: Callable[[], object]) -> None:
        self._host = host
        self._hub = hub
        self._came = came
        self._known: dict[str, str] = {}
        self._missed: dict[str, None] = {}

    def beginning(self, hash: str) -> str:
        """The beginning of a text; empty until it is loaded."""
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
            for hash in hashes:
                self._known[hash] = beginning(await self._hub.call(ReadText(hash=hash)))
        except ExpectedError:
            self._known.update({hash: "" for hash in hashes if hash not in self._known})
        self._came()


def beginning(text: str) -> str:
    """The beginning of a block's text, on one line."""
    return one_line(text[:PEEKED], 120)


class InspectorLoader:
    """Holds the state of one inspector and loads what it lacks.

    Args:
        host: the widget that owns the workers and reports errors.
        changed: called with the state before each change.
    """

    def __init__(
        self, host: Widget, hub: CommandCaller, state: InspectorState, changed: Callable[[InspectorState], None]
    ) -> None:
        self.state = state
        self.hub = hub
        self._host = host
        self._changed = changed
        self._reading = False
        self._counted = ("", 0)

    def become(self, state: InspectorState) -> None:
        """Change the state, and load what it lacks."""
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
        """Load the request again; a call meanwhile runs after this one."""
        self.state = replace(self.state, stale=True)
        if not self._reading:
            self._reading = True
            self._host.run_worker(self._read(), exit_on_error=False, group="inspect")

    async def _read(self) -> None:
        try:
            while self.state.stale:
                self.state = replace(self.state, stale=False)
                await self._read_once()
        except ExpectedError as error:
            self.become(replace(self.state, stale=False, problem=str(error)))
        finally:
            self._reading = False

    async def _read_once(self) -> None:
        agent, at = self.state.agent, self.state.at
        view = await self.hub.call(ReadContext(agent=agent, iteration=at))
        iterations = tuple((await self.hub.call(ReadIterations(agent=agent))).iterations)
        if at != self.state.at:
            self.state = replace(self.state, stale=True)
            return
        again = self.state.stale
        self.become(replace(states.with_view(self.state, view, iterations), stale=False))
        if self.state.mode == "request" and self.state.request is None:
            await self._read_request()
        if (other := self.state.other) is not None:
            await self._compare(other.agent, other.iteration.id if other.iteration is not None else "")
        self.state = replace(self.state, stale=again or self.state.stale)

    async def _read_carry(self) -> None:
        """Load what each source has cost. This reads all requests, so only when it is shown, and once per request."""
        try:
            found = await self.hub.call(CarryParameters(agent=Word(self.state.agent)))
        except ExpectedError:
            return
        self.become(replace(self.state, carry={one.source: one for one in found.costs}))

    async def _read_texts(self) -> None:
        try:
            while wanted := states.wanted(self.state):
                found = {hash: await self.hub.call(ReadText(hash=hash)) for hash in wanted[:20]}
                self.become(states.with_texts(self.state, found))
        except ExpectedError as error:
            missing = dict.fromkeys(states.wanted(self.state), f"⟨Can't read this text. {error!s}⟩")
            self.become(states.with_texts(self.state, missing))

    async def _read_request(self) -> None:
        at = self.state.at
        request = await self.hub.call(ReadRequest(agent=self.state.agent, iteration=at))
        if at == self.state.at:
            self.become(replace(self.state, request=request))

    def show_request(self) -> None:
        """Show the request as it is sent."""
        self.become(replace(self.state, mode="request", other=None, differences=()))
        if self.state.request is None:
            self.attempt(self._read_request())

    def compare(self, agent: str, iteration: str) -> None:
        """Compare the shown request with one of this or another agent."""
        self.attempt(self._compare(agent, iteration))

    async def _compare(self, other: str, iteration: str) -> None:
        agent, at = self.state.agent, self.state.at
        before, after = RequestName(other, iteration), RequestName(agent, at)
        found = await self.hub.call(CompareContexts(agent=agent, before=before, after=after))
        if at != self.state.at:
            return
        if found.after != self.state.view:
            iterations = (await self.hub.call(ReadIterations(agent=agent))).iterations
            self.become(states.with_view(self.state, found.after, tuple(iterations)))
        self.become(states.compared(self.state, found.before, tuple(found.differences)))

    def attempt(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something with the hub's data, and report errors."""
        self._host.run_worker(self._attempt(work), exit_on_error=False, group="work")

    async def _attempt(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ExpectedError as error:
            self._host.notify(str(error), severity="error", markup=False, timeout=8)
