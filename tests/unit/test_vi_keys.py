"""Vi's keys as a state machine: what each does as vim does it, and what holds whatever is pressed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.ui.prompt.vi_keys import Buffer, ViState, press


def typed(text: str, keys: str, at: int = 0) -> tuple[ViState, Buffer]:
    """The state and the text after these keys in normal mode; `⎋` is escape, `®` ctrl+r."""
    state, buffer = ViState(mode="normal"), Buffer(text, at)
    for key in keys:
        if state.mode == "insert" and key != "⎋":
            buffer = Buffer(buffer.text[: buffer.at] + key + buffer.text[buffer.at :], buffer.at + 1)
            continue
        step = press(state, buffer, {"⎋": "escape", "®": "ctrl+r"}.get(key, key))
        state, buffer = step.state, step.buffer
    return state, buffer


@pytest.mark.parametrize(
    ("text", "keys", "after", "at"),
    [
        ("one two", "w", "one two", 4),
        ("one.two", "w", "one.two", 3),
        ("one.two x", "W", "one.two x", 8),
        ("one two", "e", "one two", 2),
        ("one two", "2e", "one two", 6),
        ("one two", "$b", "one two", 4),
        ("  one", "$^", "  one", 2),
        ("  one", "$0", "  one", 0),
        ("a\nb\nc", "G", "a\nb\nc", 4),
        ("a\nb\nc", "Ggg", "a\nb\nc", 0),
        ("a\nb\nc", "2G", "a\nb\nc", 2),
        ("a\nb\nc", "jk", "a\nb\nc", 0),
        ("a(b)c", "f)", "a(b)c", 3),
        ("a(b)c", "t)", "a(b)c", 2),
        ("a,b,c", "f,;", "a,b,c", 3),
        ("a,b,c", "2f,,", "a,b,c", 1),
        ("a,b,c", "$F,", "a,b,c", 3),
        ("a,b,c", "$T,", "a,b,c", 4),
        ("one two", "dw", "two", 0),
        ("one two three", "d2w", "three", 0),
        ("one two three", "2dw", "three", 0),
        ("one two", "wdw", "one ", 3),
        ("one\ntwo", "dw", "\ntwo", 0),
        ("one two", "cwsix⎋", "six two", 2),
        ("one two", "wcbX⎋", "Xtwo", 0),
        ("one two", "d$", "", 0),
        ("one two", "wD", "one ", 3),
        ("one two", "wCx⎋", "one x", 4),
        ("f(a, b)", "fadt)", "f()", 2),
        ("a\nb\nc", "dd", "b\nc", 0),
        ("a\nb\nc", "jdd", "a\nc", 2),
        ("a\nb\nc", "Gdd", "a\nb", 2),
        ("a\nb\nc", "2dd", "c", 0),
        ("a\nb\nc", "dj", "c", 0),
        ("a\nb\nc", "jdG", "a", 0),
        ("a\nb", "ccx⎋", "x\nb", 0),
        ("a\nb", "yyp", "a\na\nb", 2),
        ("a\nb", "ddp", "b\na", 2),
        ("a\nb", "jyyP", "a\nb\nb", 2),
        ("ab", "xp", "ba", 1),
        ("abc", "2x", "c", 0),
        ("abc", "$X", "ac", 1),
        ("one two", "ywP", "one one two", 3),
        ("abc", "rx", "xbc", 0),
        ("abc", "2rx", "xxc", 1),
        ("abc", "4rx", "abc", 0),
        ("abc", "~~", "ABc", 2),
        ("a\n  b", "J", "a b", 1),
        ("bc", "ia⎋", "abc", 0),
        ("ac", "ab⎋", "abc", 1),
        ("  b", "$Ia⎋", "  ab", 2),
        ("a", "Ab⎋", "ab", 1),
        ("a\nc", "ob⎋", "a\nb\nc", 2),
        ("b", "Oa⎋", "a\nb", 0),
        ("x", "3ia⎋", "aaax", 2),
        ("a b c", "dw..", "", 0),
        ("a b c d", "dw2.", "d", 0),
        ("one two one", "cwsix⎋ww.", "six two six", 10),
        ("a\nb", "A;⎋j.", "a;\nb;", 4),
        ("", "dwxdd", "", 0),
        ("abc", "d⎋x", "bc", 0),
        ("abc", "dzx", "bc", 0),
    ],
)
def test_it_does_what_vi_does(text: str, keys: str, after: str, at: int) -> None:
    state, buffer = typed(text, keys)
    assert (state.mode, buffer.text, buffer.at) == ("normal", after, at)


def test_undo_and_redo_are_left_to_the_input() -> None:
    state, buffer = ViState(mode="normal"), Buffer("abc", 1)
    assert press(state, buffer, "u").effect == "undo"
    assert press(state, buffer, "ctrl+r").effect == "redo"
    assert press(state, buffer, "u").buffer == buffer


def test_in_insert_mode_only_escape_means_something() -> None:
    state, buffer = ViState(), Buffer("abc", 3)
    for key in ("x", "ctrl+r", "enter", "d"):
        assert press(state, buffer, key) == press(state, buffer, "left")
        assert press(state, buffer, key).state is state
    left = press(state, buffer, "escape")
    assert (left.state.mode, left.buffer.at) == ("normal", 2)


_TEXT = st.text(st.sampled_from("ab c._\n\té世"), max_size=30)
_KEYS = st.lists(
    st.sampled_from([*"hjklwbeWBE0^$gGfFtT;,dcyxXDCsSYpPrJ~iaIAoOu.123456789zq ", "escape", "ctrl+r", "enter", "left"]),
    max_size=25,
)


@given(_TEXT, st.integers(0, 30), _KEYS)
def test_whatever_is_pressed_the_cursor_stays_in_the_text(text: str, at: int, keys: list[str]) -> None:
    state, buffer = ViState(mode="normal"), Buffer(text, min(at, len(text)))
    for key in keys:
        step = press(state, buffer, key)
        if not step.state.pending and step.state.mode == "normal" and step.effect == "":
            line = step.buffer.text[: step.buffer.at].rpartition("\n")[2]
            behind = step.buffer.text[step.buffer.at : step.buffer.at + 1] in ("", "\n")
            moved = step.buffer != buffer
            assert not (moved and behind and line), "on a sign of its line, where there is one"
        state, buffer = step.state, step.buffer
        assert 0 <= buffer.at <= len(buffer.text)
        assert len(buffer.text) < 1_000_000
        if state.mode == "insert":
            more = Buffer(f"{buffer.text[: buffer.at]}x{buffer.text[buffer.at :]}", buffer.at + 1)
            step = press(state, more, "escape")
            state, buffer = step.state, step.buffer


_MOTIONS = ["w", "b", "e", "$", "0", "^", "j", "k", "G", "gg", "h", "l", "fa", "tb"]


@given(_TEXT, st.integers(0, 30), st.sampled_from(_MOTIONS))
def test_copying_changes_nothing_and_what_is_deleted_can_be_put_back(text: str, at: int, motion: str) -> None:
    at = typed(text, "", min(at, len(text)))[1].at
    copied, same = typed(text, f"y{motion}", at)
    assert same.text == text
    deleted, left = typed(text, f"d{motion}", at)
    if left.text != text and not deleted.register.lines:
        assert copied.register == deleted.register
        assert len(left.text) + len(deleted.register.text) == len(text)
