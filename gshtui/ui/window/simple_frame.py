"""The first frame if no snapshot fits: surfaces and edges, drawn from the remembered layout.

Uses little of the standard library and nothing else. Draws no pane text; Textual's first frame draws over it. Called
by `first_frame`.
"""

# Importing pathlib takes longer than running all of this.
# ruff: noqa: PTH118, PTH119, PTH123

import os

_DARK = {
    "background": "14;21;22",
    "surface": "18;27;29",
    "edge": "36;54;58",
    "text": "217;228;225",
}
_LIGHT = {
    "background": "251;249;244",
    "surface": "243;239;230",
    "edge": "216;210;196",
    "text": "29;40;41",
}


def draw(cwd: str, columns: int, rows: int, state: str) -> bytes:
    """The bytes for the terminal."""
    left, right, light = _remembered(state)
    colours = _LIGHT if light else _DARK
    plain = "NO_COLOR" in os.environ or os.environ.get("COLORTERM", "") not in ("truecolor", "24bit")

    def paint(background: str, foreground: str) -> str:
        return "\x1b[0m" if plain else f"\x1b[0;48;2;{colours[background]};38;2;{colours[foreground]}m"

    left = left if columns - left > 70 and columns >= 100 else 0
    right = right if columns - left - right > 58 and columns >= 100 else 0
    name = "".join(letter if letter.isprintable() else "?" for letter in os.path.basename(cwd) or cwd)
    header, footer = rows >= 8, rows >= 10
    out: list[str] = []
    for row in range(rows):
        if header and row == 0:
            line = f" gsh  {name}"[:columns].ljust(columns)
            out.append(paint("surface", "text") + "\x1b[1m" + line)
        elif footer and row == rows - 1:
            out.append(paint("surface", "text") + " " * columns)
        elif row == rows - 2 - footer:
            # The input line, with its cursor in the first cell.
            centre = _centre(columns, left, right)
            out.append(paint("background", "edge") + (" " * left + "│" if left else ""))
            out[-1] += paint("surface", "text") + "▌ \x1b[7m \x1b[27m" + " " * max(0, centre - 3)
            out[-1] += paint("background", "edge") + ("│" + " " * right if right else "")
        else:
            centre = " " * _centre(columns, left, right)
            edges = (" " * left + "│" if left else "") + centre + ("│" + " " * right if right else "")
            out.append(paint("background", "edge") + edges)
    return ("\x1b[H" + "\r\n".join(out) + "\x1b[0m").encode("utf-8", "replace")


def _centre(columns: int, left: int, right: int) -> int:
    return columns - (left + 1 if left else 0) - (right + 1 if right else 0)


def _remembered(state: str) -> "tuple[int, int, bool]":
    """Columns of the left and right side (defaults if nothing is remembered), and whether the theme is light."""
    left, right, light = 24, 32, False
    try:
        with open(os.path.join(state, "workbench.json"), encoding="utf-8") as file:
            import json

            found = json.load(file)
        layout = found["layout"]
        left = 0 if "agents" in layout["hidden"] else int(layout["left"]) or left
        right = 0 if {"shell", "context", "timeline"} <= set(layout["hidden"]) else int(layout["right"]) or right
        light = "light" in str(found["theme"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return left, right, light
