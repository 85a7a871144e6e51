"""A tab that shows exactly what an agent's model is sent: any past request or the next one, as blocks, bytes or a diff.

Owns the tab's keys and draws the state; `InspectorLoader` loads it from the hub, and `InspectorSearch` searches it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from msgspec.structs import replace
from rich.segment import Segment
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from gshtui.bus.context_data import Block
from gshtui.bus.event import Event
from gshtui.context.commands.view_calls import ReadRequest, ReadText
from gshtui.ui.context import inspector_state as states
from gshtui.ui.context.context_host import ContextRow, ContextWanted
from gshtui.ui.context.inspector_lines import (
    BlockFacts,
    ChangeLine,
    InspectorLine,
    PictureLine,
    inspector_entries,
    inspector_title,
    inspector_words,
)
from gshtui.ui.context.inspector_loader import BlockBeginnings, CommandCaller, InspectorLoader, beginning
from gshtui.ui.context.inspector_search import InspectorSearch
from gshtui.ui.context.inspector_state import InspectorState
from gshtui.ui.context.outline import EntryWords, OutlineEntry
from gshtui.ui.context.outline_view import OutlineView
from gshtui.ui.kit.drawing.picture_rows import Thumbnails
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.row_actions import row_binding
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widget_messages import ForContext
from gshtui.ui.kit.widgets.search_line import SearchLine
from gshtui.ui.kit.widgets.tabs import TabPane


class InspectorPane(TabPane):
    """See the module.

    Args:
        agent: its id; `name`: for people.
        clock: seconds since the epoch.
        at: id of the iteration to show; empty: the next request.
        section: the section to open first.
    """

    CONSUMES: ClassVar[tuple[type[Event], ...]] = states.CONSUMED
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("inspector.open_all", "open_all"),
        bind("inspector.request", "request"),
        bind("inspector.search", "search"),
        bind("inspector.next", "found(1)"),
        bind("inspector.previous", "found(-1)"),
        bind("inspector.copy", "copy"),
        bind("inspector.copy_all", "copy_all"),
        row_binding("inspector.pin"),
        row_binding("inspector.restore"),
        bind("inspector.earlier", "step(-1)"),
        bind("inspector.later", "step(1)"),
        bind("inspector.now", "now"),
        bind("inspector.diff", "diff"),
        row_binding("inspector.menu"),
        *(row_binding(f"inspector.{name}") for name in ("diff_with", "compact", "prune", "clear", "tune", "what_if")),
        bind("inspector.reload", "reload"),
        bind("inspector.close", "close"),
    ]

    def __init__(
        self, agent: str, name: str, hub: CommandCaller, clock: Callable[[], float], at: str = "", section: str = ""
    ) -> None:
        super().__init__(classes="inspector-pane")
        opened = frozenset({f"s:{section}"}) if section else frozenset[str]()
        self.view = self.front = OutlineView(self._words, self._picture_row)
        self.loader = InspectorLoader(self, hub, InspectorState(agent, at=at, opened=opened), self._show)
        self.search = InspectorSearch(self, self.loader, self.view)
        self._beginnings = BlockBeginnings(self, hub, self.view.refresh)
        self._agent_name = name
        self._clock = clock
        self._head = Static("", markup=False, classes="inspector-title")
        self._thumbnails: Thumbnails | None = None

    @property
    def state(self) -> InspectorState:
        """The state shown."""
        return self.loader.state

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.view
        yield self.search.line

    def on_mount(self) -> None:
        self._thumbnails = Thumbnails(self)
        self.loader.read()

    def on_resize(self, _event: events.Resize) -> None:
        self._show_title()

    def _show(self, before: InspectorState) -> None:
        """Show the state; rebuild the outline if its contents changed."""
        self._show_title()
        now = self.state
        lines = (now.view, now.mode, now.opened, now.texts, now.request, now.differences, now.carry)
        was = (before.view, before.mode, before.opened, before.texts, before.request, before.differences, before.carry)
        if any(one is not other for one, other in zip(lines, was, strict=True)):
            pictures = self._thumbnails is not None and self._thumbnails.can_show
            self.view.show(inspector_entries(now, pictures=pictures))

    def _show_title(self) -> None:
        self._head.update(inspector_title(self.state, self._agent_name, self.size.width - 4))

    def _words(self, entry: OutlineEntry[InspectorLine], width: int) -> EntryWords:
        return inspector_words(entry, width, self._clock(), self._beginning)

    def _picture_row(self, entry: OutlineEntry[InspectorLine], row: int) -> list[Segment]:
        if self._thumbnails is None or not isinstance(entry.data, PictureLine):
            return []
        return self._thumbnails.row(entry.data.image, row)

    def _beginning(self, block: Block) -> str:
        text = self.state.texts.get(block.hash)
        return beginning(text) if text is not None else self._beginnings.beginning(block.hash)

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        state = self.state
        for event in events:
            state = states.reduce(state, event)
        if state is not self.state:
            self.loader.become(state)

    def show_at(self, iteration: str, section: str = "") -> None:
        """Show another iteration (empty: the next request)."""
        opened = self.state.opened | ({f"s:{section}"} if section else frozenset[str]())
        if (iteration, opened) != (self.state.at, self.state.opened):
            is_here = iteration == self.state.at
            shown = replace(self.state, at=iteration, opened=opened, mode="blocks", request=None, other=None)
            self.loader.become(shown)
            if not is_here:
                self.loader.read()
        if section:
            self.view.go(f"s:{section}")

    def compare(self, agent: str, iteration: str) -> None:
        """Compare what is shown with a request of this or another agent."""
        self.loader.compare(agent, iteration)

    def reveal(self, block: Block) -> None:
        """Open a block and its section, and go there."""
        self.loader.become(states.revealed(self.state, block))
        self.view.go(f"b:{block.id}")

    # Search

    def action_search(self) -> None:
        """Start a new search."""
        self.search.begin()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.search.under_way if action == "found" else super().check_action(action, parameters)

    def action_found(self, step: int) -> None:
        """Go to the next match, or the previous one."""
        self.search.go(step)

    @on(SearchLine.Changed)
    def _search_changed(self, message: SearchLine.Changed) -> None:
        message.stop()
        self.search.look_for(message.words)

    @on(SearchLine.Stepped)
    def _search_stepped(self, message: SearchLine.Stepped) -> None:
        message.stop()
        self.search.go(message.step)

    @on(SearchLine.Taken)
    def _search_taken(self, message: SearchLine.Taken) -> None:
        message.stop()
        self.search.line.action_close()

    @on(SearchLine.Closed)
    def _search_closed(self, message: SearchLine.Closed) -> None:
        message.stop()
        self.search.close()

    # What is under the cursor

    def _block(self) -> Block | None:
        entry = self.view.entry
        if entry is None:
            return None
        if isinstance(entry.data, BlockFacts):
            return entry.data.block
        if isinstance(entry.data, ChangeLine):
            return self.state.block(entry.id.removeprefix("c:").rpartition(":")[0])
        return entry.data if isinstance(entry.data, Block) else None

    @on(OutlineView.Chosen)
    def _chosen(self, event: OutlineView.Chosen) -> None:
        event.stop()
        entry = event.entry
        if entry.opened is not None:
            self.loader.become(states.toggled(self.state, entry.id))
        elif isinstance(entry.data, ChangeLine) and entry.data.change.cut:
            self.post_message(ForContext("receipt", self.state.agent, about=entry.data.change.cut))

    def action_open_all(self) -> None:
        if self.state.mode != "request":
            self.loader.become(states.all_toggled(self.state))

    def action_request(self) -> None:
        """Toggle between the exact bytes and the blocks."""
        if self.state.mode == "request":
            self.loader.become(replace(self.state, mode="blocks"))
        else:
            self.loader.show_request()

    # Time

    def action_step(self, step: int) -> None:
        if (at := states.stepped(self.state, step)) is None:
            self.notify("No more requests." if self.state.iterations else "Nothing has been sent yet.", markup=False)
        else:
            self.show_at(at)

    def action_now(self) -> None:
        self.show_at("")

    def action_diff(self) -> None:
        """Compare with the previous request, or stop comparing."""
        if self.state.mode == "difference":
            self.loader.become(states.uncompared(self.state))
        elif self.state.place > 0:
            self.compare(self.state.agent, self.state.iterations[self.state.place - 1].id)
        else:
            self.notify("No earlier request to compare with.", markup=False)

    # Acts

    def action_want(self, key: str) -> None:
        block = self._block()
        of_summary = block is not None and block.kind in ("summary", "carried")
        cuts = [change.cut for change in block.changes if change.cut] if block is not None and of_summary else []
        row = ContextRow(self.state.agent, self.state.at, next(iter(cuts), ""), block)
        self.post_message(ContextWanted(key, row))

    def action_reload(self) -> None:
        self.loader.read()

    # Copying

    def action_copy(self) -> None:
        """Copy the selection, else the block's exact text, else the line under the cursor."""
        text, block = self.screen.get_selected_text(), self._block()
        if text:
            self._copied(text)
        elif self.state.mode == "request":
            self.action_copy_all()
        elif block is not None:
            self.loader.attempt(self._copy_block(block))
        elif (entry := self.view.entry) is not None and entry.text:
            self._copied(entry.text)

    async def _copy_block(self, block: Block) -> None:
        self._copied(await self.loader.hub.call(ReadText(hash=block.hash)))

    def action_copy_all(self) -> None:
        self.loader.attempt(self._copy_request())

    async def _copy_request(self) -> None:
        state = self.state
        wanted = ReadRequest(agent=state.agent, iteration=state.at)
        self._copied((state.request or await self.loader.hub.call(wanted)).text)

    def _copied(self, text: str) -> None:
        app_of(self).copy_to_clipboard(text)
        self.notify(f"Copied {len(text):,} characters.", markup=False, timeout=2)
