"""Text selected with the mouse: which part of a row it covers, and the words as they are copied.

Owns the way from Textual's selection, in rows and characters, to text; refuses to copy decoration: bars, gutters and
wraps are not in it. Called by the transcript.
"""

from __future__ import annotations

from textual.geometry import Offset
from textual.selection import Selection

from gshtui.guard.sanitise import plain
from gshtui.ui.kit.lines import Line
from gshtui.ui.kit.transcript.document import Document, Place

_MOST_ROWS = 20_000


def selected_text(document: Document, selection: Selection, shift: int, gutter: int) -> str:
    """The selected words.

    Args:
        document: what is selected from.
        selection: rows as the transcript numbered them, characters with the gutter.
        shift: what to take off those numbers to have rows of the document.
        gutter: characters before each line.
    """
    if selection.start is None and selection.end is None:
        return plain("\n\n".join(sheet.text for sheet in document.sheets))
    start = selection.start or Offset(0, shift)
    first = start.y - shift
    last = document.height - 1 if selection.end is None else selection.end.y - shift
    place = document.locate(first)
    out: list[str] = []
    for number in range(min(_MOST_ROWS, last - first + 1)):
        if place is None:
            break
        line = document.exact(place.sheet, place.block).row(place.row)
        begin = start.x - gutter if number == 0 else 0
        end = selection.end.x - gutter if selection.end is not None and first + number == last else None
        words = _words(line, begin, end)
        if number:
            out.append(line.join if line is not None else "\n")
        out.append(words)
        place = _next(document, place)
    return "".join(out)


def _words(line: Line | None, begin: int, end: int | None) -> str:
    if line is None:
        return ""
    text = line.text if end is None else line.text[: max(0, end)]
    return text[max(line.margin, begin) :].rstrip()


def _next(document: Document, place: Place) -> Place | None:
    block = document.exact(place.sheet, place.block)
    if place.row + 1 < block.height:
        return Place(place.sheet, place.block, place.row + 1)
    at = document.after(place.sheet, place.block)
    if at is None:
        return None
    document.exact(*at)
    return Place(*at, 0)
