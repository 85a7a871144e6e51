"""Times as people write them: `2h`, `3 days`, `today`, `yesterday`, `2026-11-21`, `2026-11-21 14:30`, `14:30`.

Pure. Rejects what it cannot parse, in one sentence. Used by every command that looks back in time.
"""

from __future__ import annotations

import datetime
import re

from gshtui.commands.declaration import UsageError

_AGO = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*(s|sec|m|min|h|hour|d|day|w|week)s?(?:\s+ago)?", re.ASCII)
_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600, "d": 86_400, "day": 86_400, "w": 604_800}
_SECONDS["week"] = _SECONDS["w"]
FORMS = "as 30m, 2h, 7d, today, yesterday, 14:30, 2026-11-21 or 2026-11-21T14:30"


def parse_time(text: str, now: float) -> float | None:
    """The moment that the text names, in seconds since the epoch; it is read as local time. `None` for an empty text.
    Raises `UsageError`: it names no moment.
    """
    said = text.strip().lower()
    if not said:
        return None
    if ago := _AGO.fullmatch(said):
        return now - float(ago[1]) * _SECONDS[ago[2]]
    here = datetime.datetime.fromtimestamp(now)
    midnight = here.replace(hour=0, minute=0, second=0, microsecond=0)
    if said in ("today", "yesterday"):
        return (midnight - datetime.timedelta(days=said == "yesterday")).timestamp()
    try:
        if re.fullmatch(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?", said):
            clock = datetime.time.fromisoformat(said.zfill(5))
            return datetime.datetime.combine(midnight, clock).timestamp()
        if re.fullmatch(r"[0-9]{9,11}(?:\.[0-9]+)?", said):
            return float(said)
        return datetime.datetime.fromisoformat(text.strip().upper()).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{text.strip()[:60]!r} is not a time.", hint=f"Write it {FORMS}.") from error
