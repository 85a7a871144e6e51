"""Receipts, thresholds and waiting summaries without a terminal."""

import pytest
from msgspec.structs import replace

from gshtui.bus.context_data import Receipt
from gshtui.bus.events.context_events import ContextCut, CutFailed, SummaryAnswered, SummaryProposed
from gshtui.ui.context.context_actions import Tuning, parse_tuning
from gshtui.ui.context.receipt_screen import FateGroup, missing_texts, receipt_entries, receipt_title, receipt_words
from gshtui.ui.context.summaries import SummariesState, overdue, reduce
from tests.kit.recorded import NOW, S
from tests.kit.recorded_contexts import COMPACTED, PRUNED


def lines(
    opened: frozenset[str] = frozenset(), texts: dict[str, str] | None = None, receipt: Receipt = COMPACTED
) -> list[str]:
    """What a compaction's receipt says."""
    said: list[str] = []
    for entry in receipt_entries(receipt, opened, texts or {}):
        made = receipt_words(entry, 100)
        said.append(entry.text if entry.text is not None else "".join(part[1] for part in (*made.left, *made.right)))
    return said


def test_a_receipt_says_what_why_how_much_and_at_what_price() -> None:
    said = "\n".join(lines())
    for part in (
        "161k → 48.3k tokens",
        "210 → 14 messages",
        "$0.48 → $0.14",
        "summary: 1.2k tokens, 11.4 s, $0.02",
        "1. The first summary had no section “Next”",
        "a compaction starts at\n160,000",
    ):
        assert part in said
    one = replace(COMPACTED, messages_after=1)
    assert any(line.endswith("210 → 1 message") for line in lines(receipt=one))
    assert "by the threshold" in receipt_title(COMPACTED)
    assert receipt_title(replace(COMPACTED, id="")) == "Preview: compaction"
    assert "undone by you" in receipt_title(replace(COMPACTED, undone=True, undone_by="person"))


def test_every_item_is_listed_with_its_lot() -> None:
    opened = frozenset(f"g:{fate}" for fate in ("summarised", "dropped", "shortened", "carried", "kept"))
    said = lines(opened)
    for item in COMPACTED.items:
        assert any(item.source in line for line in said), item
    assert any("your words" in line for line in said)
    assert [entry.id for entry in receipt_entries(COMPACTED, frozenset(), {}) if isinstance(entry.data, FateGroup)] == [
        "g:summarised",
        "g:dropped",
        "g:carried",
        "g:kept",
    ]


def test_an_item_opens_to_the_text_that_it_had() -> None:
    opened = frozenset({"g:summarised", "i:3"})
    assert missing_texts(COMPACTED, opened, {}) == ["h-r2"]
    assert "Loading …" in lines(opened)
    assert "214 passed" in lines(opened, {"h-r2": "214 passed"})
    assert missing_texts(COMPACTED, opened, {"h-r2": ""}) == []


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (("80%", "", ""), Tuning(0.8)),
        (("0.75", "40k", "last 40"), Tuning(0.75, 40_000, "last 40")),
        (("", "1,500", "Summarize"), Tuning(None, 1_500, "summarise")),
        (("", "", "budget 60000"), Tuning(None, None, "budget 60000")),
    ],
)
def test_thresholds_as_people_write_them(written: tuple[str, str, str], found: Tuning) -> None:
    assert parse_tuning(*written) == found


@pytest.mark.parametrize(
    "written", [("much", "", ""), ("5%", "", ""), ("100", "", ""), ("", "-3", ""), ("", "", "last 0")]
)
def test_what_cannot_be_set_is_said(written: tuple[str, str, str]) -> None:
    assert isinstance(parse_tuning(*written), str)


def proposed(cut: str = "cut2", deadline: float = 0.0) -> SummaryProposed:
    return SummaryProposed(agent="main", session=S, receipt=replace(COMPACTED, id=cut), deadline=deadline)


def test_a_summary_waits_until_it_is_answered_cut_failed_or_overdue() -> None:
    state = reduce(SummariesState(), proposed())
    assert reduce(state, proposed()) is state, "the same one waits once"
    assert reduce(state, SummaryAnswered(agent="main", cut="cut2", accepted=True)).shown is None
    assert reduce(state, SummaryAnswered(agent="main", cut="another", accepted=True)) is state
    assert reduce(state, ContextCut(agent="main", session=S, receipt=COMPACTED)).shown is None
    assert reduce(state, ContextCut(agent="main", session=S, receipt=PRUNED)) is state
    assert reduce(state, CutFailed(agent="main", session=S, kind="compact", why="")).shown is None
    late = reduce(state, proposed("cut3", NOW + 5))
    assert overdue(late, NOW) is late and overdue(late, NOW + 6) == state
