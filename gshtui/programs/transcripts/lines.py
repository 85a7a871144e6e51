"""Reading other programs' files: bounded, never written to, whatever is torn or unknown is passed over.

For threads. Raises `OSError` only. Called by the readers.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MOST_BYTES = 96_000_000
"""Of a file's end; a transcript that is longer loses its beginning, and says so."""
LONGEST_LINE = 24_000_000
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")


def safe(id: str) -> str:
    """The id, when it can be part of a file's name and of a pattern; empty otherwise."""
    return id if _SAFE_ID.match(id) and ".." not in id else ""


def records(path: Path, lost: list[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file of lines, in order. `lost` gets a sentence when something could not be read."""
    torn = 0
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MOST_BYTES:
            file.seek(size - MOST_BYTES)
            file.readline(LONGEST_LINE)
            lost.append(f"Only its last {MOST_BYTES // 1_000_000} MB were read.")
        while line := file.readline(LONGEST_LINE):
            if not line.endswith(b"\n") and len(line) >= LONGEST_LINE:
                torn += 1
                while line and not line.endswith(b"\n"):
                    line = file.readline(LONGEST_LINE)
                continue
            if not line.strip():
                continue
            try:
                record: Any = json.loads(line)
            except (ValueError, RecursionError):
                # The last line may just be being written; only what has an end was torn for good.
                torn += line.endswith(b"\n")
                continue
            if isinstance(record, dict):
                yield record  # pyright: ignore[reportUnknownVariableType]
    if torn:
        lost.append(f"{torn} of its lines could not be read.")


def whole(path: Path) -> dict[str, Any] | None:
    """The JSON object of a file; `None` when it is none, or too large."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        return None
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None  # pyright: ignore[reportUnknownVariableType]


def newest(paths: Iterator[Path] | list[Path], since: float = 0.0) -> list[Path]:
    """Regular files that were changed since then, the newest first."""
    found: list[tuple[float, Path]] = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        if status.st_mtime >= since - 2 and path.is_file():
            found.append((status.st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]
