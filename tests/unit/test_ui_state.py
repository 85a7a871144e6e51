"""What the window remembers: written whole, read with care."""

import json
import stat
from pathlib import Path

import pytest

from gshtui.ui.window.pane_layout import PaneLayout
from gshtui.ui.window.ui_state import NAME, UiState, load_ui_state, save_ui_state


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    layout = PaneLayout(
        left=33, right=44, hidden=frozenset({"shell"}), weights={"shell": 1, "context": 9, "timeline": 2}
    )
    save_ui_state(UiState(layout, "gsh-light", "gsh-dark"), tmp_path)
    assert load_ui_state(tmp_path) == UiState(layout, "gsh-light", "gsh-dark")
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_a_zoom_is_not_remembered(tmp_path: Path) -> None:
    save_ui_state(UiState(PaneLayout(zoomed="context")), tmp_path)
    assert load_ui_state(tmp_path).layout.zoomed == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"layout": 7, "theme": 8}',
        '{"layout": {"left": "x", "right": -4, "hidden": {"a": 1}, "weights": [1]}}',
        '{"layout": {"left": true, "hidden": [["x"]], "weights": {"shell": 0, "nope": 3, "context": 1e9}}}',
        "[" * 100_000,
    ],
)
def test_a_broken_file_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    assert load_ui_state(tmp_path) == UiState()


def test_a_missing_folder_counts_as_none(tmp_path: Path) -> None:
    assert load_ui_state(tmp_path / "gone") == UiState()


def test_a_folder_that_cannot_be_written_leaves_nothing_half_done(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(OSError):
        save_ui_state(UiState(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_unknown_panes_are_left_out(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(json.dumps({"layout": {"hidden": ["shell", "gone"]}}))
    assert load_ui_state(tmp_path).layout.hidden == frozenset({"shell"})


def test_a_theme_chosen_in_the_window_holds_until_the_settings_change() -> None:
    chosen = UiState().with_theme("nord", "gsh-dark")
    assert chosen.theme_for("gsh-dark") == "nord"
    assert chosen.theme_for("gsh-light") == "gsh-light"
    assert UiState().theme_for("gsh-light") == "gsh-light"
