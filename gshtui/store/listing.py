"""How conversations and hits look as text: lists that fit a terminal and a model alike.

Owns the words; refuses raw control characters, whatever a title or a message holds. Called by `commands`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from gshtui.store.plain import visible
from gshtui.store.search import Hit
from gshtui.store.sessions import SessionInfo

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"))


def sessions_text(found: Sequence[SessionInfo], *, folders: bool) -> str:
    """A line for each: id, age, messages, title, and where it is open; with its folder when several are shown."""
    rows = [
        (info.id, age(info.updated), str(info.messages), _title(info) + (f"  {one_line(info.cwd)}" if folders else ""))
        for info in found
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    return "\n".join(
        f"{name:<{widths[0]}}  {when:>{widths[1]}}  {count:>{widths[2]}}  {title}" for name, when, count, title in rows
    )


def hits_text(hits: Sequence[Hit]) -> str:
    """Two lines for each: where it is, and the words around it."""
    return "\n".join(
        f"{hit.session} #{hit.seq} {hit.role}, {age(hit.at)}: {one_line(hit.title)}\n    {one_line(hit.excerpt)}"
        for hit in hits
    )


def age(at: float) -> str:
    """How long ago, in its largest unit; a dash for a time that was never noted."""
    if at <= 0:
        return "-"
    seconds = max(time.time() - at, 0.0)
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return "now"


def one_line(text: str) -> str:
    """The text on one line, control characters written out."""
    return visible(" ".join(text.split()))


def _title(info: SessionInfo) -> str:
    title = one_line(info.title) or "(no title)"
    return f"{title}  [open in {one_line(info.held_by)}]" if info.held_by else title
