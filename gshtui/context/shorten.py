"""Truncate at capture: what of a long output a model is sent. Head and tail, cut on character borders, and a marker.

The whole text goes to the store under the key that the marker names (`seeds/gsh-context-engineering`, layer 1).
"""

from __future__ import annotations


def shorten(text: str, limit: int) -> str:
    """The text, or its head and tail with a marker in between that says how many bytes are left out.

    Args:
        text: any text.
        limit: bytes of UTF-8 to keep; 0: no limit.
    """
    data = text.encode(errors="replace")
    if not limit or len(data) <= limit:
        return text
    half = limit // 2
    head = data[:half].decode(errors="ignore")
    tail = data[len(data) - half :].decode(errors="ignore")
    omitted = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n\n… ({omitted:,} bytes omitted) …\n\n{tail}"
