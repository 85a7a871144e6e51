"""Moments as people write them."""

import datetime

import pytest

from gshtui.commands.declaration import UsageError
from gshtui.commands.timespec import parse_time

NOW = datetime.datetime(2026, 11, 21, 15, 30).timestamp()


def at(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("30s", NOW - 30),
        ("5m", NOW - 300),
        ("2h", NOW - 7200),
        ("1.5 hours ago", NOW - 5400),
        ("7d", NOW - 604_800),
        ("2 weeks", NOW - 1_209_600),
        ("today", at("2026-11-21")),
        ("Yesterday", at("2026-11-20")),
        ("9:05", at("2026-11-21T09:05")),
        ("2026-11-01", at("2026-11-01")),
        ("2026-11-01 14:30", at("2026-11-01T14:30")),
        ("2026-11-01T14:30:05Z", at("2026-11-01T14:30:05+00:00")),
        ("1795231290", 1795231290.0),
    ],
)
def test_what_people_write(said: str, meant: float) -> None:
    assert parse_time(said, NOW) == pytest.approx(meant)


def test_nothing_is_no_moment() -> None:
    assert parse_time(" ", NOW) is None


@pytest.mark.parametrize("said", ["soon", "25:99", "2026-13-01", "-3d", "3 fortnights", "9" * 40, "١٢h"])
def test_what_is_none_is_said(said: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        parse_time(said, NOW)
