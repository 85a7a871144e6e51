"""The worst cases of a regular expression, derived from the expression itself, and what they cost.

An attack is a beginning, a piece that is repeated, and an end that does not fit. The pieces are words of the
expression's own alphabet: what each of its repetitions may hold, and what leads up to it. The verdict is whether a
match over a long text ends within a limit: linear work takes a hundredth of it, and quadratic work a hundred times it.
"""

import heapq
import re
import re._constants as sre  # pyright: ignore[reportMissingImports]
import re._parser as parser  # pyright: ignore[reportMissingImports]
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

LONG, AT_ONCE = 500, 0.1
"""Characters of a first look at each attack, and the seconds of processor time after which it is given up."""
LONGEST, WITHIN = 25_000, 0.1
"""The same of the look that decides."""
WORST = 3
"""Attacks that get it: those that took longest at first."""
_VARIANTS = 6
_MOST = 80
_COMMON = " \t\n\r-_./:\\\"'`*|#<>[](){}=,;~\x1b\x07aA0é日\u200b\0"
_ENDS = ("", "\0", "\n!")
_CATEGORY: dict[Any, Callable[[str], bool]] = {
    sre.CATEGORY_DIGIT: str.isdecimal,
    sre.CATEGORY_NOT_DIGIT: lambda c: not c.isdecimal(),
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    sre.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    sre.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}


@dataclass(frozen=True)
class Attack:
    """A text that grows."""

    start: str
    pump: str
    end: str

    def text(self, times: int) -> str:
        return self.start + self.pump * times + self.end


def attacks(expression: re.Pattern[Any]) -> list[Attack]:
    pattern = expression.pattern if isinstance(expression.pattern, str) else expression.pattern.decode("latin-1")
    flags = expression.flags & ~re.UNICODE
    tree = parser.parse(pattern, flags)
    pool = "".join(dict.fromkeys([*_literals(tree), *_COMMON]))
    repeats = [(before, _words(body, pool)) for before, body in _repeats(tree, [""], pool)]
    held = Counter(character for _, words in repeats for character in {word for word in words if len(word) == 1})
    shared = [character for character, times in held.items() if times > 1][:8]
    found: dict[tuple[str, str], None] = {}
    for before, words in repeats:
        for start in (before[0], before[-1]):
            found.update(dict.fromkeys((start, pump) for pump in (*words[:4], *words[-2:], *shared)))
            found.update(dict.fromkeys(("", start + word) for word in words[:2]))
            found[("", start)] = None
    whole = [*_words(tree, pool)[:6], *dict.fromkeys(_literals(tree))]
    found.update(dict.fromkeys(("", pump) for pump in (*whole[:30], *shared)))
    ends = (*_ENDS, *(f"{character}\0" for character in dict.fromkeys(_excluded(tree)) if character not in "\0\n"))
    return [Attack(start, pump, end) for start, pump in found if pump for end in ends[: len(_ENDS) + 2]]


def _excluded(tree: Any) -> Iterator[str]:
    """What negated sets leave out: in an expression that takes nearly everything, only this does not fit."""
    for op, value in tree:
        if op is sre.NOT_LITERAL:
            yield chr(value)
        elif op is sre.IN and value and value[0][0] is sre.NEGATE:
            yield from (chr(inner) for kind, inner in value if kind is sre.LITERAL)
        else:
            for below in _children(op, value):
                yield from _excluded(below)


def superlinear(expression: re.Pattern[Any], run: Callable[[Any], object]) -> Attack | None:
    """An attack whose cost grows faster than its length; `None` when there is none."""
    binary = isinstance(expression.pattern, bytes)

    def cost(attack: Attack, length: int, within: float) -> float:
        text: Any = attack.text(max(1, length // len(attack.pump)))
        return _timed(run, text.encode("latin-1", "replace") if binary else text, within)

    ranked: list[tuple[float, Attack]] = []
    for attack in attacks(expression):
        spent = cost(attack, LONG, AT_ONCE)
        if spent == float("inf"):
            return attack
        ranked.append((spent, attack))
    for _, attack in heapq.nlargest(WORST, ranked, key=lambda pair: pair[0]):
        if cost(attack, LONGEST, WITHIN) == float("inf"):
            return attack
    return None


class _Enough(Exception):
    """The look takes too long."""


def _timed(run: Callable[[Any], object], text: Any, within: float) -> float:
    """Seconds of processor time; infinity where the limit ended it. Runs in the first thread, which gets the signal."""
    running = True

    def enough(*_: object) -> None:
        if running:  # a signal that comes late costs nobody anything
            raise _Enough

    before = signal.signal(signal.SIGPROF, enough)
    signal.setitimer(signal.ITIMER_PROF, within)
    start = time.thread_time()
    try:
        run(text)
        running = False
    except _Enough:
        return float("inf")
    finally:
        running = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return time.thread_time() - start


def _literals(tree: Any) -> Iterator[str]:
    for kind, value in tree:
        if kind in (sre.LITERAL, sre.NOT_LITERAL):
            yield chr(value)
        elif kind is sre.IN:
            for what, inner in value:
                if what is sre.LITERAL:
                    yield chr(inner)
                elif what is sre.RANGE:
                    yield chr(inner[0])
                    yield chr(inner[1])
        else:
            for below in _children(kind, value):
                yield from _literals(below)


def _children(kind: Any, value: Any) -> list[Any]:
    if kind is sre.BRANCH:
        return list(value[1])
    if kind is sre.SUBPATTERN:
        return [value[3]]
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return [value[2]]
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [value[1]]
    if kind is sre.ATOMIC_GROUP:
        return [value]
    return []


def _repeats(tree: Any, before: list[str], pool: str) -> Iterator[tuple[list[str], Any]]:
    """Every repetition: the words that lead up to it, and its body."""
    for kind, value in tree:
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT) and value[1] > 8:
            yield before, value[2]
        for below in _children(kind, value):
            yield from _repeats(below, before, pool)
        if kind not in (sre.ASSERT, sre.ASSERT_NOT, sre.AT):
            words = _of(kind, value, pool)
            before = list(dict.fromkeys(b + w for b in before for w in (words[:_VARIANTS] or [""])))[:_VARIANTS]


def _words(tree: Any, pool: str) -> list[str]:
    """Some words that the expression fits, as far as looking around does not matter."""
    words = [""]
    for kind, value in tree:
        words = list(dict.fromkeys(b + w for w in (_of(kind, value, pool) or [""]) for b in words))[:_MOST]
    return words


def _of(kind: Any, value: Any, pool: str) -> list[str]:
    if kind is sre.LITERAL:
        return [chr(value)]
    if kind is sre.NOT_LITERAL:
        return [c for c in pool if c != chr(value)][:4]
    if kind is sre.ANY:
        return [c for c in pool if c != "\n"][:4]
    if kind is sre.IN:
        return [c for c in pool if _within(value, c)] or [chr(v[0]) for k, v in value if k is sre.RANGE]
    if kind is sre.BRANCH:
        return [word for branch in value[1] for word in _words(branch, pool)[:3]]
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        least = value[0]
        return [word * max(1, min(least, 64)) for word in _words(value[2], pool)] + ([""] if not least else [])
    return [word for below in _children(kind, value) if kind is not sre.ASSERT_NOT for word in _words(below, pool)]


def _within(items: Any, character: str) -> bool:
    negated = False
    found = False
    for what, value in items:
        if what is sre.NEGATE:
            negated = True
        elif what is sre.LITERAL:
            found = found or ord(character) == value
        elif what is sre.RANGE:
            found = found or value[0] <= ord(character) <= value[1]
        elif what is sre.CATEGORY:
            found = found or _CATEGORY[value](character)
    return found != negated
