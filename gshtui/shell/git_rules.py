"""What git ignores: the rules of `.gitignore` (and `.ignore`) files; the innermost matching rule decides.

Skips unreadable files and invalid rules. A repository's files are untrusted: no rule takes forever
(`text/glob_pattern.py`). Called by the tools and by the file watcher.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gshtui.text.glob_pattern import compile_ignore_rule

FILES = (".gitignore", ".ignore")
_LARGEST_RULES = 256 * 1024


class IgnoreRules(msgspec.Struct, frozen=True):
    """Ignore rules and the folder that they are relative to."""

    base: str
    rules: tuple[tuple[re.Pattern[str], bool], ...]
    """The last one first, each with whether it ignores."""


def ignored(path: str, is_folder: bool, rules: tuple[IgnoreRules, ...]) -> bool:
    """Whether git would pass the path by; the innermost rules that say anything decide."""
    for rule in reversed(rules):
        relative = path[len(rule.base) :] + ("/" if is_folder else "")
        for pattern, ignores in rule.rules:
            if pattern.match(relative) is not None:
                return ignores
    return False


def rules_in(path: str, entries: list[os.DirEntry[str]]) -> Iterator[IgnoreRules]:
    """The rules in a folder's own files."""
    for entry in entries:
        if entry.name in FILES and (rules := _load(entry.path, path)) is not None:
            yield rules


def rules_above(root: str) -> tuple[IgnoreRules, ...]:
    """The rules of the folders above, up to the repository's root. Empty if they ignore the folder itself."""
    found: list[IgnoreRules] = []
    folder = Path(root)
    for above in (folder, *folder.parents):
        if above != folder:
            found[:0] = [rules for name in FILES if (rules := _load(str(above / name), str(above))) is not None]
        if (above / ".git").exists():
            exclude = _load(str(above / ".git" / "info" / "exclude"), str(above))
            if exclude is not None:
                found.insert(0, exclude)
            break
    else:
        return ()
    return () if ignored(root, True, tuple(found)) else tuple(found)


def _load(file: str, base: str) -> IgnoreRules | None:
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > _LARGEST_RULES:  # noqa: PTH113, PTH202 - hot
            return None
        with open(file, encoding="utf-8", errors="replace") as opened:  # noqa: PTH123 - hot
            lines = opened.read().split("\n")
    except OSError:
        return None
    rules = tuple(rule for line in reversed(lines) if (rule := compile_ignore_rule(line)) is not None)
    return IgnoreRules(base.rstrip("/") + "/", rules) if rules else None
