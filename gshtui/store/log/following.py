"""Follows the log: what is added to its files, line by line, also to files that are new.

Owns how far each file has been read; a torn line waits for its end. Blocks on the disk: called in threads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from gshtui.store.log.reading import decoded
from gshtui.store.log.records import Record

_MOST = 4 * 1024 * 1024
"""Bytes of a file that are taken in one step."""


class Follower:
    """Begins at the end of what is there when it is made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places = dict(self._sizes())

    def added(self) -> list[Record]:
        """The records that came since the last time, by their time."""
        found: list[Record] = []
        for path, size in self._sizes():
            place = self._places.get(path, 0)
            if size < place:
                place = 0  # another file of that name
            if size > place:
                found += self._read(path, place)
        return sorted(found, key=lambda record: float(record["at"]))

    def _read(self, path: Path, place: int) -> Iterator[Record]:
        with contextlib.suppress(OSError), path.open("rb") as file:
            file.seek(place)
            data = file.read(_MOST)
            whole = data.rfind(b"\n") + 1
            self._places[path] = place + (whole or (len(data) if len(data) == _MOST else 0))
            for line in data[:whole].split(b"\n"):
                if line and (record := decoded(line)) is not None:
                    yield record

    def _sizes(self) -> Iterator[tuple[Path, int]]:
        with contextlib.suppress(OSError):
            for path in self._folder.glob("*.jsonl"):
                with contextlib.suppress(OSError):
                    yield path, path.stat().st_size
