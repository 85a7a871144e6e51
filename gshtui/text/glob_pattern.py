"""Glob patterns as people write them, `**`, `*`, `?`, `[a-z]`, `{a,b}`, as linear expressions over relative paths.

Pure. `wcmatch` makes expressions with look-arounds, which RE2 rejects and Python's `re` may backtrack in for minutes.
"""

from __future__ import annotations

import itertools
import re

from gshtui.text import linear_regex
from gshtui.text.linear_regex import Linear, LinearError

_MOST_CHOICES = 256
_LONGEST = 4_096


class PatternError(ValueError):
    """The pattern is not a glob; the text says why."""


def compile_glob(pattern: str, *, anywhere: bool = False) -> Linear:
    """Compile an expression whose `match` covers whole relative paths.

    Args:
        pattern: the glob.
        anywhere: a pattern without a slash matches file names in any folder, as in `.gitignore`.

    Raises:
        PatternError: a range in brackets is invalid, the pattern is too long or has too many choices.
    """
    if len(pattern) > _LONGEST:
        raise PatternError(f"the pattern has {len(pattern):,} characters, more than {_LONGEST:,}")
    if anywhere and "/" not in pattern.rstrip("/"):
        pattern = f"**/{pattern}"
    choices = "|".join(_translated(choice) for choice in _choices(pattern))
    try:
        return linear_regex.compile_linear(rf"(?s:{choices})\z")
    except LinearError as error:
        raise PatternError(f"{pattern} is not a valid pattern: {error}") from error


def is_glob(text: str) -> bool:
    """Whether any character of it is a wildcard."""
    return any(character in text for character in "*?[{")


def fixed_part(pattern: str) -> tuple[str, str]:
    """The literal folders at the beginning of the pattern, and the rest."""
    parts = pattern.split("/")
    fixed = 0
    while fixed < len(parts) - 1 and not is_glob(parts[fixed]):
        fixed += 1
    head = "/".join(parts[:fixed])
    return (head or "/" if fixed and pattern.startswith("/") else head), "/".join(parts[fixed:])


def _choices(pattern: str) -> list[str]:
    """The patterns that `{a,b}` expands to."""
    done, todo = list[str](), [pattern]
    while todo:
        current = todo.pop()
        span = _braces(current)
        if span is None:
            done.append(current)
            continue
        start, commas, end = span
        cuts = [start, *commas, end]
        inner = [current[a + 1 : b] for a, b in itertools.pairwise(cuts)]
        todo.extend(current[:start] + part + current[end + 1 :] for part in inner)
        if len(done) + len(todo) > _MOST_CHOICES:
            raise PatternError(f"the pattern has more than {_MOST_CHOICES} choices")
    return done


def _braces(pattern: str) -> tuple[int, list[int], int] | None:
    """The first group of braces with a comma at its own level: where it opens, its commas, where it closes."""
    first: tuple[int, list[int], int] | None = None
    opened: list[tuple[int, list[int]]] = []
    for at, character in enumerate(pattern):
        if character == "{":
            opened.append((at, []))
        elif character == "," and opened:
            opened[-1][1].append(at)
        elif character == "}" and opened:
            start, commas = opened.pop()
            if commas and (first is None or start < first[0]):
                first = start, commas, at
    return first


def _translated(pattern: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            # Repeated `**/` means the same as one, and one is cheaper to match.
            while pattern.startswith("**/", at):
                at += 3
            out.append("(?:[^/]+/)*")
        elif character == "*":
            everything = pattern[at:] == "**" and (at == 0 or pattern[at - 1] == "/")
            while at < len(pattern) and pattern[at] == "*":
                at += 1
            out.append(".+" if everything else "[^/]*")
        elif character == "[":
            text, at = _bracket(pattern, at)
            out.append(text)
        else:
            if character == "\\" and at + 1 < len(pattern):
                at += 1
                character = pattern[at]
                out.append(re.escape(character))
            else:
                out.append("[^/]" if character == "?" else re.escape(character))
            at += 1
    return "".join(out)


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    """A set of characters, and where it ends."""
    end = pattern.find("]", at + 2 + (pattern[at + 1 : at + 2] in ("!", "^")))
    if end < 0:
        return re.escape("["), at + 1
    inside = pattern[at + 1 : end]
    negated = inside[:1] in ("!", "^")
    inside = inside[negated:].replace("\\", "\\\\").replace("[", "\\[").replace("&&", "&\\&").replace("~~", "~\\~")
    inside = inside.replace("||", "|\\|").replace("--", "-\\-") if inside else inside
    return f"[{'^/' if negated else ''}{inside}]", end + 1
