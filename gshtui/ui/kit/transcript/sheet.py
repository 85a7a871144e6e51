"""An entry and its layout: an estimate until it is first looked at, then its blocks.

Owns what an entry becomes; refuses to cut (that is the layout's) and to know its place in the conversation (that is
the document's). One that nobody looks at is a single small object, so that ten thousand of them cost little.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.ui.kit.page import Page
from gshtui.ui.kit.transcript.blocks import Block, notice_blocks, prompt_blocks, rows_of
from gshtui.ui.kit.transcript.entries import Answer, Entry, Notice, Prompt, Thought, Tool
from gshtui.ui.kit.transcript.heights import Heights
from gshtui.ui.kit.transcript.layout import Layout
from gshtui.ui.kit.transcript.tool import thought_header, tool_blocks

_NO_HEIGHTS = Heights()


class Sheet:
    """One entry of a document."""

    __slots__ = ("_gap", "_layout", "_streamed", "entry", "opened", "order", "width")

    def __init__(self, entry: Entry, *, width: int) -> None:
        self.entry = entry
        self.opened = False
        self.width = width
        self.order = 0
        """Its number in the document; the document's alone."""
        self._gap = 0
        self._layout: Layout | None = None
        self._streamed: list[str] | None = None

    @property
    def built(self) -> bool:
        """Whether its blocks are made."""
        return self._layout is not None

    @property
    def blocks(self) -> Sequence[Block]:
        return self._layout.blocks if self._layout is not None else ()

    @property
    def heights(self) -> Heights:
        """Of its blocks."""
        return self._layout.heights if self._layout is not None else _NO_HEIGHTS

    @property
    def height(self) -> int:
        """Rows, exact as far as its blocks are."""
        return self._gap + self._estimate() if self._layout is None else self._layout.heights.total

    @property
    def busy(self) -> bool:
        """Whether some of its source is still to be cut."""
        return self._layout is not None and self._layout.busy

    @property
    def live(self) -> bool:
        """Whether more of it will come."""
        return isinstance(self.entry, (Answer, Thought, Tool)) and self.entry.live

    @property
    def text(self) -> str:
        """All the source there is, as it came."""
        entry = self.entry
        if isinstance(entry, (Answer, Thought)):
            if self._streamed is None:
                return entry.text
            if len(self._streamed) > 1:
                self._streamed = ["".join(self._streamed)]
            return entry.text + self._streamed[0]
        return "\n".join(block.copied for block in self.blocks) if self.built else _source(entry)

    @property
    def gap(self) -> int:
        """Empty rows before it."""
        return self._gap

    @gap.setter
    def gap(self, gap: int) -> None:
        self._gap = gap
        if self._layout is not None:
            self._layout.set_gap(gap)

    def build(self, page: Page, seconds: float) -> None:
        """Make the blocks, for at most about so many seconds; what is left is done by `work`."""
        if self._layout is not None:
            return
        self.width = page.width
        source: str | None = None
        entry = self.entry
        if isinstance(entry, Prompt):
            blocks = prompt_blocks(entry)
        elif isinstance(entry, Notice):
            blocks = notice_blocks(entry)
        elif isinstance(entry, Tool):
            blocks = tool_blocks(entry, opened=self.opened)
        elif isinstance(entry, Thought):
            blocks = [self._thought_header(entry)]
            source = self.text if self.opened else None
        else:
            blocks, source = [], self.text
        self._layout = Layout(blocks, self._gap, page.width, source=source, muted=isinstance(entry, Thought))
        self.work(page, seconds)

    def stream(self, text: str) -> None:
        """Take more source of a live entry; `work` cuts it."""
        if self._streamed is None:
            self._streamed = []
        self._streamed.append(text)
        if self._layout is not None:
            self._layout.take(text)

    def work(self, page: Page, seconds: float) -> None:
        """Cut what has come, for at most about so many seconds."""
        if self._layout is not None:
            self._layout.work(page, seconds, more_comes=self.live)

    def refresh_header(self, page: Page) -> None:
        """Make a live thought's line anew: it shows the end of what is thought."""
        if isinstance(self.entry, Thought) and self._layout is not None:
            self._layout.set_first(self._thought_header(self.entry), page.width)

    def forget(self) -> None:
        """Unmake the blocks: whether the entry is open has changed."""
        self._layout = None

    def become(self, entry: Entry) -> None:
        """Show this in place of what was shown, without making anything again that stays as it is."""
        if isinstance(entry, Answer) and isinstance(self.entry, Answer) and self.text == entry.text:
            self.entry = entry
            self._streamed = None
            if self._layout is not None:
                self._layout.take("")  # for `work` to see that this was all
            return
        self.entry = entry
        self._streamed = None
        self._layout = None

    def _thought_header(self, entry: Thought) -> Block:
        if self._streamed:
            entry = Thought(entry.id, self.text, entry.live, entry.seconds)
        return thought_header(entry, opened=self.opened)

    def _estimate(self) -> int:
        entry = self.entry
        if isinstance(entry, Tool) and not self.opened:
            return 1
        if isinstance(entry, Thought) and not self.opened:
            return 1
        streamed = sum(map(len, self._streamed)) // max(1, self.width) if self._streamed else 0
        return rows_of(_source(entry), self.width) + streamed


def _source(entry: Entry) -> str:
    if isinstance(entry, Tool):
        return "\n".join((entry.name, entry.subject, entry.output, entry.diff))
    return entry.text
