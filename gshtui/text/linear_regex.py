"""Other people's regular expressions, which must not hold the program up, whatever they are.

Python's `re` may need minutes for a short line and holds the interpreter meanwhile: no key is answered, no deadline
fires. Patterns from models, people or files are therefore matched by `regex`, with a limit of time that grows linearly
with the text; an expression that once needed more matches nothing from then on (`Linear.slow`). The dialect is that of
RE2: look-around, back-references and possessive repetition are refused, `\\d`, `\\s` and `\\w` are ASCII (unless the
pattern itself has letters beyond or `\\p`), and `^` and `$` are the ends of the text. What would take much memory to
compile is refused, too. The library is loaded with the first pattern.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    import regex

LONGEST = 20_000
"""Most characters of a pattern."""
_LARGEST = 20_000
"""Most characters of a pattern whose counted repetitions are written out."""
_DEEPEST = 50
"""Most groups inside each other."""
_SECONDS = 0.15
_SECONDS_A_CHARACTER = 1e-6
_CLASSES = "dDsSwW"
_LETTERS = _CLASSES + "bBAQpPxnrtfva0"
"""What may follow a backslash, apart from signs."""
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAME = re.compile(r"\(\?P?<([A-Za-z_]\w*)>", re.ASCII)
_COUNT = re.compile(r"\{(\d+)(,(\d*))?\}")
_HEX = re.compile(r"\\x(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{2}))")
_BACKTRACKS = "look-around and the like are not supported"


class LinearError(ValueError):
    """The pattern is not a regular expression of this dialect; the text says why."""


class RegexMatch(Protocol):
    """Where a pattern matches; positions count characters of the text."""

    def __getitem__(self, group: str | int, /) -> Any: ...

    def group(self, group: int = 0, /) -> str | None: ...

    def span(self, group: int = 0, /) -> tuple[int, int]: ...


class Linear:
    """A compiled pattern. Thread-safe."""

    __slots__ = ("_engine", "groups", "pattern", "slow")

    def __init__(self, pattern: str, engine: regex.Pattern[str]) -> None:
        self.pattern = pattern
        self.groups: int = engine.groups
        self.slow = False
        """It needed more time than it may have, and has matched nothing since."""
        self._engine = engine

    def search(self, text: str) -> RegexMatch | None:
        return self._within(self._engine.search, text)

    def match(self, text: str) -> RegexMatch | None:
        return self._within(self._engine.match, text)

    def fullmatch(self, text: str) -> RegexMatch | None:
        return self._within(self._engine.fullmatch, text)

    def _within(self, matched: Any, text: str) -> RegexMatch | None:
        if self.slow:
            return None
        try:
            return matched(text, timeout=_SECONDS + len(text) * _SECONDS_A_CHARACTER)
        except (TimeoutError, MemoryError):
            self.slow = True
            return None


@functools.lru_cache(maxsize=256)
def compile_linear(pattern: str) -> Linear:
    """Compile it. Raises `LinearError`: it is not a regular expression, needs backtracking, or is too large."""
    if len(pattern) > LONGEST:
        raise LinearError(f"it has {len(pattern):,} characters, more than {LONGEST:,}")
    import regex  # only callers with such a pattern pay for it

    try:
        translated = _Translation(pattern).translated()
        letters = regex.ASCII if pattern.isascii() and r"\p" not in pattern.lower() else regex.UNICODE
        return Linear(pattern, regex.compile(translated, letters | regex.VERSION0))
    except (regex.error, RecursionError, OverflowError) as error:
        raise LinearError(str(error) or type(error).__name__) from error


class _Group(msgspec.Struct):
    """One that is open. `closing`: how many groups of flags end with it or with its alternative."""

    multiline: bool
    flags: list[str] = msgspec.field(default_factory=list[str])
    size: int = 0
    last: int = 0
    """The size of the last item, which a count would repeat."""


class _Translation:
    """One pattern of our dialect as one of the library's."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._out: list[str] = []
        self._groups = [_Group(multiline=False)]

    def translated(self) -> str:
        """The library's pattern. Raises `LinearError`."""
        pattern, at = self._pattern, 0
        while at < len(pattern):
            at = self._item(at)
            if sum(group.size for group in self._groups) > _LARGEST:
                raise LinearError("it repeats too much")
        if len(self._groups) > 1:
            raise LinearError("a parenthesis is not closed")
        self._out.append(")" * len(self._groups[0].flags))
        return "".join(self._out)

    def _item(self, at: int) -> int:
        pattern, group = self._pattern, self._groups[-1]
        character = pattern[at]
        if character == "\\":
            return self._escape(at)
        if character == "[":
            end = self._set_end(at)
            return self._add(pattern[at:end], end)
        if character == "(":
            return self._opened(at)
        if character == ")":
            return self._closed(at)
        if character == "|":
            self._out.append(")" * len(group.flags) + "|" + "".join(group.flags))
            group.last = 0
            return at + 1
        if character == "$":
            return self._add("$" if group.multiline else r"\Z", at + 1)
        if character in "*+?":
            return self._repeated(at + 1, character, 0)
        if character == "{":
            if (count := _COUNT.match(pattern, at)) is None:
                return self._add(r"\{", at + 1)
            most = int(count[3] or count[1])
            if max(most, int(count[1])) > 1000:
                raise LinearError("it repeats something more than 1,000 times")
            return self._repeated(count.end(), count[0], max(0, most - 1))
        return self._add(character, at + 1)

    def _add(self, text: str, end: int, size: int = 1) -> int:
        self._out.append(text)
        self._groups[-1].last = size
        self._groups[-1].size += size
        return end

    def _repeated(self, end: int, text: str, times: int) -> int:
        group = self._groups[-1]
        if not group.last:
            raise LinearError(f"there is nothing that {text} could repeat")
        group.size += group.last * times
        group.last = 0
        self._out.append(text)
        if self._pattern[end : end + 1] == "?":
            self._out.append("?")
            end += 1
        if self._pattern[end : end + 1] in ("+", "*", "?") and self._pattern[end : end + 1]:
            raise LinearError(f"a repetition is repeated at {self._pattern[: end + 1][-10:]} ({_BACKTRACKS})")
        return end

    def _escape(self, at: int) -> int:
        pattern = self._pattern
        letter = pattern[at + 1 : at + 2]
        if letter == "Q":
            end = pattern.find(r"\E", at)
            inside = pattern[at + 2 : end if end >= 0 else len(pattern)]
            for character in inside:
                self._add(re.escape(character), 0)
            return end + 2 if end >= 0 else len(pattern)
        if letter == "z":
            return self._add(r"\Z", at + 2)
        text, end = self._escaped(at)
        return self._add(text, end)

    def _escaped(self, at: int) -> tuple[str, int]:
        """What an escape is, in a set or outside, and where it ends."""
        pattern = self._pattern
        letter = pattern[at + 1 : at + 2]
        if not letter:
            raise LinearError("a backslash ends it")
        if letter == "x":
            number = _HEX.match(pattern, at)
            if number is None or int(number[1] or number[2], 16) > 0x10FFFF:
                raise LinearError(r"\x is followed by no character's number")
            return re.escape(chr(int(number[1] or number[2], 16))), number.end()
        if letter in "pP" and pattern[at + 2 : at + 3] == "{":
            end = pattern.find("}", at)
            if end < 0:
                raise LinearError(rf"\{letter}{{ is not closed")
            return pattern[at : end + 1], end + 1
        if letter.isalnum() and letter.isascii() and letter not in _LETTERS:
            raise LinearError(rf"\{letter} is not known ({_BACKTRACKS})")
        return pattern[at : at + 2], at + 2

    def _set_end(self, at: int) -> int:
        pattern, end = self._pattern, at + 1
        if pattern[end : end + 1] == "^":
            end += 1
        if pattern[end : end + 1] == "]":
            end += 1
        while end < len(pattern):
            if pattern[end] == "]":
                return end + 1
            if pattern.startswith("[:", end) and (close := pattern.find(":]", end)) >= 0:
                end = close + 2
            elif pattern[end] == "\\":
                end = self._escaped(end)[1]
            else:
                end += 1
        raise LinearError("a bracket is not closed")

    def _opened(self, at: int) -> int:
        pattern, group = self._pattern, self._groups[-1]
        if len(self._groups) > _DEEPEST:
            raise LinearError(f"it has more than {_DEEPEST} groups inside each other")
        if not pattern.startswith("(?", at):
            self._begin("(", group.multiline)
            return at + 1
        if (name := _NAME.match(pattern, at)) is not None:
            self._begin(f"(?P<{name[1]}>", group.multiline)
            return name.end()
        flags = _FLAGS.match(pattern, at)
        if flags is None or "U" in flags[0]:
            raise LinearError(f"invalid perl operator: {pattern[at : at + 4]} ({_BACKTRACKS})")
        on, off, sign = flags.groups()
        multiline = "m" in on or (group.multiline and "m" not in (off or ""))
        text = f"(?{on}{f'-{off}' if off else ''}:"
        if sign == ":":
            self._begin(text, multiline)
        else:  # for the rest of the group
            group.flags.append(text)
            group.multiline = multiline
            self._out.append(text)
            group.last = 0
        return flags.end()

    def _begin(self, text: str, multiline: bool) -> None:
        self._out.append(text)
        self._groups.append(_Group(multiline))

    def _closed(self, at: int) -> int:
        if len(self._groups) == 1:
            raise LinearError("a parenthesis is closed that is not open")
        group = self._groups.pop()
        return self._add(")" * len(group.flags) + ")", at + 1, max(1, group.size))
