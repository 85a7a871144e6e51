"""A command's output as text: all of it sanitised, with one gap at most where some was too much to keep; and what is
shown of it.

Blocking. Called by the tools that run or read what prints, in a thread where it may be much.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from gshtui.guard.sanitise import Sanitiser
from gshtui.text.shorten import Gap, is_too_long, marker, original_size, shorten
from gshtui.tools.filetype import describe, is_binary
from gshtui.tools.spool import Spool

_SECONDS = 20.0
"""For making an output readable; only a hostile one takes so long, and then its middle is left out."""
_LATE = 8


def text_of(spool: Spool) -> tuple[str, Gap | None, int]:
    """All that was kept, sanitised; where something is missing; and the bytes of all that came.

    Binary data is only described. Bytes are those of readable text: what steers a terminal is none.
    """
    head = spool.head(8192)
    if is_binary(head):
        kind = describe(head)
        said = f"[binary output: {kind}, {spool.size:,} bytes; not shown. Redirect it to a file instead.]"
        return said, None, spool.size
    until = time.monotonic() + _SECONDS
    sanitiser = Sanitiser()
    before: list[str] = []
    after: list[str] = []
    parts = before
    late: deque[bytes] = deque()
    lost = skipped = 0
    for piece in spool.pieces():
        if not piece:
            lost += spool.lost + skipped + sum(map(len, late))
            late.clear()
            skipped = 0
            before.append(sanitiser.finish())
            sanitiser, parts = Sanitiser(), after
        elif time.monotonic() < until:
            parts.append(sanitiser.feed(piece))
        else:
            late.append(piece)
            skipped += len(late.popleft()) if len(late) > _LATE else 0
    if skipped:
        parts.append(sanitiser.finish())
        # What stands between two gaps goes with them, so that there is one.
        lost += skipped + sum(len(part.encode(errors="replace")) for part in after)
        after.clear()
        sanitiser, parts = Sanitiser(), after
    parts.extend(sanitiser.feed(piece) for piece in late)
    parts.append(sanitiser.finish())
    start = "".join(before)
    if not lost:
        return start, None, original_size(start)
    said = marker(lost)
    text = f"{start}{said}{''.join(after)}"
    gap = Gap(len(start), len(start) + len(said), lost)
    return text, gap, original_size(text, gap)


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of an output: `output` itself, `text` with the notes, and whether something is left out."""

    output: str
    text: str
    cut: bool


def shown(full: str, limit: int, notes: str, empty: str, gap: Gap | None = None) -> Shown:
    """The output and the notes on it, within a limit; `empty` stands for an output of nothing.

    Empty lines at its end are not shown where all of it is; what is cut keeps them, so that the numbers add up.
    """
    whole = full.rstrip("\n")
    if is_too_long(whole, limit, notes=notes):
        text = shorten(full, limit, notes=notes, gap=gap)
        return Shown(text.removesuffix(notes), text, True)
    return Shown(full, "\n".join(filter(None, (whole or empty, notes))), False)
