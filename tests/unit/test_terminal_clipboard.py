"""The picture on a terminal's clipboard: given in pieces, refused, broken off, or told though nobody asked."""

import base64
from collections.abc import Callable

import pytest
from textual import events

from gshtui.system.expected_error import ExpectedError
from gshtui.ui.kit.textual import terminal_clipboard
from gshtui.ui.kit.textual.input_parser import InputParser
from gshtui.ui.kit.textual.terminal_clipboard import ask_for_picture, may_be_asked
from tests.kit.png import png

Answer = Callable[[str], list[str]]
"""What a terminal says when it is asked for a type."""


def say(status: str, data: bytes = b"", kind: str = "") -> str:
    mime = f":mime={base64.b64encode(kind.encode()).decode()}" if kind else ""
    return f"\x1b]5522;type=read:status={status}{mime};{base64.b64encode(data).decode()}\x1b\\"


def given(picture: bytes, *, types: str = "text/plain image/png") -> Answer:
    """A terminal that has this picture; it sends it in pieces, which arrive cut anywhere."""

    def answer(wanted: str) -> list[str]:
        if wanted == ".":
            return [say("OK"), say("DATA", types.encode(), "."), say("DONE")]
        pieces = [say("DATA", picture[at : at + 30], wanted) for at in range(0, len(picture), 30)]
        whole = "".join([say("OK"), *pieces, say("DONE")])
        return [whole[at : at + 7] for at in range(0, len(whole), 7)]

    return answer


async def asked(answer: Answer) -> tuple[bytes | None, list[object]]:
    """What is read of it, and what was typed meanwhile."""
    parser = InputParser()
    typed: list[object] = []

    def write(sequence: str) -> None:
        wanted = base64.b64decode(sequence.removeprefix("\x1b]5522;type=read;").removesuffix("\x1b\\")).decode()
        for piece in answer(wanted):
            typed.extend(parser.feed(piece))

    try:
        return await ask_for_picture(write, parser), typed
    finally:
        assert parser.clipboard is None, "nobody listens any more"
        assert [event.key for event in parser.feed("a") if isinstance(event, events.Key)] == ["a"]


async def test_a_picture_is_given_in_pieces_and_nothing_is_typed() -> None:
    assert await asked(given(png(20, 10))) == (png(20, 10), [])
    assert await asked(given(b"", types="text/plain text/html")) == (b"", [])


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ([say("EPERM")], "does not let programs read"),
        ([say("EIO")], "could not read its clipboard"),
        ([say("OK"), "\x1b]5522;type=read:status=DATA;???\x1b\\"], "damaged clipboard data"),
        ([say("OK"), say("DATA", b"x" * 500), say("DATA", b"x" * 600)], "more than 1,000 bytes"),
        ([say("OK"), say("DATA", b"x")], "in time"),
        ([say("OK"), "\x1b]5522;" + "x" * 1_000_001 + "\x1b\\"], "in time"),
    ],
)
async def test_what_goes_wrong_is_one_sentence(monkeypatch: pytest.MonkeyPatch, second: list[str], why: str) -> None:
    monkeypatch.setattr(terminal_clipboard, "MOST_SENT", 1_000)
    monkeypatch.setattr(terminal_clipboard, "_ALLOWED", 0.2)
    monkeypatch.setattr(terminal_clipboard, "_BETWEEN", 0.2)
    with pytest.raises(ExpectedError, match=why):
        await asked(lambda wanted: given(b"")(wanted) if wanted == "." else second)


async def test_a_terminal_that_does_not_know_the_protocol_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal_clipboard, "_SPEAKS", 0.05)
    assert await asked(lambda _: []) == (None, [])
    assert not may_be_asked({"TMUX": "x", "TERM": "xterm-kitty"}) and not may_be_asked({"TERM": "linux"})
    assert may_be_asked({"TERM": "xterm-kitty", "SSH_CONNECTION": "a b"})


def test_what_nobody_asked_for_is_passed_over() -> None:
    parser = InputParser()
    assert list(parser.feed(say("DATA", b"rm -rf /", "text/plain"))) == []
