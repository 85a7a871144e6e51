"""A tab that shows exactly what an agent's model is sent: any past request or the next one, as blocks, bytes or a diff.

Owns the tab's keys and its search, which also finds text in folded blocks; reads and acts through the context service
that is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, cast

from msgspec.structs import replace
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message

from gshtui.bus.context_data import SECTIONS, Block
from gshtui.bus.event import Event
from gshtui.context.views import ContextError
from gshtui.ui.context import inspector_state as states
from gshtui.ui.context.context_port import ContextService
from gshtui.ui.context.inspector_lines import ChangeLine, inspector_title
from gshtui.ui.context.inspector_loader import ContextSource, InspectorLoader
from gshtui.ui.context.outline import OutlineEntry, displayed
from gshtui.ui.context.outline_view import OutlineView
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.key_table import bind
from gshtui.ui.kit.search_line import SearchLine
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widget_messages import ForContext

MOST = 10_000


class BlockHit(NamedTuple):
    """One place. `block` is `None` in the request as it is sent; `offset` -1: in the block's source."""

    block: Block | None
    offset: int


class BlockSearch:
    """One search, in the order in which things are sent."""

    def __init__(self, words: str) -> None:
        self.needle = words.casefold()
        self.hits: list[BlockHit] = []
        self.at = -1
        self.done = False

    def look(self, block: Block | None, text: str, source: str = "") -> None:
        """Look through one text."""
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
        """The next place, or the one before, round the ends."""
        if not self.hits:
            return None
        self.at = (self.at + step) % len(self.hits) if self.at >= 0 else 0 if step > 0 else len(self.hits) - 1
        return self.hits[self.at]


def ordered(blocks: tuple[Block, ...]) -> list[Block]:
    """The blocks by section, as an inspector lists them."""
    return [block for name in SECTIONS for block in blocks if block.section == name]


class DownwardSearch(SearchLine):
    """A search line whose next place is below, where a conversation's is further back."""

    def action_step(self, step: int) -> None:
        super().action_step(-step)


class InspectorSearch(InspectorLoader):
    """The searching third of an inspector."""

    def __init__(self, agent: str, name: str, source: ContextSource, clock: Callable[[], float], at: str = "") -> None:
        super().__init__(agent, name, source, clock, at)
        self._search = BlockSearch("")
        self._opened: frozenset[str] | None = None
        """What was open before the words that are being typed had opened anything."""

    def action_search(self) -> None:
        """Begin a new search; what the one before has marked is marked no longer."""
        self._search = BlockSearch("")
        self.view.mark("")
        self.query_one(SearchLine).open()

    @on(SearchLine.Changed)
    def _changed(self, message: SearchLine.Changed) -> None:
        message.stop()
        if not self.query_one(SearchLine).display:
            return  # the line is emptied as it closes; what was found stays, for the keys that go on
        self._search = BlockSearch(message.words)
        if self._opened is None:
            self._opened = self.state.opened
        elif self.state.opened != self._opened:
            self.become(replace(self.state, opened=self._opened))
        self.view.mark(message.words)
        if message.words.strip():
            self.run_worker(self._look(self._search), exit_on_error=False, exclusive=True, group="search")
        else:
            self._tell()

    async def _look(self, search: BlockSearch) -> None:
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

    def _go(self, hit: BlockHit | None) -> None:
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


class InspectorPane(InspectorSearch):
    """See the module. `section`: the one to open at first."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = states.CONSUMED
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("inspector.open_all", "open_all"),
        bind("inspector.request", "request"),
        bind("inspector.search", "search"),
        bind("inspector.next", "found(1)"),
        bind("inspector.previous", "found(-1)"),
        bind("inspector.copy", "copy"),
        bind("inspector.copy_all", "copy_all"),
        bind("inspector.pin", "pin"),
        bind("inspector.restore", "restore"),
        bind("inspector.earlier", "step(-1)"),
        bind("inspector.later", "step(1)"),
        bind("inspector.now", "now"),
        bind("inspector.diff", "diff"),
        bind("inspector.diff_with", "act('compare')"),
        bind("inspector.compact", "act('compact')"),
        bind("inspector.prune", "act('prune')"),
        bind("inspector.clear", "act('clear')"),
        bind("inspector.tune", "act('tune')"),
        bind("inspector.what_if", "act('what_if')"),
        bind("inspector.reload", "reload"),
        bind("inspector.close", "close"),
    ]

    class Closed(Message):
        """The tab shall go."""

        def __init__(self, agent: str) -> None:
            super().__init__()
            self.agent = agent

    def __init__(
        self, agent: str, name: str, source: ContextSource, clock: Callable[[], float], at: str = "", section: str = ""
    ) -> None:
        super().__init__(agent, name, source, clock, at)
        if section:
            self.state = replace(self.state, opened=frozenset({f"s:{section}"}))

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.view
        yield DownwardSearch("search all of the request, also what is folded")

    def on_mount(self) -> None:
        self.read()

    def on_resize(self, _event: events.Resize) -> None:
        self._head.update(inspector_title(self.state, self._name, self.size.width - 4))

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        state = self.state
        for event in events:
            state = states.reduce(state, event)
        if state is not self.state:
            self.become(state)

    def show_at(self, iteration: str, section: str = "") -> None:
        """Show another iteration (empty: the next request)."""
        opened = self.state.opened | ({f"s:{section}"} if section else frozenset[str]())
        if (iteration, opened) != (self.state.at, self.state.opened):
            at_once = iteration == self.state.at
            self.become(replace(self.state, at=iteration, opened=opened, mode="blocks", request=None, other=None))
            if not at_once:
                self.read()
        if section:
            self.view.go(f"s:{section}")

    def reveal(self, block: Block) -> None:
        """Open a block, with the section that it is in, and go there."""
        self.become(states.revealed(self.state, block))
        self.view.go(f"b:{block.id}")

    # What is under the cursor

    def _block(self) -> Block | None:
        entry = self.view.entry
        if entry is None:
            return None
        if entry.kind == "facts":
            return cast("tuple[Block, object]", entry.data)[0]
        if entry.kind == "change":
            return self.state.block(entry.id.removeprefix("c:").rpartition(":")[0])
        return entry.data if isinstance(entry.data, Block) else None

    @on(OutlineView.Chosen)
    def _chosen(self, event: OutlineView.Chosen) -> None:
        event.stop()
        entry: OutlineEntry = event.entry
        if entry.opened is not None:
            self.become(states.toggled(self.state, entry.id))
        elif isinstance(entry.data, ChangeLine) and entry.data.change.cut:
            self.post_message(ForContext("receipt", self.state.agent, about=entry.data.change.cut))

    def action_open_all(self) -> None:
        if self.state.mode != "request":
            self.become(states.all_toggled(self.state))

    def action_request(self) -> None:
        """The exact bytes, or the blocks again."""
        if self.state.mode == "request":
            self.become(replace(self.state, mode="blocks"))
        else:
            self.show_request()

    # Time

    def action_step(self, step: int) -> None:
        if (at := states.stepped(self.state, step)) is None:
            self.notify("There is none further." if self.state.iterations else "Nothing was sent yet.", markup=False)
        else:
            self.show_at(at)

    def action_now(self) -> None:
        self.show_at("")

    def action_diff(self) -> None:
        """Compare with the request before; again: end it."""
        if self.state.mode == "difference":
            self.become(states.uncompared(self.state))
        elif self.state.place > 0:
            self.compare(self.state.agent, self.state.iterations[self.state.place - 1].id)
        else:
            self.notify("There is no request before this one to compare with.", markup=False)

    # Acts

    def action_act(self, action: str) -> None:
        self.post_message(ForContext(action, self.state.agent, about=self.state.at))

    def action_pin(self) -> None:
        block = self._block()
        if block is None:
            self.notify("Put the cursor on a block to pin it.", markup=False)
            return
        pinned, source = not block.pinned, block.source

        async def work(contexts: ContextService) -> str:
            await contexts.pin(self.state.agent, block.id, pinned)
            return f"{source} is never cut from now on." if pinned else f"{source} may be cut again."

        self.work(work)

    def action_restore(self) -> None:
        block = self._block()
        cut = next((change.cut for change in block.changes if change.cut), "") if block is not None else ""
        if block is None or not block.changes:
            self.notify("Nothing was cut from this. Put the cursor on a block that was.", markup=False)
        elif block.kind in ("summary", "carried") and cut:
            self.post_message(ForContext("undo", self.state.agent, about=cut))
        else:

            async def work(contexts: ContextService) -> str:
                await contexts.restore(self.state.agent, block.id)
                return f"{block.source} is sent in full from the next request on."

            self.work(work)

    def action_reload(self) -> None:
        self.read()

    def action_close(self) -> None:
        self.post_message(self.Closed(self.state.agent))

    # Copying

    def action_copy(self) -> None:
        """The selection; else the exact text of the block, or what is under the cursor."""
        text, block = self.screen.get_selected_text(), self._block()
        if text:
            self._copied(text)
        elif self.state.mode == "request":
            self.action_copy_all()
        elif block is not None:

            async def work(contexts: ContextService) -> str:
                self._copied(await contexts.text(block.hash))
                return ""

            self.work(work)
        elif (entry := self.view.entry) is not None and entry.text:
            self._copied(entry.text)

    def action_copy_all(self) -> None:
        async def work(contexts: ContextService) -> str:
            said = self.state.request or await contexts.request(self.state.agent, self.state.at)
            self._copied(said.text)
            return ""

        self.work(work)

    def _copied(self, text: str) -> None:
        app_of(self).copy_to_clipboard(text)
        self.notify(f"Copied {len(text):,} characters.", markup=False, timeout=2)
