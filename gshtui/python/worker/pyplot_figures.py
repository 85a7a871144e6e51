"""The figures that a block drew with matplotlib, as PNG and as rough plots in text; they are closed afterwards.

Does nothing where no block has loaded pyplot. Runs under the person's Python with nothing but the standard library.
"""

from __future__ import annotations

import base64
import io
import sys
from typing import Any

_MOST, _BYTES = 8, 4 * 1024 * 1024
_WIDTH, _HEIGHT = 60, 15
"""Characters of a plot in text."""


def take_figures() -> list[dict[str, Any]]:
    """`{"title", "png" (base64, empty if it is too large), "text"}` of each open figure."""
    plots: Any = sys.modules.get("matplotlib.pyplot")
    if plots is None:
        return []
    found: list[dict[str, Any]] = []
    try:
        for number in plots.get_fignums()[:_MOST]:
            figure = plots.figure(number)
            file = io.BytesIO()
            figure.savefig(file, format="png", dpi=120, bbox_inches="tight")
            data = file.getvalue()
            encoded = base64.b64encode(data).decode() if len(data) <= _BYTES else ""
            found.append({"title": _title(figure), "png": encoded, "text": _plot(figure)})
    finally:
        plots.close("all")
    return found


def _title(figure: Any) -> str:
    said = [figure.get_suptitle() if hasattr(figure, "get_suptitle") else "", *(a.get_title() for a in figure.axes)]
    return next((text for text in said if text), "")[:100]


def _plot(figure: Any) -> str:
    """The lines, points and bars of its first axes."""
    if not figure.axes:
        return ""
    axes = figure.axes[0]
    points: list[tuple[float, float, str]] = []
    for index, line in enumerate(axes.get_lines()):
        points += [(float(x), float(y), "·+x*o"[index % 5]) for x, y in line.get_xydata()]
    for collection in axes.collections:
        points += [(float(x), float(y), "o") for x, y in collection.get_offsets()]
    low_y, high_y = map(float, axes.get_ylim())
    bars = [patch for patch in axes.patches if hasattr(patch, "get_height") and hasattr(patch, "get_width")]
    for bar in bars:
        middle, top = float(bar.get_x() + bar.get_width() / 2), float(bar.get_height())
        steps = [low_y + (high_y - low_y) * row / (_HEIGHT - 1) for row in range(_HEIGHT)]
        points += [(middle, y, "█") for y in steps if 0 <= y <= top or top <= y < 0]
    low_x, high_x = map(float, axes.get_xlim())
    if not points or not high_x > low_x or not high_y > low_y:
        return ""
    grid = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    for x, y, mark in points[:20_000]:
        if low_x <= x <= high_x and low_y <= y <= high_y:
            column = round((x - low_x) / (high_x - low_x) * (_WIDTH - 1))
            row = round((high_y - y) / (high_y - low_y) * (_HEIGHT - 1))
            grid[row][column] = mark
    labels = {0: f"{high_y:.4g}", _HEIGHT - 1: f"{low_y:.4g}"}
    margin = max(map(len, labels.values()))
    rows = [f"{labels.get(number, ''):>{margin}} │{''.join(row).rstrip()}" for number, row in enumerate(grid)]
    left, right = f"{low_x:.4g}", f"{high_x:.4g}"
    return "\n".join(
        [
            *rows,
            f"{'':>{margin}} └{'─' * _WIDTH}",
            f"{'':>{margin}}  {left}{right:>{_WIDTH - len(left)}}",
        ]
    )
