"""Regular expressions that somebody else wrote, matched in time proportional to the text.

Python's `re` may need minutes for a short line, and holds the interpreter meanwhile: no key is answered, no deadline
passes. A pattern that comes from a model, a person or a file is therefore compiled here, by RE2, which neither
backtracks nor holds the interpreter. Refuses what needs backtracking: look-around, back-references, possessive
repetition. The library is loaded when the first pattern is compiled.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, Protocol

LONGEST = 20_000
"""Characters of a pattern."""


class LinearError(ValueError):
    """The pattern is no regular expression of this dialect; the text says why."""


class RegexMatch(Protocol):
    """Where a pattern matches; positions are of the characters of the text."""

    def __getitem__(self, group: str | int, /) -> Any: ...

    def group(self, group: int = 0, /) -> str | None: ...

    def span(self, group: int = 0, /) -> tuple[int, int]: ...


class _Engine(Protocol):
    """What is used of a compiled expression of the library, which has no types."""

    groups: int

    def search(self, text: str) -> RegexMatch | None: ...

    def match(self, text: str) -> RegexMatch | None: ...

    def fullmatch(self, text: str) -> RegexMatch | None: ...


class Linear:
    """A compiled pattern. Safe in any thread."""

    __slots__ = ("_engine", "groups", "pattern")

    def __init__(self, pattern: str, engine: _Engine) -> None:
        self.pattern = pattern
        self.groups: int = engine.groups
        self._engine = engine

    def search(self, text: str) -> RegexMatch | None:
        """The first match anywhere in the text."""
        try:
            return self._engine.search(text)
        except UnicodeEncodeError:
            return self._engine.search(_encodable(text))

    def match(self, text: str) -> RegexMatch | None:
        """The match at the text's beginning."""
        try:
            return self._engine.match(text)
        except UnicodeEncodeError:
            return self._engine.match(_encodable(text))

    def fullmatch(self, text: str) -> RegexMatch | None:
        """The match of the whole text."""
        try:
            return self._engine.fullmatch(text)
        except UnicodeEncodeError:
            return self._engine.fullmatch(_encodable(text))


@functools.lru_cache(maxsize=256)
def compile_linear(pattern: str) -> Linear:
    r"""The pattern, ready to match. `$` and `^` are the ends of the text, `\d`, `\s` and `\w` mean ASCII.

    Raises:
        LinearError: it is no regular expression, needs backtracking, or is too large.
    """
    if len(pattern) > LONGEST:
        raise LinearError(f"it has {len(pattern):,} characters, more than {LONGEST:,}")
    library = _library()
    options = library.Options()
    options.log_errors = False
    try:
        return Linear(pattern, library.compile(_encodable(pattern), options))
    except library.error as error:
        raise LinearError(_said(error)) from error


def refusal() -> type[Exception]:
    """What RE2 raises for a pattern that is none, where another library hands it one."""
    return _library().error


def _library() -> Any:
    # Without types, and a shared library: only who has such a pattern pays for it.
    return importlib.import_module("re2")


def _encodable(text: str) -> str:
    """The text with a question mark in place of each half of a pair, such as a name that is no UTF-8 has."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _said(error: Exception) -> str:
    """The library's reason, which it gives as bytes in some versions."""
    reason = error.args[0] if error.args else ""
    said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    if "invalid perl operator" in said:
        return f"{said} (look-around and the like are not supported)"
    return said
