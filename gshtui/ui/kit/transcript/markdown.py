"""Markdown chunks drawn as lines: headings, paragraphs, lists, quotes, rules, tables, code.

Owns the look of Markdown blocks; refuses raw HTML (it is shown as text) and references (a chunk knows only itself).
Pure: chunk and page in, lines out. Called by `blocks.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from gshtui.ui.kit.lines import Line, blank
from gshtui.ui.kit.page import Page
from gshtui.ui.kit.transcript.chunk import Chunk
from gshtui.ui.kit.transcript.fence import code_lines
from gshtui.ui.kit.transcript.inline import inline_runs
from gshtui.ui.kit.transcript.table import table_lines
from gshtui.ui.kit.wrap import wrapped

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_BULLETS = ("•", "◦", "▪")
_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
_NESTED_LIMIT = 12
_BRACKETS, _CELLS = 300, 1_500
"""Openings of links, and cells of a table, that a chunk is parsed with; of more, all are shown as they are written."""


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """The parser; importing it takes 0.1 s, so the transcript does it in a thread before the first answer."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).enable(["table", "strikethrough"])
    # A chunk does not know the whole text, so references are shown as they are written; nothing disappears.
    return made.disable(["reference", "html_block", "html_inline"])


@lru_cache(maxsize=1)
def _careful() -> MarkdownIt:
    """For what was written to take long: without the rules that look far ahead, or make more than there is."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).disable(
        ["reference", "html_block", "html_inline", "link", "image", "autolink"]
    )


def _takes_long(source: str) -> bool:
    """Whether the text is made of brackets, each of which is looked at from all before it, or of a table's corners."""
    lines = source.split("\n")
    return source.count("[") > _BRACKETS or max(line.count("|") for line in lines) * len(lines) > _CELLS


def chunk_lines(chunk: Chunk, page: Page, base: Style | None = None) -> list[Line]:
    """The lines of a chunk, without the empty ones before it."""
    if chunk.kind == "code":
        return code_lines(chunk.text, chunk.language, page, label=not chunk.goes_on)
    source = chunk.text if not chunk.head else f"{chunk.head}\n{chunk.text}"
    made = _careful() if _takes_long(source) else parser()
    tokens = made.parse(source.expandtabs(4) if "\t" in source else source)
    renderer = _Renderer(base if base is not None else page.palette.text, chunk.number)
    return renderer.blocks(tokens, page) or wrapped([Segment(chunk.text, page.palette.text)], page.width)


class _Renderer:
    """Draws the blocks of one chunk; `number`: what its first ordered list begins with, when it is a later part."""

    def __init__(self, base: Style, number: int) -> None:
        self._base = base
        self._number = number
        self._depth = 0

    def blocks(self, tokens: Sequence[Token], page: Page, *, tight: bool = False) -> list[Line]:
        lines: list[Line] = []
        at = 0
        while at < len(tokens):
            end = _closing(tokens, at)
            made = self._block(tokens[at], tokens[at + 1 : end], page)
            if lines and made and not (tight and tokens[at].hidden) and not (tight and "list" in tokens[at].type):
                lines.append(blank())
            lines += made
            at = end + 1
        return lines

    def _block(self, token: Token, inside: Sequence[Token], page: Page) -> list[Line]:
        kind = token.type
        if kind == "paragraph_open":
            return wrapped(self._inline(inside, page), page.width)
        if kind == "heading_open":
            return self._heading(int(token.tag[1]), inside, page)
        if kind in ("bullet_list_open", "ordered_list_open"):
            return self._list(token, inside, page)
        if kind == "blockquote_open":
            return self._quote(inside, page)
        if kind in ("fence", "code_block"):
            language = token.info.split(" ")[0] if token.info else ""
            return code_lines(token.content.removesuffix("\n"), language, page)
        if kind == "table_open":
            return table_lines(inside, page)
        if kind == "hr":
            return [Line([Segment("─" * page.width, page.palette.rule)])]
        return wrapped([Segment(token.content, self._base)], page.width)

    def _inline(self, inside: Sequence[Token], page: Page, base: Style | None = None) -> list[Segment]:
        children = inside[0].children or [] if inside else []
        return inline_runs(children, page.palette, base or self._base)

    def _heading(self, level: int, inside: Sequence[Token], page: Page) -> list[Line]:
        palette = page.palette
        style = (palette.title, palette.heading, palette.subheading, palette.strong)[min(level, 4) - 1]
        lines = wrapped(self._inline(inside, page, style), page.width)
        if level > 1:
            return lines
        width = max((line.cells for line in lines), default=0)
        return [*lines, Line([Segment("━" * width, palette.rule)])]

    def _quote(self, inside: Sequence[Token], page: Page) -> list[Line]:
        bar = Segment("▎ ", page.palette.marker)
        base, self._base = self._base, page.palette.quote
        room = page.has_room(2)
        lines = self._nested(inside, page.narrower(2) if room else page)
        self._base = base
        return [line.behind(bar) for line in lines] if room else lines

    def _nested(self, inside: Sequence[Token], page: Page, *, tight: bool = False) -> list[Line]:
        if self._depth >= _NESTED_LIMIT:
            return wrapped([Segment("…", self._base)], page.width)
        self._depth += 1
        lines = self.blocks(inside, page, tight=tight)
        self._depth -= 1
        return lines

    def _list(self, token: Token, inside: Sequence[Token], page: Page) -> list[Line]:
        items = _items(inside)
        tight = all(
            child.hidden for item in items for child in item if child.level == token.level + 2 and _words(child)
        )
        number = 0
        if token.type == "ordered_list_open":
            number = self._number or int(token.attrs.get("start", 1))
            self._number = 0
        digits = len(str(number + len(items) - 1)) if token.type == "ordered_list_open" else 0
        bullet = _BULLETS[(token.level // 2) % len(_BULLETS)]
        lines: list[Line] = []
        for index, item in enumerate(items):
            mark = f"{number + index:>{digits}}. " if digits else f"{bullet} "
            mark, item_tokens = _task(mark, item, bool(digits))
            room = page.has_room(len(mark))
            made = self._nested(item_tokens, page.narrower(len(mark)) if room else page, tight=tight) or [blank()]
            if lines and not tight:
                lines.append(blank())
            if not room:
                # Too narrow for an indent: the marker stands above its words.
                lines += [*wrapped([Segment(mark.rstrip(), page.palette.marker)], page.width), *made]
                continue
            first, rest = Segment(mark, page.palette.marker), Segment(" " * len(mark), page.palette.text)
            # The marker is a word of the text: it is copied with its line.
            lines.append(Line((first, *made[0].segments), join=made[0].join))
            lines += [line.behind(rest, margin=0 if line.join == "\n" else None) for line in made[1:]]
        return lines


def _closing(tokens: Sequence[Token], at: int) -> int:
    """The index of the token that closes the one at `at`; itself, when it opens nothing."""
    if tokens[at].nesting <= 0:
        return at
    level = tokens[at].level
    for index in range(at + 1, len(tokens)):
        if tokens[index].level == level and tokens[index].nesting < 0:
            return index
    return len(tokens) - 1


def _items(inside: Sequence[Token]) -> list[Sequence[Token]]:
    items: list[Sequence[Token]] = []
    at = 0
    while at < len(inside):
        end = _closing(inside, at)
        items.append(inside[at + 1 : end])
        at = end + 1
    return items


def _words(token: Token) -> bool:
    return token.type == "paragraph_open"


def _task(mark: str, item: Sequence[Token], ordered: bool) -> tuple[str, Sequence[Token]]:
    """The mark of a task item, and the item without it."""
    if len(item) < 2 or item[1].type != "inline" or not item[1].children:
        return mark, item
    first = item[1].children[0]
    box = _TASKS.get(first.content[:4]) if first.type == "text" else None
    if box is None:
        return mark, item
    first.content = first.content[4:]
    return (mark + box if ordered else box), item
