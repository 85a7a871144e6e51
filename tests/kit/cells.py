"""A terminal that understands what the window writes: places, colours, text. For tests of what is on the screen."""

import re

from rich.cells import cell_len

_PART = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[([\d;]*)m|\x1b\]8;[^\x1b]*\x1b\\|\n|([^\x1b\n])")


class Cells:
    """`cells` maps (row, column) to the character there and its colours as they were written."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], tuple[str, str]] = {}
        self._row = self._column = 0
        self._look = ""

    def write(self, data: str) -> None:
        """Take what a program writes; anything that is not understood is an error."""
        at = 0
        while at < len(data):
            part = _PART.match(data, at)
            assert part is not None, f"not understood: {data[at : at + 40]!r}"
            at = part.end()
            if part[1]:
                self._row, self._column = int(part[1]) - 1, int(part[2]) - 1
            elif part[3] is not None:
                self._look = "" if part[3] in ("", "0") else part[3]
            elif part[4]:
                self._put(part[4])

    def text(self, row: int) -> str:
        columns = sorted(column for at, column in self.cells if at == row)
        return "".join(self.cells[row, column][0] for column in columns)

    def _put(self, character: str) -> None:
        width = cell_len(character)
        for offset in range(width):
            self.cells[self._row, self._column + offset] = (character if not offset else "", self._look)
        self._column += width
