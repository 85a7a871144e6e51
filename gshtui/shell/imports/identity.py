"""What makes an imported command the same one when it is imported again: where it comes from and what it says.

Pure. Of the same command at the same time, the first, second … are told apart by their count. Called by the readers.
"""

from __future__ import annotations

import hashlib
from collections import Counter


class Numbers:
    """Gives each command of one source a number that it has in every import."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, ...]] = Counter()

    def of(self, *parts: object) -> int:
        """The number; the same parts get another one each time."""
        key = tuple(map(str, parts))
        self._seen[key] += 1
        return number(*key, self._seen[key])


def number(*parts: object) -> int:
    """62 bits of the parts' hash."""
    text = "\0".join(map(str, parts)).encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 2 or 1
