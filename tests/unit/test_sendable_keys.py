"""Which keys a terminal can send, and which of several a hint names."""

import pytest

from gshtui.ui.kit.keys.bound_keys import is_sent, sent_first
from gshtui.ui.kit.keys.key_table import KEYS


@pytest.mark.parametrize(
    "key",
    [
        *("a", "A", "enter", "alt+enter", "tab", "shift+tab", "escape", "ctrl+a", "ctrl+j", "alt+b", "alt+1", "f1"),
        *("shift+f6", "ctrl+up", "ctrl+shift+left", "ctrl+home", "pageup", "ctrl+underscore", "ctrl+space", "slash"),
        *("ctrl+right_square_bracket", "question_mark", "alt+backspace"),
    ],
)
def test_keys_that_every_terminal_sends(key: str) -> None:
    assert is_sent(key, extended=False) and is_sent(key, extended=True)


@pytest.mark.parametrize(
    "key",
    [
        *("ctrl+enter", "shift+enter", "ctrl+shift+z", "super+c", "ctrl+1", "ctrl+slash", "ctrl+full_stop", "ctrl+i"),
        *("ctrl+tab", "ctrl+shift+tab", "shift+space", "ctrl+backspace", "ctrl+m", "shift+escape"),
    ],
)
def test_keys_that_need_the_protocol(key: str) -> None:
    assert not is_sent(key, extended=False) and is_sent(key, extended=True)


def test_a_hint_names_what_can_be_sent() -> None:
    assert sent_first(["shift+enter", "alt+enter", "ctrl+j"], extended=False) == ["alt+enter", "ctrl+j"]
    assert sent_first(["shift+enter", "alt+enter"], extended=True) == ["shift+enter", "alt+enter"]
    assert sent_first(["ctrl+1"], extended=False) == ["ctrl+1"], "better than nothing"


def test_every_row_of_the_key_table_has_a_key_that_every_terminal_sends() -> None:
    rows = {id: row.keys.split(",") for id, row in KEYS.items()}
    assert [id for id, keys in rows.items() if not any(is_sent(key, extended=False) for key in keys)] == []
