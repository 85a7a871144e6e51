"""Draws Markdown chunks as lines: headings, paragraphs, lists, quotes, rules, tables, code and inline text.

Pure: chunk and page in, lines out. Raw HTML is shown as text, a link always shows its target, table cells wrap and
are never cut off, and references stay as written (a chunk knows only itself).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from gshtui.ui.kit.drawing.page import Page, Palette
from gshtui.ui.kit.drawing.styled_lines import StyledLine, blank_line, visible, wrapped
from gshtui.ui.kit.transcript.markdown_splitter import MarkdownChunk

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]]")
_BOLD, _ITALIC, _STRIKE = Style(bold=True), Style(italic=True), Style(strike=True)
_OPENS = {"strong_open": _BOLD, "em_open": _ITALIC, "s_open": _STRIKE}


def inline_runs(tokens: Sequence[Token], palette: Palette, base: Style | None = None) -> list[Segment]:
    """The runs of an inline token's children; a newline in a run's text ends a line."""
    writer = _InlineWriter(palette, palette.text if base is None else base)
    for token in tokens:
        writer.add_token(token)
    return writer.runs


class _InlineWriter:
    def __init__(self, palette: Palette, base: Style) -> None:
        self.runs: list[Segment] = []
        self._palette = palette
        self._styles = [base]
        self._links: list[tuple[str, int]] = []

    def add_token(self, token: Token) -> None:
        kind = token.type
        if kind == "text":
            self._text(token.content)
        elif kind in ("softbreak", "hardbreak"):
            self._add("\n", self._styles[0])
        elif kind == "code_inline":
            self._add(token.content, self._styles[-1] + self._palette.inline_code)
        elif kind in _OPENS:
            self._styles.append(self._styles[-1] + _OPENS[kind])
        elif kind == "link_open":
            self._links.append((str(token.attrs.get("href", "")), len(self.runs)))
            self._styles.append(self._styles[-1] + self._palette.link)
        elif kind == "link_close":
            self._styles.pop()
            self._target()
        elif kind == "image":
            self._add(f"[image: {token.content or 'no description'}]", self._styles[-1] + _ITALIC)
            self._add(f" ({token.attrs.get('src', '')})", self._palette.target)
        elif token.nesting < 0:
            self._styles.pop()
        else:
            self._add(token.content, self._styles[-1])

    def _text(self, text: str) -> None:
        if "://" not in text or self._links:
            self._add(text, self._styles[-1])
            return
        at = 0
        for match in _URL.finditer(text):
            self._add(text[at : match.start()], self._styles[-1])
            self._add(match.group(), self._styles[-1] + self._palette.link)
            at = match.end()
        self._add(text[at:], self._styles[-1])

    def _target(self) -> None:
        address, start = self._links.pop()
        words = "".join(run.text for run in self.runs[start:])
        if words.strip() not in (address, address.removeprefix("mailto:")):
            self._add(f" ({address})", self._palette.target)

    def _add(self, text: str, style: Style) -> None:
        if text:
            self.runs.append(Segment(text, style))


Align = Literal["left", "center", "right"]
Cell = list[Segment]
_LEAST = 4
_BETWEEN = "  "
"""Between two columns: the one rule is below the heading."""


def table_lines(tokens: Sequence[Token], page: Page) -> list[StyledLine]:
    """The lines of a table, given the tokens between its open and close."""
    rows, aligns = _rows(tokens, page)
    if not rows:
        return []
    headed = any(segment.text.strip() for cell in rows[0] for segment in cell)
    if not headed and len(rows) > 1:  # names and values: their columns need no line above
        rows = rows[1:]
    columns = len(rows[0])
    widths = _widths(rows, page.width - len(_BETWEEN) * (columns - 1))
    if widths is None:
        return _stacked(rows, page)
    rule = "─" * (sum(widths) + len(_BETWEEN) * (columns - 1))
    made = [_row(row, widths, aligns, page) for row in rows]
    lines: list[StyledLine] = []
    for number, each in enumerate(made):
        if number == 1 and headed:
            lines.append(StyledLine([Segment(rule, page.palette.rule)]))
        lines += each
    return lines


def _rows(tokens: Sequence[Token], page: Page) -> tuple[list[list[Cell]], list[Align]]:
    rows: list[list[Cell]] = []
    aligns: list[Align] = []
    base = page.palette.text
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            if len(rows) == 1:
                aligns.append(_align(str(token.attrs.get("style", ""))))
            base = page.palette.strong if token.type == "th_open" else page.palette.text
        elif token.type == "inline" and tokens[at - 1].type in ("th_open", "td_open"):
            runs = inline_runs(token.children or [], page.palette, base)
            rows[-1].append([Segment(visible(run.text).replace("\n", " "), run.style) for run in runs])
    return rows, aligns


def _align(style: str) -> Align:
    if "center" in style:
        return "center"
    return "right" if "right" in style else "left"


def _widths(rows: Sequence[Sequence[Cell]], room: int) -> list[int] | None:
    """The width of each column: what it needs, or less for the widest until all fit; `None`: they cannot fit."""
    columns = len(rows[0])
    wanted = [max(1, *(_cell_width(row[at]) for row in rows if at < len(row))) for at in range(columns)]
    if sum(wanted) <= room:
        return wanted
    if room < _LEAST * columns:
        return None
    # Narrow columns keep what they want; the others share what is left.
    widths = [0] * columns
    left, open_columns = room, sorted(range(columns), key=lambda at: wanted[at])
    while open_columns:
        share = left // len(open_columns)
        at = open_columns.pop(0)
        widths[at] = min(wanted[at], share)
        left -= widths[at]
    return widths


def _cell_width(cell: Cell) -> int:
    return sum(cell_len(run.text) for run in cell)


def _row(row: Sequence[Cell], widths: Sequence[int], aligns: Sequence[Align], page: Page) -> list[StyledLine]:
    padded = [*row, *([] for _ in range(len(widths) - len(row)))]
    cells = [wrapped(cell, width) for cell, width in zip(padded, widths, strict=False)]
    text = page.palette.text
    lines: list[StyledLine] = []
    for number in range(max(len(cell) for cell in cells)):
        segments: list[Segment] = []
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            if at:
                segments.append(Segment(_BETWEEN, text))
            line = cell[number] if number < len(cell) else blank_line()
            spare = max(0, width - line.cells)
            before = 0 if aligns[at] == "left" else spare if aligns[at] == "right" else spare // 2
            segments += [Segment(" " * before, text)] if before else []
            segments += line.segments
            if spare - before and at < len(widths) - 1:
                segments.append(Segment(" " * (spare - before), text))
        lines.append(StyledLine(segments))
    return lines


def _stacked(rows: Sequence[Sequence[Cell]], page: Page) -> list[StyledLine]:
    """Each row as a list of `heading: cell`, if the page is too narrow for columns."""
    head = rows[0]
    lines: list[StyledLine] = []
    for row in rows[1:] or [head]:
        if lines:
            lines.append(StyledLine([Segment("─" * page.width, page.palette.rule)]))
        for at, cell in enumerate(row):
            name = [*head[at], Segment(": ", page.palette.strong)] if at < len(head) and len(rows) > 1 else []
            lines += wrapped([*name, *cell], page.width)
    return lines


_TAB = 4
_PAD = 1


def code_lines(code: str, language: str, page: Page, *, label: bool = True) -> list[StyledLine]:
    """The lines of a code panel; `label`: with the language's name on top, if there is one."""
    palette = page.palette
    width = max(1, page.width - 2 * _PAD)
    pad = Segment(" " * _PAD, palette.code)
    lines: list[StyledLine] = []
    if label and language:
        name = visible(language.replace("\n", " "))[: max(1, width - 1)]
        lines.append(
            StyledLine([Segment(f" {name}", palette.code_label)], margin=len(name) + 1).filled(page.width, palette.code)
        )
    styles = palette.tokens
    for tokens in page.code.lines(code.expandtabs(_TAB), language):
        runs = [Segment(text, styles[kind]) for kind, text in tokens]
        for line in wrapped(runs, width, hard=True):
            lines.append(line.behind(pad).filled(page.width, palette.code))
    return lines


_BULLETS = ("•", "◦", "▪")
_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
_NESTED_LIMIT = 12
_BRACKETS, _CELLS = 300, 1_500
"""Up to this many link openings and table cells are parsed in a chunk; beyond that, all are shown as written."""


@lru_cache(maxsize=1)
def markdown_parser() -> MarkdownIt:
    """The parser. Importing it takes 0.1 s; see `ParserLoading`."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).enable(["table", "strikethrough"])
    # A chunk does not know the whole text, so references are shown as they are written; nothing disappears.
    return made.disable(["reference", "html_block", "html_inline"])


class ParserLoading:
    """The import of the parser in a thread: not before the first frame, and never in the window's own thread.

    Who needs the parser meanwhile would wait for the lock of its import; `under_way` says so.
    """

    def __init__(self) -> None:
        self.under_way = False

    def begin(self) -> Awaitable[None]:
        """Have it loaded. To be called in the loop; waiting for what is returned is optional."""
        self.under_way = markdown_parser.cache_info().currsize == 0
        return asyncio.get_running_loop().run_in_executor(None, self._load)

    def _load(self) -> None:
        try:
            markdown_parser()
        finally:
            self.under_way = False


parser_loading = ParserLoading()
"""Of this process."""


@lru_cache(maxsize=1)
def _careful() -> MarkdownIt:
    """The parser for input that would take long: without rules that look far ahead or multiply the text."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).disable(
        ["reference", "html_block", "html_inline", "link", "image", "autolink"]
    )


def _takes_long(source: str) -> bool:
    """Whether the text is full of brackets, which take quadratic time, or of table cells."""
    lines = source.split("\n")
    return source.count("[") > _BRACKETS or max(line.count("|") for line in lines) * len(lines) > _CELLS


def chunk_lines(chunk: MarkdownChunk, page: Page, base: Style | None = None) -> list[StyledLine]:
    """The lines of a chunk, without the empty ones before it."""
    if chunk.kind == "code":
        return code_lines(chunk.text, chunk.language, page, label=not chunk.goes_on)
    source = chunk.text if not chunk.head else f"{chunk.head}\n{chunk.text}"
    made = _careful() if _takes_long(source) else markdown_parser()
    tokens = made.parse(source.expandtabs(4) if "\t" in source else source)
    renderer = _Renderer(base if base is not None else page.palette.text, chunk.number)
    return renderer.blocks(tokens, page) or wrapped([Segment(chunk.text, page.palette.text)], page.width)


class _Renderer:
    """Draws the blocks of one chunk; `number`: the first number of its ordered list, if it is a later part."""

    def __init__(self, base: Style, number: int) -> None:
        self._base = base
        self._number = number
        self._depth = 0

    def blocks(self, tokens: Sequence[Token], page: Page, *, tight: bool = False) -> list[StyledLine]:
        lines: list[StyledLine] = []
        at = 0
        while at < len(tokens):
            end = _closing(tokens, at)
            made = self._block(tokens[at], tokens[at + 1 : end], page)
            if lines and made and not (tight and tokens[at].hidden) and not (tight and "list" in tokens[at].type):
                lines.append(blank_line())
            lines += made
            at = end + 1
        return lines

    def _block(self, token: Token, inside: Sequence[Token], page: Page) -> list[StyledLine]:
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
            return [StyledLine([Segment("─" * page.width, page.palette.rule)])]
        return wrapped([Segment(token.content, self._base)], page.width)

    def _inline(self, inside: Sequence[Token], page: Page, base: Style | None = None) -> list[Segment]:
        children = inside[0].children or [] if inside else []
        return inline_runs(children, page.palette, base or self._base)

    def _heading(self, level: int, inside: Sequence[Token], page: Page) -> list[StyledLine]:
        palette = page.palette
        style = (palette.title, palette.heading, palette.subheading, palette.strong)[min(level, 4) - 1]
        lines = wrapped(self._inline(inside, page, style), page.width)
        if level > 1:
            return lines
        width = max((line.cells for line in lines), default=0)
        return [*lines, StyledLine([Segment("━" * width, palette.rule)])]

    def _quote(self, inside: Sequence[Token], page: Page) -> list[StyledLine]:
        bar = Segment("▎ ", page.palette.marker)
        base, self._base = self._base, page.palette.quote
        room = page.has_room(2)
        lines = self._nested(inside, page.narrower(2) if room else page)
        self._base = base
        return [line.behind(bar) for line in lines] if room else lines

    def _nested(self, inside: Sequence[Token], page: Page, *, tight: bool = False) -> list[StyledLine]:
        if self._depth >= _NESTED_LIMIT:
            return wrapped([Segment("…", self._base)], page.width)
        self._depth += 1
        lines = self.blocks(inside, page, tight=tight)
        self._depth -= 1
        return lines

    def _list(self, token: Token, inside: Sequence[Token], page: Page) -> list[StyledLine]:
        items = _items(inside)
        tight = all(
            child.hidden for item in items for child in item if child.level == token.level + 2 and _label_words(child)
        )
        number = 0
        if token.type == "ordered_list_open":
            number = self._number or int(token.attrs.get("start", 1))
            self._number = 0
        digits = len(str(number + len(items) - 1)) if token.type == "ordered_list_open" else 0
        bullet = _BULLETS[(token.level // 2) % len(_BULLETS)]
        lines: list[StyledLine] = []
        for index, item in enumerate(items):
            mark = f"{number + index:>{digits}}. " if digits else f"{bullet} "
            mark, item_tokens = _task(mark, item, bool(digits))
            room = page.has_room(len(mark))
            made = self._nested(item_tokens, page.narrower(len(mark)) if room else page, tight=tight) or [blank_line()]
            if lines and not tight:
                lines.append(blank_line())
            if not room:
                # Too narrow for an indent: the marker stands above its words.
                lines += [*wrapped([Segment(mark.rstrip(), page.palette.marker)], page.width), *made]
                continue
            first, rest = Segment(mark, page.palette.marker), Segment(" " * len(mark), page.palette.text)
            # The marker is a word of the text: it is copied with its line.
            lines.append(StyledLine((first, *made[0].segments), join=made[0].join))
            lines += [line.behind(rest, margin=0 if line.join == "\n" else None) for line in made[1:]]
        return lines


def _closing(tokens: Sequence[Token], at: int) -> int:
    """The index of the token that closes the one at `at`; `at` itself if it opens nothing."""
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


def _label_words(token: Token) -> bool:
    return token.type == "paragraph_open"


def _task(mark: str, item: Sequence[Token], ordered: bool) -> tuple[str, Sequence[Token]]:
    """A task item's mark, and the item without it."""
    if len(item) < 2 or item[1].type != "inline" or not item[1].children:
        return mark, item
    first = item[1].children[0]
    box = _TASKS.get(first.content[:4]) if first.type == "text" else None
    if box is None:
        return mark, item
    first.content = first.content[4:]
    return (mark + box if ordered else box), item
