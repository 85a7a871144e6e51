"""Hours of every day, perhaps over midnight, as people write them: `22:00-07:30`. Pure."""

from __future__ import annotations

import datetime
import re

_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d) ?- ?([01]?\d|2[0-3]):([0-5]\d)")


def day_hours(words: str) -> tuple[datetime.time, datetime.time]:
    """The first moment, and the first one after the last. Raises `ValueError`, as half a sentence."""
    found = _HOURS.fullmatch(words.strip())
    if found is None:
        raise ValueError("write two times of day, such as 22:00-07:30")
    first, first_minute, last, last_minute = (int(number) for number in found.groups())
    return datetime.time(first, first_minute), datetime.time(last, last_minute)


def is_within(words: str, at: datetime.time) -> bool:
    """Whether a time of day is in these hours; `words` empty: in none. Raises `ValueError`."""
    if not words:
        return False
    start, end = day_hours(words)
    return start <= at < end if start <= end else at >= start or at < end
