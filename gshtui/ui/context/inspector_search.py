"""The search in one inspector: through the request as shown, including folded blocks.

Owns the matches and the current one; the person types into the tab's search line.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace
from textual.widget import Widget

from gshtui.bus.context_data import SECTIONS, Block
from gshtui.context.commands.view_calls import ReadRequest, ReadText
from gshtui.system.expected_error import ExpectedError
from gshtui.ui.context import inspector_state as states
from gshtui.ui.context.inspector_lines import InspectorLine
from gshtui.ui.context.inspector_loader import InspectorLoader
from gshtui.ui.context.outline import displayed
from gshtui.ui.context.outline_view import OutlineView
from gshtui.ui.kit.widgets.search_line import SearchLine

MOST = 10_000


class BlockHit(NamedTuple):
    """One match. `block` is `None` in the request as sent; `offset` -1: in the block's source."""

    block: Block | None
    offset: int


class BlockSearch:
    """One search, in the order sent."""

    def __init__(self, words: str) -> None:
        self.needle = words.casefold()
        self.hits: list[BlockHit] = []
        self.at = -1
        self.done = False

    def search_text(self, block: Block | None, text: str, source: str = "") -> None:
        """Search one text."""
        if not self.needle or len(self.hits) >= MOST:
            return
        if source and self.needle in source.casefold():
            self.hits.append(BlockHit(block, -1))
        shown = displayed(text)
        folded = shown.casefold()
        if len(folded) != len(shown):
            folded = shown.lower() if len(shown.lower()) == len(shown) else shown
        at = folded.find(self.needle)
        while at >= 0 and len(self.hits) < MOST:
            self.hits.append(BlockHit(block, at))
            at = folded.find(self.needle, at + len(self.needle))

    def go(self, step: int) -> BlockHit | None:
        """The next match, or the previous one, wrapping around."""
        if not self.hits:
            return None
        self.at = (self.at + step) % len(self.hits) if self.at >= 0 else 0 if step > 0 else len(self.hits) - 1
        return self.hits[self.at]


def ordered(blocks: tuple[Block, ...]) -> list[Block]:
    """The blocks by section, as an inspector lists them."""
    return [block for name in SECTIONS for block in blocks if block.section == name]


class DownwardSearch(SearchLine):
    """A search line whose next match is further down; a conversation's is further back."""

    def action_step(self, step: int) -> None:
        super().action_step(-step)


class InspectorSearch:
    """See the module.

    Args:
        host: the widget that owns the workers and says what failed.
    """

    def __init__(self, host: Widget, loader: InspectorLoader, view: OutlineView[InspectorLine]) -> None:
        self.line = DownwardSearch("search the whole request, including folded text")
        self._host = host
        self._loader = loader
        self._view = view
        self._search = BlockSearch("")
        self._opened: frozenset[str] | None = None
        """What was open before the search opened anything."""

    @property
    def under_way(self) -> bool:
        """Whether there are words to go through."""
        return bool(self._search.needle)

    def begin(self) -> None:
        """Start a new search; marks of the previous one are removed."""
        self._search = BlockSearch("")
        self._view.mark("")
        self.line.open()

    def look_for(self, words: str) -> None:
        """The words changed."""
        if not self.line.display:
            return  # closing empties the line; the matches stay, for the next and previous keys
        self._search = BlockSearch(words)
        state = self._loader.state
        if self._opened is None:
            self._opened = state.opened
        elif state.opened != self._opened:
            self._loader.become(replace(state, opened=self._opened))
        self._view.mark(words)
        if words.strip():
            self._host.run_worker(self._look(self._search), exit_on_error=False, exclusive=True, group="search")
        else:
            self._tell()

    async def _look(self, search: BlockSearch) -> None:
        try:
            hub, state = self._loader.hub, self._loader.state
            if state.mode == "request":
                wanted = ReadRequest(agent=state.agent, iteration=state.at)
                search.search_text(None, (state.request or await hub.call(wanted)).text)
            else:
                for block in ordered(state.blocks):
                    text = self._loader.state.texts.get(block.hash)
                    if text is None:
                        text = await hub.call(ReadText(hash=block.hash))
                    search.search_text(block, text, block.source)
        except ExpectedError as error:
            self._host.notify(str(error), severity="error", markup=False)
        search.done = True
        if search is self._search:
            self.go(1)

    def go(self, step: int) -> None:
        """Show the next match, or the previous one."""
        hit = self._search.go(step)
        self._tell()
        if hit is None:
            return
        state = self._loader.state
        if hit.block is None:
            self._view.go("request", hit.offset)
        elif hit.offset < 0:
            self._loader.become(replace(state, mode="blocks", opened=state.opened | {f"s:{hit.block.section}"}))
            self._view.go(f"b:{hit.block.id}")
        else:
            reveal = self._reveal(hit.block, hit.offset)
            self._host.run_worker(reveal, exit_on_error=False, exclusive=True, group="reveal")

    async def _reveal(self, block: Block, offset: int) -> None:
        loader = self._loader
        if block.hash not in loader.state.texts:
            text = await loader.hub.call(ReadText(hash=block.hash))
            loader.state = states.with_texts(loader.state, {block.hash: text})
        loader.become(states.revealed(loader.state, block))
        self._view.go(f"t:{block.id}", offset)

    def _tell(self) -> None:
        self.line.show_position(self._search.at + 1, len(self._search.hits), self._search.done)

    def close(self) -> None:
        """The line was closed; matches stay open."""
        self._opened = None
        self._view.focus()
