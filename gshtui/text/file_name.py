r"""The one form of a file's name in what tools and commands say, and in what they are given back. Pure.

A name in which everything can be seen and told apart is itself. Any other is quoted as shells do it, `$'caf\xe9.txt'`,
so it is a word of a shell line as well. What is quoted may also be one step of a path: `docs/$'caf\xe9.txt'`.
"""

from __future__ import annotations

import re

from gshtui.text.sanitise import literal, one_line

_LONGEST = 4_096
_LETTERS = {"a": 7, "b": 8, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34}
_WRITTEN = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}
_ESCAPE = r"\\(?:x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[abefnrtv\\'\"])"
_PIECE = re.compile(rf"{_ESCAPE}|[^\\']+")
QUOTED = rf"\$'(?:[^\\']|{_ESCAPE})*'"
"""A quoted name, as an expression."""
_STEP = re.compile(rf"(?:(?<=/)|^){QUOTED}(?=/|$)")


def written_name(path: str) -> str:
    """A path as it is said: itself, or quoted where it could not be read back from what is seen. `path`: as Python has
    it, with undecodable bytes as surrogates.
    """
    usual = path == path.strip() and "  " not in path and path[:1] != "~" and "$'" not in path
    if usual and path.isascii() and path.isprintable():
        return path
    if usual and _is_seen(path):
        return path
    body = "".join(
        _escaped(
            char, alone=char == " " and path[at - 1 : at] not in ("", " ") and path[at + 1 : at + 2] not in ("", " ")
        )
        for at, char in enumerate(path)
    )
    if not _is_seen(body):  # letters that hide only side by side
        body = "".join(char if char.isascii() else f"\\U{ord(char):08x}" for char in body)
    return f"$'{body}'"


def read_name(text: str) -> str:
    """The path that is meant: with what is quoted in it as it is; `./` in front of a relative one that begins so.

    A text in which nothing is quoted is the path. So is one that no name can be.
    """
    if "$'" not in text:
        return text
    try:
        path = _STEP.sub(lambda match: _unquoted(match[0]), text)
    except (ValueError, OverflowError):
        return text
    return path if not text.startswith("$'") or path == text or path.startswith("/") else f"./{path}"


def _is_seen(text: str) -> bool:
    """Whether nothing in it would be shown as something else."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        return False
    return one_line(literal(text), max(_LONGEST, len(text))) == text


def _escaped(char: str, *, alone: bool) -> str:
    """A character within quotes. `alone`: it is a blank between letters."""
    if char in _WRITTEN:
        return _WRITTEN[char]
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if alone or (char != " " and _is_seen(char)):
        return char
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _unquoted(quoted: str) -> str:
    """Raises `ValueError`: it names a character that there is not."""
    found = bytearray()
    for piece in _PIECE.findall(quoted[2:-1]):
        if piece[0] != "\\":
            found += piece.encode("utf-8", "surrogateescape")
        elif piece[1] == "x":
            found.append(int(piece[2:], 16))
        elif piece[1] in "uU":
            found += chr(int(piece[2:], 16)).encode()
        else:
            found.append(_LETTERS[piece[1]])
    # Bytes that follow one another may be one character.
    return found.decode("utf-8", "surrogateescape")
