"""What a `git push` overwrites or deletes at the other end: by its flags, or by a sign before a branch's name. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

_VALUED = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"))
"""Options of git whose value is the next word."""
_TAKEN = frozenset(("-o", "--push-option", "--receive-pack", "--exec", "--repo"))
"""The same of `git push`."""
_OPTIONS = 80
_FLAGS = ("--force", "--delete", "--mirror", "--prune")
_SHORT = re.compile(r"-[a-zA-Z]+")


def with_flags(words: Sequence[str]) -> list[str]:
    """The words, and behind them the flags that a push's refspecs stand for: `+x` is `--force`, `:x` is `--delete`."""
    more: list[str] = []
    for word in _pushed(words):
        if word.startswith("+"):
            more.append("--force")
        elif word.startswith(":") and len(word) > 1:
            more.append("--delete")
    return [*words, *dict.fromkeys(more)]


def overwrites(words: Sequence[str]) -> bool:
    """Whether the command is a push that overwrites or deletes what others may have fetched."""
    at = _push(words)
    if at < 0:
        return False
    configured = any(re.search(r"(?i)^remote\..*\.(?:push=\+|mirror)", word) for word in words[:at])
    said = with_flags(words)[at:]
    # A long flag may be shortened as long as only one begins so: --forc, --mir.
    long = any(len(w) > 4 and any(f.startswith(w.partition("=")[0]) for f in _FLAGS) for w in said if w[:2] == "--")
    lease = any(word.startswith("--force") for word in said)
    return configured or long or lease or any(_SHORT.fullmatch(word) and set(word) & set("fd") for word in said)


def _push(words: Sequence[str]) -> int:
    """The place behind the word `push` of a command of git, behind whatever wrapper; -1: there is none."""
    for start, word in enumerate(words):
        if word.rpartition("/")[2] != "git":
            continue
        at = start + 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _VALUED else 1
            if at - start > _OPTIONS:
                return at  # nobody writes so many: what comes behind them is not worth a long search
        if at < len(words) and words[at] == "push":
            return at + 1
    return -1


def _pushed(words: Sequence[str]) -> list[str]:
    """The refspecs of a push; the first of them may be the repository's name."""
    at = _push(words)
    found: list[str] = []
    while 0 <= at < len(words):
        word = words[at]
        if word.startswith("-") and word != "--":
            at += 2 if word in _TAKEN else 1
            continue
        found.append(word)
        at += 1
    return found
