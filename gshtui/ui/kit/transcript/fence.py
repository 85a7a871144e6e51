"""Code drawn as lines: a panel with the language's name, coloured, long lines wrapped where the panel ends.

Owns the look of a code block; refuses to know any language (see `code.py`). Called by the Markdown and tool renderers.
"""

from __future__ import annotations

from rich.segment import Segment

from gshtui.ui.kit.lines import Line, visible
from gshtui.ui.kit.page import Page
from gshtui.ui.kit.wrap import wrapped

_TAB = 4
_PAD = 1


def code_lines(code: str, language: str, page: Page, *, label: bool = True) -> list[Line]:
    """The lines of a panel of code; `label`: with the language's name on top, where there is one."""
    palette = page.palette
    width = max(1, page.width - 2 * _PAD)
    pad = Segment(" " * _PAD, palette.code)
    lines: list[Line] = []
    if label and language:
        name = visible(language.replace("\n", " "))[: max(1, width - 1)]
        lines.append(
            Line([Segment(f" {name}", palette.code_label)], margin=len(name) + 1).filled(page.width, palette.code)
        )
    styles = palette.tokens
    for tokens in page.code.lines(code.expandtabs(_TAB), language):
        runs = [Segment(text, styles[kind]) for kind, text in tokens]
        for line in wrapped(runs, width, hard=True):
            lines.append(line.behind(pad).filled(page.width, palette.code))
    return lines
