"""Other people's regular expressions, matched in time proportional to the text.

Python's `re` may need minutes for a short line and holds the interpreter meanwhile: no key is answered, no deadline
fires. Patterns from models, people or files are therefore compiled by RE2, which does neither. Look-around,
back-references and possessive repetition are refused. The library is loaded with the first pattern.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, Protocol

LONGEST = 20_000
"""Most characters of a pattern."""


class LinearError(ValueError):
    """The pattern is not a regular expression of this dialect; the text says why."""


class RegexMatch(Protocol):
    """Where a pattern matches; positions count characters of the text."""

    def __getitem__(self, group: str | int, /) -> Any: ...

    def group(self, group: int = 0, /) -> str | None: ...

    def span(self, group: int = 0, /) -> tuple[int, int]: ...


class _Engine(Protocol):
    """The part of the library's compiled expressions that we use; it has no types."""

    groups: int

    def search(self, text: str) -> RegexMatch | None: ...

    def match(self, text: str) -> RegexMatch | None: ...

    def fullmatch(self, text: str) -> RegexMatch | None: ...


class Linear:
    """A compiled pattern. Thread-safe."""

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
        """The match at the beginning of the text."""
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
    r"""Compile the pattern. `$` and `^` are the ends of the text; `\d`, `\s` and `\w` are ASCII.

    Raises:
        LinearError: it is not a regular expression, needs backtracking, or is too large.
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
    """The exception that RE2 raises for an invalid pattern, for callers that pass patterns to another library."""
    return _library().error


def _library() -> Any:
    # It has no types and is a shared library: only callers with such a pattern pay for it.
    return importlib.import_module("re2")


def _encodable(text: str) -> str:
    """The text with `?` for each lone surrogate, such as in a file name that is not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _said(error: Exception) -> str:
    """The library's reason, which some versions give as bytes."""
    reason = error.args[0] if error.args else ""
    said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    if "invalid perl operator" in said:
        return f"{said} (look-around and the like are not supported)"
    return said
