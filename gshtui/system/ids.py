"""Identifiers that sort by time and are short enough to read aloud, made without a shared counter."""

from __future__ import annotations

import os
import threading
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, lower case
_RANDOM_BITS = 25
_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """Return fourteen characters: 45 bits of milliseconds and 25 random bits, strictly increasing within a process.

    This keeps the order of ids from the same millisecond, and when a clock is set back.
    """
    global _last
    fresh = (time.time_ns() // 1_000_000 << _RANDOM_BITS) | int.from_bytes(os.urandom(4), "big") >> (32 - _RANDOM_BITS)
    with _lock:
        _last = max(fresh, _last + 1)
        value = _last
    digits: list[str] = []
    for _ in range(14):
        value, digit = divmod(value, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
