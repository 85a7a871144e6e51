"""What the shell log's rows are drawn with: the theme's colours without the background of code, and the highlighter.

Owns the memory of what commands look like; refuses to import a lexer: that is done in a thread, and until then commands
are plain. Made by the view when its theme changes.
"""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style

from gshtui.ui.kit.cells import one_line
from gshtui.ui.kit.code import Highlighter
from gshtui.ui.kit.palette import Palette

LANGUAGE = "bash"
_LONGEST = 600
"""Characters of a command that are looked at: no screen shows more of it in its line."""
_KEPT = 3_000


class Look:
    """Colours, and commands in colours."""

    def __init__(self, palette: Palette, code: Highlighter) -> None:
        self.palette = palette
        self._cursor = palette.selection + Style(bold=True)
        self._quiet = {palette.faint.color, palette.muted.color}
        self._code = code
        self._tokens = {kind: _without_background(style, palette.text) for kind, style in palette.tokens.items()}
        self._commands: dict[str, tuple[Segment, ...]] = {}

    def under_cursor(self, style: Style) -> Style:
        """A style in the row under the cursor; what is quiet elsewhere can be read there too."""
        return (self.palette.text if style.color in self._quiet else style) + self._cursor

    def command(self, command: str) -> tuple[Segment, ...]:
        """A command in one line, in colours."""
        made = self._commands.get(command)
        if made is None:
            if len(self._commands) >= _KEPT:
                self._commands.clear()
            made = self._commands[command] = self._make(command)
        return made

    def _make(self, command: str) -> tuple[Segment, ...]:
        text = one_line(command[:_LONGEST].strip()) + ("…" if len(command) > _LONGEST else "")
        tokens = self._code.lines(text, LANGUAGE)[0]
        return tuple(Segment(part, self._tokens.get(kind, self.palette.text)) for kind, part in tokens)


def _without_background(style: Style, text: Style) -> Style:
    return Style(
        color=style.color, bgcolor=text.bgcolor, bold=style.bold, italic=style.italic, underline=style.underline
    )
