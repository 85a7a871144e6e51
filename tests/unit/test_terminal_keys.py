"""Keys from a terminal of its own: what is discarded, and what never blocks."""

import os
import select
import termios
from collections.abc import Iterator

import pytest

from gshtui.headless import terminal_keys
from gshtui.headless.terminal_keys import TerminalKeys


@pytest.fixture
def terminal() -> Iterator[tuple[int, str]]:
    """The other end of a terminal, and its name."""
    main, other = os.openpty()
    yield main, os.ttyname(other)
    os.close(main)
    os.close(other)


def test_a_key_is_read_as_it_is_pressed(terminal: tuple[int, str]) -> None:
    main, name = terminal
    with TerminalKeys(name) as keys:
        os.write(main, "é".encode())
        assert keys.read(5.0) == "é"
        assert keys.read(0.0) is None


def test_a_part_of_a_sequence_is_no_key(terminal: tuple[int, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It could be the digit that answers."""
    main, name = terminal
    now = 0.0
    monkeypatch.setattr(terminal_keys.time, "monotonic", lambda: now)
    with TerminalKeys(name) as keys:
        for cut in range(1, 6):
            data = b"\x1b[1;5A"
            for piece in (data[:cut], data[cut : cut + 1], data[cut + 1 :]):
                os.write(main, piece)
                found = keys.read(5.0) if piece else None
                now += 0.9
                found = found or keys.read(0.0)
                assert found in (None, "\x1b", "\x1b[1;5A", "\x1b[1;5", "\x1b[1;"), (cut, piece)
        os.write(main, b"1")
        assert keys.read(5.0) == "1"


def test_input_that_is_discarded_between_the_look_and_the_read_blocks_nothing(
    terminal: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ctrl+c does, which empties the terminal's input."""
    main, name = terminal

    class Emptying:
        @staticmethod
        def select(read: list[int], write: list[int], other: list[int], timeout: float) -> tuple[list[int], ...]:
            found = select.select(read, write, other, timeout)
            termios.tcflush(read[0], termios.TCIFLUSH)
            return found

    with TerminalKeys(name) as keys:
        monkeypatch.setattr(terminal_keys, "select", Emptying)
        os.write(main, b"y1")
        assert keys.read(5.0) is None


def test_more_than_the_terminal_takes_at_once_is_written_whole(terminal: tuple[int, str]) -> None:
    main, name = terminal
    text = "x" * 200_000
    read = b""
    with TerminalKeys(name) as keys:
        pid = os.fork()
        if not pid:
            keys.write(text)
            os._exit(0)
        while len(read) < len(text) and select.select([main], [], [], 10.0)[0]:
            read += os.read(main, 65_536)
        os.waitpid(pid, 0)
    assert read == text.encode()
