"""When a process looks at what the system would have told it anyway: rarely, and at moments that all of this machine's
processes share, so that whatever looks is woken once for all of it."""

from __future__ import annotations

import time

EVERY = 120.0
"""Seconds between two such moments, of time that the machine was awake."""
_SOON = 1.0


def until_calm_look() -> float:
    """Seconds until the next of these moments."""
    left = EVERY - time.monotonic() % EVERY
    return left if left > _SOON else left + EVERY  # a clock that is a little ahead of its timer is no second moment
