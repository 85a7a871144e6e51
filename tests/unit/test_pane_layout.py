"""The layout's arithmetic: what is shown in which terminal, and that nothing is ever cut off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.client.pane_names import RIGHT
from gshtui.ui.window.pane_layout import MIN_CENTRE, PaneLayout, arrange

AGENTS, (SHELL, CONTEXT, TIMELINE) = "agents", RIGHT

layouts = st.builds(
    PaneLayout,
    left=st.integers(0, 300),
    right=st.integers(0, 300),
    hidden=st.frozensets(st.sampled_from([AGENTS, *RIGHT])),
    opened=st.frozensets(st.sampled_from(RIGHT)),
    empty=st.frozensets(st.sampled_from([AGENTS, *RIGHT])),
    peeked=st.frozensets(st.sampled_from([AGENTS, *RIGHT])),
    zoomed=st.sampled_from(["", "chat", AGENTS, *RIGHT]),
)


def test_a_small_terminal_shows_the_centre_alone() -> None:
    found = arrange(PaneLayout(), 80, 24)
    assert (found.left, found.right, found.right_panes) == (0, 0, ())
    assert found.header and found.footer and found.tabs and not found.compact


def test_a_usual_terminal_shows_chat_and_agents_and_a_strip_for_the_rest() -> None:
    found = arrange(PaneLayout(), 120, 35)
    assert found.left >= 28 and found.right == 0 and found.strip == RIGHT
    assert 120 - found.left - 1 >= 85  # the conversation is the stage


def test_a_pane_opened_in_a_usual_terminal_leaves_the_strip() -> None:
    found = arrange(PaneLayout().toggled(CONTEXT, 120), 120, 35)
    assert found.right_panes == (CONTEXT,) and found.strip == (SHELL, TIMELINE)
    assert 120 - found.left - 1 - found.right - 1 >= 70


def test_what_was_opened_in_a_narrow_terminal_hides_nothing_in_a_wide_one() -> None:
    twice = PaneLayout().toggled(SHELL, 120).toggled(SHELL, 120)
    assert twice == PaneLayout()
    assert arrange(PaneLayout().toggled(SHELL, 120), 200, 50).right_panes == RIGHT


def test_a_large_terminal_is_used() -> None:
    found = arrange(PaneLayout(), 200, 50)
    assert (found.left, found.right) == (54, 44) and 200 - found.left - found.right - 2 == 100
    assert arrange(PaneLayout(left=30), 200, 50).left == 30, "as wide as the person made it"


def test_a_tiny_terminal_has_only_the_conversation_and_the_input() -> None:
    found = arrange(PaneLayout(), 20, 5)
    assert not (found.header or found.footer or found.tabs or found.left or found.right)
    assert found.compact and found.centre


def test_panes_without_room_below_each_other_are_left_out() -> None:
    assert arrange(PaneLayout(), 200, 12).right_panes == (SHELL, CONTEXT)


@pytest.mark.parametrize("width", [180, 200, 250])
def test_a_wide_window_keeps_its_text_as_wide_as_it_is_when_the_first_turn_brings_panes(width: int) -> None:
    calm = PaneLayout().at_start()
    steps = [
        calm,
        calm.with_empty(frozenset((AGENTS, SHELL)), ""),
        calm.with_empty(frozenset((AGENTS,)), ""),
    ]
    found = [arrange(step, width, 50) for step in steps]
    assert len({one.right + bool(one.right) + one.free for one in found}) == 1 and found[0].free and found[2].right
    assert not any(one.left for one in found), "no columns are left empty for agents that nobody has started"
    assert not arrange(calm.with_sides(shown=False), width, 50).free, "what is hidden needs no place"


def test_a_place_is_kept_only_where_the_right_side_will_be() -> None:
    assert arrange(PaneLayout().at_start(), 150, 50).free == 40
    assert arrange(PaneLayout().at_start(), 120, 35).free == 0


@given(layouts, st.integers(1, 400), st.integers(1, 120))
def test_nothing_is_wider_than_the_terminal(layout: PaneLayout, width: int, height: int) -> None:
    found = arrange(layout, width, height)
    edges = bool(found.left and found.centre) + bool(found.right and found.centre)
    centre = width - found.left - found.right - edges - found.free
    assert centre >= 0
    if not found.centre:
        assert centre == 0
    elif found.left or found.right or found.free:
        assert centre >= MIN_CENTRE
    assert len(found.weights) == len(found.right_panes)
    assert bool(found.right_panes) == bool(found.right)
    assert not set(found.strip) & set(found.right_panes) and (not found.strip or found.centre)


@pytest.mark.parametrize("pane", [AGENTS, SHELL, CONTEXT, TIMELINE])
@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_pane_is_toggled_and_back(pane: str, width: int) -> None:
    toggled = PaneLayout().toggled(pane, width)
    assert toggled.shown(pane, width) is not PaneLayout().shown(pane, width)
    assert toggled.toggled(pane, width).shown(pane, width) is PaneLayout().shown(pane, width)
    assert all(toggled.with_pane(pane).shown(pane, wide) for wide in (80, 120, 200))


def test_the_conversation_is_never_hidden() -> None:
    assert PaneLayout().toggled("chat", 120) == PaneLayout()


def test_a_zoomed_pane_has_the_whole_screen_and_gives_it_back() -> None:
    zoomed = PaneLayout().with_zoom(CONTEXT)
    found = arrange(zoomed, 80, 24)
    assert (found.right, found.right_panes, found.centre) == (80, (CONTEXT,), False)
    assert zoomed.with_zoom(CONTEXT) == PaneLayout()


def test_zooming_the_chat_takes_the_sides_away() -> None:
    found = arrange(PaneLayout().with_zoom("chat"), 200, 50)
    assert (found.left, found.right, found.centre) == (0, 0, True)


def test_columns_are_moved_within_what_the_centre_needs() -> None:
    wide = PaneLayout().widened("left", 500, 200)
    assert arrange(wide, 200, 50).left == 200 - MIN_CENTRE - 1 - 44 - 1
    narrow = PaneLayout().widened("right", -500, 200)
    assert arrange(narrow, 200, 50).right == 18


def test_rows_are_taken_from_the_neighbour() -> None:
    heights = {SHELL: 10, CONTEXT: 20, TIMELINE: 10}
    moved = PaneLayout().heightened(SHELL, 4, heights)
    assert (moved.weights[SHELL], moved.weights[CONTEXT], moved.weights[TIMELINE]) == (14, 16, 10)
    last = PaneLayout().heightened(TIMELINE, 4, heights)
    assert (last.weights[CONTEXT], last.weights[TIMELINE]) == (16, 14)


def test_no_pane_is_squeezed_to_nothing() -> None:
    heights = {SHELL: 6, CONTEXT: 6, TIMELINE: 6}
    moved = PaneLayout().heightened(SHELL, 90, heights)
    assert moved.weights[CONTEXT] == 5


def test_all_sides_go_and_come_back() -> None:
    gone = PaneLayout().with_sides(shown=False)
    assert arrange(gone, 200, 50).left == arrange(gone, 200, 50).right == 0
    assert gone.with_sides(shown=True) == PaneLayout()


def test_a_pane_without_content_is_shown_only_if_it_was_opened() -> None:
    calm = PaneLayout().at_start()
    for pane in (AGENTS, *RIGHT):
        opened = calm.toggled(pane, 200)
        assert not calm.shown(pane, 200) and opened.shown(pane, 200)
        assert not opened.at_start().shown(pane, 200), "it is opened for now only"
        assert opened.toggled(pane, 200) == calm, "so it comes by itself, with its content"
    assert arrange(calm, 200, 50).left == arrange(calm, 200, 50).right == 0


@given(
    layouts, st.frozensets(st.sampled_from([AGENTS, *RIGHT])), st.sampled_from([AGENTS, *RIGHT]), st.integers(1, 400)
)
def test_content_that_comes_and_goes_takes_no_pane_from_under_the_eyes(
    layout: PaneLayout, empty: frozenset[str], front: str, width: int
) -> None:
    opened = layout.with_pane(front)
    changed = opened.with_empty(empty, front)
    assert changed.shown(front, width)
    assert changed.with_empty(frozenset(), "").with_empty(empty, "").peeked == frozenset()
    assert not any(changed.shown(pane, width) for pane in empty - {front} - layout.peeked - layout.empty)


def test_a_timeline_beside_other_panes_is_no_higher_than_its_chart_needs() -> None:
    found = arrange(PaneLayout(), 200, 50)
    rows = 48 * found.weights[-1] // sum(found.weights)
    assert found.right_panes == RIGHT and rows == 12
    assert arrange(PaneLayout(hidden=frozenset((SHELL, CONTEXT))), 200, 50).weights == (3,), "alone it has all of them"
    higher = PaneLayout().heightened(TIMELINE, 4, {SHELL: 16, CONTEXT: 20, TIMELINE: 12})
    assert arrange(higher, 200, 50).weights == (16, 16, 16), "nor is it lower than the person wants"
