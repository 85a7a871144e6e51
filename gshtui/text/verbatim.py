"""Text that is to be shown as it is, columns and all, where outcomes are read as Markdown.

Pure. Used by commands whose words are a table or a log, and by the faces that print them without Markdown.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"(`{3,})\n(.*)\n\1", re.DOTALL)


def fenced(text: str) -> str:
    """The text as a block of Markdown in which nothing has a meaning."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def bare(text: str) -> str:
    """What `fenced` was given; any other text as it is."""
    found = _FENCE.fullmatch(text)
    return found[2] if found else text
