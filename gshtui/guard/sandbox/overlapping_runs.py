"""Which sandboxed commands of one project run at the same time, and what of theirs another must not put back.

A command finds there what another one that still runs has made, so what came since the first of them began counts as
left by whichever ends next. Safe to use from several threads.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from pathlib import Path


class OverlappingRuns:
    """Of one project."""

    def __init__(self) -> None:
        self._began: dict[int, int] = {}
        """Run → when it began, in nanoseconds since the epoch."""
        self._taken: dict[int, set[Path]] = {}
        """Run → what was taken out of the project since then."""
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def begin(self, began: int) -> int:
        """A command begins; returns its number."""
        with self._lock:
            run = next(self._numbers)
            self._began[run] = began
            self._taken[run] = set()
            return run

    def earliest(self, otherwise: int) -> int:
        """When the first of those that run began, or this if that is before."""
        with self._lock:
            return min((otherwise, *self._began.values()))

    @property
    def is_alone(self) -> bool:
        return not self._began

    def is_newest(self, run: int) -> bool:
        """Whether no command began after this one: the newest looks after what all of them make."""
        with self._lock:
            return run == max(self._began, default=run)

    def taken_since(self, run: int) -> frozenset[Path]:
        """What was taken out since this one began."""
        with self._lock:
            return frozenset(self._taken.get(run, ()))

    def took(self, taken: Iterable[Path]) -> None:
        """This was taken out while they run."""
        paths = tuple(taken)
        with self._lock:
            for each in self._taken.values():
                each.update(paths)

    def end(self, run: int, taken: Iterable[Path]) -> None:
        """A command has ended, and this of it was taken out."""
        with self._lock:
            self._began.pop(run, None)
            self._taken.pop(run, None)
            for others in self._taken.values():
                others.update(taken)
