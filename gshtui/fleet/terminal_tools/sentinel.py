"""The line that runs a command in the shared shell and prints its exit code, and finding the output on the screen.

Pure. The command stays exactly as given, in a group on its own lines, so that comments and here-documents end where
they should; a token is printed with the exit code at its end. Called by `terminal_tool`.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

import msgspec


class SentinelMatch(msgspec.Struct, frozen=True):
    """A command's end on the screen. `whole`: the start of the output is on it too."""

    code: int
    lines: tuple[str, ...]
    whole: bool


def token() -> str:
    return secrets.token_hex(3)


def line(command: str, token: str, shell: str) -> str:
    """The line to type. The token is separate from the words around it, so that the typed line is not a sentinel."""
    said = rf"printf '\n[gsh %s exit %d]\n' {token}"
    if shell == "fish":
        return f" begin\n{command}\nend; {said} $status"
    return f" {{ {command}\n}}; {said} $?"


def pattern(token: str) -> str:
    return rf"^\[gsh {token} exit (\d+)\]\s*$"


def prompted(typed: str, shell: str) -> tuple[str, ...]:
    """The typed lines before each of which a shell without its own line editor prints `> `."""
    return () if shell in ("zsh", "bash", "fish") else tuple(typed.split("\n")[1:])


def found(lines: Sequence[str], token: str, prompted: Sequence[str] = ()) -> SentinelMatch | None:
    """The command's end and its output between the typed line and the sentinel; `None` while it has not ended.

    `prompted`: see there. Where the terminal shows all lines before the shell reads the first, those prompts come
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
                output.pop()  # the sentinel begins with a newline, in case the output did not end with one
            return SentinelMatch(int(match[1]), tuple(output), start > 0)
    return None


def typed_end(lines: Sequence[str], token: str) -> int:
    """Index of the first line of output: behind the last one that shows what was typed; 0 when that is not there."""
    echo = re.compile(rf"{token} \$(?:\?|status)")
    return next((at + 1 for at in range(len(lines) - 1, -1, -1) if echo.search(lines[at])), 0)
