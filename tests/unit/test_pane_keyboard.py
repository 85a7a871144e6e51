"""Keys and the mouse for a program in a terminal: what each becomes, and what is not sent at all."""

from string import punctuation

import pytest
from textual.keys import _character_to_key  # pyright: ignore[reportPrivateUsage]

from gshtui.tmux import pane_keyboard as tmux_keys
from gshtui.ui.terminal import terminal_input
from gshtui.ui.terminal.terminal_input import MouseKind, mouse_bytes
from tests.kit.fake_terminal import info


@pytest.mark.parametrize(
    ("key", "character", "text"),
    [
        ("a", "a", "a"),
        ("A", "A", "A"),
        ("space", " ", " "),
        ("question_mark", "?", "?"),
        ("semicolon", ";", ";"),
        ("é", "é", "é"),
        ("日", "日", "日"),
        ("enter", "\r", ""),
        ("tab", "\t", ""),
        ("ctrl+a", None, ""),
        ("alt+x", "x", ""),
        ("escape", "\x1b", ""),
    ],
)
def test_what_is_text(key: str, character: str | None, text: str) -> None:
    assert terminal_input.key_text(key, character) == text


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("enter", "Enter"),
        ("escape", "Escape"),
        ("backspace", "BSpace"),
        ("delete", "DC"),
        ("pageup", "PPage"),
        ("shift+tab", "BTab"),
        ("shift+enter", "M-Enter"),
        ("alt+enter", "M-Enter"),
        ("ctrl+c", "C-c"),
        ("ctrl+C", "C-c"),
        ("ctrl+shift+p", "C-p"),
        ("ctrl+at", "C-Space"),
        ("ctrl+space", "C-Space"),
        ("ctrl+backslash", "C-\\"),
        ("ctrl+underscore", "C-_"),
        ("ctrl+right_square_bracket", "C-]"),
        ("alt+f", "M-f"),
        ("alt+F", "M-F"),
        ("alt+full_stop", "M-."),
        ("alt+left", "M-Left"),
        ("ctrl+shift+left", "C-S-Left"),
        ("f5", "F5"),
        ("shift+f5", "S-F5"),
        ("f13", ""),
        ("super+c", ""),
        ("hyper+x", ""),
        ("ctrl+some_key_of_the_future", ""),
    ],
)
def test_what_is_a_key(key: str, name: str) -> None:
    assert terminal_input.key_name(key) == name
    if name:
        assert tmux_keys.tmux_key(name) == name, "tmux's own room takes it for another key"


@pytest.mark.parametrize("character", punctuation)
def test_every_character_can_be_had_with_alt_and_ctrl(character: str) -> None:
    key = _character_to_key(character)
    assert terminal_input.key_name(f"alt+{key}") == f"M-{character}"
    assert terminal_input.key_name(f"ctrl+{key}") in (f"C-{character}", "C-Space")


WANTS_ALL = info(mouse=True, mouse_drags=True, mouse_moves=True, mouse_sgr=True)
WANTS_CLICKS = info(mouse=True, mouse_sgr=True)
OLD = info(mouse=True, mouse_drags=True, width=300)


@pytest.mark.parametrize(
    ("kind", "button", "data"),
    [
        ("down", 1, b"\x1b[<0;5;3M"),
        ("down", 3, b"\x1b[<2;5;3M"),
        ("up", 1, b"\x1b[<0;5;3m"),
        ("move", 1, b"\x1b[<32;5;3M"),
        ("move", 0, b"\x1b[<35;5;3M"),
        ("wheel_up", 0, b"\x1b[<64;5;3M"),
        ("wheel_down", 0, b"\x1b[<65;5;3M"),
    ],
)
def test_the_mouse_in_the_newer_encoding(kind: MouseKind, button: int, data: bytes) -> None:
    assert mouse_bytes(WANTS_ALL, kind, 4, 2, button=button) == data


def test_the_mouse_with_modifiers() -> None:
    assert mouse_bytes(WANTS_ALL, "down", 0, 0, button=1, shift=True, alt=True, ctrl=True) == b"\x1b[<28;1;1M"


def test_the_mouse_in_the_older_encoding() -> None:
    assert mouse_bytes(OLD, "down", 4, 2, button=1) == b"\x1b[M" + bytes((32, 37, 35))
    assert mouse_bytes(OLD, "up", 4, 2, button=1) == b"\x1b[M" + bytes((35, 37, 35))
    assert mouse_bytes(OLD, "down", 222, 0, button=1) == b"\x1b[M" + bytes((32, 255, 33))
    assert mouse_bytes(OLD, "down", 223, 0, button=1) == b"", "it has no code for that column"


def test_what_a_program_did_not_ask_for_is_not_sent() -> None:
    assert mouse_bytes(info(), "down", 4, 2, button=1) == b""
    assert mouse_bytes(WANTS_CLICKS, "move", 4, 2, button=1) == b""
    assert mouse_bytes(OLD, "move", 4, 2, button=0) == b""
    assert mouse_bytes(WANTS_ALL, "down", 80, 2, button=1) == b"", "outside of the terminal"
    assert mouse_bytes(WANTS_ALL, "down", -1, 2, button=1) == b""
