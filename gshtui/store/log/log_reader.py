"""Reads the observability log: finds records by words, type, agent and time, newest first, and follows new ones.

Uses no index, so none can be outdated; changes no file.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gshtui.store.log.log_records import Record
from gshtui.system.json_types import is_array, is_object

_BLOCK = 1024 * 1024
_LONGEST_LINE = 4 * 1024 * 1024
_OFF = 86_400.0
"""Seconds that a record's time may be ahead of its file's, because clocks are set back."""
_decoder = msgspec.json.Decoder(dict[str, Any])


class LogQuery(msgspec.Struct, frozen=True):
    """Conditions on records. Empty fields match everything; times in seconds since the epoch."""

    query: str = ""
    """Text that occurs somewhere in its fields, ignoring case; if nowhere, all of its words must."""
    type: str = ""
    agent: str = ""
    after: float | None = None
    before: float | None = None
    sessions: frozenset[str] | None = None
    """Only these conversations; `None`: any, or none."""


def find_records(folder: Path, wanted: LogQuery, limit: int) -> list[Record]:
    """The newest matching records, newest first: those with the exact query, or else with all its words."""
    words = wanted.query.replace("\0", " ").split()
    whole = _found(folder, wanted, [" ".join(words)] if words else [], limit)
    if whole or len(words) < 2:
        return whole
    return _found(folder, wanted, words, limit)


def fits(record: Record, wanted: LogQuery, needles: list[str]) -> bool:
    """Whether a record meets the conditions and contains each of the needles somewhere."""
    at = record.get("at")
    if not isinstance(at, int | float):
        return False
    if (wanted.type and record.get("type") != wanted.type) or (wanted.agent and record.get("agent") != wanted.agent):
        return False
    if (wanted.after is not None and at < wanted.after) or (wanted.before is not None and at >= wanted.before):
        return False
    if wanted.sessions is not None and record.get("session") not in wanted.sessions:
        return False
    if not needles:
        return True
    text = " ".join("\n".join(_texts(record)).lower().split())
    return all(needle.lower() in text for needle in needles)


def decoded(line: bytes) -> Record | None:
    """A line's record; `None` if it is torn or not ours."""
    try:
        record = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return record if isinstance(record.get("type"), str) and isinstance(record.get("at"), int | float) else None


def _found(folder: Path, wanted: LogQuery, needles: list[str], limit: int) -> list[Record]:
    paths = _files(folder, wanted.after)
    streams = [_matching(path, wanted, needles) for path in paths]
    merged = heapq.merge(*streams, key=lambda record: -float(record["at"]))
    return [record for record, _ in zip(merged, range(limit), strict=False)]


def _files(folder: Path, after: float | None) -> list[Path]:
    """The log's files, without those last written before `after`."""
    found: list[tuple[float, Path]] = []
    with contextlib.suppress(OSError):
        for path in folder.glob("*.jsonl"):
            with contextlib.suppress(OSError):
                changed = path.stat().st_mtime
                if after is None or changed >= after - _OFF:
                    found.append((changed, path))
    return [path for _, path in sorted(found, reverse=True)]


def _matching(path: Path, wanted: LogQuery, needles: list[str]) -> Iterator[Record]:
    """A file's matching records, last one first."""
    marks = _marks(wanted, needles)
    for block in _blocks(path):
        low = block.lower()
        if not all(mark in low for mark in marks):
            continue
        rarest = min(marks, key=low.count, default=b"") if marks else b""
        for start, end in _lines_with(low, rarest):
            if all(mark in low[start:end] for mark in marks):
                record = decoded(block[start:end])
                if record is not None and fits(record, wanted, needles):
                    yield record


def _marks(wanted: LogQuery, needles: list[str]) -> list[bytes]:
    """Bytes that every matching line must contain, in lower case; non-ASCII is left to `fits`."""
    marks: list[bytes] = []
    for name, value in (("type", wanted.type), ("agent", wanted.agent)):
        if value.isascii() and value.replace("_", "").isalnum():
            marks.append(f'"{name}": "{value}"'.lower().encode())  # as `writing` writes it
    for needle in needles:
        for word in needle.split():
            said = json.dumps(word, ensure_ascii=False)[1:-1].lower()
            if said.isascii():
                marks.append(said.encode())
    return marks


def _blocks(path: Path) -> Iterator[bytes]:
    """Whole lines, last ones first, about one block at a time."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            rest = b""
            while end > 0:
                start = max(0, end - _BLOCK)
                file.seek(start)
                data = file.read(end - start) + rest
                end = start
                if start == 0:
                    yield data
                    return
                cut = data.find(b"\n") + 1
                if cut == 0:
                    rest = data if len(data) < _LONGEST_LINE else b""
                    continue
                yield data[cut:]
                rest = data[:cut]
    except OSError:
        return


def _lines_with(low: bytes, mark: bytes) -> Iterator[tuple[int, int]]:
    """Start and end of the lines that contain the mark, last one first."""
    at = len(low.rstrip(b"\n"))
    while at > 0:
        hit = low.rfind(mark, 0, at) if mark else at - 1
        if hit < 0:
            return
        start = low.rfind(b"\n", 0, hit + 1 if not mark else hit) + 1
        end = low.find(b"\n", hit)
        yield start, len(low) if end < 0 else end
        at = start - 1


def _texts(record: Record) -> Iterator[str]:
    for name, value in record.items():
        if name not in ("at", "time", "call", "session"):
            yield from _text(value)


def _text(value: object) -> Iterator[str]:
    if is_object(value) or is_array(value):
        for one in value.values() if is_object(value) else value:
            yield from _text(one)
    elif value is not None:
        yield str(value)


_MOST = 4 * 1024 * 1024
"""Most bytes of a file to read in one step."""


class LogFollower:
    """Starts at the end of what exists when it is created."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places = dict(self._sizes())

    def added(self) -> list[Record]:
        """The records added since the last call, by time."""
        found: list[Record] = []
        for path, size in self._sizes():
            place = self._places.get(path, 0)
            if size < place:
                place = 0  # another file with that name
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
