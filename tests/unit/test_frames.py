"""The pure parts: quoting, keys, pastes, versions, what describes a pane, rows that stand alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.tmux import frames, pane_keyboard, tmux_program
from gshtui.tmux.panes import FORMAT, parse, parse_all
from gshtui.tmux.quoting import command, quoted, unexpanded
from gshtui.tmux.tmux_errors import TmuxError, from_reply


def test_an_argument_stays_one_argument_on_one_line() -> None:
    assert command("send-keys", "-t", "%1", "a;b", 'c"d', "e\nf", "$HOME") == (
        'send-keys -t "%1" "a;b" "c\\"d" "e\\012f" "\\$HOME"'
    )
    assert quoted("") == '""'


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_what_is_quoted_reads_back(text: str) -> None:
    line = quoted(text)
    assert not re.search(r"[\x00-\x1f\x7f]", line)
    if line.startswith('"'):
        unescaped = re.sub(r"\\([0-7]{3}|.)", lambda m: chr(int(m[1], 8)) if m[1].isdigit() else m[1], line[1:-1])
        assert unescaped == text
    else:
        assert line == text


def test_formats_are_not_expanded_in_what_others_named() -> None:
    assert unexpanded("a#(touch x)#{pane_id}") == "a##(touch x)##{pane_id}"


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("Enter", "Enter"),
        ("ctrl+c", "C-c"),
        ("Ctrl-C", "C-c"),
        ("^C", "C-c"),
        ("C-M-x", "C-M-x"),
        ("shift+tab", "BTab"),
        ("PageUp", "PPage"),
        ("esc", "Escape"),
        ("f12", "F12"),
        ("Ctrl+Left", "C-Left"),
        ("A", "A"),
        ("-", "-"),
        (";", ";"),
        ("alt+Enter", "M-Enter"),
        (" ", "Space"),
        ("ä", "ä"),
        ("C--", "C--"),
    ],
)
def test_keys_by_the_names_that_people_use(written: str, known: str) -> None:
    assert pane_keyboard.tmux_key(written) == known


@pytest.mark.parametrize("wrong", ["", "Entr", "rm -rf /", "C-", "\x03", "F13", "a\n", "-l"])
def test_what_is_no_key_is_refused(wrong: str) -> None:
    with pytest.raises(TmuxError) as raised:
        pane_keyboard.tmux_key(wrong)
    assert raised.value.kind == "refused"


def test_a_paste_cannot_leave_its_bracket() -> None:
    assert pane_keyboard.cleaned("a\x1b[201~b\r\nc\rd\te\x07\x9b201~f\x7f") == b"a[201~b\nc\nd\te201~f"
    assert pane_keyboard.buffer_name() != pane_keyboard.buffer_name()


@pytest.mark.parametrize(
    ("answer", "version"),
    [("tmux 3.3a", (3, 3)), ("tmux next-3.5", (3, 5)), ("tmux 3.0", (3, 0)), ("tmux master", (99, 0))],
)
def test_versions(answer: str, version: tuple[int, int]) -> None:
    assert tmux_program.parsed(answer) == version


@pytest.mark.parametrize("answer", ["tmux 2.9a", "tmux 1.8", "", "usage: tmux [-2CluvV]"])
def test_versions_that_are_too_old(answer: str) -> None:
    with pytest.raises(TmuxError) as raised:
        tmux_program.parsed(answer)
    assert raised.value.kind == "old"
    assert "3.0" in raised.value.hint


def test_what_a_server_inherits_holds_no_key() -> None:
    environ = {
        "HOME": "/h",
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "k",
        "TMUX": "/t,1,0",
        "TMUX_PANE": "%1",
        "LC_ALL": "C",
    }
    assert {"HOME", "PATH", "LC_ALL"} <= tmux_program.server_environment(environ).keys()
    assert not {"ANTHROPIC_API_KEY", "TMUX", "TMUX_PANE"} & tmux_program.server_environment(environ).keys()
    assert not {"TMUX", "TMUX_PANE"} & tmux_program.client_environment(environ).keys()


DESCRIBED = "%3|@2|$1|gsh-agent-0001|42|1||9|80|24|3|4|1|0|1|1|0|1|2|1700000000|1|12|0|0003-17.5|sh|a|b"


def test_a_description_is_read_whole_whatever_the_title_holds() -> None:
    info = parse(DESCRIBED)
    assert info is not None
    assert (info.pane, info.session, info.mark, info.title, info.exit_status, info.attached) == (
        "%3",
        "gsh-agent-0001",
        "0003-17.5",
        "a|b",
        137,
        2,
    )
    assert info.target == "$1:@2.%3"
    assert (info.mouse, info.mouse_drags, info.mouse_moves, info.mouse_sgr) == (True, True, False, True)
    assert parse("|" * FORMAT.count("|")) is None
    assert parse("nonsense") is None


def test_a_pane_seen_from_a_hidden_session_is_its_own_sessions() -> None:
    hidden = DESCRIBED.replace("gsh-agent-0001", "gsh-hub-7-abc")
    assert [info.session for info in parse_all((hidden, DESCRIBED))] == ["gsh-agent-0001"]
    assert parse_all((hidden,)) == []


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("no server running on /tmp/x", "gone"),
        ("error connecting to /tmp/x (Connection refused)", "gone"),
        ("can't find pane: %4", "no_such_pane"),
        ("duplicate session: a", "name_taken"),
        ("invalid session: a.b", "refused"),
    ],
)
def test_what_tmux_says_becomes_a_kind(words: str, kind: str) -> None:
    assert from_reply(words).kind == kind


def test_rows_stand_alone() -> None:
    raw = ["a\x1b[31mred", "still \x1b[1;44mbold", "\x1b[0mplain", "\x0elqk\x0f x", "\x1b[38;2;1;2;3mrgb", "on"]
    assert frames.rows(raw) == [
        "a\x1b[31mred",
        "\x1b[31mstill \x1b[1;44mbold",
        "\x1b[1;31;44m\x1b[0mplain",
        "┌─┐ x",
        "\x1b[38;2;1;2;3mrgb",
        "\x1b[38;2;1;2;3mon",
    ]


def test_rows_hold_nothing_but_text_and_styles() -> None:
    (row,) = frames.rows(["a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\x07b\x9bc"])
    assert row == "alinkbc"


PIECES = st.lists(
    st.sampled_from(
        ["a", "\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[39m", "\x1b[48;5;9m", "\x1b[4:3m", "\x0e", "\x0f", "q"]
    ),
    max_size=6,
).map("".join)


@given(first=st.lists(PIECES, max_size=6), second=st.lists(PIECES, max_size=6))
def test_remembered_rows_are_as_if_read_anew(first: list[str], second: list[str]) -> None:
    remembering = frames.CompleteRows()
    remembering.complete(first)
    assert remembering.complete(second) == tuple(frames.rows(second))
