"""Splits a Markdown text into chunks that can be drawn alone: everything before the last split is final.

Owns the chunk, its bounds (some milliseconds of drawing, whatever a model writes) and the line-by-line recognition of
blocks; `markdown_renderer.py` parses their contents. Each line is read once, and a text gives the same chunks in
whatever pieces it arrives.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from gshtui.text.sanitise import plain

LINE_LIMIT = 4_000
"""Maximum characters of a source line; a longer one continues in the next chunk."""
SIZE_LIMIT = 6_000
"""Maximum characters of a chunk."""
ROWS = 64
"""Maximum source lines of a chunk."""
CELLS = 1_000
"""Maximum cells of a table's chunk."""
LIST_ROWS = 12
"""Source lines of a list after which the next item may start a chunk: items look the same apart as together."""


class MarkdownChunk(msgspec.Struct, frozen=True):
    """Source of one or more whole blocks, or a bounded part of a very long one."""

    kind: Literal["markdown", "code"]
    text: str
    """Sanitised source without a trailing newline; for code, the lines between the fences."""
    language: str = ""
    gap: int = 0
    """Empty lines before it."""
    goes_on: bool = False
    """Whether it continues the previous chunk: no label, and one block for cursor and copy."""
    head: str = ""
    """A table's header lines, if this is a later part of the table."""
    number: int = 0
    """Number of the first item, if this is a later part of an ordered list; 0: as in the source."""


_SIGNS = frozenset("`~#-*_>+0123456789\t")
_FENCE = re.compile(r"( {0,3})(`{3,}+|~{3,}+)[ \t]*+([^`\n]*+)$")
_BLOCK, _BLOCK_END = "<python>", "</python>"
"""A block of Python that a model writes to have it run; it is shown as code."""
_INNER_FENCE = re.compile(r" *+(?:(?:[-*+]|\d{1,9}[.)]) *+)?(`{3,}+|~{3,}+)[^`\n]*+$")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_ITEM = re.compile(r" {0,3}(?:[-*+]|(\d{1,9})[.)])(?:[ \t]|$)")
_QUOTE = re.compile(r" {0,3}>")
_DELIMITER = re.compile(r" {0,3}\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+(?:\|[ \t]*+)?$")


class MarkdownSplitter:
    """Splits source as it arrives. Call `feed`, then `tail` as often as needed, and `finish` at the end."""

    def __init__(self) -> None:
        self._rest: list[str] = []  # of the unfinished source line
        self._lines: list[str] = []  # of the open chunk
        self._kind = ""
        self._size = 0
        self._blank = False  # the open chunk's last line is empty
        self._loose = False  # the open list has empty lines in it
        self._ordered = False
        self._gap = 0  # of the next chunk
        self._goes_on = False
        self._fence = ""
        self._inner = ""  # the fence inside a list that is open
        self._language = ""
        self._head = ""
        self._items = 0
        self._number = 0
        self._cut = False  # the line before was cut at the limit
        self._any = False

    def feed(self, text: str) -> list[MarkdownChunk]:
        """Take more source; returns the chunks that are now final."""
        end = text.rfind("\n") + 1
        done: list[MarkdownChunk] = []
        if end:
            whole = "".join((*self._rest, text[:end]))
            self._rest = [text[end:]] if end < len(text) else []
            safe = plain(whole) is whole
            for line in whole[:-1].split("\n"):
                if safe and len(line) <= LINE_LIMIT:
                    self._take(line, done)
                else:
                    self._take_long(line, done)
        elif text:
            self._rest.append(text)
        if sum(map(len, self._rest)) > LINE_LIMIT:
            self._rest = [self._take_pieces("".join(self._rest), done)]
        return done

    def tail(self) -> list[MarkdownChunk]:
        """The chunks of the unsettled rest, as if the text ended here."""
        copy = MarkdownSplitter.__new__(MarkdownSplitter)
        copy.__dict__.update(self.__dict__)
        copy._lines = self._lines.copy()
        return copy.finish()

    def finish(self) -> list[MarkdownChunk]:
        """The remaining chunks at the end of the text."""
        done: list[MarkdownChunk] = []
        rest = "".join(self._rest)
        self._rest = []
        if rest:
            self._take_long(rest, done)
        self._emit(done)
        return done

    def _take_long(self, line: str, done: list[MarkdownChunk]) -> None:
        rest = self._take_pieces(line, done)
        self._take(plain(rest), done)

    def _take_pieces(self, line: str, done: list[MarkdownChunk]) -> str:
        """Take all pieces of the maximum length; returns the rest. Splits before cleaning, so that
        the split does not depend on how much had arrived by then."""
        at = 0
        while len(line) - at > LINE_LIMIT:
            space = line.rfind(" ", at + LINE_LIMIT // 2, at + LINE_LIMIT)
            end = space + 1 if space > 0 else at + LINE_LIMIT
            self._take(plain(line[at:end]), done)
            self._cut = True
            at = end
        return line[at:]

    def _take(self, line: str, done: list[MarkdownChunk]) -> None:
        if self._cut:
            # The rest of a cut line is no new block, whatever it looks like.
            self._cut = False
            self._part(done)
            self._add(line)
            return
        if self._kind == "code":
            self._in_code(line, done)
        elif not line.strip():
            self._empty(line, done)
        else:
            self._block(line, done)

    def _in_code(self, line: str, done: list[MarkdownChunk]) -> None:
        bare = line.strip() if self._fence in line else ""
        if self._fence == _BLOCK_END:
            if bare.endswith(_BLOCK_END):
                if last := line.rstrip().removesuffix(_BLOCK_END).rstrip():
                    self._add(last)
                self._emit(done)
                self._gap = 1
                return
        elif bare.startswith(self._fence) and not bare.strip(self._fence[0]) and len(line) - len(line.lstrip()) < 4:
            self._emit(done)
            self._gap = 1
            return
        if len(self._lines) >= ROWS or self._size > SIZE_LIMIT:
            self._part(done)
        self._add(line)

    def _empty(self, line: str, done: list[MarkdownChunk]) -> None:
        if self._kind in ("list", "indented"):
            if self._lines and (len(self._lines) >= ROWS * 2 or self._size > SIZE_LIMIT * 2):
                self._part(done)
            self._add("")
            self._blank = self._loose = True
            return
        self._emit(done)
        self._gap = 1

    def _block(self, line: str, done: list[MarkdownChunk]) -> None:
        kind = self._kind
        if kind == "list" and self._continues_list(line, done):
            return
        if kind == "indented" and line.startswith(("    ", "\t")):
            self._bound(done)
            self._add(line)
            return
        if kind == "paragraph" and line[0] in " =-" and _UNDERLINE.match(line) and not self._goes_on:
            self._add(line)
            self._emit(done)
            self._gap = 1
            return
        begins = self._begins(line)
        if kind in ("paragraph", "quote", "table") and (begins == "paragraph" or begins == kind == "quote"):
            self._more(line, done)
            return
        if kind == "paragraph" and begins == "indented":
            self._more(line, done)
            return
        self._emit(done)
        self._open(begins, line, done)

    def _begins(self, line: str) -> str:
        """The kind of block that the line would start."""
        bare = line.lstrip(" ")
        if bare[0] not in _SIGNS:
            if len(line) - len(bare) < 4 and bare.rstrip() == _BLOCK:
                return "code"
            return "indented" if len(line) - len(bare) > 3 else "paragraph"
        if _FENCE.match(line):
            return "code"
        if _HEADING.match(line):
            return "heading"
        if _RULE.match(line):
            return "rule"
        if _QUOTE.match(line):
            return "quote"
        item = _ITEM.match(line)
        if item is not None:
            number = item.group(1)
            # In a paragraph only a list that begins at 1, with something in it, is taken for one.
            if self._kind != "paragraph" or (number in (None, "1") and line[item.end() :].strip()):
                return "list"
            return "paragraph"
        return "indented" if line.startswith(("    ", "\t")) else "paragraph"

    def _open(self, kind: str, line: str, done: list[MarkdownChunk]) -> None:
        if kind in ("heading", "rule", "code") and self._any:
            self._gap = 1
        if kind == "code":
            found = _FENCE.match(line)
            if found is None:
                self._kind, self._fence, self._language = kind, _BLOCK_END, "python"
                return
            self._kind, self._fence = kind, found.group(2)
            self._language = found.group(3).split(" ")[0].split("{")[0].strip().rstrip(",")
            return
        self._kind = kind
        self._inner = ""
        self._add(line)
        if kind == "list":
            self._ordered = line.lstrip()[0].isdigit()
            self._count(line)
        if kind in ("heading", "rule"):
            self._emit(done)
            self._gap = 1

    def _continues_list(self, line: str, done: list[MarkdownChunk]) -> bool:
        indent = len(line) - len(line.lstrip())
        if self._inner and indent >= 2:
            if line.strip().startswith(self._inner) and not line.strip().strip(self._inner[0]):
                self._inner = ""
            self._bound(done, ROWS * 2)
            self._add(line)
            return True
        self._inner = ""
        begins = self._begins(line)
        if indent < 2 and (begins in ("code", "heading", "rule", "quote") or (self._blank and begins == "paragraph")):
            return False
        if begins == "list" and indent < 2:
            if line.lstrip()[0].isdigit() != self._ordered:
                return False
            if len(self._lines) >= LIST_ROWS:
                self._part(done)
            self._count(line)
        else:
            self._bound(done, ROWS * 2)
        if (fence := _INNER_FENCE.match(line)) is not None:
            self._inner = fence.group(1)
        self._add(line)
        return True

    def _count(self, line: str) -> None:
        item = _ITEM.match(line)
        if item is not None and item.group(1):
            self._items = self._items + 1 if self._items else max(1, int(item.group(1)))
            if self._goes_on and not self._lines:
                self._number = self._items

    def _more(self, line: str, done: list[MarkdownChunk]) -> None:
        if self._kind == "paragraph" and self._lines and "|" in self._lines[-1] and _DELIMITER.match(line):
            self._kind = "table"
            self._head = f"{self._lines[-1]}\n{line}"
        columns = self._head.count("|") // 2 if self._kind == "table" else 0
        self._bound(done, min(ROWS, max(4, CELLS // columns)) if columns else ROWS)
        self._add(line)

    def _bound(self, done: list[MarkdownChunk], rows: int = ROWS) -> None:
        if len(self._lines) >= rows or self._size > SIZE_LIMIT:
            self._part(done)

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1
        self._blank = False
        if not self._kind:
            self._kind = "paragraph"

    def _part(self, done: list[MarkdownChunk]) -> None:
        """Finish the open chunk and continue with the same block."""
        if not self._lines:
            return
        kind, head, items, inner = self._kind, self._head, self._items, self._inner
        fence, language, gap = self._fence, self._language, int(self._loose)
        self._emit(done)
        self._kind, self._head, self._items, self._inner = kind, head, items, inner
        self._fence, self._language, self._gap = fence, language, gap
        self._loose = bool(gap)
        self._goes_on = True

    def _emit(self, done: list[MarkdownChunk]) -> None:
        """Finish the open chunk, if there is one."""
        lines = self._lines
        if self._kind != "code":
            while lines and not lines[-1]:
                lines.pop()
        if lines or (self._kind == "code" and not self._goes_on):
            done.append(self._chunk())
            self._any = True
            self._gap = 0
        self._lines, self._kind, self._size, self._inner = [], "", 0, ""
        self._loose = False
        self._goes_on, self._number, self._items = False, 0, 0
        self._head = self._language = self._fence = ""
        if self._blank:
            self._gap, self._blank = 1, False

    def _chunk(self) -> MarkdownChunk:
        part = self._goes_on
        return MarkdownChunk(
            kind="code" if self._kind == "code" else "markdown",
            text="\n".join(self._lines),
            language=self._language,
            gap=self._gap if self._any else 0,
            goes_on=part,
            head=self._head if part and self._kind == "table" else "",
            number=self._number,
        )
