"""How much of the storms and properties a run of the tests goes through: a part, or all with `GSH_TEST_STORMS=full`."""

import itertools
import os
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")
FULL = os.environ.get("GSH_TEST_STORMS") == "full"


def seeds(number: int, by: int = 6) -> range:
    """The seeds of a storm that has so many: the first sixth of them, and one at least, unless all are asked for.

    `by`: another part than a sixth, for a storm whose seeds take long or differ in kind.
    """
    return range(number if FULL else max(1, number // by))


def examples(number: int) -> int:
    """How many examples of so many a property tries: a quarter, and five at least, unless all are asked for."""
    return number if FULL else max(5, number // 4)


def some(values: Sequence[T], by: int = 4) -> Sequence[T]:
    """Every fourth of these values, for a storm that takes long with each; all of them, if all is asked for."""
    return values if FULL else values[::by]


def combined(*values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Each of these values once at least, with others in turn; with all others, if all is asked for."""
    if FULL:
        return list(itertools.product(*values))
    most = max(map(len, values))
    return [tuple(some[number % len(some)] for some in values) for number in range(most)]
