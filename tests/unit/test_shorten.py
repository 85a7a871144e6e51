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


def test_errors_of_the_middle_are_kept_and_the_marker_says_how_to_read_the_whole() -> None:
    lines = [f"compiling module number {n}" for n in range(20_000)]
    lines[9_000] = "src/x.c:12: error: expected ';'"
    short = shorten("\n".join(lines), 10_000, "abc123")
    assert len(short.encode()) <= 10_000 + 200
    assert short.startswith("compiling module number 0\n")
    assert short.endswith("compiling module number 19999")
    assert "  9001│src/x.c:12: error: expected ';'" in short
    assert "bytes omitted" in short
    assert "`output key=abc123`" in short
