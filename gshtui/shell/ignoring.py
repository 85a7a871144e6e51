"""Which commands are never recorded: those with a space before them, and those that fit a pattern of the settings.

Pure. The shells' plugin looks for the same; here it is made sure. Called by the shell log.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable


def ignoring(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a command is to be ignored. A pattern fits the whole line; `*`, `?` and `[…]` stand for characters."""
    wanted = [pattern for pattern in patterns if pattern]
    fits = re.compile("|".join(fnmatch.translate(pattern) for pattern in wanted)).match if wanted else None

    def ignored(command: str) -> bool:
        return not command.strip() or command[0] in " \t" or (fits is not None and fits(command.rstrip()) is not None)

    return ignored
