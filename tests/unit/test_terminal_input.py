"""What a terminal sends, cut anywhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.message import Message

from gshtui.ui.kit.textual.driver import InputParser

STREAM = "ab\x1b[200~x\x1b[31mred\r\nend\x1b]0;t\x07 \x1b\x1b[\x1b[201~c\x1b\rd\x1b[A\x1b[200~\x1b[201~z"


def said(messages: list[Message]) -> list[str]:
    return [message.text if isinstance(message, events.Paste) else getattr(message, "key", "?") for message in messages]


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


def test_a_lone_escape_is_a_key_in_the_end() -> None:
    parser = InputParser()
    assert list(parser.feed("\x1b")) == []
    assert parser.waits
    assert said(list(parser.feed(""))) == ["escape"]


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
