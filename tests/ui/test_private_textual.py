"""The functions that reach into Textual for others: each fails here, by name, when Textual keeps things elsewhere."""

import asyncio
import os
import threading
import tty
from contextlib import suppress
from typing import Any, ClassVar

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.drivers.headless_driver import HeadlessDriver
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.widgets import Input, Static, TextArea

from gshtui.text.sanitise import clean_text
from gshtui.ui.kit.textual.compositor import PieceCompositor, piece_compositor
from gshtui.ui.kit.textual.driver import (
    CountedFile,
    ReadingDriver,
    WorkbenchDriver,
    release_input,
    write_sequence,
    writing_at_once,
)
from gshtui.ui.kit.textual.edit_history import join_undo_steps, undo_steps
from gshtui.ui.kit.textual.kept_lines import FastScrollBar, fast_scroll_bar
from gshtui.ui.kit.textual.key_bindings import bound_actions, character_key, keymap_of
from gshtui.ui.kit.textual.painting import always_draws_cursor, focused_waits, paint_now


class Above(Static):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("a", "above", id="a"), Binding("c", "above", id="c")]


class Below(Above):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "below", id="own"),
        Binding("b", "below", id="b"),
        Binding("d", "below", priority=True),
    ]


class Bound(App[None]):
    def compose(self) -> ComposeResult:
        yield Below()


async def test_keymap_of() -> None:
    app = Bound()
    async with app.run_test():
        before = keymap_of(app)
        assert dict(before) == {}
        app.set_keymap({"b": "f5"})
        assert dict(keymap_of(app.query_one(Below))) == {"b": "f5"} and keymap_of(app) is not before


async def test_bound_actions() -> None:
    app = Bound()
    async with app.run_test():
        widget = app.query_one(Below)
        assert bound_actions(widget) == {"a": "below", "c": "above", "b": "below"}
        app.set_keymap({"b": "f5,f6"})
        assert bound_actions(widget) == {"a": "below", "c": "above", "f5": "below", "f6": "below"}


def test_character_key() -> None:
    assert [character_key(one) for one in "?/a"] == ["question_mark", "slash", "a"]


class Typed(Screen[None]):
    """Paints what is typed at once, and counts how often."""

    def __init__(self) -> None:
        super().__init__()
        self.painted = 0
        self.left = False

    def compose(self) -> ComposeResult:
        yield Input()

    def on_idle(self, event: events.Idle) -> None:
        if focused_waits(self):
            self.painted += 1
            paint_now(self)
            self.left = self.left or focused_waits(self)
            event.prevent_default()


async def test_focused_waits_and_paint_now() -> None:
    app: App[None] = App()
    async with app.run_test() as pilot:
        screen = Typed()
        await app.push_screen(screen)
        screen.query_one(Input).focus()
        await pilot.pause()
        before = screen.painted
        await pilot.press("x")
        assert screen.painted > before and not screen.left
        with app.batch_update():
            await pilot.press("y")
            assert not focused_waits(screen)


async def test_piece_compositor() -> None:
    class Words(App[None]):
        def compose(self) -> ComposeResult:
            yield Static("words")

        def get_default_screen(self) -> Screen[Any]:
            screen = super().get_default_screen()
            assert isinstance(piece_compositor(screen), PieceCompositor)
            return screen

    app = Words()
    async with app.run_test():
        pieces = piece_compositor(app.screen)
        assert pieces is piece_compositor(app.screen)
        assert pieces.drawn()[0].text.startswith("words")


class Lines(ScrollView):
    @property
    def vertical_scrollbar(self) -> ScrollBar:
        return fast_scroll_bar(self)


async def test_fast_scroll_bar() -> None:
    class Scrolling(App[None]):
        def compose(self) -> ComposeResult:
            yield Lines()

    app = Scrolling()
    async with app.run_test() as pilot:
        lines = app.query_one(Lines)
        lines.virtual_size = Size(10, 1_000)
        await pilot.pause()
        bar = lines.vertical_scrollbar
        assert isinstance(bar, FastScrollBar) and bar is lines.vertical_scrollbar
        assert bar.is_running and bar.display and bar.region.height == lines.size.height


async def test_always_draws_cursor() -> None:
    @always_draws_cursor
    class Drawn(TextArea):
        pass

    class Areas(App[None]):
        def compose(self) -> ComposeResult:
            yield Input()
            yield TextArea("words")
            yield Drawn("words")

    app = Areas()
    async with app.run_test():
        plain, drawn = app.query(TextArea)
        assert not plain.has_focus and not drawn.has_focus
        assert drawn.render_line(0).text == plain.render_line(0).text
        assert list(drawn.render_line(0)) != list(plain.render_line(0))


class Recording(HeadlessDriver):
    def __init__(self, app: App[Any]) -> None:
        super().__init__(app)
        self.written: list[str] = []

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        self.written.append(data)


async def test_join_undo_steps() -> None:
    class Area(App[None]):
        def compose(self) -> ComposeResult:
            yield TextArea("a")

    app = Area()
    async with app.run_test():
        area = app.query_one(TextArea)
        for text in "bc":
            area.insert(text)
            area.history.checkpoint()
        before = undo_steps(area)
        for text in "de":
            area.insert(text)
            area.history.checkpoint()
        join_undo_steps(area, before)
        assert (before, undo_steps(area)) == (2, 3)
        area.undo()
        assert "".join(sorted(area.text)) == "abc"
        area.redo()
        assert "".join(sorted(area.text)) == "abcde"


async def test_write_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    app: App[None] = App()
    async with app.run_test():
        write_sequence(app, clean_text("\a"))
        driver = Recording(app)
        monkeypatch.setattr(app, "_driver", driver)
        write_sequence(app, clean_text("\a"))
        assert driver.written == ["\a"]
        monkeypatch.undo()


async def test_the_loop_takes_over_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost or told twice at the change, an escape alone is a key in time, and the end is one."""
    found: list[Message] = []
    came, loop = asyncio.Event(), asyncio.get_running_loop()

    def take(_: object, message: Message) -> None:
        found.append(message)
        loop.call_soon_threadsafe(came.set)  # at first the thread has read it

    async def keys(count: int) -> list[str]:
        while len(found) < count:
            came.clear()
            if len(found) < count:
                await asyncio.wait_for(came.wait(), 60)
        return [message.key for message in found if isinstance(message, events.Key)]

    ours, theirs = os.openpty()
    tty.setraw(theirs)
    app: App[None] = App()
    async with app.run_test():
        driver = ReadingDriver(app)
        monkeypatch.setattr(ReadingDriver, "process_message", take)
        driver.fileno = theirs
        driver._key_thread = threading.Thread(target=driver.run_input_thread)
        driver._key_thread.start()
        typed = "abcdefgh"
        for at, letter in enumerate(typed):
            os.write(ours, letter.encode())
            if at == 3:
                driver.read_in_loop()
            await keys(at + 1)
        await asyncio.to_thread(driver._key_thread.join, 60)
        assert not driver._key_thread.is_alive()
        os.write(ours, b"\x1b")
        assert await keys(9) == [*typed, "escape"]
        os.write(ours, b"\x1b[")
        await asyncio.sleep(0)
        os.write(ours, b"A")
        assert (await keys(10))[-1] == "up"
        driver.disable_input()
        os.write(ours, b"not read")
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(found) == 10
        os.close(ours)
        os.close(theirs)


async def test_writing_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never past what waits to be written by the thread, and only where the terminal takes it."""
    given: list[str] = []
    monkeypatch.setattr(ReadingDriver, "write", lambda _, data: given.append(data))
    app: App[None] = App()
    reader, writer = os.pipe()
    async with app.run_test():
        driver = WorkbenchDriver(app)
        with os.fdopen(writer, "w", encoding="utf-8") as terminal, os.fdopen(reader, "rb", buffering=0) as screen:
            driver._file = CountedFile(terminal)
            driver._held = None
            monkeypatch.setattr(app, "_driver", driver)
            with writing_at_once(app):
                driver.write("字")
                driver.write("x" * 5_000)
                driver.write("waits behind it")
            driver.write("of the screen")
            assert (screen.read(100), given) == ("字".encode(), ["x" * 5_000, "waits behind it", "of the screen"])
            for text in given:
                driver._file.write(text)
            driver._file.flush()
            with writing_at_once(app):
                driver.write("free again")
            assert screen.read(1 << 16).endswith(b"of the screenfree again")
            os.set_blocking(terminal.fileno(), False)
            with suppress(BlockingIOError):
                while True:
                    os.write(terminal.fileno(), b"y" * 4_096)
            with writing_at_once(app):
                driver.write("the terminal is full")
            assert given[-1] == "the terminal is full"
            monkeypatch.undo()


async def test_release_input(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[object] = []
    monkeypatch.setattr(WorkbenchDriver, "release", lambda driver: released.append(driver))
    app: App[None] = App()
    async with app.run_test():
        release_input(app, app.screen)
        assert released == []
        driver = object.__new__(WorkbenchDriver)
        with monkeypatch.context() as patch:
            patch.setattr(app, "_driver", driver)
            release_input(app, app.screen)
        assert released == [driver]
