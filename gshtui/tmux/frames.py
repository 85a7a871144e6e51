"""One pane's frame in the mirror: rows with self-contained styles, watchers, size, last frame.

Completes captured SGR and decides whether a frame changed; never talks to tmux.

Text that a program writes at its cursor, in the frame before tmux is asked what the screen shows.

What a letter does behind the end of a row is known, if the frame shows everything written before it, and the last of
that in the style in which the program writes. Owns when that is certain. Refuses every control character, lines that
would wrap, and signs of more than one cell. The capture that follows has the last word.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from gshtui.text.cells import width
from gshtui.tmux.panes import PaneInfo, refreshed, unknown

_TEXT = re.compile(r"[ -\[\]-~\u00a1-\u00ac\u00ae-\u02af\u0391-\u03a9\u03b1-\u03ff\u0400-\u0482\u048a-\u0556]+")
"""Characters of one cell that stand beside each other; tmux writes a backslash as it does controls, by its number."""
_DRAWN = frozenset("`afgijklmnopqrstuvwxyz{|}~")
"""Letters that are other signs while a program draws lines: one that is itself says that it does not."""
_STYLE = re.compile(r"\x1b\[[0-9;:]*m")
_ENDS_IN_STYLE = re.compile(r"\x1b\[[0-9;:]*m\Z")


class WrittenText:
    """What is known of a pane's output since its last capture.

    Attributes:
        heard: pieces of output so far.
        shown: the number of the piece that was shown last without a capture.
    """

    def __init__(self) -> None:
        self.heard = 0
        self.shown = 0
        self._last = ""
        """The last character written; empty: not known, or something else was written behind it."""
        self._current = False
        """The frame shows all that was written."""
        self._styled = False
        """The program writes in the style of the cell before the cursor."""
        self._letters = False
        """All letters are themselves now."""

    def forget(self) -> None:
        """There may have been output that was not heard."""
        self.heard += 1
        self._last, self._current, self._styled, self._letters = "", False, False, False

    def add_output(self, said: bytes, row: str, info: PaneInfo | None) -> str:
        """Take a piece of output as tmux tells it; the text in it that goes behind the row, where that is certain.

        Args:
            row: the one with the cursor, as the newest frame has it.
            info: the pane in the newest frame; `None`: what was written is not to be shown.
        """
        try:
            text = said.decode()
        except UnicodeDecodeError:
            text = ""
        if not _TEXT.fullmatch(text):
            self.forget()
            return ""
        self.heard += 1
        self._current = (
            self._current
            and self._styled
            and (self._letters or _DRAWN.isdisjoint(text))
            and info is not None
            and _ends_at_cursor(row, info, self._last)
            and info.cursor_x + len(text) < info.width
        )
        self._last = text[-1]
        if self._current:
            self.shown = self.heard
        return text if self._current else ""

    def captured(self, row: str, info: PaneInfo, asked: int) -> None:
        """Take a capture: the row with the cursor. `asked`: what `heard` was when it was asked for."""
        self._current = self.heard == asked
        if self._current and _ends_at_cursor(row, info, self._last):
            self._styled = True
            self._letters = self._letters or self._last in _DRAWN


def _ends_at_cursor(row: str, info: PaneInfo, last: str) -> bool:
    """Whether the row ends with this character, and the cursor is behind it, where the program writes."""
    if not last or info.dead or info.in_mode or not row.endswith(last) or _ENDS_IN_STYLE.search(row):
        return False
    return width(_STYLE.sub("", row)) == info.cursor_x


_TOKEN = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x0e|\x0f|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BOXES = str.maketrans("`afgijklmnopqrstuvwxyz{|}~", "◆▒°±␉┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
_COLOURS = {"38": "fg", "48": "bg", "58": "ul"}


class SgrStyle(msgspec.Struct, frozen=True):
    """The active style: attributes in order of appearance, and three colours as SGR parameters."""

    attributes: tuple[str, ...] = ()
    fg: str = ""
    bg: str = ""
    ul: str = ""

    def sequence(self) -> str:
        """The SGR sequence that switches it on; empty for the plain style."""
        parts = [part for part in (*self.attributes, self.fg, self.bg, self.ul) if part]
        return f"\x1b[{';'.join(parts)}m" if parts else ""


PLAIN = SgrStyle()


Read = tuple[str, SgrStyle, bool]
"""A self-contained row, and what is active after it: style, line drawing."""


class CompleteRows(msgspec.Struct):
    """Turns one pane's captures into rows. Rows of the last one are not read again, wherever they scrolled to."""

    _plain: dict[str, Read] = msgspec.field(default_factory=dict[str, Read])
    """A cache, by text, of lines that start without any style, as most do."""
    _styled: dict[tuple[str, SgrStyle, bool], Read] = msgspec.field(
        default_factory=dict[tuple[str, SgrStyle, bool], Read]
    )

    def complete(self, raw: Sequence[str]) -> tuple[str, ...]:
        """The capture's rows, each self-contained."""
        plain, styled = dict[str, Read](), dict[tuple[str, SgrStyle, bool], Read]()
        rows: list[str] = []
        style, boxes = PLAIN, False
        for line in raw:
            if style is PLAIN and not boxes:
                if not line:
                    rows.append(line)
                    continue
                found = self._plain.get(line) or _row(line, style, boxes)
                plain[line] = found
            else:
                key = (line, style, boxes)
                found = self._styled.get(key) or _row(*key)
                styled[key] = found
            row, style, boxes = found
            rows.append(row)
        self._plain, self._styled = plain, styled
        return tuple(rows)


def rows(raw: Sequence[str]) -> list[str]:
    """One capture's rows, each self-contained."""
    return list(CompleteRows().complete(raw))


def _row(line: str, style: SgrStyle, boxes: bool) -> Read:
    """(the row, the active style after it, whether letters draw lines after it)"""
    if not boxes and not _TOKEN.search(line):
        return style.sequence() + line, style, boxes
    out = [style.sequence()]
    at = 0
    for match in _TOKEN.finditer(line):
        text = line[at : match.start()]
        out.append(text.translate(_BOXES) if boxes else text)
        at = match.end()
        token = match.group()
        if match[1] is not None:
            style = _changed(style, match[1])
            out.append(token.replace("5:3", "53"))  # tmux 3.3 writes overline so
        elif token in "\x0e\x0f":
            boxes = token == "\x0e"
    text = line[at:]
    out.append(text.translate(_BOXES) if boxes else text)
    return "".join(out), style, boxes


def _changed(style: SgrStyle, parameters: str) -> SgrStyle:
    """The style after an SGR sequence with these parameters."""
    attributes, colours = list(style.attributes), {"fg": style.fg, "bg": style.bg, "ul": style.ul}
    codes = parameters.split(";")
    at = 0
    while at < len(codes):
        code = codes[at].lstrip("0") or "0"
        main = code.partition(":")[0]
        at += 1
        if code == "0":
            attributes, colours = [], {"fg": "", "bg": "", "ul": ""}
        elif main in _COLOURS:
            more = _more(codes, at) if ":" not in code else 0
            colours[_COLOURS[main]] = ";".join((code, *codes[at : at + more]))
            at += more
        elif code in ("39", "49", "59"):
            colours[{"39": "fg", "49": "bg", "59": "ul"}[code]] = ""
        elif code.isdigit() and (30 <= int(code) <= 37 or 90 <= int(code) <= 97):
            colours["fg"] = code
        elif code.isdigit() and (40 <= int(code) <= 47 or 100 <= int(code) <= 107):
            colours["bg"] = code
        else:
            attribute = "53" if code == "5:3" else code
            if main == "4" and ":" in code:
                attributes = [known for known in attributes if known.partition(":")[0] != "4"]
            if attribute not in attributes:
                attributes.append(attribute)
    after = SgrStyle(tuple(attributes), **colours)
    return PLAIN if after == PLAIN else after


def _more(codes: list[str], at: int) -> int:
    """How many parameters of a colour follow: `5;n` or `2;r;g;b`."""
    kind = codes[at] if at < len(codes) else ""
    return {"5": 2, "2": 4}.get(kind, 0)


class Frame(msgspec.Struct, frozen=True):
    """What a pane shows at one moment.

    `lines` contain text and SGR sequences, each line self-contained; `changed` are the numbers of the lines that differ
    from the previous frame (all in the first one, and after a resize); `gone`: these are the last lines of a dead pane.
    """

    pane: str
    lines: tuple[str, ...]
    changed: tuple[int, ...]
    info: PaneInfo
    seq: int
    gone: bool = False
    typed: str = ""
    """The text at the cursor that is all it has more than the previous frame; empty: it differs otherwise."""


OnFrame = Callable[[Frame], None]


class View(msgspec.Struct, eq=False):
    """One tab's view of a pane: its size, and whether it is visible."""

    on_frame: OnFrame
    width: int
    height: int
    visible: bool = True
    requested: int = 0
    """The number of its last request for a size; the latest visible one counts."""
    needs_frame: bool = True
    """Has had no frame since it is visible, and is owed a whole one."""


class MirroredPane(msgspec.Struct):
    """A pane that is mirrored."""

    pane: str
    views: list[View] = msgspec.field(default_factory=list[View])
    info: PaneInfo | None = None
    dirty: bool = True
    burst: int = 0
    """Bytes of output since the last capture."""
    urgent_at: float = 0.0
    """When to capture regardless of the frame rate, in the loop's time; 0: never."""
    awaited: bool = False
    """A key was sent: the first output that follows is its echo."""
    echo_until: float = 0.0
    """When what is written has nothing to do with the last key any more, in the loop's time."""
    written: WrittenText = msgspec.field(default_factory=WrittenText)
    asked: int = 0
    """How much output had been heard when the capture under way was asked for."""
    changed_at: float = 0.0
    applied: tuple[int, int] = (0, 0)
    """The size that was last asked for."""
    frame: Frame | None = None
    rows: CompleteRows = msgspec.field(default_factory=CompleteRows)
    unlisten: Callable[[], None] = lambda: None

    @property
    def visible(self) -> bool:
        return any(view.visible for view in self.views)

    def size(self) -> tuple[int, int] | None:
        """The size of the latest visible view."""
        visible = [view for view in self.views if view.visible and view.width > 1 and view.height > 1]
        if not visible:
            return None
        latest = max(visible, key=lambda view: view.requested)
        return latest.width, latest.height

    def add_output(self, said: bytes) -> bool:
        """Note output. Returns whether the frame shows it: the echo of a key that is nothing but text at the cursor."""
        frame = self.frame
        row = _cursor_row(frame) if frame is not None else ""
        text = self.written.add_output(said, row, frame.info if frame is not None and self.awaited else None)
        if frame is None or not text:
            return False
        info, lines = frame.info, list(frame.lines)
        lines[info.cursor_y] += text
        after = replace(info, cursor_x=info.cursor_x + len(text))
        self.frame = Frame(self.pane, tuple(lines), (info.cursor_y,), after, frame.seq + 1, typed=text)
        return True

    def add_capture(self, lines: tuple[str, ...], about: str, known: PaneInfo) -> bool:
        """Apply a capture. Returns whether it shows anything new; an empty one keeps the last good frame.

        Args:
            about: the pane at that moment, in the format `BRIEF`.
            known: what else is known about it.
        """
        info = refreshed(about, known)
        if info is None or not lines or self.written.shown > self.asked:
            return False  # a frame shows more than this may; the next capture is planned
        before = self.frame
        self.info = info
        rows = self.rows.complete(lines)
        if before is None or len(before.lines) != len(rows) or before.info.width != info.width:
            changed = tuple(range(len(rows)))
        else:
            changed = tuple(at for at, row in enumerate(rows) if row != before.lines[at])
            if not changed and _looks(info) == _looks(before.info):
                self.written.captured(_cursor_row(before), info, self.asked)
                return False
        self.frame = Frame(self.pane, rows, changed, info, before.seq + 1 if before else 1)
        self.written.captured(_cursor_row(self.frame), info, self.asked)
        return True

    def mark_gone(self) -> bool:
        """Mark the pane as gone; its last lines stay. Returns whether that is news."""
        if self.frame is None:
            self.frame = Frame(self.pane, (), (), unknown(self.pane), 0)
        if self.frame.gone:
            return False
        info = replace(self.frame.info, dead=True)
        self.frame = replace(self.frame, changed=(), info=info, seq=self.frame.seq + 1, gone=True, typed="")
        return True

    def send_frame(self, new: bool) -> None:
        """Send the frame to the visible views: to all if it is new, else to those that have not received it."""
        frame = self.frame
        if frame is None:
            return
        for view in tuple(self.views):
            if not view.visible or not (new or view.needs_frame):
                continue
            whole = replace(frame, changed=tuple(range(len(frame.lines))), typed="") if view.needs_frame else frame
            view.needs_frame = False
            try:
                view.on_frame(whole)
            except Exception as error:  # a tab that fails must not stop the others
                asyncio.get_running_loop().call_exception_handler(
                    {"message": f"a mirror of pane {self.pane} failed", "exception": error}
                )


def _cursor_row(frame: Frame) -> str:
    return frame.lines[frame.info.cursor_y] if frame.info.cursor_y < len(frame.lines) else ""


def _looks(info: PaneInfo) -> PaneInfo:
    """The parts of a pane's description that its mirror shows."""
    return replace(info, activity=0.0, pid=0, history=0)
