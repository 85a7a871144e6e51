"""The timeline without a terminal: marks, cuts, what the record held, zoom and the cursor's place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ContextAssembled, ModelChanged, TurnFinished, UsageReported
from gshtui.bus.events.context_events import ContextCut, CutFailed, CutUndone, OutputTruncated
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.messages import Usage
from gshtui.ui.context import context_pane
from gshtui.ui.context.context_pane import ContextState
from gshtui.ui.context.timeline_pane import FARTHEST, TimelineRange, columns_of, draw_timeline, fitted
from gshtui.ui.context.timeline_state import TimelineMark, TimelineState, foretold, reduce, restored
from tests.kit.recorded import S
from tests.kit.recorded_contexts import COMPACTED, PRUNED, iterations


def sent(number: int, tokens: int = 1_000, turn: str = "t1") -> ContextAssembled:
    return ContextAssembled(
        agent="main",
        session=S,
        turn=turn,
        iteration=number,
        tokens=tokens,
        window=200_000,
        trigger=160_000,
        id=f"i{number}",
    )


def after(*events: Event) -> TimelineState:
    state = TimelineState("main", session=S)
    for event in events:
        state = reduce(state, event)
    return state


def test_a_cut_stands_at_the_request_that_it_counts_from() -> None:
    cut = ContextCut(agent="main", session=S, receipt=COMPACTED)
    state = after(sent(1), cut)
    assert [mark.sign for mark in state.marks] == [""] and state.waiting[0].id == "cut2"
    state = reduce(state, sent(2))
    assert [mark.sign for mark in state.marks] == ["", "C"] and state.waiting == ()
    assert state.marks[1].cuts[0].before == 161_200


@pytest.mark.parametrize(
    ("event", "sign"),
    [
        (ContextCut(agent="main", session=S, receipt=PRUNED), "P"),
        (ContextCut(agent="main", session=S, receipt=replace(PRUNED, kind="clear")), "X"),
        (CutUndone(agent="main", session=S, cut="cut1"), "U"),
        (CutFailed(agent="main", session=S, kind="compact", why="The model said nothing."), "!"),
        (OutputTruncated(agent="main", session=S, call="c", tool="bash", original_bytes=9_000, kept_bytes=900), "T"),
    ],
)
def test_everything_that_happens_to_a_context_has_its_sign(event: Event, sign: str) -> None:
    state = after(sent(1), event, sent(2))
    assert state.marks[-1].sign == sign


def test_a_truncation_has_the_receipt_that_its_block_names() -> None:
    cut = OutputTruncated(
        agent="main", session=S, call="c", tool="bash", original_bytes=9_000, kept_bytes=900, block="m1-results/0"
    )
    assert [cut.id for cut in after(sent(1), cut, sent(2)).marks[-1].cuts] == ["m1-results/0"]


def test_an_error_is_the_loudest() -> None:
    failed = TurnFinished(agent="main", session=S, turn="t1", stop="error", error="overloaded")
    state = after(ContextCut(agent="main", session=S, receipt=COMPACTED), sent(1), failed)
    assert state.marks[-1].sign == "!"
    assert "! overloaded" in draw_timeline(state, TimelineRange(), 40, 12).plain


def test_the_count_keeps_the_cuts_of_its_mark() -> None:
    used = UsageReported(
        agent="main", session=S, turn="t1", iteration=1, provider="p", model="m", usage=Usage(input=900, cache_read=50)
    )
    state = after(ContextCut(agent="main", session=S, receipt=PRUNED), sent(1), used)
    assert [(mark.tokens, mark.exact, mark.sign, mark.id) for mark in state.marks] == [(950, True, "P", "i1")]


def test_what_the_record_held_comes_before_what_is_new() -> None:
    state = after(sent(9, turn="now"))
    state = restored(state, iterations(), [COMPACTED, PRUNED], S)
    assert [mark.sign for mark in state.marks] == ["", "", "P", "C", ""]
    assert state.marks[-1].turn == "now" and state.marks[2].end == "end"
    undone = restored(TimelineState("main"), iterations(), [replace(COMPACTED, undone=True)], S)
    assert [mark.sign for mark in undone.marks] == ["", "", "", "U"]
    assert undone.window == 200_000 and undone.trigger == 160_000
    late = replace(PRUNED, id="late", at=iterations()[-1].at + 5)
    assert restored(TimelineState("main"), iterations(), [late], S).waiting[0].id == "late"
    early = replace(PRUNED, id="early", kind="truncate", at=iterations()[1].at - 5)
    assert [mark.sign for mark in restored(TimelineState("main"), iterations(), [early], S).marks][1] == "T"
    assert restored(TimelineState("main", session="else"), iterations(), [], S).marks == ()


def test_without_a_model_there_is_neither_a_window_nor_a_forecast() -> None:
    state = foretold(after(sent(1)), 2, 10, 160_000)
    for provider, has in (("anthropic", True), ("offline", False)):
        state = reduce(state, ModelChanged(agent="main", provider=provider, model="m", window=200_000))
        said = draw_timeline(state.drawn, TimelineRange(), 60, 12).plain
        assert ("compacts" in said) is ("of 200k" in said) is ("┄" in said) is has


def test_the_signs_are_explained_where_the_pane_has_the_focus_and_room() -> None:
    for focused, rows, told in ((True, 12, True), (False, 12, False), (True, 5, False)):
        drawn = draw_timeline(after(sent(1)), TimelineRange(), 60, rows, focused).plain
        assert ("┄ compaction" in drawn) is told and len(drawn.split("\n")) == rows


def test_another_conversation_begins_an_empty_timeline() -> None:
    state = reduce(after(sent(1)), SessionOpened(session="other", agent="main"))
    assert state.marks == () and state.session == "other"


def test_the_forecast_is_said_until_it_is_out_of_date() -> None:
    state = foretold(after(sent(1)), 9, 14_200, 160_000)
    assert "compacts in about 9 turns, at 160k (+14.2k a turn)" in draw_timeline(state, TimelineRange(), 80, 12).plain
    cut = reduce(state, ContextCut(agent="main", session=S, receipt=COMPACTED))
    assert "compacts at 160k" in draw_timeline(cut, TimelineRange(), 80, 12).plain


@pytest.mark.parametrize("tokens", [2_000, 9_000, 60_000, 150_000, 190_000])
def test_the_line_of_compaction_always_stands_and_no_bar_is_higher_than_its_tokens(tokens: int) -> None:
    rows = draw_timeline(after(sent(1, tokens)), TimelineRange(), 30, 12).plain.split("\n")
    line = next(at for at, row in enumerate(rows) if "┄" in row)
    first = next(at for at, row in enumerate(rows) if row[:1] not in (" ", "┄", "─"))
    assert (first <= line) == (tokens > 160_000)
    assert rows[line].count("┄") > 25


def test_far_off_compaction_is_not_counted_in_turns() -> None:
    state = foretold(after(sent(1, 10_000)), 120, 1_200, 160_000)
    assert "compacts at 160k (+1.2k a turn)" in draw_timeline(state, TimelineRange(), 80, 12).plain


def test_five_hundred_marks_fit_by_zoom() -> None:
    marks = tuple(TimelineMark(f"t{at}", 1, at + 1) for at in range(500))
    assert len(columns_of(marks, 0)) == 500
    columns = columns_of(marks, -3)
    assert len(columns) == 63 and columns[0].tokens == 8 and columns[-1].tokens == 500
    drawn = draw_timeline(TimelineState("main", marks=marks), fitted(TimelineRange(-3), 500, 70), 70, 10).plain.split(
        "\n"
    )
    assert max(map(len, drawn)) <= 70


@given(
    st.integers(1, 600), st.integers(1, 210), st.integers(FARTHEST - 2, 3), st.lists(st.integers(-1, 700), max_size=20)
)
def test_the_cursor_is_always_on_the_screen(count: int, width: int, zoom: int, places: list[int]) -> None:
    look = TimelineRange(zoom)
    for place in places:
        look = fitted(replace(look, cursor=place), count, width)
        step = 1 if look.zoom >= 0 else 2**-look.zoom
        room = max(1, width // (2 if look.zoom > 0 else 1))
        at = (look.cursor if look.cursor >= 0 else count - 1) // step
        assert look.start <= at < look.start + room
        marks = tuple(TimelineMark("t", number, 5) for number in range(count))
        foot = draw_timeline(TimelineState("main", marks=marks), look, width, 4).plain.split("\n")[-2]
        assert len(foot) <= max(2, width)


def test_the_context_pane_has_what_the_record_held() -> None:
    state = context_pane.restored(ContextState("main"), iterations(), S)
    assert state.requests == 4 and state.trigger == 160_000 and state.sections[0][0] == "system"
    assert state.used == state.usage.context if state.usage else False
    busy = replace(state, requests=1, tokens=5)
    assert context_pane.restored(busy, iterations(), S) is busy
    assert context_pane.chosen(state, 1).chosen == "system"
    assert context_pane.chosen(context_pane.chosen(state, -1), 1).chosen == "input"


@pytest.mark.parametrize("width", range(24, 60))
def test_the_rows_of_sections_fit_a_narrow_context_pane(width: int) -> None:
    state = context_pane.restored(ContextState("main"), iterations(), S)
    rows = context_pane.draw(state, width).plain.split("\n")
    sections = [row for row in rows if row.split(" ")[0] in dict(state.sections)]
    assert len(sections) == len(state.sections)
    assert all(len(row.rstrip()) <= width for row in sections)
