"""Types that msgspec has learned: it reads a struct's fields when the struct is first decoded, and crashes the process
where two threads do that at once. So every type that is decoded goes through `learned`.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")
_lock = threading.Lock()
_learned: set[Any] = set()


def learned(kind: T) -> T:
    """The same type, once msgspec knows it and all that it contains."""
    if kind not in _learned:
        with _lock:
            msgspec.json.Decoder(cast("Any", kind))
            _learned.add(kind)
    return kind
