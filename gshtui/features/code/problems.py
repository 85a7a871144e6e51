"""Problems of files as language servers report them: what an edit brought, and how that is told.

Pure. A server's words may quote the project's files, so they are sanitised, cut, and marked as quoted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.features.code.lsp_types import Diagnostic, Encoding, characters, marked_text
from gshtui.text.sanitise import literal, one_line

Severity = Literal["error", "warning", "information", "hint"]
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information", "hint")
MOST_TOLD = 8
"""Problems that are told with an edit."""
_FARTHEST = 9_999
"""Column of a problem in a line that is not known, at most."""
_LONGEST = 240
"""Characters of one problem."""


class CodeProblem(msgspec.Struct, frozen=True):
    """One problem.

    Attributes:
        line: counted from 1, as `column` is.
        source: who says so: the server and its rule.
        text: the line that it is in, without blanks around it; empty if it is not known.
    """

    path: Path
    line: int
    column: int
    severity: Severity
    message: str
    source: str
    text: str = ""


def problems_of(
    path: Path, server: str, found: Iterable[Diagnostic], lines: Sequence[str], encoding: Encoding
) -> tuple[CodeProblem, ...]:
    """A server's diagnostics of a file, worst first; hints, which are about how a text looks, are left out. `lines`: of
    the file, if they are known.
    """
    problems: list[CodeProblem] = []
    for one in found:
        if one.severity == 4:
            continue
        at = one.range.start
        line = lines[at.line] if 0 <= at.line < len(lines) else ""
        column = characters(line, at.character, encoding) if line else min(max(0, at.character), _FARTHEST)
        rule = "" if one.code is None else f" {one_line(literal(str(one.code)[:120]), 60)}"
        said = one_line(literal(marked_text(one.message)[: _LONGEST * 2]), _LONGEST)
        severity = _SEVERITIES[one.severity - 1] if 1 <= one.severity <= 4 else "error"
        problems.append(
            CodeProblem(
                path, max(0, at.line) + 1, column + 1, severity, said, f"{server}{rule}", line.strip()[:_LONGEST]
            )
        )
    return tuple(sorted(problems, key=_rank))


def _rank(problem: CodeProblem) -> tuple[int, int, int]:
    return _SEVERITIES.index(problem.severity), problem.line, problem.column


def new_problems(before: Sequence[CodeProblem], now: Sequence[CodeProblem]) -> list[CodeProblem]:
    """Those of `now` that were not there before, wherever their lines have moved to."""
    kept = Counter((problem.source, problem.message, problem.text) for problem in before)
    left: list[CodeProblem] = []
    for problem in now:
        key = (problem.source, problem.message, problem.text)
        if kept[key]:
            kept[key] -= 1
        else:
            left.append(problem)
    moved: Counter[tuple[str, str]] = Counter()  # the same problem in a line that was changed
    for (source, message, _), count in kept.items():
        moved[source, message] += count
    new: list[CodeProblem] = []
    for problem in left:
        key = (problem.source, problem.message)
        if moved[key]:
            moved[key] -= 1
        else:
            new.append(problem)
    return new


def listed(problems: Sequence[CodeProblem], shown: Callable[[Path], str], most: int) -> list[str]:
    """The first problems, worst first, a quoted line each; and a line that counts the others."""
    ordered = sorted(problems, key=_rank)
    lines = [
        f"│ {shown(one.path)}:{one.line}:{one.column} {one.severity}: {one.message} ({one.source})"
        for one in ordered[:most]
    ]
    if (rest := len(ordered) - most) > 0:
        lines.append(f"[and {rest:,} more; `code diagnostics` lists them]")
    return lines


def counted(count: int, what: str = "problem") -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
