"""What a screen draws of a text, compared with the text itself. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

ENOUGH = 120
"""Characters, blanks left out, of a text that must be on the screen where all of it is not."""
DRAWN = "←│▀▁▂▃▄▅▆▇█"
"""What programs draw into the rows of a text: an arrow behind the first one of its heading, frames and scroll bars."""


def bare(text: str) -> str:
    """What a screen draws of a text, however it breaks it into rows: nothing of blanks, of controls and of marks."""
    return "".join(sign for sign in text if unicodedata.category(sign)[0] not in "CMZ" and sign not in DRAWN)


def spaced(text: str) -> str:
    """What a screen draws of a text, with one blank where there are blanks."""
    shown = text.replace("\t", " ")
    kept = (sign for sign in shown if unicodedata.category(sign)[0] not in "CM" and sign not in DRAWN)
    return " ".join("".join(kept).split())


def is_shown(text: str, shown: str, *, cut: bool) -> bool:
    """Whether a screen shows all of a text; `cut`: or its beginning or its end, since more is out of sight."""
    words = bare(text)
    if not cut:
        return bool(words) and words in shown
    if words[:ENOUGH] in shown:
        return bool(words)
    return len(words) > ENOUGH and words[-ENOUGH:] in shown


def are_in_turn(rows: Sequence[str], words: str) -> bool:
    """Whether each row is in the words behind the one before."""
    end = 0
    for row in rows:
        if (at := words.find(row, end)) < 0:
            return False
        end = at + len(row)
    return True
