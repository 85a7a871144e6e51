"""An entry laid out: its blocks, their heights, and for an answer the source that is still to be cut.

Owns the turning of one entry into blocks, a slice at a time; refuses to draw (that is the block's) and to know its
place in the conversation (that is the document's). Called by `document.py`.
"""

from __future__ import annotations

import time
from functools import partial

from rich.segment import Segment

from gshtui.ui.widgets.transcript.blocks import Block, chunk_block, notice_blocks, prompt_blocks, rows_of
from gshtui.ui.widgets.transcript.chunk import Chunk
from gshtui.ui.widgets.transcript.entries import Answer, Entry, Notice, Prompt, Thought, Tool
from gshtui.ui.widgets.transcript.heights import Heights
from gshtui.ui.widgets.transcript.lines import Line
from gshtui.ui.widgets.transcript.page import Page
from gshtui.ui.widgets.transcript.splitter import Splitter
from gshtui.ui.widgets.transcript.tool import thought_header, tool_blocks

_PIECE = 8_192
"""Characters that are cut at a time; some milliseconds at most."""


class Sheet:
    """One entry's blocks. Until it is first looked at it is an estimate and costs nothing."""

    __slots__ = (
        "_frozen",
        "_incoming",
        "_splitter",
        "_streamed",
        "blocks",
        "built",
        "entry",
        "gap",
        "heights",
        "opened",
        "order",
        "width",
    )

    def __init__(self, entry: Entry, *, width: int, opened: bool = False) -> None:
        self.entry = entry
        self.opened = opened
        self.width = width
        self.order = 0
        """Its number in the document; the document's alone."""
        self.gap = 0
        """Empty rows before it."""
        self.blocks: list[Block] = []
        self.heights = Heights()
        self.built = False
        self._splitter: Splitter | None = None
        self._frozen = 0  # blocks that will not change any more
        self._incoming: list[str] = []
        self._streamed: list[str] = []

    @property
    def height(self) -> int:
        """Rows, exact as far as its blocks are."""
        return self.heights.total if self.built else self.gap + self._estimate()

    @property
    def busy(self) -> bool:
        """Whether some of its source is still to be cut."""
        return self.built and bool(self._incoming)

    @property
    def text(self) -> str:
        """All the source there is, as it came."""
        entry = self.entry
        if isinstance(entry, (Answer, Thought)):
            if self._streamed:
                self._streamed = ["".join(self._streamed)]
                return entry.text + self._streamed[0]
            return entry.text
        return "\n".join(block.copied for block in self.blocks) if self.built else _source(entry)

    @property
    def live(self) -> bool:
        return isinstance(self.entry, (Answer, Thought, Tool)) and self.entry.live

    def build(self, page: Page, seconds: float) -> None:
        """Make the blocks, for at most about so many seconds; what is left is done by `work`."""
        if self.built:
            return
        self.built = True
        self.width = page.width
        self._splitter = None
        self._frozen = 0
        self._incoming = []
        entry = self.entry
        if isinstance(entry, Prompt):
            blocks = prompt_blocks(entry)
        elif isinstance(entry, Notice):
            blocks = notice_blocks(entry)
        elif isinstance(entry, Tool):
            blocks = tool_blocks(entry, opened=self.opened)
        elif isinstance(entry, Thought):
            blocks = [self._thought_header(entry)]
            self._frozen = 1
        else:
            blocks = []
        self.blocks = blocks
        if blocks:
            blocks[0].gap += self.gap
        self.heights = Heights(_first_height(block, page.width) for block in blocks)
        if isinstance(entry, Answer) or (isinstance(entry, Thought) and self.opened):
            self._splitter = Splitter()
            self._incoming = [self.text]
            self.work(page, seconds)

    def stream(self, text: str) -> None:
        """Take more source of a live entry; `work` cuts it."""
        self._streamed.append(text)
        if self.built and self._splitter is not None:
            self._incoming.append(text)

    def work(self, page: Page, seconds: float) -> None:
        """Cut what has come, for at most about so many seconds."""
        splitter = self._splitter
        if splitter is None:
            return
        deadline = time.perf_counter() + seconds
        text = "".join(self._incoming)
        at = 0
        done: list[Chunk] = []
        while at < len(text):
            done += splitter.feed(text[at : at + _PIECE])
            at += _PIECE
            if time.perf_counter() > deadline:
                break
        rest = text[at:]
        self._incoming = [rest] if rest else []
        if rest or self.live:
            tail = splitter.tail()
        else:
            tail = []
            done += splitter.finish()
            self._splitter = None
        self._replace_tail(done, tail, rest, page)

    def refresh_header(self, page: Page) -> None:
        """Draw a live thought's line anew: it shows the end of what is thought."""
        if isinstance(self.entry, Thought) and self.built and self.blocks:
            header = self._thought_header(self.entry)
            header.gap = self.gap
            self.blocks[0] = header
            self.heights.put(0, _first_height(header, page.width))

    def set_gap(self, gap: int) -> None:
        """Other empty rows before it."""
        if self.built and self.blocks:
            first = self.blocks[0]
            first.gap += gap - self.gap
            self.heights.put(0, self.heights[0] + gap - self.gap)
            first.height = self.heights[0]
        self.gap = gap

    def rebuild(self) -> None:
        """Forget the blocks: the entry, or whether it is open, has changed."""
        self.built = False
        self.blocks = []

    def become(self, entry: Entry) -> None:
        """Show this in place of what was shown, without making anything again that stays as it is."""
        if isinstance(entry, Answer) and isinstance(self.entry, Answer) and self.text == entry.text:
            was_live = self.live
            self.entry = entry
            self._streamed = []
            if was_live and not entry.live and self.built and not self._incoming:
                self._incoming = [""]
            return
        self.entry = entry
        self._streamed = []
        self.rebuild()

    def _thought_header(self, entry: Thought) -> Block:
        shown = entry
        if self._streamed:
            shown = Thought(entry.id, self.text, entry.live, entry.seconds)
        return thought_header(shown, opened=self.opened)

    def _replace_tail(self, done: list[Chunk], tail: list[Chunk], rest: str, page: Page) -> None:
        chunks = [*done, *tail]
        muted = isinstance(self.entry, Thought)
        old, at = self.blocks, self._frozen
        keep = 0
        while keep < len(chunks) and at + keep < len(old) and old[at + keep].chunk == chunks[keep]:
            keep += 1
        while len(self.blocks) > at + keep:
            self.blocks.pop()
            self.heights.pop()
        for chunk in chunks[keep:]:
            self._append(chunk_block(chunk, muted=muted), page.width)
        self._frozen = at + len(done)
        if rest:
            self._append(Block(partial(_rest, len(rest)), rest, gap=1), page.width)
        if not self.blocks:
            self._append(Block(_empty if not self.live else _waiting, ""), page.width)

    def _append(self, block: Block, width: int) -> None:
        if not self.blocks:
            block.gap = self.gap
        self.blocks.append(block)
        self.heights.append(_first_height(block, width))

    def _estimate(self) -> int:
        entry = self.entry
        if isinstance(entry, Tool):
            return 1
        if isinstance(entry, Thought) and not self.opened:
            return 1
        return rows_of(_source(entry), self.width) + sum(map(len, self._streamed)) // max(1, self.width)


def _first_height(block: Block, width: int) -> int:
    block.height = block.estimate(width) if not block.toggles else block.gap + 1
    return block.height


def _source(entry: Entry) -> str:
    if isinstance(entry, Tool):
        return "\n".join((entry.name, entry.subject, entry.output, entry.diff))
    return entry.text


def _rest(characters: int, page: Page) -> list[Line]:
    return [Line([Segment(f"⋯ {characters:,} more characters come in a moment", page.palette.faint)])]


def _waiting(page: Page) -> list[Line]:
    return [Line([Segment("…", page.palette.faint)])]


def _empty(page: Page) -> list[Line]:
    return [Line([Segment("(an empty answer)", page.palette.faint)])]
