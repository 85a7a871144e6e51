"""Glob patterns as people write them, `**`, `*`, `?`, `[a-z]`, `{a,b}`, as expressions over relative paths.

Pure. Python's `re` could backtrack in an expression with many wildcards for minutes. Here each wildcard is an atomic
group with what follows it up to the next one: as the next one takes whatever comes, the first place that fits is as
good as any later one, and none is ever gone back to.
"""

from __future__ import annotations

import itertools
import re

_MOST_CHOICES = 256
_LONGEST = 4_096
_SEGMENT_ENDS = r"(?=/|\Z)"
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\x20\t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class PatternError(ValueError):
    """The pattern is not a glob; the text says why."""


def compile_glob(pattern: str, *, anywhere: bool = False) -> re.Pattern[str]:
    """Compile an expression whose `match` covers whole relative paths.

    Args:
        pattern: the glob.
        anywhere: a pattern without a slash matches file names in any folder, as in `.gitignore`.

    Raises `PatternError`: a range in brackets is invalid, the pattern is too long or has too many choices.
    """
    if len(pattern) > _LONGEST:
        raise PatternError(f"the pattern has {len(pattern):,} characters, more than {_LONGEST:,}")
    if anywhere and "/" not in pattern.rstrip("/"):
        pattern = f"**/{pattern}"
    choices = "|".join(_translated(choice, r"\Z") for choice in _choices(pattern))
    try:
        return re.compile(choices, re.DOTALL | re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
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


def compile_ignore_rule(line: str) -> tuple[re.Pattern[str], bool] | None:
    """A line of a `.gitignore`: what matches relative paths (folders with a slash at the end), and whether it ignores.

    `None`: it is empty, a comment, or no pattern.
    """
    rule = line if line.endswith("\\ ") else line.rstrip()
    if not rule or rule.startswith("#") or len(rule) > _LONGEST:
        return None
    ignores = not rule.startswith("!")
    rule = rule if ignores else rule[1:]
    only_folders = rule.endswith("/")
    rule = rule.rstrip("/") if only_folders else rule
    anchored = "/" in rule
    rule = rule.removeprefix("/")
    if not rule:
        return None
    if not anchored:
        rule = f"**/{rule}"
    try:
        return re.compile(_translated(rule, "/" if only_folders else r"(?:/|\Z)"), re.DOTALL | re.ASCII), ignores
    except (re.error, OverflowError, RecursionError):
        return None


def _translated(pattern: str, end: str) -> str:
    """The expression of a glob without braces that ends in the expression `end`."""
    out: list[str] = []
    opened = False
    """A `**/` is, and ends where the next one begins."""
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            # Repeated `**/` means the same as one, and one is cheaper to match.
            while pattern.startswith("**/", at):
                at += 3
            out.append(f"{')' if opened else ''}(?>(?:[^/]+/)*?")
            opened = True
        elif pattern[at:] == "**" and (at == 0 or pattern[at - 1] == "/"):
            out.append(".+")
            at += 2
        elif pattern[at] == "*":
            at = _star(pattern, at, out)
        else:
            text, at = _character(pattern, at)
            out.append(text)
    return f"{''.join(out)}{end}{')' if opened else ''}"


def _star(pattern: str, at: int, out: list[str]) -> int:
    """Add one `*`, with what follows it up to the next one in its segment; returns where that ends."""
    while pattern[at : at + 1] == "*":
        at += 1
    fixed: list[str] = []
    while at < len(pattern) and pattern[at] not in "*/":
        text, at = _character(pattern, at)
        fixed.append(text)
    rest = "".join(fixed)
    if pattern[at : at + 1] == "*":
        out.append(f"(?>[^/]*?{rest})")
    else:
        out.append(f"(?>[^/]*?{rest}{_SEGMENT_ENDS})" if rest else "(?>[^/]*)")
    return at


def _character(pattern: str, at: int) -> tuple[str, int]:
    """What stands for one character, and where it ends."""
    character = pattern[at]
    if character == "[":
        return _bracket(pattern, at)
    if character == "?":
        return "[^/]", at + 1
    if character == "\\" and at + 1 < len(pattern):
        return re.escape(pattern[at + 1]), at + 2
    return re.escape(character), at + 1


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    """A set of characters, which never has the slash in it, and where it ends."""
    negated = pattern[at + 1 : at + 2] in ("!", "^")
    begin = end = at + 1 + negated
    parts: list[str] = []
    while end < len(pattern) and (pattern[end] != "]" or end == begin):
        name = re.match(r"\[:(\w+):\]", pattern[end:])
        if name is not None and name[1] in _POSIX:
            parts.append(_POSIX[name[1]])
            end += name.end()
            continue
        if pattern[end] == "\\" and end + 1 < len(pattern):
            end += 1
        parts.append("-" if pattern[end] == "-" else re.escape(pattern[end]))
        end += 1
    if end >= len(pattern):
        return re.escape("["), at + 1
    for place in (0, len(parts) - 1):
        parts[place] = r"\-" if parts[place] == "-" else parts[place]
    return f"(?!/)[{'^' if negated else ''}{''.join(parts)}]", end + 1
