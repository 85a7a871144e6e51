"""On which line of a TOML file each key stands: the parser of the standard library does not say.

Takes text that is valid TOML; gives a line for every header and every key outside inline tables. Called by `reading`.
"""

from __future__ import annotations

import re
import tomllib

_TOKEN = re.compile(
    r'"""(?:\\(?:.|\Z)|[^\\])*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"(?:\\.|[^"\\\n])*+"?|\'[^\'\n]*+\'?|#[^\n]*|\n'
    r'|[\[\]{}=.,]|[^\s\[\]{}=.,#"\']+',
    re.DOTALL,
)

Path = tuple[str, ...]


def key_lines(text: str) -> dict[Path, int]:
    """Line, counted from 1, of each header and key, by its path."""
    found: dict[Path, int] = {}
    table: Path = ()
    parts: list[str] = []
    line, depth = 1, 0
    where = "key"  # key: before a `=`; header: inside `[…]`; value: behind the `=`, until the line ends
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "\n" and depth == 0:
            where, parts = "key", []
        elif where == "value":
            depth += (token in "[{") - (token in "]}") if len(token) == 1 else 0
        elif token == "[" and not parts:
            where = "header"
        elif token == "]" and where == "header":
            if parts:
                table, parts = tuple(parts), []
                for end in range(1, len(table) + 1):
                    found.setdefault(table[:end], line)
        elif token == "=" and where == "key":
            found.setdefault(table + tuple(parts), line)
            where, parts = "value", []
        elif token != "." and not token.startswith("#"):
            parts.append(_unquoted(token))
        line += token.count("\n")
    return found


def line_of(lines: dict[Path, int], path: Path) -> int:
    """Line of the key, or of the nearest thing that holds it; 0 when there is none."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), 0)


def _unquoted(token: str) -> str:
    if token[:1] not in "\"'":
        return token
    try:
        return next(iter(tomllib.loads(f"{token} = 0")))
    except tomllib.TOMLDecodeError:
        return token
