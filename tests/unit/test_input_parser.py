"""What a terminal sends, cut anywhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.message import Message

from gshtui.ui.kit.textual.driver import free_alt_digits
from gshtui.ui.kit.textual.input_parser import DrawsSixel, InputParser

STREAM = "ab\x1b[200~x\x1b[31mred\r\nend\x1b]0;t\x07 \x1b\x1b[\x1b[201~c\x1b\rd\x1b[A\x1b[200~\x1b[201~z"

TYPED = {"a": "a", "A": "A", "3": "3", " ": "space", "é": "é", "\r": "enter", "\t": "tab", "\x7f": "backspace"}
SEQUENCES = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[1;5A": "ctrl+up",
    "\x1b[1;3D": "alt+left",
    "\x1b[5~": "pageup",
    "\x1bOP": "f1",
    "\x1b[[A": "f1",
    "\x1b[15~": "f5",
    "\x1b[3$": "shift+delete",
    "\x1b[13;2u": "shift+enter",
    "\x1b1": "alt+1",
    "\x1b3": "alt+3",
    "\x1b0": "alt+0",
    "\x1bt": "alt+t",
    "\x1bZ": "alt+shift+z",
    "\x1b.": "alt+full_stop",
    "\x1bé": "alt+é",
    "\x1b ": "alt+space",
    "\x1b\r": "alt+enter",
    "\x1b\n": "alt+enter",
    "\x1bf": "ctrl+right",
    "\x1b\x01": "alt+ctrl+a",
    "\x1b\x7f": "ctrl+w",
    "\x1b[<0;5;6M": "MouseDown",
    "\x1b[200~\x1b3\n\x1b[201~": "\x1b3\n",
    "\x1b[I": "AppFocus",
}
ANSWERS = (
    "\x1bP>|tmux 3.3a\x1b\\",
    "\x1bP1+r524742=382F382F38\x1b\\",
    "\x1b]11;rgb:1e1e/1e1e/2e2e\x07",
    "\x1b]52;c;aGVsbG8=\x1b\\",
    "\x1b_Gi=31;OK\x1b\\",
    "\x1b[?62;22;52c",
    "\x1b[>84;0;0c",
    "\x1b[?1u",
    "\x1b[0n",
    "\x1b[M !!",
    f"\x1b[{'1;' * 20}m",
)
"""What no key is, and nothing that Textual knows."""
OPEN = {
    "\x1b": "escape",
    "\x1b[": "alt+left_square_bracket",
    "\x1b]": "alt+right_square_bracket",
    "\x1bO": "alt+shift+o",
    "\x1bP": "alt+shift+p",
    "\x1b_": "alt+underscore",
}
"""What a letter right behind it would make another key of."""


def said(messages: list[Message]) -> list[str]:
    return [
        message.text if isinstance(message, events.Paste) else getattr(message, "key", type(message).__name__)
        for message in messages
    ]


class Clock:
    """A parser's time, which goes by when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.parser = InputParser(clock=lambda: self.now)

    def wait(self, seconds: float = 2.0) -> list[Message]:
        """What is clear when nothing comes for so long, and nothing more for as long."""
        messages: list[Message] = []
        for _ in range(2):
            self.now += seconds
            messages += self.parser.tick()
        return messages


@given(
    st.lists(st.sampled_from((*TYPED, *SEQUENCES, *ANSWERS, *OPEN)), max_size=40),
    st.lists(st.integers(1, 9), max_size=60),
)
def test_a_burst_is_the_keys_that_it_is_made_of(sent: list[str], sizes: list[int]) -> None:
    free_alt_digits()
    expected, pieces, burst = list[str](), list[str](), ""
    for text in sent:
        if burst and not text.startswith("\x1b") and expected[-1:] and expected[-1] in OPEN.values():
            pieces.append(burst)
            burst = ""
        burst += text
        expected += [TYPED.get(text) or SEQUENCES.get(text) or OPEN[text]] if text not in ANSWERS else [""]
    clock, found, cuts = Clock(), list[Message](), iter([*sizes, *[99] * 400])
    for piece in (*pieces, burst):
        while piece:
            size = next(cuts)
            found += clock.parser.feed(piece[:size])
            piece = piece[size:]
        found += clock.wait()
    assert said(found) == [name for name in expected if name]
    assert not clock.parser.waits


def test_an_escape_and_a_letter_are_two_keys_where_nothing_came_between_them_for_a_while() -> None:
    parser = InputParser()
    found: list[Message] = []
    for piece in ("a\x1b", "do\x1b", "\x1b[A\x1b[200~x\x1b", "y\x1b[201~"):
        found += [*parser.feed(piece), *parser.pause()]
    assert said(found) == ["a", "escape", "d", "o", "escape", "up", "x\x1by"]


@given(st.lists(st.integers(1, 9), max_size=80))
def test_a_paste_is_text_however_it_is_cut(sizes: list[int]) -> None:
    parser, at, found = InputParser(), 0, list[Message]()
    for length in [*sizes, len(STREAM)]:
        if piece := STREAM[at : at + length]:
            found += parser.feed(piece)
        at += length
    found += parser.feed("")
    paste = "x\x1b[31mred\r\nend\x1b]0;t\x07 \x1b\x1b["
    assert said(found) == ["a", "b", paste, "c", "alt+enter", "d", "up", "", "z"]


@given(st.text(alphabet="\x1b[]OPM_Gx1;$?<>~u\\\x07\r", min_size=1, max_size=200))
def test_what_no_terminal_sends_harms_nothing(text: str) -> None:
    clock = Clock()
    parser = clock.parser
    found = [*parser.feed(text), *clock.wait()]  # an answer without an end is given up
    typed = [message for message in found if isinstance(message, events.Key) and message.is_printable]
    assert "".join(message.character or "" for message in typed).isprintable()
    assert said(list(parser.feed("y"))) == ["y"]


def test_a_lone_escape_is_a_key_in_the_end() -> None:
    clock = Clock()
    parser = clock.parser
    assert list(parser.feed("\x1b")) == []
    assert parser.waits and list(parser.tick()) == []
    assert said(clock.wait(0.06)) == ["escape"]
    assert list(parser.feed("\x1b")) == []
    assert said(list(parser.feed(""))) == ["escape"]


def test_a_key_with_alt_types_nothing() -> None:
    (key,) = InputParser().feed("\x1bh")
    assert isinstance(key, events.Key) and key.key == "alt+h" and not key.is_printable


def test_a_megabyte_is_one_paste() -> None:
    text = "hello world\r" * 90_000
    parser = InputParser()
    data = f"\x1b[200~{text}\x1b[201~"
    found = [message for at in range(0, len(data), 4_096) for message in parser.feed(data[at : at + 4_096])]
    assert said(found) == [text]


def test_nul_is_dropped() -> None:
    assert said(list(InputParser().feed("\x1b[200~a\0b\x1b[201~"))) == ["ab"]


def test_a_terminal_that_speaks_the_kitty_protocol_is_known_by_its_answer_or_its_keys() -> None:
    plain, answers, types = InputParser(), InputParser(), InputParser()
    keys = [message for message in plain.feed("a\x1b[A\x1b[1;5A") if isinstance(message, events.Key)]
    assert len(keys) == 3 and not plain.extended
    heard = [message for piece in ("x\x1b[", "?", "1", "uy") for message in answers.feed(piece)]
    assert [message.key for message in heard if isinstance(message, events.Key)] == ["x", "y"], "the answer is no key"
    assert answers.extended
    (typed,) = [message for message in types.feed("\x1b[13;2u") if isinstance(message, events.Key)]
    assert typed.key == "shift+enter" and types.extended


def test_what_the_terminal_says_that_it_draws_is_no_key() -> None:
    for answer, draws in (("\x1b[?62;1;4;22c", True), ("\x1b[?4;22c", False), ("\x1b[?64;14;42c", False)):
        parser = InputParser()
        said = [*parser.feed(answer[:5]), *parser.feed(answer[5:])]
        assert [type(one) for one in said] == [DrawsSixel] * draws and parser.sixel is draws
