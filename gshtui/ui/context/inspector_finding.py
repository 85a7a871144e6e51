"""The search of an inspector: the line for the words, what is read for it, and the way to a place that is folded.

Owns the search in progress; refuses to know where words are (`inspector_search` does). `InspectorPane` is built on it.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from textual import on

from gshtui.bus.context import Block
from gshtui.context.views import ContextError
from gshtui.ui.context import inspector_state as states
from gshtui.ui.context.inspector_search import Hit, Search, ordered
from gshtui.ui.context.inspector_work import InspectorWork, Source
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.search_line import SearchLine


class DownwardSearch(SearchLine):
    """A search line whose next place is below, where a conversation's is further back."""

    def action_step(self, step: int) -> None:
        super().action_step(-step)


class InspectorFinding(InspectorWork):
    """The searching third of an inspector."""

    def __init__(self, agent: str, name: str, source: Source, clock: Callable[[], float], at: str = "") -> None:
        super().__init__(agent, name, source, clock, at)
        self._search = Search("")
        self._opened: frozenset[str] | None = None
        """What was open before the words that are being typed had opened anything."""

    def action_search(self) -> None:
        """Begin a new search; what the one before has marked is marked no longer."""
        self._search = Search("")
        self.view.mark("")
        self.query_one(SearchLine).open()

    @on(SearchLine.Changed)
    def _changed(self, message: SearchLine.Changed) -> None:
        message.stop()
        if not self.query_one(SearchLine).display:
            return  # the line is emptied as it closes; what was found stays, for the keys that go on
        self._search = Search(message.words)
        if self._opened is None:
            self._opened = self.state.opened
        elif self.state.opened != self._opened:
            self.become(replace(self.state, opened=self._opened))
        self.view.mark(message.words)
        if message.words.strip():
            self.run_worker(self._look(self._search), exit_on_error=False, exclusive=True, group="search")
        else:
            self._tell()

    async def _look(self, search: Search) -> None:
        try:
            contexts = await self._source()
            if self.state.mode == "request":
                said = self.state.request or await contexts.request(self.state.agent, self.state.at)
                search.look(None, said.text)
            else:
                for block in ordered(self.state.blocks):
                    text = self.state.texts.get(block.hash)
                    search.look(block, await contexts.text(block.hash) if text is None else text, block.source)
        except (NotReady, ContextError) as error:
            self.notify(str(error), severity="error", markup=False)
        search.done = True
        if search is self._search:
            self._go(search.go(1))

    @on(SearchLine.Stepped)
    def _stepped(self, message: SearchLine.Stepped) -> None:
        message.stop()
        self.action_found(message.step)

    def action_found(self, step: int) -> None:
        """The next place that was found, or the one before."""
        self._go(self._search.go(step))

    def _go(self, hit: Hit | None) -> None:
        self._tell()
        if hit is None:
            return
        if hit.block is None:
            self.view.go("request", hit.offset)
        elif hit.offset < 0:
            self.become(replace(self.state, mode="blocks", opened=self.state.opened | {f"s:{hit.block.section}"}))
            self.view.go(f"b:{hit.block.id}")
        else:
            self.run_worker(self._reveal(hit.block, hit.offset), exit_on_error=False, exclusive=True, group="reveal")

    async def _reveal(self, block: Block, offset: int) -> None:
        if block.hash not in self.state.texts:
            text = await (await self._source()).text(block.hash)
            self.state = states.with_texts(self.state, {block.hash: text})
        self.become(states.revealed(self.state, block))
        self.view.go(f"t:{block.id}", offset)

    def _tell(self) -> None:
        search = self._search
        self.query_one(SearchLine).tell(search.at + 1, len(search.hits), search.done)

    @on(SearchLine.Closed)
    def _search_closed(self, message: SearchLine.Closed) -> None:
        message.stop()
        self._opened = None
        self.view.focus()
