"""How much of a window is for what: the answer, what is reserved, and when history is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.context.assembly.limits import ContextSettings, limits
from gshtui.providers.port import Capabilities
from gshtui.settings.settings_tables import Context


def test_what_is_reserved_for_the_answer_is_left_free() -> None:
    model = Capabilities(window=100_000, max_output=50_000)
    assert limits(model, ContextSettings()).hard == 100_000 - 8_192
    kept = limits(model, ContextSettings(reserved_response=20_000))
    assert kept.hard == 80_000 and kept.trigger < kept.hard
    assert (
        limits(Capabilities(window=100_000, max_output=4_000), ContextSettings(reserved_response=20_000)).hard == 96_000
    )


def test_the_settings_reach_it() -> None:
    table = Context(reserved_system=5_000, reserved_response=9_000)
    found = limits(Capabilities(window=100_000, max_output=50_000), ContextSettings.from_table(table))
    assert (found.reserved, found.hard) == (5_000, 91_000)


@given(st.integers(1, 2_000_000), st.integers(0, 10_000_000), st.integers(0, 10_000_000))
def test_any_reservation_leaves_room_for_a_request(window: int, system: int, response: int) -> None:
    found = limits(Capabilities(window=window), ContextSettings(reserved_system=system, reserved_response=response))
    assert 1 <= found.trigger <= max(1, found.hard) <= window
    assert found.reserved <= found.hard // 2


@pytest.mark.parametrize("window", [0, 1, 200])
def test_a_tiny_window_has_limits(window: int) -> None:
    assert limits(Capabilities(window=window), ContextSettings(reserved_response=1_000_000)).hard >= 1
