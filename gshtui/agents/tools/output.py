"""A command's output as text: all of it sanitised, and what of it a model is sent.

Blocking, a block at a time, so that other threads get their turn. `bash` calls it in a thread.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from gshtui.agents.tools.filetype import describe, is_binary
from gshtui.agents.tools.spool import Spool
from gshtui.context.shorten import error_lines
from gshtui.guard.sanitise import Sanitiser

_BLOCK = 1 << 20
_SECONDS = 20.0
"""For making an output readable; only a hostile one takes so long, and then its middle is left out."""
_LATE = 8


def text_of(spool: Spool) -> str:
    """All that was kept, sanitised; binary data is only described."""
    head = spool.head(8192)
    if is_binary(head):
        kind = describe(head)
        return f"[binary output: {kind}, {spool.size:,} bytes; not shown. Redirect it to a file instead.]"
    until = time.monotonic() + _SECONDS
    sanitiser = Sanitiser()
    parts: list[str] = []
    late: deque[bytes] = deque(maxlen=_LATE)
    skipped = 0
    for piece in spool.pieces():
        if time.monotonic() > until:
            skipped += len(late[0]) if len(late) == _LATE else 0
            late.append(piece)
        elif piece:
            parts.append(sanitiser.feed(piece))
        else:
            parts.append(f"{sanitiser.finish()}\n[… {spool.lost:,} bytes were too many to keep …]\n")
            sanitiser = Sanitiser()
    if skipped:
        parts.append(f"{sanitiser.finish()}\n[… {skipped:,} bytes took too long to make readable …]\n")
        sanitiser = Sanitiser()
    parts.extend(sanitiser.feed(piece) for piece in late)
    parts.append(sanitiser.finish())
    return "".join(parts)


def condensed(text: str, limit: int) -> str:
    """The text if it has at most `limit` bytes; else its beginning, the error-like lines of its middle, and its end."""
    if len(text) <= limit // 4 or (len(text) <= limit and len(text.encode("utf-8", "replace")) <= limit):
        return text
    head = _cut(text[: limit // 3], limit // 3)
    head = head[: head.rfind("\n") + 1] or head
    tail = _cut(text[-(limit // 2) :][::-1], limit // 2)[::-1]
    tail = tail[tail.find("\n") + 1 :] if 0 <= tail.find("\n") < len(tail) // 2 else tail
    errors = list(error_lines(text, len(head), len(text) - len(tail)))
    left_out = sum(len(block.encode("utf-8", "replace")) for block in _blocks(text, len(head), len(text) - len(tail)))
    marker = f"[… {left_out:,} bytes left out …]"
    if errors:
        lines = "\n".join(errors)
        kept = _cut(lines, limit // 8)
        marker = f"[… {left_out:,} bytes left out; the lines in them that look like errors:]\n{kept}\n[…]"
    return f"{head.rstrip()}\n\n{marker}\n\n{tail}"


def _blocks(text: str, start: int, end: int) -> Iterator[str]:
    for at in range(start, end, _BLOCK):
        yield text[at : min(at + _BLOCK, end)]


def _cut(text: str, size: int) -> str:
    """As many of the first characters as have at most `size` bytes."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= size else data[:size].decode("utf-8", "ignore")
