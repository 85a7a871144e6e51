"""Truncation at capture: never longer than asked, never a broken character, nothing unsaid."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from gshtui.context.shorten import shorten


@given(st.text(), st.integers(0, 200))
def test_head_and_tail_with_the_count(text: str, limit: int) -> None:
    short = shorten(text, limit)
    data = text.encode(errors="replace")
    if not limit or len(data) <= limit:
        assert short == text
        return
    marker = re.search(r"\n\n… \(([\d,]+) bytes omitted\) …\n\n", short)
    assert marker is not None
    head, tail = short[: marker.start()], short[marker.end() :]
    assert len(head.encode()) + len(tail.encode()) <= limit
    assert data.startswith(head.encode())
    assert data.endswith(tail.encode())
    assert len(head.encode()) + len(tail.encode()) + int(marker[1].replace(",", "")) == len(data)
