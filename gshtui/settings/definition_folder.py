"""A folder of definitions that people write, one an entry: personas, skills, workflows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def definition_entries(folder: Path, accepts: Callable[[Path], bool], most: int, problems: list[str]) -> list[Path]:
    """The entries of a folder that are accepted, by name; none where there is no folder.

    Args:
        most: entries that are read; that there are more becomes a problem.
        problems: gets a sentence for each thing that keeps an entry from being read.
    """
    try:
        entries = sorted(entry for entry in folder.iterdir() if accepts(entry))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(f"Cannot read {folder}: {error.strerror or error}.")
        return []
    if len(entries) > most:
        problems.append(f"{folder} has {len(entries)} entries; only the first {most} are read.")
    return entries[:most]
