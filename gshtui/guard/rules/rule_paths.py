"""Whether a path is one that a rule names, or is a folder that holds one: by all its names, and by where it leads."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_SEARCHERS = frozenset(("rg", "ag", "ack", "find", "fd", "tree"))


def forms(path: str, project: Path) -> set[str]:
    """The ways to write a path: as given, absolute, of the project, and where its links lead."""
    text = os.path.expanduser(path)  # noqa: PTH111 - a word is no path yet
    if len(text) > 4096 or "\0" in text:
        return {text}
    lexical = os.path.normpath(project / text)
    found = {os.path.normpath(text)}
    for place in (lexical, os.path.realpath(lexical)):
        found.add(place)
        found |= {os.path.relpath(place, root) for root in (project, os.path.realpath(project)) if _below(place, root)}
    return found


def _below(place: str, root: Path | str) -> bool:
    return place == str(root) or place.startswith(f"{root}/")


def names(path: str, patterns: Sequence[str], project: Path) -> bool:
    """Whether the path matches a pattern, or is the folder all of which one names (`secrets` of `secrets/*`)."""
    written = forms(path, project)
    return any(
        fnmatch.fnmatchcase(form, one)
        for pattern in map(_plain, patterns)
        for one in (pattern, re.sub(r"/\*{1,2}$", "", pattern))
        for form in written
    )


def _plain(pattern: str) -> str:
    return os.path.expanduser(pattern.removeprefix("./"))  # noqa: PTH111 - a pattern is no path


def holds(path: str, patterns: Sequence[str], project: Path, *, any_depth: bool = False) -> bool:
    """Whether the path is a folder above one that a pattern names. `any_depth`: a pattern that begins with a wildcard
    may be met in every folder.
    """
    written = forms(path, project)
    for pattern in map(_plain, patterns):
        fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
        if any_depth and not fixed:
            return True
        if fixed and any(
            form == "." or _below(above, form.rstrip("/")) for form in written for above in forms(fixed, project)
        ):
            return True
    return False


def parts(words: Sequence[str]) -> Iterator[str]:
    """What may be paths among a command's words: `--file=x`, `HEAD:x`, `@x` and `-fx` name `x`."""
    for word in words:
        yield from filter(None, (word, *word.split("=")[1:], *word.split(":")[1:], *word.split("@")[1:]))
        if re.match(r"-[A-Za-z].", word):
            yield word[2:]


def command_doubt(words: Sequence[str], patterns: Sequence[str], project: Path) -> str:
    """Why a command may touch what the patterns name, though no word does; empty if it does not."""
    name = words[0].rpartition("/")[2]
    if name in ("cd", "pushd", "popd"):
        stays = len(words) == 2 and Path(os.path.normpath(project / words[1])) == project
        return "" if stays else "it changes the folder that paths are of"
    if any(holds(word, patterns, project) for word in parts(words[1:]) if word[:1] in "./~" or "/" in word):
        return "it names a folder that holds more"
    operands = [word for word in words[1:] if not word.startswith("-")]
    deep = name in ("grep", "egrep", "fgrep") and any(re.match(r"-[A-Za-z]*[rR]|--(?:deref.*-)?rec", w) for w in words)
    if (name in _SEARCHERS or deep or list(words[:2]) == ["git", "grep"]) and len(operands) <= 1 + (name == "git"):
        return "it searches the whole folder"
    return ""


def search_doubt(place: str, below: str, patterns: Sequence[str], project: Path) -> str:
    """Why a search in a folder may show what the patterns name; empty if it does not."""
    if (project / place).is_file():
        return ""
    ends = [re.split(r"[*?\]}]", pattern)[-1] for pattern in (below, *patterns)]
    if below and all(ends[0] and end and not (end.endswith(ends[0]) or ends[0].endswith(end)) for end in ends[1:]):
        return ""
    return "it searches a folder that holds more" if holds(place, patterns, project, any_depth=True) else ""


def escaped(path: str) -> str:
    """The path as a pattern that matches only itself."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)
