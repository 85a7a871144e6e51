"""What a terminal sends, cut at every byte with every delay: no part of a sequence is typed, and no paste is sent."""

from random import Random

import pytest
from textual import events
from textual.message import Message

from gshtui.headless.agents.agent_pane.pane_input import InputLine
from gshtui.text.terminal_sequences import (
    BEGUN_WAITS,
    PASTE_WAITS,
    TerminalReader,
    TerminalToken,
    is_letter,
    terminal_decoder,
)
from gshtui.ui.kit.textual.driver import free_alt_digits
from gshtui.ui.kit.textual.input_parser import InputParser
from tests.kit.storms import FULL
from tests.kit.terminal_bytes import BROKEN, DELAYS, Sent, sequence, words

ROUNDS, SEQUENCES = (50, 20_000) if FULL else (2, 3_000)
LOOKS = (0.01, 0.06, 0.2, 0.45, 0.7, 0.95, 1.25, 2.0, 4.0, 8.0, 10.5)


class Terminal:
    """A terminal whose time goes as it is told, before the window's parser."""

    def __init__(self) -> None:
        self.now = 100.0
        self.parser = InputParser(clock=lambda: self.now)
        self._decode = terminal_decoder()
        self.typed, self.pasted = "", ""
        self.entered = 0
        self.keys: list[str] = []

    def send(self, data: bytes) -> None:
        if text := self._decode(data):
            self._take(list(self.parser.feed(text)))

    def wait(self, seconds: float) -> None:
        begun = self.now
        for look in (*(one for one in LOOKS if one < seconds), seconds):
            self.now = begun + look
            self._take(list(self.parser.tick()))

    def _take(self, messages: list[Message]) -> None:
        for message in messages:
            if isinstance(message, events.Paste):
                self.pasted += message.text
            elif isinstance(message, events.Key):
                self.keys.append(message.key)
                self.entered += message.key == "enter"
                if message.is_printable and "+" not in message.key:
                    self.typed += message.character or ""

    def clear(self) -> None:
        self.typed, self.pasted, self.entered, self.keys = "", "", 0, []


def typed_whole(data: bytes) -> tuple[str, int]:
    """What a sequence types, and how often it is enter, when it comes in one piece."""
    terminal = Terminal()
    terminal.send(data)
    terminal.wait(BEGUN_WAITS + 0.1)
    return terminal.typed, terminal.entered


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_sequences_cut_anywhere_at_any_delay_type_nothing_but_what_they_mean(seed: int) -> None:
    free_alt_digits()
    random = Random(seed)
    terminal = Terminal()
    for _ in range(SEQUENCES):
        sent = sequence(random)
        cut, delay = random.randint(0, len(sent.data)), random.choice(DELAYS)
        if sent.pastes is not None:
            delay = random.choice((*DELAYS, 1.5, 3.0, 8.0))
            cut = _not_before_one_letter(sent, cut)
        means, enters = typed_whole(sent.data) if sent.types is None else (sent.types, 0)
        terminal.clear()
        if random.random() < 0.9 or sent.pastes is not None:
            terminal.send(sent.data[:cut])
            terminal.wait(delay)
            terminal.send(sent.data[cut:])
        else:  # its rest never comes
            terminal.send(sent.data[: max(0, len(sent.data) - 1)])
            terminal.wait(BEGUN_WAITS + 0.1)
            means, enters = None, 0
        about = f"seed {seed}: {sent.data!r} cut at {cut}, {delay} s"
        if means is not None:
            assert (terminal.typed, terminal.entered) == (means, enters), about
        elif sent.types == "":
            assert (terminal.typed, terminal.entered) == ("", 0), about
        assert terminal.pasted == (sent.pastes or ""), about
        terminal.clear()
        text = words(random)
        if random.random() < 0.1:
            terminal.send(random.choice(BROKEN))
            terminal.wait(random.choice(DELAYS))
        for piece in (text,) if random.random() < 0.5 else text:
            terminal.send(piece.encode())
            terminal.wait(random.choice((0.0, 0.0, 0.08)))
        assert terminal.typed.endswith(text) and not terminal.entered, f"{about}, then {text!r}: {terminal.typed!r}"
        assert terminal.parser._awaiting.timeout is None  # pyright: ignore[reportPrivateUsage]


def _not_before_one_letter(sent: Sent, cut: int) -> int:
    """A cut whose first half is no single key behind a silence: that could be a person's."""
    return min(cut, len(sent.data) - 2)


@pytest.mark.parametrize("delay", [0.0, 0.04, 0.08, 0.3, 1.0, 1.5, 5.0])
@pytest.mark.parametrize("parts", [("p1\r", "p2"), ("p1\rp2\r", ""), ("", "p1\rp2"), ("\r", "\r\n")])
def test_a_paste_cut_at_any_byte_is_not_sent(delay: float, parts: tuple[str, str]) -> None:
    text = "".join(parts)
    data = f"\x1b[200~{text}\x1b[201~".encode()
    for cut in range(1, len(data)):
        terminal, line = Terminal(), InputLine()
        terminal.send(data[:cut])
        terminal.wait(delay)
        terminal.send(data[cut:])
        assert (terminal.pasted, terminal.typed, terminal.entered) == (text, "", 0), cut
        sent = [*line.feed(data[:cut], 1.0), *line.feed(data[cut:], 1.0 + delay)]
        assert not sent and line.text == text.replace("\r\n", "\n").replace("\r", "\n"), cut


def test_a_paste_whose_end_never_comes_is_text_and_the_keyboard_goes_on() -> None:
    terminal = Terminal()
    terminal.send(b"\x1b[200~p1\rp2\r")
    assert not terminal.pasted
    terminal.wait(BEGUN_WAITS + 0.1)
    assert terminal.pasted == "p1\rp2"
    terminal.send(b"\r")
    terminal.send(b"p3\rp4")
    terminal.wait(2.0)
    assert (terminal.pasted, terminal.entered) == ("p1\rp2\r\rp3\rp4", 0), "it may still be the paste"
    terminal.send(b"h")
    terminal.send(b"i\r")
    assert (terminal.typed, terminal.entered) == ("hi", 1), "a finger types one letter at a time"
    terminal.clear()
    terminal.send(b"\x1b[200~p5")
    terminal.wait(2.0)
    terminal.send(b"\x11")
    assert terminal.keys == ["ctrl+q"]
    terminal.send(b"\x1b[200~p6")
    terminal.wait(PASTE_WAITS + 1)
    terminal.send(b"\r")
    assert terminal.entered == 1 and terminal.pasted == "p5p6"


def test_letters_behind_the_escape_key_are_typed() -> None:
    """Only what nobody types by hand is the rest of a sequence."""
    for text in (
        "[Draft] it",
        "OK",
        "On it",
        "[1] first",
        "[",
        "[]",
        "Please",
        "^x",
        "_a",
        "]11",
        "[1;",
        "[I",
        "OAuth",
    ):
        terminal = Terminal()
        terminal.send(b"\x1b")
        terminal.wait(0.1)
        for letter in text:
            terminal.send(letter.encode())
            terminal.wait(0.08)
        terminal.wait(2.0)
        assert (terminal.typed, terminal.keys[0]) == (text, "escape"), text


@pytest.mark.parametrize(
    "pieces",
    [
        ("\x1b", "[", "2", "0", "0", "~", "p1\r", "\x1b", "[", "2", "0", "1", "~"),
        ("\x1b", "[", "<", "6", "4", ";", "1", ";", "1", "M"),
        ("\x1b", "]1", "1;rgb", ":1/1", "/1", "\x1b", "\\"),
        ("\x1b[", "1", ";", "1", ":", "3", "A"),
        ("\x1bP", ">", "|x", "\x1b", "\\"),
        ("\x1b", "P", ">|x\x1b", "\\"),
        ("\x1b", "_", "Gi=1;OK\x1b\\"),
        ("\x1b", "[", "?2026;2$", "y"),
        ("\x1b", "[", "M !!"),
        ("\x1b", "[", "M !", "!"),
        ("\x1b", "[", "[A"),
        ("\x1b", "[", "3$"),
    ],
)
def test_a_sequence_cut_more_than_once_is_still_one(pieces: tuple[str, ...]) -> None:
    for delay in (0.0, 0.03, 0.08, 0.3, 0.9):
        terminal = Terminal()
        for piece in pieces:
            terminal.send(piece.encode())
            terminal.wait(delay)
        assert (terminal.typed, terminal.entered) == ("", 0), delay


def test_keys_of_the_kitty_protocol_are_pressed_repeated_and_released() -> None:
    pressed = {
        "\x1b[97u": "a",
        "\x1b[97;1:1u": "a",
        "\x1b[97;1:2u": "a",
        "\x1b[97;;97u": "a",
        "\x1b[97:65;2;65u": "A",
        "\x1b[97:65;2u": "A",
        "\x1b[97;2u": "A",
        "\x1b[97;65u": "A",
        "\x1b[13;1:1u": "enter",
        "\x1b[1;1:1A": "up",
        "\x1b[1;5:2C": "ctrl+right",
        "\x1b[3;1:1~": "delete",
        "\x1b[27;5;97~": "ctrl+a",
        "\x1b[97;5:1u": "ctrl+a",
        "\x1b[13u": "enter",
        "\x1b[57414;1:1u": "enter",
        "\x1b[0;;229u": "å",
        "\x1b[1092::97;5u": "ctrl+ф",
    }
    for sent, key in pressed.items():
        terminal = Terminal()
        terminal.send(sent.encode())
        assert terminal.keys == [key], sent
    for nothing in (
        "\x1b[97;1:3u",
        "\x1b[1;1:3A",
        "\x1b[3;1:3~",
        "\x1b[u",
        "\x1b[55296u",
        "\x1b[99999999999u",
        "\x1b[:u",
    ):
        terminal = Terminal()
        terminal.send(nothing.encode())
        terminal.send(b"b")
        assert terminal.keys == ["b"], nothing


def test_an_exception_of_the_library_costs_its_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("whatever")

    terminal = Terminal()
    monkeypatch.setattr(InputParser, "parse_mouse_code", fail)
    monkeypatch.setattr(InputParser, "_parse_extended_key", lambda _, sequence: fail() if sequence == "x" else None)
    terminal.send(b"a\x1b[<0;1;1Mbxc\x1b[Ad")
    assert terminal.keys == ["a", "b", "c", "up", "d"]


@pytest.mark.parametrize(
    "letter", "\u200c\u200b\u00ad\u2060\u200f\u061c\ufeff\u202f\u00a0\u3000\u200d\ufe0f\U000e0061\uf8ff\U0001fae9"
)
def test_letters_that_are_not_seen_are_typed(letter: str) -> None:
    terminal, line = Terminal(), InputLine()
    terminal.send(f"a{letter}b".encode())
    line.feed(f"a{letter}b".encode())
    assert terminal.typed == line.text == f"a{letter}b"
    assert is_letter(letter)


def test_a_megabyte_of_one_sequence_takes_no_memory_and_ends() -> None:
    reader = TerminalReader()
    for begun, end in (("\x1b[", "m"), ("\x1b]0;", "\x07"), ("\x1bP", "\x1b\\")):
        reader.feed(begun, 0.0)
        for _ in range(3_000):
            reader.feed("1;" * 500, 0.0)
        assert reader.feed(f"{end}x", 0.0) == [TerminalToken("text", "x")]
        assert not reader.waits
