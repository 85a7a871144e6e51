"""The few colours of an agent's own pane."""

from __future__ import annotations

import os
from typing import LiteralString

from gshtui.text.sanitise import CleanText, coloured

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"


def styled(text: str, *codes: LiteralString) -> CleanText:
    """The text, sanitised, in colours of our own; with `NO_COLOR`, only in bold and the like."""
    if os.environ.get("NO_COLOR"):
        codes = tuple(code for code in codes if len(code) == 1)
    return coloured(text, *codes)
