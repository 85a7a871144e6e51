"""Text to show exactly as it is, columns included, where outcomes are rendered as Markdown.

Pure. For commands that print a table or a log, and for faces that print them without Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_OPENS = re.compile(r"(`{3,})[^`]*")
_FENCE = re.compile(r"(`{3,})\n(.*)\n\1", re.DOTALL)


def fenced(text: str) -> str:
    """The text as a Markdown block in which nothing is markup."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def outside_fences(change: Callable[[str], str], text: str) -> str:
    """The text with each line outside of its fenced blocks changed. A block that is not closed goes on to the end."""
    parts: list[str] = []
    fence = ""
    for line in text.split("\n"):
        opens = _OPENS.fullmatch(line) if not fence else None
        parts.append(line if fence or opens else change(line))
        fence = opens[1] if opens else "" if line == fence else fence
    return "\n".join(parts)


def bare(text: str) -> str:
    """The text passed to `fenced`; any other text unchanged."""
    found = _FENCE.fullmatch(text)
    return found[2] if found else text
