"""What a process passes on to those that it starts, besides its environment: its umask, and its limits on resources."""

from __future__ import annotations

import os
import resource

_LIMITS = tuple(sorted(number for name, number in vars(resource).items() if name.startswith("RLIMIT_")))


def umask() -> int:
    """This process's umask. Call it where no other thread makes files: it can only be read by setting it."""
    now = os.umask(0o077)
    os.umask(now)
    return now


def limits() -> list[tuple[int, int]]:
    """The soft and the hard limit of each resource, in one order."""
    return [resource.getrlimit(number) for number in _LIMITS]
