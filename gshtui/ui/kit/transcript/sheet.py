"""One laid-out entry: an estimate until first viewed, then its blocks with their heights.

Splits its source, a slice of time at once, and keeps sums of heights in O(log n). The document owns its place in the
conversation. An unviewed entry is a single small object, so that ten thousand of them cost little.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial

from rich.segment import Segment

from gshtui.ui.kit.drawing.page import Page
from gshtui.ui.kit.drawing.styled_lines import StyledLine
from gshtui.ui.kit.transcript.call_results import result_rows
from gshtui.ui.kit.transcript.entries import (
    AnswerEntry,
    CutEntry,
    Entry,
    NoticeEntry,
    OutcomeEntry,
    PromptEntry,
    ThoughtEntry,
    ToolEntry,
)
from gshtui.ui.kit.transcript.entry_blocks import (
    EntryBlock,
    chunk_block,
    cut_blocks,
    notice_blocks,
    prompt_blocks,
    rows_of,
)
from gshtui.ui.kit.transcript.markdown_splitter import MarkdownChunk, MarkdownSplitter
from gshtui.ui.kit.transcript.tool_blocks import outcome_header, thought_header, tool_blocks


class RowHeights:
    """Heights in rows, never negative."""

    __slots__ = ("_tree", "_values", "total")

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._values = list(values)
        self.total = sum(self._values)
        """Rows of all items."""
        tree = [0, *self._values]
        for at in range(1, len(tree)):
            parent = at + (at & -at)
            if parent < len(tree):
                tree[parent] += tree[at]
        self._tree = tree

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> list[int]:
        """All heights in order; the list is the caller's."""
        return self._values.copy()

    def __getitem__(self, at: int) -> int:
        return self._values[at]

    def append(self, height: int) -> None:
        """Append an item."""
        self._values.append(height)
        self.total += height
        at = len(self._values)
        below, low = at - 1, at - (at & -at)
        value = height
        while below > low:
            value += self._tree[below]
            below -= below & -below
        self._tree.append(value)

    def pop(self) -> None:
        """Remove the last item."""
        self.total -= self._values.pop()
        self._tree.pop()

    def put(self, at: int, height: int) -> None:
        """Change the item's height."""
        change = height - self._values[at]
        if not change:
            return
        self._values[at] = height
        self.total += change
        at += 1
        while at < len(self._tree):
            self._tree[at] += change
            at += at & -at

    def before(self, at: int) -> int:
        """Rows before the item."""
        rows = 0
        while at > 0:
            rows += self._tree[at]
            at -= at & -at
        return rows

    def find(self, row: int) -> tuple[int, int]:
        """The item containing the row, and the row within it. Rows past the end belong to the last item."""
        at = 0
        step = 1 << (len(self._values).bit_length())
        while step:
            after = at + step
            if after < len(self._tree) and self._tree[after] <= row:
                at = after
                row -= self._tree[at]
            step >>= 1
        if at >= len(self._values):
            last = len(self._values) - 1
            return last, row + self._values[last]
        return at, row


_PIECE = 8_192
"""Characters split at a time; some milliseconds at most."""


class BlockLayout:
    """Blocks in order. The first one's gap is the entry's."""

    __slots__ = ("_frozen", "_incoming", "_splitter", "blocks", "gap", "heights", "muted")

    def __init__(self, blocks: Sequence[EntryBlock], gap: int, width: int, *, source: str | None, muted: bool) -> None:
        """
        Args:
            blocks: existing blocks, which stay.
            gap: empty rows before the entry.
            width: cells, for the estimates.
            source: Markdown to split into further blocks; none: no others.
            muted: draw the further blocks as thoughts.
        """
        self.blocks = list(blocks)
        self.gap = gap
        self.muted = muted
        if self.blocks:
            self.blocks[0].gap += gap
        self.heights = RowHeights(_first_height(block, width) for block in self.blocks)
        self._frozen = len(self.blocks)  # blocks that will not change any more
        self._splitter = None if source is None else MarkdownSplitter()
        self._incoming = [source] if source is not None else []

    @property
    def busy(self) -> bool:
        """Whether some of the source must still be split."""
        return bool(self._incoming)

    def add_source(self, text: str) -> None:
        """Add source; `lay_out` splits it."""
        if self._splitter is not None:
            self._incoming.append(text)

    def lay_out(self, page: Page, seconds: float, *, more_comes: bool) -> None:
        """Split the source so far, for about this many seconds at most; `more_comes`: the source is incomplete."""
        splitter = self._splitter
        if splitter is None:
            return
        deadline = time.perf_counter() + seconds
        text = "".join(self._incoming)
        at = 0
        done: list[MarkdownChunk] = []
        while at < len(text):
            done += splitter.feed(text[at : at + _PIECE])
            at += _PIECE
            if time.perf_counter() > deadline:
                break
        rest = text[at:]
        self._incoming = [rest] if rest else []
        tail: list[MarkdownChunk] = []
        if rest or more_comes:
            tail = splitter.tail()
        else:
            done += splitter.finish()
            self._splitter = None
        self._replace_tail(done, tail, page.width)
        if rest:
            self._append(EntryBlock(partial(_rest, len(rest)), rest, gap=1), page.width)
        if not self.blocks:
            self._append(EntryBlock(_waiting if more_comes else _empty, ""), page.width)

    def set_first(self, block: EntryBlock, width: int) -> None:
        """Replace the first block."""
        block.gap += self.gap
        self.blocks[0] = block
        self.heights.put(0, _first_height(block, width))

    def set_gap(self, gap: int) -> None:
        """Change the empty rows before the entry."""
        if self.blocks:
            first = self.blocks[0]
            first.gap += gap - self.gap
            first.height = self.heights[0] + gap - self.gap
            self.heights.put(0, first.height)
        self.gap = gap

    def _replace_tail(self, done: Sequence[MarkdownChunk], tail: Sequence[MarkdownChunk], width: int) -> None:
        chunks = [*done, *tail]
        old, at = self.blocks, self._frozen
        keep = 0
        while keep < len(chunks) and at + keep < len(old) and old[at + keep].chunk == chunks[keep]:
            keep += 1
        while len(self.blocks) > at + keep:
            self.blocks.pop()
            self.heights.pop()
        for chunk in chunks[keep:]:
            self._append(chunk_block(chunk, muted=self.muted), width)
        self._frozen = at + len(done)

    def _append(self, block: EntryBlock, width: int) -> None:
        if not self.blocks:
            block.gap = self.gap
        self.blocks.append(block)
        self.heights.append(_first_height(block, width))


def _first_height(block: EntryBlock, width: int) -> int:
    block.height = block.estimate(width) if not block.toggles else block.gap + 1
    return block.height


def _rest(characters: int, page: Page) -> list[StyledLine]:
    return [StyledLine([Segment(f"⋯ loading {characters:,} more characters", page.palette.faint)])]


def _waiting(page: Page) -> list[StyledLine]:
    return [StyledLine([Segment("…", page.palette.faint)])]


def _empty(page: Page) -> list[StyledLine]:
    return [StyledLine([Segment("(empty answer)", page.palette.faint)])]


_NO_HEIGHTS = RowHeights()
_RESULT_ROWS = 5
"""Rows under a call, for the estimate alone."""


class Sheet:
    """One entry of a document."""

    __slots__ = ("_gap", "_layout", "_streamed", "brief", "entry", "opened", "order", "width")

    def __init__(self, entry: Entry, *, width: int) -> None:
        self.entry = entry
        self.opened = isinstance(entry, OutcomeEntry)
        self.brief = False
        """Of a call's result no more is shown than a failed one's last word, unless it is open."""
        self.width = width
        self.order = 0
        """Its index in the document; only the document uses it."""
        self._gap = 0
        self._layout: BlockLayout | None = None
        self._streamed: list[str] | None = None

    @property
    def built(self) -> bool:
        """Whether its blocks exist."""
        return self._layout is not None

    @property
    def blocks(self) -> Sequence[EntryBlock]:
        return self._layout.blocks if self._layout is not None else ()

    @property
    def heights(self) -> RowHeights:
        """The heights of its blocks."""
        return self._layout.heights if self._layout is not None else _NO_HEIGHTS

    @property
    def height(self) -> int:
        """Rows, as exact as its blocks are."""
        return self._gap + self._estimate() if self._layout is None else self._layout.heights.total

    @property
    def busy(self) -> bool:
        """Whether some of its source must still be split."""
        return self._layout is not None and self._layout.busy

    @property
    def live(self) -> bool:
        """Whether more of it will arrive."""
        return isinstance(self.entry, (AnswerEntry, ThoughtEntry, ToolEntry)) and self.entry.live

    @property
    def text(self) -> str:
        """All the source so far, unchanged."""
        entry = self.entry
        if isinstance(entry, (AnswerEntry, ThoughtEntry)):
            if self._streamed is None:
                return entry.text
            if len(self._streamed) > 1:
                self._streamed = ["".join(self._streamed)]
            return entry.text + self._streamed[0]
        if isinstance(entry, OutcomeEntry):
            return entry.text
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
        """Make the blocks, for about this many seconds at most; `lay_out` does the rest."""
        if self._layout is not None:
            return
        self.width = page.width
        source: str | None = None
        entry = self.entry
        if isinstance(entry, PromptEntry):
            blocks = prompt_blocks(entry)
            if entry.pictures:
                from gshtui.ui.kit.transcript.picture_blocks import prompt_pictures  # few prompts have any

                blocks += prompt_pictures(entry.pictures)
        elif isinstance(entry, NoticeEntry):
            blocks = notice_blocks(entry)
        elif isinstance(entry, CutEntry):
            blocks = cut_blocks(entry)
        elif isinstance(entry, ToolEntry):
            blocks = tool_blocks(entry, opened=self.opened, brief=self.brief)
        elif isinstance(entry, ThoughtEntry):
            blocks = [self._thought_header(entry)]
            source = self.text if self.opened else None
        elif isinstance(entry, OutcomeEntry):
            blocks = [outcome_header(entry, opened=self.opened)]
            source = entry.text if self.opened else None
        else:
            blocks, source = [], self.text
        self._layout = BlockLayout(blocks, self._gap, page.width, source=source, muted=isinstance(entry, ThoughtEntry))
        self.lay_out(page, seconds)

    def stream(self, text: str) -> None:
        """Add source to a live entry; `lay_out` splits it."""
        if self._streamed is None:
            self._streamed = []
        self._streamed.append(text)
        if self._layout is not None:
            self._layout.add_source(text)

    def lay_out(self, page: Page, seconds: float) -> None:
        """Split the source so far, for about this many seconds at most."""
        if self._layout is not None:
            self._layout.lay_out(page, seconds, more_comes=self.live)

    def refresh_header(self, page: Page) -> None:
        """Redraw a live thought's line: it shows the end of the thought."""
        if isinstance(self.entry, ThoughtEntry) and self._layout is not None:
            self._layout.set_first(self._thought_header(self.entry), page.width)

    def forget(self) -> None:
        """Drop the blocks, because the entry was opened or folded."""
        self._layout = None

    def become(self, entry: Entry) -> None:
        """Replace the entry, reusing everything that has not changed."""
        if isinstance(entry, AnswerEntry) and isinstance(self.entry, AnswerEntry) and self.text == entry.text:
            self.entry = entry
            self._streamed = None
            if self._layout is not None:
                self._layout.add_source("")  # for `lay_out` to see that this was all
            return
        self.entry = entry
        self._streamed = None
        self._layout = None

    def _thought_header(self, entry: ThoughtEntry) -> EntryBlock:
        if self._streamed:
            entry = ThoughtEntry(entry.id, self.text, entry.live, entry.seconds)
        return thought_header(entry, opened=self.opened)

    def _estimate(self) -> int:
        entry = self.entry
        if isinstance(entry, ToolEntry) and not self.opened:
            return 1 + result_rows(entry, _RESULT_ROWS, brief=self.brief)
        if isinstance(entry, (ThoughtEntry, OutcomeEntry)) and not self.opened:
            return 1
        streamed = sum(map(len, self._streamed)) // max(1, self.width) if self._streamed else 0
        return rows_of(_source(entry), self.width) + streamed


def _source(entry: Entry) -> str:
    if isinstance(entry, ToolEntry):
        return "\n".join((entry.name, entry.subject, entry.output, entry.diff))
    return entry.text
