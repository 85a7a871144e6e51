"""The first frame if no snapshot fits: surfaces and edges, drawn from the remembered layout.

Uses little of the standard library and nothing else. Draws no pane text; Textual's first frame draws over it. Called
by `first_frame`.
"""

# Importing pathlib takes longer than running all of this.
# ruff: noqa: PTH118, PTH119, PTH123

import os

from gshtui.ui.window.early_echo import InputPlace

TYPE_CHECKING = False  # `typing` takes longer to import than the frame takes to paint
if TYPE_CHECKING:
    from collections.abc import Callable

_DARK = {
    "background": "14;21;22",
    "surface": "18;27;29",
    "edge": "36;54;58",
    "text": "217;228;225",
    "focus": "111;211;184",
}
_LIGHT = {
    "background": "251;249;244",
    "surface": "243;239;230",
    "edge": "216;210;196",
    "text": "29;40;41",
    "focus": "10;100;90",
}


def draw(cwd: str, columns: int, rows: int, state: str) -> "tuple[bytes, InputPlace]":
    """The bytes for the terminal, and where the input line is."""
    left, right, light = _remembered(state)
    colours = _LIGHT if light else _DARK
    plain = "NO_COLOR" in os.environ or os.environ.get("COLORTERM", "") not in ("truecolor", "24bit")

    def paint(background: str, foreground: str) -> str:
        return "\x1b[0m" if plain else f"\x1b[0;48;2;{colours[background]};38;2;{colours[foreground]}m"

    left = left or max(20, min(32, columns * 15 // 100))
    right = right or max(28, min(56, columns * 26 // 100, columns - max(left, -1) - 72))
    left = left if left > 0 and columns - left > 70 and columns >= 100 else 0
    right = right if right > 0 and columns - left - right > 58 and columns >= 100 else 0
    name = "".join(letter if letter.isprintable() else "?" for letter in os.path.basename(cwd) or cwd)
    header, footer = rows >= 8, rows >= 10
    # As `PromptArea` has it: a frame where there is room, and three rows in it where there is more.
    last = rows - 2 - footer
    first = last if rows < 20 else last - (2 if rows < 30 else 4)
    out: list[str] = []
    for row in range(rows):
        if header and row == 0:
            line = f" gsh  {name}"[:columns].ljust(columns)
            out.append(paint("surface", "text") + "\x1b[1m" + line)
        elif footer and row == rows - 1:
            out.append(paint("surface", "text") + " " * columns)
        elif first <= row <= last:
            # The input, with its cursor in the first cell.
            out.append(paint("background", "edge") + (" " * left + "│" if left else ""))
            out[-1] += _input_row(paint, row - first, last - row, _centre(columns, left, right))
            out[-1] += paint("background", "edge") + ("│" + " " * right if right else "")
        else:
            centre = " " * _centre(columns, left, right)
            edges = (" " * left + "│" if left else "") + centre + ("│" + " " * right if right else "")
            out.append(paint("background", "edge") + edges)
    framed = first < last
    look = paint("background" if framed else "surface", "text")
    width = _centre(columns, left, right) - (4 if framed else 3)
    place = InputPlace(first + framed, (left + 1 if left else 0) + 2, width, look, f"{look}\x1b[7m")
    return ("\x1b[H" + "\r\n".join(out) + "\x1b[0m").encode("utf-8", "replace"), place


def _input_row(paint: "Callable[[str, str], str]", above: int, below: int, width: int) -> str:
    """A row of the input, by the number of its rows above and below: without a frame if it is the only one."""
    cursor = "\x1b[7m \x1b[27m"
    if not above and not below:
        return paint("surface", "text") + "▌ " + cursor + " " * max(0, width - 3)
    edge = paint("background", "focus")
    if not above:
        return edge + "╭─ " + paint("background", "text") + "to main" + edge + " " + "─" * max(0, width - 12) + "╮"
    if not below:
        return edge + "╰" + "─" * max(0, width - 2) + "╯"
    inside = cursor + " " * max(0, width - 4) if above == 1 else " " * max(0, width - 3)
    return edge + "│ " + paint("background", "text") + inside + edge + "│"


def _centre(columns: int, left: int, right: int) -> int:
    return columns - (left + 1 if left else 0) - (right + 1 if right else 0)


def _remembered(state: str) -> "tuple[int, int, bool]":
    """Columns of the left and right side (0: as fits; negative: hidden), and whether the theme is light."""
    left, right, light = 0, 0, False
    try:
        with open(os.path.join(state, "workbench.json"), encoding="utf-8") as file:
            import json

            found = json.load(file)
        layout = found["layout"]
        left = -1 if "agents" in layout["hidden"] else int(layout["left"])
        right = -1 if {"shell", "context", "timeline"} <= set(layout["hidden"]) else int(layout["right"])
        light = "light" in str(found["theme"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return left, right, light
