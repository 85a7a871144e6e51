"""Sources of a status that part: which count, when that is said, and that each is said once."""

import pytest

from gshtui.programs.status.disagreements import LASTS, Disagreements, parted
from gshtui.programs.status.evidence import Evidence, Rank

NOW = 1_000.0


def says(rank: Rank, status: str, age: float, why: str = "") -> Evidence:
    source = {Rank.SCREEN: "screen", Rank.MOVEMENT: "activity"}.get(rank, rank.name.lower())
    return Evidence(rank, source, status, NOW - age, NOW, why=why)


@pytest.mark.parametrize(
    ("first", "other", "parts"),
    [
        (says(Rank.HOOK, "tool", 25), says(Rank.SCREEN, "idle", 24), True),
        (says(Rank.HOOK, "tool", 25), says(Rank.SCREEN, "quiet", 24), True),
        (says(Rank.RECORD, "waiting", 25), says(Rank.SCREEN, "thinking", 24), True),
        (says(Rank.RECORD, "idle", 25), says(Rank.SCREEN, "waiting", 90), True),
        (says(Rank.RECORD, "idle", 25), says(Rank.HOOK, "tool", 5), True),
        (says(Rank.RECORD, "thinking", 25), says(Rank.SCREEN, "tool", 24), False),
        (says(Rank.RECORD, "idle", 25), says(Rank.SCREEN, "quiet", 24), False),
        (says(Rank.RECORD, "thinking", 25), says(Rank.TRANSCRIPT, "idle", 90), False),  # of the turn before
        (says(Rank.RECORD, "thinking", 25), says(Rank.MOVEMENT, "quiet", 24), False),
        (says(Rank.SCREEN, "starting", 25), says(Rank.MOVEMENT, "thinking", 24), False),
    ],
)
def test_a_lower_source_that_says_otherwise_now_parts(first: Evidence, other: Evidence, parts: bool) -> None:
    assert parted((other, first)) == ([(first, other)] if parts else [])


def test_what_lasts_is_said_once_with_what_shows_it() -> None:
    seen = Disagreements()
    evidences = says(Rank.HOOK, "tool", 1), says(Rank.SCREEN, "quiet", 2, "rule 7: ❯")
    assert seen.news(evidences, NOW) == ([], LASTS - 1), "a screen is painted later than a source tells"
    assert seen.news(evidences, NOW + LASTS) == ([f"hook tool, screen quiet (rule 7: ❯), {LASTS + 1:.0f} s"], 0.0)
    for age in range(60):
        assert seen.news(evidences, NOW + LASTS + age)[0] == []
    others = says(Rank.HOOK, "waiting", 9), says(Rank.SCREEN, "thinking", 9)
    assert len(seen.news(others, NOW)[0]) == 1
