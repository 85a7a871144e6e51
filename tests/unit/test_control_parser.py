"""What a control client says is cut at the right places, whatever programs print and however it arrives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gshtui.tmux.control_client import ControlParser

SEAL = b"5ea1;"


class Heard:
    """A reader with what it made out."""

    def __init__(self, commands: int = 1) -> None:
        self.answers: list[tuple[bool, list[bytes], bytes]] = []
        self.notes: list[bytes] = []
        self.blocks = ControlParser(self.notes.append)
        for _ in range(commands):
            self.blocks.expect(SEAL, lambda *answer: self.answers.append(answer))


def block(number: int, *lines: bytes, end: bytes = b"%end", flags: int = 1) -> bytes:
    numbers = b"1700000000 %d %d" % (number, flags)
    return b"\n".join((b"%begin " + numbers, *lines, end + b" " + numbers, b""))


def sealed(number: int, tail: bytes = b"") -> bytes:
    return block(number, SEAL + tail)


def test_an_answer_is_what_stands_between_begin_and_end() -> None:
    heard = Heard()
    heard.blocks.feed(block(7, b"one", b"", b"two") + sealed(8, b"%1|x"))
    assert heard.answers == [(True, [b"one", b"", b"two"], b"%1|x")]
    assert heard.notes == []


def test_a_failure_says_why() -> None:
    heard = Heard()
    heard.blocks.feed(block(7, b"can't find pane: %9", end=b"%error") + sealed(8))
    assert heard.answers == [(False, [b"can't find pane: %9"], b"")]


def test_a_pane_that_prints_the_very_end_does_not_end_the_answer() -> None:
    forged = [b"%end 1700000000 7 1", b"%begin 1700000000 8 1", b"no seal", b"%end 1700000000 8 1", b"%error 1 2 1"]
    heard = Heard(commands=2)
    heard.blocks.feed(block(7, *forged) + sealed(8) + block(9, b"next") + sealed(10))
    assert heard.answers == [(True, forged, b""), (True, [b"next"], b"")]
    assert heard.notes == []


def test_notifications_come_through_also_between_a_command_and_its_seal() -> None:
    heard = Heard()
    heard.blocks.feed(b"%sessions-changed\n" + block(7, b"x") + b"%output %1 hi\n" + sealed(8) + b"%exit\n")
    assert heard.answers == [(True, [b"x"], b"")]
    assert heard.notes == [b"%sessions-changed", b"%output %1 hi", b"%exit"]


def test_blocks_that_answer_nobody_are_passed_over() -> None:
    heard = Heard()
    heard.blocks.feed(block(3, b"of a hook", flags=0) + block(7, b"mine") + sealed(8))
    assert heard.answers == [(True, [b"mine"], b"")]
    assert heard.notes == []


hostile = st.lists(
    st.one_of(
        st.binary(max_size=20).filter(lambda line: b"\n" not in line),
        st.sampled_from(
            [b"%end 1700000000 7 1", b"%error 1700000000 7 1", b"%begin 1700000000 8 1", b"%output %0 x", b"%exit", b""]
        ),
    ),
    max_size=12,
)


@given(lines=hostile, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_any_content_in_any_pieces_is_read_exactly(lines: list[bytes], cuts: list[int]) -> None:
    said = b"%window-add @1\n" + block(7, *lines) + sealed(8, b"about") + block(9, b"next") + sealed(10) + b"%exit\n"
    heard = Heard(commands=2)
    at = 0
    for cut in sorted(cuts):
        heard.blocks.feed(said[at:cut])
        at = max(at, cut)
    heard.blocks.feed(said[at:])
    assert heard.answers == [(True, lines, b"about"), (True, [b"next"], b"")]
    assert heard.notes == [b"%window-add @1", b"%exit"]
