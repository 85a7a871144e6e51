"""Ranges of versions as packages of npm and Python write them: `>=22.19.0`, `^20.17 || >=22.9`, `<3.13,>=3.10`, `18.x`.

What cannot be read refuses nothing.
"""

from __future__ import annotations

import re

from gshtui.text.version_order import Order, order

_TERM = re.compile(r"([=<>~!^]{0,3}+)\s{0,3}+v?(\d[0-9A-Za-z.+*-]{0,60}+)")
_LONGEST = 200


def is_in_range(version: str, wanted: str) -> bool:
    """Whether a version is one of those; also where that cannot be told."""
    mine = order(version)
    if mine is None or len(wanted) > _LONGEST:
        return True
    return any(_fits_all(mine, part) for part in wanted.split("||"))


def _fits_all(mine: Order, part: str) -> bool:
    first, is_span, last = part.strip().partition(" - ")
    terms = _TERM.finditer(f">={first} <={last}" if is_span else part)
    return all(_fits(mine, term[1], term[2]) for term in terms)


def _fits(mine: Order, sign: str, written: str) -> bool:
    bound = written.rstrip(".xX*")
    numbers = [int(number) for number in re.findall(r"\d{1,15}", re.split(r"[-+a-zA-Z]", bound, maxsplit=1)[0])]
    low = order(bound)
    if low is None:
        return True
    if sign in (">", ">=", "<"):
        return {">": mine > low, ">=": mine >= low, "<": mine < low}[sign]
    if sign == "!=":
        return not low <= mine < _above(numbers) if bound != written else mine != low
    if sign == "<=":
        return mine < _above(numbers)
    major = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1) + 1
    kept = {"^": numbers[:major], "~": numbers[:2], "~=": numbers[:-1] or numbers}
    return low <= mine < _above(kept.get(sign, numbers))


def _above(numbers: list[int]) -> Order:
    """The first version that does not begin with these numbers."""
    return (*numbers[:-1], numbers[-1] + 1), -1, ()
