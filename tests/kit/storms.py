"""How much of the storms a run of the tests goes through: a part of their seeds, or all with `GSH_TEST_STORMS=full`."""

from __future__ import annotations

import os

FULL = os.environ.get("GSH_TEST_STORMS") == "full"


def seeds(number: int, by: int = 3) -> range:
    """The seeds of a storm that has so many: the first third of them, and two at least, unless all are asked for.

    `by`: a smaller part than a third, for a storm whose seeds take long.
    """
    return range(number if FULL else max(2, number // by))
