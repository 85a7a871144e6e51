"""Which words of a running app cannot be read, by WCAG's contrast of 4.5 to 1.

Looks at what is drawn, cell by cell, whatever chose its colour. Left out are the dimmed screen behind a dialog, lines,
bars, and what shows other programs in their own colours.
"""

from typing import Any

from rich.style import Style
from textual.app import App
from textual.color import Color

from gshtui.ui.kit.drawing.contrast import READABLE, contrast
from gshtui.ui.terminal.terminal_view import TerminalView


def unreadable(app: App[Any]) -> list[str]:
    """One line for each run of words that cannot be read, of the screen in front."""
    screen = app.screen
    said: dict[str, None] = {}
    for y, strip in enumerate(screen._compositor.render_strips()):  # pyright: ignore[reportPrivateUsage]
        x = 0
        for text, style, _ in strip:
            start, x = x, x + len(text)
            words = text.strip()
            if style is None or not any(letter.isalnum() for letter in words):
                continue
            widget, _ = screen.get_widget_at(min(start + text.index(words[0]), app.size.width - 1), y)
            if widget is screen or isinstance(widget, TerminalView):
                continue
            front, behind = _colours(style)
            if front is None or behind is None:
                said[f"no colour: {words!r} in {widget!r}"] = None
            elif (ratio := contrast(front, behind)) < READABLE:
                said[f"{ratio:.2f} {front.hex} on {behind.hex}: {words[:40]!r} in {widget.css_identifier}"] = None
    return list(said)


def _colours(style: Style) -> tuple[Color | None, Color | None]:
    front, behind = style.color, style.bgcolor
    colours = (None if one is None or one.is_default else Color.from_rich_color(one) for one in (front, behind))
    front, behind = colours
    return (behind, front) if style.reverse else (front, behind)
