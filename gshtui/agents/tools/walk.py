"""The files of a folder as a developer means them: without what `.gitignore` names, without `.git`, links not followed.

Bounded by a deadline and a flag; unreadable folders are passed by. Called by `glob` and by our own search where there
is no ripgrep.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec

_RULES = (".gitignore", ".ignore")
_LARGEST_RULES = 256 * 1024


@dataclass(slots=True)
class Walk:
    """One walk and what came of it."""

    root: str
    """Real path of the folder."""
    deadline: float = float("inf")
    """Of `time.monotonic`, seconds."""
    stopped: Callable[[], bool] = lambda: False
    enter: Callable[[str], bool] = lambda _: True
    """Whether a folder (relative path with a slash at the end) can hold anything that is wanted."""
    cut: bool = field(default=False, init=False)
    """The walk was ended by its deadline or flag, and is not complete."""

    def files(self) -> Iterator[os.DirEntry[str]]:
        """Every file, depth first, in no particular order. The entry's path begins with the root."""
        yield from self._folder(self.root, "", _rules_above(self.root))

    def _folder(self, path: str, relative: str, rules: tuple[_Rules, ...]) -> Iterator[os.DirEntry[str]]:
        if time.monotonic() > self.deadline or self.stopped():
            self.cut = True
            return
        try:
            with os.scandir(path) as scan:
                entries = list(scan)
        except OSError:
            return
        rules = (*rules, *_rules_in(path, entries))
        below: list[str] = []
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if (is_folder and entry.name == ".git") or _ignored(entry.path, is_folder, rules):
                continue
            if is_folder:
                below.append(entry.name)
            else:
                yield entry
        for name in below:
            if self.cut:
                return
            inner = f"{relative}{name}/"
            if self.enter(inner):
                yield from self._folder(os.path.join(path, name), inner, rules)  # noqa: PTH118 - hot


@dataclass(frozen=True, slots=True)
class _Rules:
    """Ignore rules and the folder that they are relative to."""

    base: str
    spec: GitIgnoreSpec


def _ignored(path: str, is_folder: bool, rules: tuple[_Rules, ...]) -> bool:
    """Whether git would pass the path by; the innermost rules that say anything decide."""
    for rule in reversed(rules):
        relative = path[len(rule.base) :] + ("/" if is_folder else "")
        verdict = rule.spec.check_file(relative).include
        if verdict is not None:
            return verdict
    return False


def _rules_in(path: str, entries: list[os.DirEntry[str]]) -> Iterator[_Rules]:
    for entry in entries:
        if entry.name in _RULES and (rules := _load(entry.path, path)) is not None:
            yield rules


def _rules_above(root: str) -> tuple[_Rules, ...]:
    """Rules of the folders above, up to the repository's root. None when the folder itself is ignored by them."""
    found: list[_Rules] = []
    folder = Path(root)
    for above in (folder, *folder.parents):
        if above != folder:
            found[:0] = [rules for name in _RULES if (rules := _load(str(above / name), str(above))) is not None]
        if (above / ".git").exists():
            exclude = _load(str(above / ".git" / "info" / "exclude"), str(above))
            if exclude is not None:
                found.insert(0, exclude)
            break
    else:
        return ()
    return () if _ignored(root, True, tuple(found)) else tuple(found)


def _load(file: str, base: str) -> _Rules | None:
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > _LARGEST_RULES:  # noqa: PTH113, PTH202 - hot
            return None
        with open(file, encoding="utf-8", errors="replace") as opened:  # noqa: PTH123 - hot
            lines = opened.read().split("\n")
    except OSError:
        return None
    try:
        return _Rules(base.rstrip("/") + "/", GitIgnoreSpec.from_lines(lines))
    except (ValueError, re.error):  # a rule that is no pattern; git would pass by that one only
        return _Rules(base.rstrip("/") + "/", GitIgnoreSpec.from_lines(line for line in lines if _is_rule(line)))


def _is_rule(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True
