"""Sixels that stand in the place of cells: read back as a terminal reads them, and cut where the cells are cut."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from gshtui.ui.kit.drawing.terminal_graphics import _MARKS, PixelPicture, SixelWriter, placeholder_row, sixels  # pyright: ignore[reportPrivateUsage]

COLOURS = bytes(range(0, 255, 5)) * 16


def read_back(sequence: str) -> list[bytes]:
    """The pixels of a sixel sequence, by their colours' places; 255: not drawn."""
    found = re.fullmatch(r'\x1bP0;1;0q"1;1;(\d+);(\d+)(.*)\x1b\\', sequence, re.DOTALL)
    assert found is not None, sequence
    width, height, body = int(found[1]), int(found[2]), found[3]
    lines = [bytearray(b"\xff" * width) for _ in range(height)]
    colour = x = top = 0
    for token in re.finditer(r"#(\d+);2;[\d;]+|#(\d+)|!(\d+)(.)|([?-~])|([$])|(-)", body):
        if token[2]:
            colour = int(token[2])
        elif token[6]:
            x = 0
        elif token[7]:
            x, top = 0, top + 6
        elif token[4] or token[5]:
            bits, count = ord(token[4] or token[5]) - 63, int(token[3] or 1)
            for at in (at for at in range(6) if bits >> at & 1):
                lines[top + at][x : x + count] = bytes([colour]) * count
            x += count
    return [bytes(line) for line in lines]


@given(width=st.integers(1, 40), height=st.integers(1, 20), data=st.data())
def test_pixels_are_what_a_terminal_reads(width: int, height: int, data: st.DataObject) -> None:
    line = st.binary(min_size=width, max_size=width).map(lambda line: bytes(value % 5 for value in line))
    lines = data.draw(st.lists(line, min_size=height, max_size=height))
    assert read_back(sixels(width, lines, COLOURS)) == lines


def test_only_the_cells_that_are_written_are_drawn_in_their_place() -> None:
    columns, rows, wide, high = 4, 2, 3, 7
    pixels = bytes(x // wide + 4 * (y // high) for y in range(rows * high) for x in range(columns * wide))
    writer = SixelWriter({mark: at for at, mark in enumerate(_MARKS)})
    writer.add(0x0A0B0C, PixelPicture(columns, rows, wide, high, COLOURS, pixels))
    text, style, _ = placeholder_row(0x0A0B0C, 1, columns)
    assert style is not None and style.color is not None and style.color.triplet == (10, 11, 12)
    written = writer(f"before\x1b[38;2;10;11;12m{text[3:9]}\x1b[0mafter")
    found = re.fullmatch(
        r"before\x1b7\x1b\[38;2;10;11;12m  \x1b8\x1b7(\x1bP.*\x1b\\)\x1b8\x1b\[2C\x1b\[38;2;10;11;12m\x1b\[0mafter",
        written,
        re.DOTALL,
    )
    assert found is not None, written
    assert read_back(found[1]) == [b"\x05\x05\x05\x06\x06\x06"] * high


def test_cells_of_no_picture_are_blank_and_other_text_stays() -> None:
    writer = SixelWriter({mark: at for at, mark in enumerate(_MARKS)})
    text = placeholder_row(7, 0, 3)[0]
    assert writer(f"\x1b[38;2;0;0;7m{text}") == "\x1b[38;2;0;0;7m   "
    assert writer("\x1b[1mplain\x1b[0m") == "\x1b[1mplain\x1b[0m"
    writer.add(7, PixelPicture(2, 1, 1, 1, COLOURS, b"\0\0"))
    assert writer(f"\x1b[1;38;2;0;0;7m{text}") == "\x1b[1;38;2;0;0;7m   ", "it is not as wide"
    assert writer(f"\x1b[32m{text}") == "\x1b[32m   ", "no colour names it"
