"""The line that runs a command in a shared shell and says how it ended, and how its output is found on the screen.

Pure. The command is exactly what was asked for, in a group of its own lines, so that comments and here-documents end
where they should; what ends it is printed with its exit code. Called by `terminal`.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SentinelMatch:
    """A command's end on the screen. `whole`: the output's beginning is there too."""

    code: int
    lines: tuple[str, ...]
    whole: bool


def token() -> str:
    """A word that marks one run."""
    return secrets.token_hex(3)


def line(command: str, token: str, shell: str) -> str:
    """What is typed. The token stands apart from the words around it, so that the typed line is no sentinel."""
    said = rf"printf '\n[gsh %s exit %d]\n' {token}"
    if shell == "fish":
        return f" begin\n{command}\nend; {said} $status"
    return f" {{ {command}\n}}; {said} $?"


def pattern(token: str) -> str:
    """What the printed sentinel matches."""
    return rf"^\[gsh {token} exit (\d+)\]\s*$"


def prompted(typed: str, shell: str) -> tuple[str, ...]:
    """The lines of what was typed before each of which a shell without an editor of its own prints `> `."""
    return () if shell in ("zsh", "bash", "fish") else tuple(typed.split("\n")[1:])


def found(lines: Sequence[str], token: str, prompted: Sequence[str] = ()) -> SentinelMatch | None:
    """The command's end and its output between the typed line and the sentinel; `None` while it has not ended.

    Args:
        prompted: see there. Where the terminal shows all lines before the shell reads the first, those prompts come
            behind them, and are no output.
    """
    expression = re.compile(pattern(token))
    for end in range(len(lines) - 1, -1, -1):
        if match := expression.match(lines[end]):
            start = typed_end(lines[:end], token)
            output = list(lines[start:end])
            if start and output:
                shown = lines[max(0, start - len(prompted)) : start]
                left = len(prompted) - sum(line in shown for line in (f"> {text}".rstrip() for text in prompted))
                output[0] = re.sub(rf"^(?:> ?){{0,{left}}}", "", output[0], count=1)
            while output and not output[-1].strip():
                output.pop()  # the sentinel begins with a line end, in case the output had none
            return SentinelMatch(int(match[1]), tuple(output), start > 0)
    return None


def typed_end(lines: Sequence[str], token: str) -> int:
    """Index of the first line of output: behind the last one that shows what was typed; 0 when that is not there."""
    echo = re.compile(rf"{token} \$(?:\?|status)")
    return next((at + 1 for at in range(len(lines) - 1, -1, -1) if echo.search(lines[at])), 0)
