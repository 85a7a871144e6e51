"""The command language's tokens: words, `key=value`, 'single' and "double" quotes.

Single quotes take everything literally; double quotes know \\n, \\t, \\\\ and \\". Outside quotes a backslash keeps the
next character. Nothing is expanded: no variables, no globs, no word splitting.
"""

from __future__ import annotations

from dataclasses import dataclass

from gshtui.commands.declaration import UsageError

_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a line. `start` and `end` are offsets into the line; `key` is set for `key=value`."""

    text: str
    start: int
    end: int
    key: str = ""
    quoted: bool = False


def tokens(line: str, *, lenient: bool = False) -> list[Token]:
    """Split a line into tokens.

    Args:
        line: without the leading slash.
        lenient: take an unclosed quote as closed at the end, for completion while someone types.

    Raises:
        UsageError: a quote is not closed.
    """
    found: list[Token] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        token = _word(line, at, lenient)
        found.append(token)
        at = token.end
    return found


def _word(line: str, start: int, lenient: bool) -> Token:
    out: list[str] = []
    key, quoted, at = "", False, start
    while at < len(line) and not line[at].isspace():
        char = line[at]
        if char in "'\"":
            text, at = _quoted(line, at, lenient)
            out.append(text)
            quoted = True
        elif char == "\\" and at + 1 < len(line):
            out.append(line[at + 1])
            at += 2
        elif char == "=" and not key and not quoted and "".join(out).isidentifier():
            key, out = "".join(out), []
            at += 1
        else:
            out.append(char)
            at += 1
    return Token("".join(out), start, at, key, quoted)


def _quoted(line: str, start: int, lenient: bool) -> tuple[str, int]:
    quote = line[start]
    out: list[str] = []
    at = start + 1
    while at < len(line):
        char = line[at]
        if char == quote:
            return "".join(out), at + 1
        if char == "\\" and quote == '"' and at + 1 < len(line):
            out.append(_ESCAPES.get(line[at + 1], "\\" + line[at + 1]))
            at += 2
        else:
            out.append(char)
            at += 1
    if lenient:
        return "".join(out), at
    raise UsageError(f"The quote {quote} at column {start + 1} is not closed.")


def quote(text: str) -> str:
    """The text as one word of the language."""
    if text and not any(char.isspace() or char in "'\"\\=" for char in text):
        return text
    if "'" not in text:
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
