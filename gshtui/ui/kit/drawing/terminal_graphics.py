"""Pictures for terminals that draw them: by the kitty graphics protocol (kitty and Ghostty), or by sixel.

A picture's place is text: placeholder characters whose colour names the picture. So it is clipped, scrolled and
covered as text is. kitty draws the picture in their place; for sixel, the pixels of exactly the cells that are written
are put there, and the cursor behind them. Which terminal is kitty, its variables say; one that draws sixel says so
itself, some time after the first frame, which waits for no answer. tmux and screen pass no pictures of kitty's on
unless told to.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.widget import Widget

from gshtui.bus.messages import PNG_TEXT, Picture
from gshtui.system.tasks import report_unexpected
from gshtui.text.png_picture import PictureError, read_png
from gshtui.text.sanitise import CleanText, clean_text, plain
from gshtui.ui.kit.textual.compositor import piece_compositor
from gshtui.ui.kit.textual.driver import drawn_by, sixel_cell, write_sequence
from gshtui.ui.kit.textual.typed_app import app_of

LoadOutput = Callable[[str], Awaitable[str]]
"""(key) → the text that the store has under it. Raises what reading the store raises."""

_MARKS = "".join(
    chr(code)
    for first, last in (
        *((0x305, 0x305), (0x30D, 0x30E), (0x310, 0x310), (0x312, 0x312), (0x33D, 0x33F), (0x346, 0x346)),
        *((0x34A, 0x34C), (0x350, 0x352), (0x357, 0x357), (0x35B, 0x35B), (0x363, 0x36F), (0x483, 0x487)),
        *((0x592, 0x595), (0x597, 0x599), (0x59C, 0x5A1), (0x5A8, 0x5A9), (0x5AB, 0x5AC), (0x5AF, 0x5AF)),
        *((0x5C4, 0x5C4), (0x610, 0x617), (0x657, 0x65B), (0x65D, 0x65E), (0x6D6, 0x6DC), (0x6DF, 0x6E2)),
        *((0x6E4, 0x6E4), (0x6E7, 0x6E8), (0x6EB, 0x6EC), (0x730, 0x730), (0x732, 0x733), (0x735, 0x736)),
        *((0x73A, 0x73A), (0x73D, 0x73D), (0x73F, 0x741), (0x743, 0x743), (0x745, 0x745), (0x747, 0x747)),
    )
    for code in range(first, last + 1)
)
"""The combining characters that stand for 0, 1, 2 … in the protocol: first the row, then the column."""
WIDEST = min(100, len(_MARKS))
"""Columns of a picture at most; its rows are fewer."""
ATTACHED = "attached/"
"""What the key of a picture of a prompt begins with here; the rest is its key among the media files."""
_CHUNK = 4_096
"""Characters of one message to the terminal, as the protocol has it."""


def draws_placeholders(environ: Mapping[str, str]) -> bool:
    """Whether the terminal of these variables is one that draws pictures in place of characters itself."""
    if "TMUX" in environ or "STY" in environ or environ.get("TERM", "").startswith(("tmux", "screen")):
        return False
    return environ.get("TERM") in ("xterm-kitty", "xterm-ghostty") or "KITTY_WINDOW_ID" in environ


def picture_number(key: str, columns: int, rows: int) -> int:
    """The terminal's number for a picture at a size: 24 bits, for they are a colour; never 0."""
    return int.from_bytes(hashlib.blake2b(f"{key} {columns} {rows}".encode(), digest_size=3).digest(), "big") or 1


def placeholder_row(number: int, row: int, columns: int) -> Segment:
    """One row of a picture's place."""
    colour = Color.from_rgb(number >> 16, number >> 8 & 255, number & 255)
    return Segment("".join(f"{PLACEHOLDER}{_MARKS[row]}{mark}" for mark in _MARKS[:columns]), Style(color=colour))


def transmission(png: bytes, number: int, columns: int, rows: int) -> CleanText:
    """What gives the terminal a picture and its size; it answers nothing."""
    data = base64.b64encode(png).decode()
    pieces = [plain(data[at : at + _CHUNK]) for at in range(0, len(data), _CHUNK)]
    sent: list[CleanText] = []
    for at, piece in enumerate(pieces):
        more = int(at < len(pieces) - 1)
        begin = clean_text("a=t,f=100,t=d,i=", number, ",q=2,m=") if not at else clean_text("q=2,m=")
        sent.append(clean_text("\x1b_G", begin, more, ";", piece, "\x1b\\"))
    place = clean_text("\x1b_Ga=p,U=1,i=", number, ",c=", columns, ",r=", rows, ",q=2\x1b\\")
    return clean_text(*sent, place)


_COLOURS = 768
"""Bytes of the colours before the pixels of a picture."""


class TerminalGraphics:
    """Gives the terminal of a widget the pictures that are drawn on its page.

    Args:
        load: reads the text of a picture that a call has drawn from the store.
    """

    def __init__(self, widget: Widget, load: LoadOutput | None = None) -> None:
        self._widget = widget
        self._load = load
        self._wanted: list[tuple[str, int, int]] = []
        self._sent: set[tuple[str, int, int]] = set()
        self._by_itself = draws_placeholders(os.environ)
        self._cell = (0, 0)

    def can_draw(self) -> bool:
        """Whether the terminal draws pictures, as far as it has said."""
        if self._by_itself:
            return True
        app = app_of(self._widget)
        if app.console.color_system != "truecolor":
            return False  # a colour names the picture
        if (cell := sixel_cell(app)) != self._cell:  # another font: the pixels do not fit any more
            self._cell = cell
            self._sent.clear()
        if not all(cell):
            return False
        drawn_by(app, _sixel_writer)  # until a picture's pixels are there, its place is blank
        return True

    def place(self, picture: Picture, columns: int, rows: int) -> int:
        """The number under which the terminal draws a picture at this size, once `send_wanted` has given it."""
        one = (picture.key, columns, rows)
        if one not in self._sent:
            self._sent.add(one)
            self._wanted.append(one)
        return picture_number(*one)

    def send_wanted(self) -> None:
        """Load what was placed and give it to the terminal. Cheap where nothing was."""
        wanted, self._wanted = self._wanted, []
        for one in wanted:
            self._widget.run_worker(self._send(*one), exit_on_error=False, group="pictures")

    async def _read(self, key: str) -> bytes:
        """The PNG of a picture. Raises what reading the store raises."""
        if key.startswith(ATTACHED):
            from gshtui.media.attachment import small_png  # few prompts have pictures

            return await asyncio.to_thread(small_png, key.removeprefix(ATTACHED))
        text = await self._load(key) if self._load is not None else ""
        return base64.b64decode(text.removeprefix(PNG_TEXT), validate=True)

    async def _send(self, key: str, columns: int, rows: int) -> None:
        try:
            picture = read_png(await self._read(key))
            if not self._by_itself:
                await self._give_pixels(picture.data, picture_number(key, columns, rows), columns, rows)
                return
        except PictureError:
            return  # its place stays empty; the line above says what it is
        except Exception as error:  # whatever is wrong with the record, the conversation goes on
            report_unexpected("a picture", error)
            return
        write_sequence(
            app_of(self._widget), transmission(picture.data, picture_number(key, columns, rows), columns, rows)
        )

    async def _give_pixels(self, png: bytes, number: int, columns: int, rows: int) -> None:
        """Have a picture drawn by sixel from now on, where it stands already, too."""
        from gshtui.media.attachment import pixels  # few terminals need it

        width, height = self._cell
        made = await asyncio.to_thread(pixels, png, columns * width, rows * height)
        if len(made) != _COLOURS + columns * width * rows * height:
            return
        picture = PixelPicture(columns, rows, width, height, made[:_COLOURS], made[_COLOURS:])
        drawn_by(app_of(self._widget), _sixel_writer).add(number, picture)
        piece_compositor(self._widget.screen).draw_all()  # its text stays as it is, and would not be written again
        self._widget.refresh()


def _sixel_writer() -> SixelWriter:
    return SixelWriter({mark: at for at, mark in enumerate(_MARKS)})


PLACEHOLDER = "\U0010eeee"
_BAND = 6
"""Rows of pixels in one row of sixels."""
_KEPT = 2_000
"""Runs of cells whose sixels are kept."""
_RUN = re.compile(rf"\x1b\[([0-9;]*)m((?:{PLACEHOLDER}..)+)")
_COLOUR = re.compile(r"(?:^|;)38;2;(\d+);(\d+);(\d+)")
_SAME = re.compile(r"(.)\1{3,}")


class PixelPicture(NamedTuple):
    """A picture as large as its cells. `pixels`: a byte each, a colour's place in `colours`."""

    columns: int
    rows: int
    cell_width: int
    cell_height: int
    colours: bytes
    """Three bytes a colour."""
    pixels: bytes

    def part(self, row: int, first: int, count: int) -> tuple[int, list[bytes]]:
        """Width, and the rows of pixels, of `count` cells of a row."""
        stride = self.columns * self.cell_width
        start, end = first * self.cell_width, (first + count) * self.cell_width
        tops = range(row * self.cell_height, (row + 1) * self.cell_height)
        return end - start, [self.pixels[y * stride + start : y * stride + end] for y in tops]


def sixels(width: int, lines: list[bytes], colours: bytes) -> str:
    """Rows of pixels as a sixel sequence. Pixels below the last row are left as they are."""
    used = sorted(set(b"".join(lines)))
    told = "".join(
        f"#{at};2;{';'.join(str(round(value / 2.55)) for value in colours[3 * at : 3 * at + 3])}" for at in used
    )
    bands: list[str] = []
    for top in range(0, len(lines), _BAND):
        band = lines[top : top + _BAND]
        parts: list[str] = []
        for colour in sorted(set(b"".join(band))):
            bits = 0
            for at, line in enumerate(band):
                table = bytes(1 << at if value == colour else 0 for value in range(256))
                bits |= int.from_bytes(line.translate(table), "big")
            text = bits.to_bytes(width, "big").translate(_LETTERS).decode("ascii")
            parts.append(f"#{colour}{_SAME.sub(_repeated, text)}")
        bands.append("$".join(parts))
    return f'\x1bP0;1;0q"1;1;{width};{len(lines)}{told}{"-".join(bands)}\x1b\\'


_LETTERS = bytes((value & 63) + 63 for value in range(256))


def _repeated(found: re.Match[str]) -> str:
    return f"!{len(found[0])}{found[1]}"


class SixelWriter:
    """Puts sixels in the place of placeholder cells, in what is about to be written to the terminal.

    Args:
        marks: the combining characters of the placeholders → the number that each stands for.
    """

    def __init__(self, marks: Mapping[str, int]) -> None:
        self._marks = marks
        self._pictures: dict[int, PixelPicture] = {}
        self._made: dict[tuple[int, int, int, int], str] = {}

    def add(self, number: int, picture: PixelPicture) -> None:
        """From now on draw this picture where its number stands."""
        self._pictures[number] = picture

    def __call__(self, text: str) -> str:
        """What is written in place of this text."""
        if PLACEHOLDER not in text:
            return text
        return _RUN.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        style, cells = found[1], found[2]
        count = len(cells) // 3
        blank = f"\x1b[{style}m{' ' * count}"
        colour = _COLOUR.search(style)
        if colour is None:
            return blank
        red, green, blue = (int(value) for value in colour.groups())
        number, row, first = red << 16 | green << 8 | blue, self._marks.get(cells[1], 0), self._marks.get(cells[2], 0)
        picture = self._pictures.get(number)
        if picture is None or row >= picture.rows or first + count > picture.columns:
            return blank
        # Blank first: what stood there would show through where a terminal draws sixels beside the letters.
        return f"\x1b7{blank}\x1b8\x1b7{self._drawn(number, row, first, count)}\x1b8\x1b[{count}C\x1b[{style}m"

    def _drawn(self, number: int, row: int, first: int, count: int) -> str:
        key = (number, row, first, count)
        if key not in self._made:
            if len(self._made) >= _KEPT:
                self._made.clear()
            picture = self._pictures[number]
            self._made[key] = sixels(*picture.part(row, first, count), picture.colours)
        return self._made[key]
