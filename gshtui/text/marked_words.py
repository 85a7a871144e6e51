"""Short texts in our own words, for places that draw no Markdown: a name is in backticks, what matters in stars.

Pure. Refuses everything else of Markdown: it stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_MARKED = re.compile(r"\*\*([^*\n]+)\*\*|`([^`\n]+)`")

_OPENING = re.compile(r"^\s*(?:(?:#{1,6}|>|[-*]) +)+")


def unmarked(text: str) -> str:
    """The words without their marks."""
    return _MARKED.sub(lambda found: found[1] or found[2], text)


def unmarked_line(line: str) -> str:
    """A line of an answer without its marks, also of a heading, a quote or an item."""
    return unmarked(_OPENING.sub("", line))


def marked_parts(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text in order, without their marks, and whether each is a name."""
    at = 0
    for found in _MARKED.finditer(text):
        if found.start() > at:
            yield text[at : found.start()], False
        yield found[1] or found[2], found[2] is not None
        at = found.end()
    if at < len(text):
        yield text[at:], False
