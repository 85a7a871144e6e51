"""What git ignores: the rules of `.gitignore` (and `.ignore`) files; the innermost matching rule decides.

Skips unreadable files and invalid rules. RE2 matches the rules, because a repository's files are untrusted and must not
take forever. Called by the tools and by the file watcher.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.text import linear_regex

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

FILES = (".gitignore", ".ignore")
_LARGEST_RULES = 256 * 1024


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """Ignore rules and the folder that they are relative to."""

    base: str
    spec: GitIgnoreSpec


def ignored(path: str, is_folder: bool, rules: tuple[IgnoreRules, ...]) -> bool:
    """Whether git would pass the path by; the innermost rules that say anything decide."""
    for rule in reversed(rules):
        relative = path[len(rule.base) :] + ("/" if is_folder else "")
        try:
            verdict = rule.spec.check_file(relative).include
        except UnicodeEncodeError:  # a name that is no UTF-8
            verdict = rule.spec.check_file(relative.encode("utf-8", "replace").decode()).include
        if verdict is not None:
            return verdict
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
    if not any(line.strip() and not line.startswith("#") for line in lines):
        return None  # as of most .git/info/exclude: nothing to load a parser for
    return IgnoreRules(base.rstrip("/") + "/", _spec(lines))


def _spec(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # many modules, and many folders have no rules

    try:
        return GitIgnoreSpec.from_lines(lines, backend="re2")
    except (ValueError, re.error, linear_regex.refusal()):  # a rule that is no pattern; git would pass by that one only
        return GitIgnoreSpec.from_lines((line for line in lines if _is_rule(line)), backend="re2")


def _is_rule(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line], backend="re2")
    except (ValueError, re.error, linear_regex.refusal()):
        return False
    return True
