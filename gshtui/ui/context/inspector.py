"""A tab that shows exactly what an agent's model is sent: any past request or the next one, as blocks, bytes or a diff.

Owns the tab's keys; what is read and done goes through the context service that is handed in. Opened by
`ContextTabs`, fed by the bridge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, cast

from msgspec.structs import replace
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message

from gshtui.bus.context import Block
from gshtui.bus.event import Event
from gshtui.ui.context import inspector_state as states
from gshtui.ui.context.context_port import Contexts
from gshtui.ui.context.entries import Entry
from gshtui.ui.context.inspector_finding import DownwardSearch, InspectorFinding
from gshtui.ui.context.inspector_outline import Changed
from gshtui.ui.context.inspector_title import title
from gshtui.ui.context.inspector_work import Source
from gshtui.ui.context.view import OutlineView
from gshtui.ui.kit.bindings import bind
from gshtui.ui.kit.messages import ForContext
from gshtui.ui.kit.surroundings import app_of


class InspectorPane(InspectorFinding):
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
        self, agent: str, name: str, source: Source, clock: Callable[[], float], at: str = "", section: str = ""
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
        self._head.update(title(self.state, self._name, self.size.width - 4))

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
        entry: Entry = event.entry
        if entry.opened is not None:
            self.become(states.toggled(self.state, entry.id))
        elif isinstance(entry.data, Changed) and entry.data.change.cut:
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

        async def work(contexts: Contexts) -> str:
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

            async def work(contexts: Contexts) -> str:
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

            async def work(contexts: Contexts) -> str:
                self._copied(await contexts.text(block.hash))
                return ""

            self.work(work)
        elif (entry := self.view.entry) is not None and entry.text:
            self._copied(entry.text)

    def action_copy_all(self) -> None:
        async def work(contexts: Contexts) -> str:
            said = self.state.request or await contexts.request(self.state.agent, self.state.at)
            self._copied(said.text)
            return ""

        self.work(work)

    def _copied(self, text: str) -> None:
        app_of(self).copy_to_clipboard(text)
        self.notify(f"Copied {len(text):,} characters.", markup=False, timeout=2)
