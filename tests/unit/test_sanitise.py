"""Untrusted text: nothing that drives a terminal gets through, nothing that a person must see is hidden."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.text.sanitise import Sanitiser, clean_text, literal, one_line, plain, visible
from gshtui.text.styled_text import Style, sgr, styled
from tests.kit.steps import steps

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]")
PIECES = st.sampled_from(
    [
        *(
            "\x1b[31m",
            "\x1b[0m",
            "\x1b]0;title\x07",
            "\x1b]52;c;YQ==\x1b\\",
            "\x1bPq#0\x1b\\",
            "\x1b_Gx\x1b\\",
            "\x1b^p\x1b\\",
        ),
        *(
            "\x9b31m",
            "\x9d0;x\x9c",
            "\x90x\x9c",
            "\x1b(0",
            "\x0e",
            "\x0f",
            "\x1b",
            "\x1b[",
            "\x1b]",
            "\x9d",
            "\x1bc",
            "\x1b7",
        ),
        *(
            "\r",
            "\n",
            "\r\n",
            "\b",
            "\t",
            "\x07",
            "\x00",
            "\x7f",
            "\x85",
            "\u202e",
            "\u200b",
            "\u200d",
            "\ufeff",
            "\u2028",
        ),
        *(
            "\u0301",
            "\ufe0f",
            "\U000e0041",
            "\ud800",
            "\udfff",
            "a",
            "bc ",
            "é",
            "日本",
            "😀",
            "[b]",
            "[/",
            "50%",
            "x" * 70,
        ),
    ]
)
HOSTILE = st.lists(PIECES, max_size=40).map("".join)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b]52;c;ZXZpbA==\x07ok", "ok"),
        ("\x1b]0;owned\x1b\\ok", "ok"),
        ("\x1b[2J\x1b[3J\x1b[Hok", "ok"),
        ("\x1b[?1049h\x1b[?2004lok\x1b[6n\x1b[c", "ok"),
        ("\x1bP+q544e\x1b\\ok", "ok"),
        ("\x1bPtmux;\x1b\x1b]0;x\x07\x1b\\ok", "␛Ptmux;␛ok"),
        ("\x1b_Ga=T;AAAA\x1b\\\x1b^x\x1b\\\x1bXy\x1b\\ok", "ok"),
        ("\x9b31mred\x9b0m \x9d0;x\x9cok", "red ok"),
        ("\x1b(0lqk\x1b(B\x0e\x0f", "lqk"),
        ("\x1bc\x1b7\x1b8\x1b=ok", "ok"),
        ("\x1b]1337;File=name=eA==:" + "A" * 5000 + "\x07ok", "ok"),
        (
            "\x1b]8;;https://evil.example\x1b\\https://good.example\x1b]8;;\x1b\\",
            "⟨https://evil.example⟩https://good.example",
        ),
        ("\x1b]8;;file:///etc/x\x07name\x1b]8;;\x07", "name"),
        ("\x1b]8;;https://a\u202eb\x07c", "⟨https://a⟨U+202E⟩b⟩c"),
        ("\x1b]0;never ended, and then\nthe next line", "␛]0;never ended, and then\nthe next line"),
        ("a\x1b[31", "a"),
        ("a\x1b\\b", "ab"),
    ],
)
def test_escape_sequences_are_dropped(text: str, left: str) -> None:
    assert plain(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("100%\r", "100%"),
        ("x\r\r\ny", "x\ny"),
        ("_\bX_\bY", "XY"),
        ("B\bBo\bol\bld\bd", "Bold"),
        ("abc\b\b\bxy", "xyc"),
        ("\b\bok", "ok"),
        ("first\nsecond\b\b\b\b\b\bwords \n", "first\nwords \n"),
    ],
)
def test_overwritten_lines_read_as_a_terminal_leaves_them(text: str, left: str) -> None:
    assert plain(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\x07b", "a␇b"),
        ("\x07" * 1000, "␇⟨×1000⟩"),
        ("nul\x00\x7f", "nul␀␡"),
        ("safe\u202etxt.exe", "safe⟨U+202E⟩txt.exe"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("\ufeffx\u00ady", "⟨U+FEFF⟩x⟨U+00AD⟩y"),
        ("two\u2028lines", "two⟨U+2028⟩lines"),
        ("hi\U000e0068\U000e0069", "hi⟨U+E0068⟩⟨U+E0069⟩"),
        ("x\ufe00\ufe01\ufe02", "x⟨U+FE00⟩⟨U+FE01⟩⟨U+FE02⟩"),
        ("\ud83dx", "\ufffdx"),
        ("e" + "\u0301" * 5000, "e" + "\u0301" * 8 + "⟨4992 more marks⟩"),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, left: str) -> None:
    assert plain(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "plain 日本語 café 😀\ttabbed\nlines",
        "👩\u200d💻 and ❤\ufe0f\u200d🔥",
        "می\u200cخواهم",
        "e\u0301te\u0301",
        "[/]",
        "[@click=app.quit]Yes[/]",
        '{"booleans": [true, false]}',
        "[b]" * 1000,
        "\\[not markup\\]",
        "",
    ],
)
def test_words_and_markup_like_text_stay_as_they_are(text: str) -> None:
    assert plain(text) == text


@given(HOSTILE)
def test_nothing_dangerous_survives(text: str) -> None:
    for clean in (plain(text), literal(text), visible(text), one_line(text)):
        assert not CONTROL.search(clean)
    assert "\n" not in one_line(text)


@given(HOSTILE)
def test_what_was_cleaned_once_stays_as_it_is(text: str) -> None:
    assert plain(plain(text)) == plain(text)


@given(st.lists(HOSTILE, max_size=6), st.booleans())
def test_pieces_come_to_the_same_as_the_whole(pieces: list[str], as_bytes: bool) -> None:
    sanitiser = Sanitiser()
    whole = "".join(pieces)
    if as_bytes:
        raw = whole.encode("utf-8", "replace")
        fed = [sanitiser.feed(raw[at : at + 3]) for at in range(0, len(raw), 3)]
        whole = raw.decode()
    else:
        fed = [sanitiser.feed(piece) for piece in pieces]
    assert "".join((*fed, sanitiser.finish())) == plain(whole)


@given(st.lists(HOSTILE, max_size=6))
def test_flushing_early_lets_nothing_through(pieces: list[str]) -> None:
    sanitiser = Sanitiser()
    shown = "".join(sanitiser.feed(piece) + sanitiser.flush() for piece in pieces) + sanitiser.finish()
    assert not CONTROL.search(shown)


def test_a_flushed_progress_line_goes_on_below() -> None:
    sanitiser = Sanitiser()
    assert sanitiser.feed("10%") + sanitiser.flush() == "10%"
    assert sanitiser.feed("\r20%") + sanitiser.flush() == "\n20%"
    assert sanitiser.feed("\r\n") == "\n"


def test_a_sequence_in_two_pieces_is_still_a_sequence() -> None:
    sanitiser = Sanitiser()
    assert sanitiser.feed("ok\x1b]0;ti") + sanitiser.flush() == "ok"
    assert sanitiser.feed("tle\x07 more") + sanitiser.flush() == " more"
    assert sanitiser.feed(b"\xe6\x97") + sanitiser.flush() == ""
    assert sanitiser.feed(b"\xa5") + sanitiser.flush() == "日"
    assert Sanitiser().feed(b"\xff\xfe\n") == "\ufffd\ufffd\n"


@pytest.mark.parametrize(
    "unit",
    [
        "\x1b",
        "\x1b]",
        "\x9d",
        "\x1b[",
        "\x1b[1",
        "\x1bP",
        "\x1b]a",
        "a\b",
        "a\r",
        "\x07\x01",
        "\u200b\u200d",
        "\u0301",
        "\x1b ",
        "\x1b]0;" + "A" * 70_000,
        "\x1b[" + "1" * 300,
        " ",
        "é",
        "a\n\x1b[m",
    ],
)
def test_time_grows_no_faster_than_the_text(unit: str) -> None:
    """Ten times the text is ten times the work; quadratic work would be a hundred times as much."""

    def work(size: int) -> int:
        text = unit * (size // len(unit) + 1)
        return steps(lambda: (plain(text), visible(text)))

    assert work(60_000) < 12 * work(6_000) + 1_000


def test_a_line_without_an_end_is_not_held_for_ever() -> None:
    sanitiser = Sanitiser()
    given_out = sum(len(sanitiser.feed("x" * 50_000)) for _ in range(20))
    assert given_out >= 800_000
    assert given_out + len(sanitiser.finish()) == 1_000_000


def test_a_prompt_shows_everything() -> None:
    assert visible("ls" + " " * 4000 + "; rm x") == "ls⟨4000 spaces⟩; rm x"
    assert visible("ls\n" + "\n" * 200 + "rm x").startswith("⟨202 lines⟩\nls\n⟨200 blank lines⟩\n")
    assert visible("echo safe\r\x1b[2Krm x") == "echo safe␍␛[2Krm x"
    assert visible("l\u0455 -la") == "l⟨U+0455 \u0455⟩ -la"
    assert visible("ls\u00a0x") == "ls⟨U+00A0⟩x"
    assert visible("привет") == "привет"
    assert visible("a\u200db") == "a⟨U+200D⟩b"


def test_a_file_shows_its_escapes() -> None:
    assert literal("a\x1b[31mb\rc\r\nd\be") == "a␛[31mb␍c\nd␈e"


def test_a_title_is_one_short_line() -> None:
    assert one_line("  a\n\tb \x1b[31mc  ") == "a b c"
    assert one_line("x" * 500, limit=10) == "xxxxxxxxx…"
    assert len(one_line("y" * 10_000_000, limit=80)) == 80


def test_styles() -> None:
    spans = styled("\x1b[1;31mred\x1b[0m \x1b[38;5;208mp\x1b[48;2;1;2;3mq\x1b[39;49m.\x1b]0;t\x07")
    assert [(span.text, span.style) for span in spans] == [
        ("red", Style(foreground=1, bold=True)),
        (" ", Style()),
        ("p", Style(foreground=208)),
        ("q", Style(foreground=208, background=(1, 2, 3))),
        (".", Style()),
    ]
    assert sgr(Style(bold=True, italic=True), "22;94;4") == Style(foreground=12, italic=True, underline=True)
    assert sgr(Style(), "38;5;999;8;5;banana;1234567") == Style()


def test_numbers_joined_by_colons_belong_together() -> None:
    assert sgr(Style(), "4:3") == Style(underline=True)
    assert sgr(Style(underline=True), "4:0") == Style()
    assert sgr(Style(), "38:2::10:20:30;48:2:1:2:3") == Style(foreground=(10, 20, 30), background=(1, 2, 3))
    assert sgr(Style(), "38:5:208") == Style(foreground=208)
    assert sgr(Style(bold=True), "58:2::1:2:3;58;2;1;2;3;58:5:9;53:1") == Style(bold=True)
    assert styled("old\x1b[32m\rnew")[0].style == Style(foreground=2)


@given(HOSTILE)
def test_styled_text_reads_as_plain_text(text: str) -> None:
    assert "".join(span.text for span in styled(text)) == plain(text)


@given(st.text(max_size=200))
def test_what_is_clean_stays_as_it_is(text: str) -> None:
    """A second look changes nothing, and what is put together of clean text and our own literals is that."""
    for clean in (plain(text), literal(text), one_line(text)):
        assert plain(clean) == clean
        assert clean_text("\x1b[2m", clean, 7, "\x1b[0m") == f"\x1b[2m{clean}7\x1b[0m"
