"""All that look rarely do so at the same moments, and once at each."""

import pytest

from gshtui.system.files import folder_watch


def test_whoever_asks_is_woken_at_the_same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    for now in (0.0, 1.5, 60.0, 118.9):
        monkeypatch.setattr(folder_watch.time, "monotonic", lambda now=now: now)
        assert now + folder_watch.until_calm_look() == pytest.approx(120.0)
    monkeypatch.setattr(folder_watch.time, "monotonic", lambda: 119.9995)
    assert folder_watch.until_calm_look() > 100.0, "a timer that ends a little early does not look twice"
