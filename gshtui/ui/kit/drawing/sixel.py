"""Pictures for terminals that draw sixel: a picture as rows of pixels, and what stands for it on the screen made sixel.

Sixel is drawn at the cursor, over whatever is there. So that a picture is clipped, scrolled and covered as text is, its
place is text: the placeholder cells of `terminal_graphics.py`. Where such cells are about to be written, this puts
the pixels of exactly those cells, and the cursor behind them. Refuses to decode pictures: `media_process.py` does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

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
