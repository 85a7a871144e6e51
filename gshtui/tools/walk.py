"""The files of a folder as a developer means them: without what `.gitignore` names, without `.git`, links not followed.

Bounded by a deadline and a flag; unreadable folders are passed by. Called by `glob`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from gshtui.shell.git_rules import Rules, ignored, rules_above, rules_in


@dataclass(slots=True)
class Walk:
    """One walk and what came of it."""

    root: str
    """Real path of the folder."""
    deadline: float = float("inf")
    """Of `time.monotonic`, seconds."""
    stopped: Callable[[], bool] = lambda: False
    cut: bool = field(default=False, init=False)
    """The walk was ended by its deadline or flag, and is not complete."""

    def files(self) -> Iterator[os.DirEntry[str]]:
        """Every file, depth first, in no particular order. The entry's path begins with the root."""
        yield from self._folder(self.root, rules_above(self.root))

    def _folder(self, path: str, rules: tuple[Rules, ...]) -> Iterator[os.DirEntry[str]]:
        if time.monotonic() > self.deadline or self.stopped():
            self.cut = True
            return
        try:
            with os.scandir(path) as scan:
                entries = list(scan)
        except OSError:
            return
        rules = (*rules, *rules_in(path, entries))
        below: list[str] = []
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if (is_folder and entry.name == ".git") or ignored(entry.path, is_folder, rules):
                continue
            if is_folder:
                below.append(entry.name)
            else:
                yield entry
        for name in below:
            if self.cut:
                return
            yield from self._folder(os.path.join(path, name), rules)  # noqa: PTH118 - hot
