"""The pictures of a block: figures of matplotlib, which are closed afterwards, and images of Pillow that it showed.

Each as a PNG, with a small copy for terminals without graphics; figures also as rough plots in text. Does nothing
where no block has loaded such a library. Runs under the person's Python with nothing but the standard library.
"""

from __future__ import annotations

import base64
import importlib
import io
import os
import sys
from typing import Any

_MOST = 8
"""Pictures of one block."""
_BYTES = 1_000_000
"""Of a PNG; a larger picture is made smaller."""
_SIDES = (1_600, 1_000, 600, 300)
"""Pixels of the longer side, tried in order."""
_WIDTH, _HEIGHT = 60, 15
"""Characters of a plot in text."""
_COLUMNS, _ROWS = 72, 44
"""Pixels of a small copy, at most."""
_shown: list[Any] = []
"""What the block has shown so far."""


def is_picture(value: Any) -> bool:
    """Whether it is an image of Pillow or a figure of matplotlib."""
    return _is(value, "PIL.Image", "Image") or _is(value, "matplotlib.figure", "Figure")


def _is(value: Any, module: str, name: str) -> bool:
    kind: Any = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def add_picture(value: Any) -> None:
    """Show it with the block's result."""
    if all(value is not other for other in _shown):
        _shown.append(value)


def prepare_showing() -> None:
    """Have Pillow's `show` add the image to the result: there is no viewer where blocks run."""
    if "PIL.ImageShow" in sys.modules:
        return
    try:
        pillow: Any = importlib.import_module("PIL.ImageShow")
    except ImportError:
        return

    class ResultViewer(pillow.Viewer):
        """Shows an image in the result of the block."""

        def show(self, image: Any, **options: Any) -> int:
            add_picture(image)
            return 1

    pillow.register(ResultViewer(), 0)


def take_figures() -> list[dict[str, Any]]:
    """What the block has shown and drawn, as `protocol.Figure` has it; forgotten then."""
    shown, _shown[:] = _shown[:], []
    plots: Any = sys.modules.get("matplotlib.pyplot")
    try:
        drawn = [] if plots is None else [plots.figure(number) for number in plots.get_fignums()]
        shown += [figure for figure in drawn if all(figure is not other for other in shown)]
        return [_described(picture) for picture in shown[:_MOST]]
    finally:
        if plots is not None:
            plots.close("all")


def _described(picture: Any) -> dict[str, Any]:
    if _is(picture, "PIL.Image", "Image"):
        title = os.path.basename(str(getattr(picture, "filename", "")))[:100]
        return {"title": title, **_encoded(picture)}
    file = io.BytesIO()
    picture.savefig(file, format="png", dpi=120, bbox_inches="tight")
    made = {"title": _title(picture), "text": _plot(picture)}
    try:
        image: Any = importlib.import_module("PIL.Image")
    except ImportError:  # matplotlib needs it, so it is nearly always there
        return {**made, "png": base64.b64encode(file.getvalue()).decode()}
    return {**made, **_encoded(image.open(file), file.getvalue())}


def _encoded(picture: Any, png: bytes = b"") -> dict[str, Any]:
    """The picture as a PNG that is small enough, and its small copy."""
    if getattr(picture, "is_animated", False):
        picture.seek(0)
    flat = picture if picture.mode in ("RGB", "RGBA", "L") else picture.convert("RGBA")
    for side in _SIDES:
        if png and len(png) <= _BYTES:
            break
        # Coarsely first: the last step looks at few pixels then, also of a picture that has millions.
        fine = max(1, max(flat.size) // (2 * side))
        flat = flat.reduce(fine) if fine > 1 else flat
        if max(flat.size) > side:
            flat = flat.resize(_within(flat.size, side, side))
        file = io.BytesIO()
        flat.save(file, format="png")
        png = file.getvalue()
    if len(png) > _BYTES:
        return {"error": f"has {len(png):,} bytes; at most {_BYTES:,} are kept"}
    return {"png": base64.b64encode(png).decode(), **_small(flat)}


def _small(picture: Any) -> dict[str, Any]:
    columns, rows = _within(picture.size, _COLUMNS, _ROWS)
    if picture.mode == "RGBA":  # what is transparent is white, as on paper
        image: Any = sys.modules["PIL.Image"]
        picture = image.alpha_composite(image.new("RGBA", picture.size, "white"), picture)
    small = picture.convert("RGB").resize((columns, rows))
    return {"columns": columns, "colours": base64.b64encode(small.tobytes()).decode()}


def _within(size: tuple[int, int], width: int, height: int) -> tuple[int, int]:
    """The largest size of the same shape that fits; never larger than it is."""
    share = min(1.0, width / size[0], height / size[1])
    return max(1, round(size[0] * share)), max(1, round(size[1] * share))


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
