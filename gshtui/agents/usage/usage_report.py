"""Usage as a table with a bar per line, and as data for scripts.

Pure. Money is in US dollars; a sum says if it leaves out requests with an unknown price. Called by the command `usage`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Any

from gshtui.bus.messages import Usage
from gshtui.bus.usage_data import By, UsageSum
from gshtui.text import markdown_table, units
from gshtui.text.sanitise import one_line

_WIDTH = 5
"""Cells of the longest bar: a line of a usual size fits beside the panes of a window of 120 columns."""
_HEADS: dict[By, str] = {
    "day": "day",
    "agent": "agent",
    "account": "account",
    "model": "model",
    "provider": "provider",
    "project": "folder",
    "session": "conversation",
}


def total(sums: Sequence[UsageSum]) -> UsageSum:
    usage = Usage()
    for one in sums:
        usage = usage + one.usage
    return UsageSum(
        "total",
        sum(one.requests for one in sums),
        usage,
        sum(one.estimate for one in sums),
        sum(one.counted for one in sums),
        sum(one.cost for one in sums),
        sum(one.unpriced for one in sums),
        sum(one.seconds for one in sums),
        max((one.last for one in sums), default=0.0),
    )


def plain(one: UsageSum) -> dict[str, Any]:
    """A line as scripts get it. `cost` is `null` where no price at all is known."""
    usage = one.usage
    return {
        "key": one.key,
        "requests": one.requests,
        "tokens": one.tokens,
        "input": usage.input,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "estimate": one.estimate,
        "estimate_error": None if one.error is None else round(one.error, 4),
        "cost": None if one.requests and one.unpriced == one.requests else round(one.cost, 6),
        "unpriced": one.unpriced,
        "seconds": round(one.seconds, 1),
        "last": one.last,
    }


def comma_separated(sums: Sequence[UsageSum], by: By) -> str:
    """The lines for a spreadsheet: a row of names, then what scripts get, unknown values as empty fields."""
    into = io.StringIO()
    rows = [plain(one) for one in sums]
    names = list(plain(total(())))
    writer = csv.writer(into, lineterminator="\n")
    writer.writerow([by, *names[1:]])
    writer.writerows([_cell(row[name]) for name in names] for row in rows)
    return into.getvalue().rstrip("\n")


def _cell(value: object) -> object:
    """Not what a spreadsheet would take for a formula."""
    if not isinstance(value, str):
        return value
    text = one_line(value, 500)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def table(sums: Sequence[UsageSum], by: By, *, aloud: bool = False) -> str:
    """A Markdown table: the lines, each with its share of tokens as a bar, and their sum. `aloud`: without bars."""
    if not sums:
        return "No usage was recorded."
    most = max(one.tokens for one in sums)
    head = (_HEADS[by], "share", "requests", "in", "cache", "out", "est. ±", "cost", "time")
    rows = [_row(one, by, bar(one.tokens, most)) for one in sums]
    if len(sums) > 1:
        rows.append(_row(total(sums), by, ""))
    names, numbers = (1, 2) if aloud else (2, 2)
    lines = ((markdown_table.cell(row[0]), *row[1:names], *row[numbers:]) for row in rows)
    shown = markdown_table.table((*head[:names], *head[numbers:]), lines, right=range(names, len(head)))
    return f"{shown}\n\n+ further requests at an unknown price" if any(one.unpriced for one in sums) else shown


def bar(value: float, most: float, width: int = _WIDTH) -> str:
    """A bar of up to `width` cells, to an eighth of one; something for everything above nothing."""
    return units.bar(value / most, width, least=1) if value > 0 and most > 0 else ""


_OTHER = 10.0
"""From this on an estimate is not off: the provider counts something else."""


def _key(one: UsageSum, by: By) -> str:
    """What the line is of; a day of this year without the year."""
    if by == "day":
        with suppress(ValueError):
            day = date.fromisoformat(one.key)
            return f"{day.day} {day:%b}" if day.year == date.today().year else one.key
    return one_line(one.key, 40) or "-"


def _row(one: UsageSum, by: By, bar_: str) -> tuple[str, ...]:
    usage = one.usage
    sent = usage.input + usage.cache_read + usage.cache_write
    cost = "not priced" if one.requests == one.unpriced else units.money(one.cost, known=not one.unpriced)
    return (
        _key(one, by),
        bar_,
        str(one.requests),
        units.tokens(sent),
        units.percent(usage.cache_read, sent) if sent else "-",
        units.tokens(usage.output),
        units.deviation(one.error) if one.error is not None and abs(one.error) < _OTHER else "-",
        cost,
        units.clock(one.seconds),
    )
