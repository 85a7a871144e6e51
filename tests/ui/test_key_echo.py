"""The row that is written at a key, before the frame, is a full refresh's row; so is the screen after the frame. What
is written before the key is even handled is the row that its handling makes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from textual import events
from textual.pilot import Pilot
from textual.screen import Screen

from gshtui.ui.kit.textual import letter_echo
from gshtui.ui.kit.textual.letter_echo import LetterEcho
from gshtui.ui.kit.textual.painting import echo_now
from gshtui.ui.kit.widgets import folding_area
from gshtui.ui.prompt.prompt_input import PromptInput
from tests.kit.cells import Cells
from tests.kit.seen_window import Seen, rested, whole
from tests.kit.storms import examples

KEYS = (
    *"abz 字👍é/?@!",
    "backspace",
    "delete",
    "left",
    "right",
    "up",
    "down",
    "home",
    "end",
    "shift+left",
    "shift+right",
    "shift+home",
    "shift+up",
    "alt+enter",
    "ctrl+w",
    "ctrl+u",
    "ctrl+k",
    "ctrl+y",
    "ctrl+z",
    "alt+b",
    "alt+f",
    "escape",
    "tab",
    "ctrl+c",
)
PASTES = ("two\nlines", "wide 表表表 and combining e\u0301", "a fold\n" * 30, "long " * 60)
SIZES = ((120, 40), (80, 24), (40, 12), (200, 50))

Step = tuple[str, Any]
STEPS = st.one_of(
    st.tuples(st.just("key"), st.sampled_from(KEYS)),
    st.tuples(st.just("key"), st.sampled_from("word 字")),
    st.tuples(st.just("typed"), st.lists(st.sampled_from((*"lett ers/é", "backspace")), min_size=3, max_size=12)),
    st.tuples(st.just("keys"), st.lists(st.sampled_from("burst 表"), min_size=2, max_size=6)),
    st.tuples(st.just("paste"), st.sampled_from(PASTES)),
    st.tuples(st.just("resize"), st.sampled_from(SIZES)),
    st.tuples(st.just("theme"), st.sampled_from(("gsh-light", "gsh-dark", "nord"))),
    st.tuples(st.just("vi"), st.sampled_from(("escape i", "escape d w", "escape x x", "escape A", "escape 0 D i"))),
)


class Echoed(Seen):
    """A window that compares the terminal's row with a full refresh at each echo."""

    def __init__(self) -> None:
        super().__init__()
        self.echoes = 0
        self.echoing = False
        self.rows: set[int] = set()
        self.foreseen = 0

    def letters(self) -> LetterEcho:
        area = self.query_one(PromptInput)
        return LetterEcho(area, area, self.comes_next)

    def foresee(self, name: str) -> None:
        """Show on the terminal what a key will do, where that is certain."""
        key = events.Key("space" if name == " " else name, name if len(name) == 1 else None)
        self.foreseen += self.letters().show(key)

    def write_ahead(self, _: object, data: str) -> bool:
        """Put it on the terminal."""
        self.terminal.write(data)
        return True

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if self.echoing and renderable is not None:
            self.rows = {y for y, _, _ in renderable._strips}
        super()._display(screen, renderable)

    def echo(self, area: PromptInput) -> bool:
        """`echo_now`, and what it wrote is what a full refresh writes there."""
        self.echoing = True
        written = echo_now(area)
        self.echoing = False
        if written:
            self.echoes += 1
            if self.echoes % 3 == 0:  # a full refresh draws all, which the frame behind must do by itself mostly
                fresh = whole(self)
                inside = area.region
                for y in self.rows:
                    assert row(self.terminal, y, inside.x, inside.right) == row(fresh, y, inside.x, inside.right), y
        return written


def row(terminal: Cells, y: int, start: int, end: int) -> list[tuple[str, str] | None]:
    """The cells of a row between two columns."""
    return [terminal.cells.get((y, x)) for x in range(start, end)]


async def do(app: Echoed, pilot: Pilot[int], step: Step) -> None:
    """Take one step, and look at the terminal once all has come to rest."""
    kind, what = step
    area = app.query_one(PromptInput)
    if kind == "key":
        app.foresee(what)
        await pilot.press(what)
    elif kind == "typed":
        for key in what:
            before = app.foreseen
            app.foresee(key)
            expected = app.terminal.cells.copy() if app.foreseen > before else None
            await pilot.press(key)
            await rested(pilot)
            place = area.content_region
            if expected is not None:
                for y in range(place.y, place.bottom):
                    found = row(app.terminal, y, place.x, place.right)
                    assert found == [expected.get((y, x)) for x in range(place.x, place.right)], (key, area.text)
    elif kind == "keys":
        await pilot.press(*what)
    elif kind == "vi":
        area.use_vi()
        await pilot.press(*what.split())
    elif kind == "paste":
        area.insert_pasted(what)
    elif kind == "theme":
        app.theme = what
    else:
        await pilot.resize_terminal(*what)
    await rested(pilot)
    if app.screen is app.bench and kind != "resize":
        assert app.terminal.cells == whole(app).cells, step


async def session(steps: list[Step]) -> tuple[int, int]:
    """Take the steps in a window of their own; returns how many rows were written at keys, and how many before."""
    app = Echoed()
    before: Callable[[Any], bool] = folding_area.echo_now
    written_ahead: Callable[[Any, str], bool] = letter_echo.write_ahead
    folding_area.echo_now = app.echo  # pyright: ignore[reportPrivateImportUsage]
    letter_echo.write_ahead = app.write_ahead  # pyright: ignore[reportPrivateImportUsage]
    check, letter_echo.CHECK = letter_echo.CHECK, 1_000.0  # a drawing between two keys is for another test
    try:
        async with app.run_test(size=(100, 30)) as pilot:
            await rested(pilot)
            for step in steps:
                if step[0] == "resize":
                    app.terminal.cells.clear()
                await do(app, pilot, step)
            if app.screen is app.bench:
                app.query_one(PromptInput).focus()
                await rested(pilot)
                assert app.terminal.cells == whole(app).cells
    finally:
        folding_area.echo_now = before
        letter_echo.write_ahead, letter_echo.CHECK = written_ahead, check
    return app.echoes, app.foreseen


@settings(max_examples=examples(3), deadline=None, phases=(Phase.explicit, Phase.generate))
@given(steps=st.lists(STEPS, min_size=5, max_size=11))
def test_what_a_key_writes_at_once_is_what_a_full_refresh_writes(steps: list[Step]) -> None:
    asyncio.run(session(steps))


async def test_letters_are_written_at_once() -> None:
    echoes, _ = await session([("keys", list("hello 字 world")), ("key", "backspace")])
    assert echoes >= 10


async def test_letters_are_written_before_their_keys_are_handled() -> None:
    _, foreseen = await session([("typed", [*"hello ж w", "backspace", "backspace", "é"])])
    assert foreseen == 11, "all but the first, which takes the place of the hint"


async def test_what_a_key_did_not_do_is_gone_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Echoed()
    monkeypatch.setattr(letter_echo, "write_ahead", app.write_ahead)
    async with app.run_test(size=(80, 24)) as pilot:
        await rested(pilot)
        await pilot.press("a", "b")
        await rested(pilot)
        app.foresee("c")
        assert app.foreseen == 1
        assert app.terminal.cells != whole(app).cells
        while app.terminal.cells != whole(app).cells:
            await pilot.pause()


async def test_nothing_is_written_at_once_while_something_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Seen()
    async with app.run_test(size=(100, 30)) as pilot:
        await rested(pilot)
        area = app.query_one(PromptInput)
        assert not echo_now(area), "nothing has changed"
        area.insert_typed("a")
        area.refresh(layout=True)
        assert not echo_now(area), "its place is not known"
        await rested(pilot)
        area.insert_typed("b")
        with app.batch_update():
            assert not echo_now(area)
        app.written.clear()
        assert echo_now(area)
        assert "ab" in "".join(app.written)
