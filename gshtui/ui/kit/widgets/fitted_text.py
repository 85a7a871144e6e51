"""Cuts text to a width in cells, with a mark at the cut, and makes untrusted text harmless.

Pure. Called by the widgets around the input line.
"""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size


def escape_lines(text: str) -> str:
    """The text as one harmless line: line ends and tabs shown, escapes and hidden characters made visible."""
    if text.isascii() and text.isprintable():
        return text
    from gshtui.text.sanitise import literal  # not before the first letter

    return literal(text.replace("\n", "⏎").replace("\t", " "))


def fit(text: str, width: int) -> str:
    """The beginning of the text in at most `width` cells."""
    text = escape_lines(text)
    if width <= 0:
        return ""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip(" …") + "…"


def fit_names(text: str, width: int) -> str:
    """As many names of a list as there is room for, none of them cut."""
    text = escape_lines(text)
    names = re.split(r", | or ", text)
    while names and cell_len(text) > width:
        names.pop()
        text = f"{', '.join(names)} …".lstrip()
    return text if width > 0 else ""


def fit_parts(text: str, width: int) -> str:
    """As many parts of the text as there is room for: the last one, which says how to leave, and the first ones."""
    parts = text.split(" · ")
    while len(parts) > 1 and cell_len(" · ".join(parts)) > width:
        del parts[-2]
    return " · ".join(parts)


def fit_middle(text: str, width: int) -> str:
    """The text in at most `width` cells, without some of its middle: the ends tell names apart that begin alike."""
    text = escape_lines(text)
    if cell_len(text) <= width:
        return text
    end = fit_left(text, (width + 2) // 3)[0] if width > 3 else "…"
    return set_cell_size(text, max(0, width - cell_len(end))).rstrip() + end


_ABOUT_FILE = re.compile(r"[A-Z]|(?:wants to )?(?:edit|read|write) ")
"""How words begin that name a file; others may be a command, in which a path without its middle is another path."""
_SHORT = 3
"""Cells of a folder below which `…` is no shorter."""


def fit_paths(text: str, width: int) -> str:
    """The text in at most `width` cells; a file's path in it gives way first, in front of the file's name."""
    words = text.split(" ") if _ABOUT_FILE.match(text) else []
    for word in sorted(words, key=cell_len, reverse=True):
        folder, slash, name = word.rpartition("/")
        if cell_len(folder) >= _SHORT and (excess := cell_len(text) - width) > 0:
            cut = set_cell_size(folder, max(0, cell_len(folder) - excess - 1)).rstrip()
            text = text.replace(word, f"{cut}…{slash}{name}", 1)
    return fit(text, width)


def fit_left(text: str, width: int) -> tuple[str, int]:
    """The end of the text in at most `width` cells, and how many characters are missing at its start (less the `…`)."""
    text = escape_lines(text)
    if width <= 0:
        return "", 0
    if cell_len(text) <= width:
        return text, 0
    cut = 0
    while cell_len(text[cut:]) > width - 1:
        cut += 1
    return "…" + text[cut:], cut - 1
