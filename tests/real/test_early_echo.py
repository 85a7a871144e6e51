"""What is typed while the window starts: shown at once, never gone again, and in the input in the end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.ui.window import first_frame
from gshtui.ui.window.early_echo import EarlyEcho, InputPlace, TypedLine
from tests.kit.pty_child import PtyChild, frame_child
from tests.kit.terminal_screen import BLANK, Cell, ScreenCells
from tests.real.test_first_frame import folder

__all__ = ["folder"]

SIZE = (100, 30)
PLACE = InputPlace(row=2, column=3, width=20, text="\x1b[1m", cursor="\x1b[7m")
_WHOLE = re.compile(rb"(?s)(.*)\x1b(\[[0-9;?$ ]*)?")
"""Everything before a sequence whose end has not come yet."""
_FRAME_BEGUN = re.compile(rb"(?s)(.*)\x1b\[\?2026h(?!.*\x1b\[\?2026l)")
"""Everything before a frame whose end has not come yet: a terminal shows such a frame only whole."""


class Watched:
    """A child whose screen is looked at after everything that it writes."""

    def __init__(self, child: PtyChild) -> None:
        self.child = child
        self.screen = ScreenCells(*SIZE)
        self._at = 0

    def look(self) -> ScreenCells:
        """The screen as of everything that has come whole."""
        new = self.child.output[self._at :]
        whole = cut[1] if (cut := _WHOLE.fullmatch(new)) else new
        whole = cut[1] if (cut := _FRAME_BEGUN.match(whole)) else whole
        while whole:
            try:
                text = whole.decode()
                break
            except UnicodeDecodeError:
                whole = whole[:-1]
        else:
            return self.screen
        self._at += len(whole)
        self.screen.write(text.replace("\r", ""))
        return self.screen

    def row(self, place: InputPlace) -> list[Cell]:
        return self.look().rows[place.row][place.column : place.column + place.width]


@pytest.fixture
def started() -> Iterator[list[PtyChild]]:
    children: list[PtyChild] = []
    yield children
    for child in children:
        child.close()


def text_of(cells: list[Cell]) -> str:
    return "".join(character for character, _ in cells)


def test_letters_are_shown_before_textual_is_even_imported(started: list[PtyChild], folder: Path) -> None:
    child = frame_child(folder, "wait", str(folder / "there"))
    started.append(child)
    child.go()
    child.read_until((folder / "there").exists)
    for keys, shown in (("hal", "hal "), ("\x7fe 漢", "hae 漢 "), ("\x1b[200~pasted\x1b[201~", "hae 漢pasted ")):
        child.write(keys.encode())
        child.read_until(lambda shown=shown: shown.encode() in re.sub(rb"\x1b\[[0-9;]*m", b"", child.output))


def test_what_was_typed_stays_until_the_input_shows_it_and_looks_the_same_there(
    started: list[PtyChild], folder: Path
) -> None:
    first = frame_child(folder, "app", str(folder / "said"))
    started.append(first)
    first.go()
    first.read_until(lambda: b"sk for anything" in first.output and b"palette" in first.output)
    first.write(b"\x11")
    assert first.wait() == 0
    _, place = first_frame.snapshot(str(folder), *SIZE)
    assert place is not None

    child = frame_child(folder, "app", str(folder / "said"))
    started.append(child)
    watched = Watched(child)
    rows: list[list[Cell]] = []

    def seen(words: str) -> bool:
        rows.append(watched.row(place))
        return text_of(rows[-1]).startswith(words)

    child.go(b"first words")
    child.read_until(lambda: seen("first words"))
    by_echo, count = rows[-1], len(rows)
    child.read_until(lambda: seen("first words") and b"This folder is empty" in child.output)
    child.write(b" and more")
    child.read_until(lambda: seen("first words and more"))
    assert all(text_of(row).startswith("first words") for row in rows[count:]), "they vanished for a moment"
    child.write(b"\x7f" * 9)
    child.read_until(lambda: seen("first words") and rows[-1][11][1] == by_echo[11][1])  # the cursor is back
    assert rows[-1][:12] == by_echo[:12], "letters or cursor look different"
    child.write(b"\x1b3\x1b1\x1b3\x1b1!")  # to a pane and back in one burst: none of it is typed
    assert child.wait() == 0
    assert (folder / "said").read_text() == "first words!"


def test_nothing_is_left_of_a_line_that_was_painted_elsewhere(started: list[PtyChild], folder: Path) -> None:
    """The first start in a folder knows no frame, so its line is not where the input will be."""
    child = frame_child(folder, "app", str(folder / "said"))
    started.append(child)
    watched = Watched(child)

    def rows() -> list[str]:
        return [text for row in watched.look().rows if "first words" in (text := text_of(row))]

    child.go(b"first words")
    child.read_until(lambda: any(text.startswith("  first words") for text in rows()))
    child.read_until(lambda: len(found := rows()) == 1 and not found[0].startswith("  first words"))
    child.write(b"!")
    assert child.wait() == 0


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=8), max_size=8))
def test_the_line_never_draws_outside_its_place(pieces: list[str]) -> None:
    screen = ScreenCells(30, 5)
    line = TypedLine(PLACE)
    for piece in pieces:
        line.type(piece)
        drawn = line.drawn()
        assert not set(re.sub(r"\x1b(\[[0-9;]*[mH]|[78])", "", drawn)) & set(
            map(chr, [*range(32), 127, *range(128, 160)])
        )
        screen.write(drawn)
    outside = [row for at, row in enumerate(screen.rows) if at != PLACE.row]
    assert all(cell == BLANK for row in outside for cell in row)
    here = screen.rows[PLACE.row]
    assert here[: PLACE.column] == [BLANK] * PLACE.column
    assert here[PLACE.column + PLACE.width :] == [BLANK] * (30 - PLACE.column - PLACE.width)


@given(st.lists(st.sampled_from([*"ab ä漢é", "\x7f", "\x1b[200~", "\x1b[201~"]), max_size=30))
def test_the_line_is_what_an_input_would_hold(keys: list[str]) -> None:
    """However the keys are cut into pieces; marks of a paste are no letters."""
    held: list[str] = []
    for key in keys:
        if key == "\x7f":
            held[-1:] = []
        elif not key.startswith("\x1b"):
            held.append(key)
    whole, letter_by_letter = TypedLine(InputPlace(0, 0, 200, "", "")), TypedLine(InputPlace(0, 0, 200, "", ""))
    whole.type("".join(keys))
    for letter in "".join(keys):
        letter_by_letter.type(letter)
    assert whole.text == letter_by_letter.text == "".join(held)
    assert not whole.frozen


@pytest.mark.parametrize("key", ["\r", "\n", "\t", "\x15", "\x1b[A", "\x1bb", "\u200d", "\x07", "\x9b"])
def test_after_a_key_that_it_does_not_know_the_line_stays_as_it_is(key: str) -> None:
    line = TypedLine(PLACE)
    line.type("abc")
    line.type(f"{key}def")
    assert line.frozen and line.text == "abc"


class Told(list[bytes]):
    """The pieces of what was typed; tells of each change."""

    def __init__(self) -> None:
        super().__init__([b""])
        self.changes = SimpleQueue[list[bytes]]()

    def append(self, piece: bytes) -> None:
        super().append(piece)
        self.changes.put(list(self))

    def __setitem__(self, at: Any, piece: Any) -> None:
        super().__setitem__(at, piece)
        self.changes.put(list(self))

    def become(self, wanted: list[bytes]) -> None:
        """Wait until they are these."""
        while self.changes.get(timeout=30) != wanted:
            pass


def test_an_escape_that_stands_alone_is_told_from_a_key_with_alt() -> None:
    reads, types = os.pipe()
    shows = os.open(os.devnull, os.O_WRONLY)
    echo = EarlyEcho(shows, PLACE, reads)
    echo.pieces = told = Told()
    try:
        os.write(types, b"a\x1bd\x1b")
        told.become([b"a\x1bd\x1b", b""])
        os.write(types, b"do")
        told.become([b"a\x1bd\x1b", b"do"])
    finally:
        assert echo.stop() is told
        for fd in (reads, types, shows):
            os.close(fd)


def test_a_text_that_does_not_fit_is_left_to_the_input() -> None:
    line = TypedLine(PLACE)
    line.type("x" * 50)
    assert line.frozen and len(line.text) == PLACE.width - 1
