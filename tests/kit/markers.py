"""The marker of a cut, read back out of a text that was sent: for tests that check its numbers."""

import re

MARKER = re.compile(
    r"\n\n… \(([\d,]+) bytes omitted(?:; lines in them that look like errors:\) …\n(?:.|\n)*?\n…|\) …)"
    r"(?:\n\[the whole output: `output key=(\w+)`\])?\n\n"
)


def cut_of(text: str) -> tuple[str, int, str]:
    """Head, the number of the one marker, and tail."""
    found = list(MARKER.finditer(text))
    assert len(found) == 1, text[:400]
    return text[: found[0].start()], int(found[0][1].replace(",", "")), text[found[0].end() :]
