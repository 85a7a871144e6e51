"""Keys that are typed faster than they are handled go where they would go if each had waited for the one before."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from gshtui.ui.kit.textual.app_base import AppBase
from gshtui.ui.kit.textual.key_order import KeyOrder
from tests.kit.storms import examples


class Form(Screen[None]):
    """Opens with the focus in its field; `f5` closes it."""

    BINDINGS = [("f5", "leave", "Leave")]

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Input(id="form")

    def action_leave(self) -> None:
        self.dismiss()


class Front(Screen[None]):
    """Two fields, deep in the tree, and keys that move between them."""

    BINDINGS = [
        ("alt+1", "to('one')", "One"),
        ("alt+2", "to('two')", "Two"),
        ("f1", "form", "Form"),
        ("f2", "opened('one')", "One, late"),
        ("f3", "opened('form')", "Form, late"),
        ("f4", "opened('')", "Nothing, late"),
        ("f6", "command", "A command"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(), Vertical(), Vertical():
            yield Input(id="one")
            yield Slow(id="slow")
            yield Rows(id="rows")
        yield Input(id="two")

    def action_to(self, name: str) -> None:
        self.query_one(f"#{name}").focus()

    def action_opened(self, what: str) -> None:
        window = self.app
        assert isinstance(window, Window)

        async def open_it() -> bool:
            await window.late.wait()
            if what == "form":
                self.action_form()
            elif what:
                self.action_to(what)
            return bool(what)

        window.bring(open_it(), group="open")

    def action_command(self) -> None:
        window = self.app
        assert isinstance(window, Window)

        async def open_it() -> None:
            await window.late.wait()
            self.action_form()

        window.attend(open_it(), group="commands", words="A command")

    def action_form(self) -> None:
        self.app.push_screen(Form())  # pyright: ignore[reportUnknownMemberType]


class Slow(Widget, can_focus=True):
    """Handles no key before it is let."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.let = asyncio.Event()

    async def on_key(self, event: events.Key) -> None:
        event.stop()
        await self.let.wait()


class Rows(Widget, can_focus=True):
    """Its key asks the app, by a message that comes up to it, for a field."""

    BINDINGS = [("o", "want", "Open")]

    class Wanted(Message):
        """The key was pressed."""

    def action_want(self) -> None:
        self.post_message(self.Wanted())


class Opening(Message):
    """Asks the app to open a field."""


class Window(AppBase):
    """`late`: lets the work of F2 to F4 go on."""

    def __init__(self, longest: float = 60.0) -> None:
        super().__init__()
        self._key_order = KeyOrder(self, self.route_key, self.give_back, longest=longest)
        self.late = asyncio.Event()
        self.typed: list[tuple[str, str]] = []
        self.changed = asyncio.Condition()
        self.said: asyncio.Queue[str] = asyncio.Queue()
        self.given_back: list[str] = []

    def notify(self, message: str, **options: Any) -> None:
        self.said.put_nowait(message)

    def give_back(self, text: str) -> None:
        self.given_back.append(text)

    @on(Rows.Wanted)
    def _wanted(self) -> None:
        self.post_message(Opening())

    @on(Opening)
    def _opening(self) -> None:
        front = self.screen
        assert isinstance(front, Front)
        front.action_opened("one")

    async def told(self) -> str:
        """The beginning of what the person is told next."""
        return (await asyncio.wait_for(self.said.get(), 30)).partition(":")[0]

    async def on_input_changed(self, message: Input.Changed) -> None:
        async with self.changed:
            self.typed.append((message.input.id or "", message.value[-1:]))
            self.changed.notify_all()

    async def until(self, count: int) -> list[tuple[str, str]]:
        """What was typed into fields, once it is so much."""
        async with asyncio.timeout(30), self.changed:
            await self.changed.wait_for(lambda: len(self.typed) >= count)
        return self.typed

    def get_default_screen(self) -> Screen[None]:
        return Front()


IN_THE_INPUT = "What you typed is in the input, not sent"


def key(name: str) -> events.Key:
    return events.Key(name, name if len(name) == 1 else None)


def expected(keys: list[str]) -> list[tuple[str, str]]:
    below, form, found = "two", False, list[tuple[str, str]]()
    for name in keys:
        match name:
            case "alt+1" | "alt+2":
                below = below if form else {"alt+1": "one", "alt+2": "two"}[name]
            case "f1" | "f3" | "f6":
                form = True
            case "f2":
                below = below if form else "one"
            case "f5":
                form = False
            case _:
                found.append(("form" if form else below, name))
    return found


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.sampled_from(("alt+1", "alt+2", "f1", "f5", "f2", "f3", "f6", *"abcdef")), max_size=24))
def test_a_burst_of_keys_goes_where_each_would_go_alone(keys: list[str]) -> None:
    async def burst() -> None:
        app = Window()
        async with app.run_test() as pilot:
            app.screen.query_one("#two").focus()
            await pilot.pause()
            asyncio.get_running_loop().call_later(0.01, app.late.set)
            for name in keys:
                app.post_message(key(name))
            assert await app.until(len(expected(keys))) == expected(keys)

    asyncio.run(burst())


async def test_keys_behind_one_that_a_row_asks_the_app_to_open_wait_for_it() -> None:
    app = Window()
    async with app.run_test() as pilot:
        app.screen.query_one(Rows).focus()
        await pilot.pause()
        for name in ("o", "a", "b"):
            app.post_message(key(name))
        asyncio.get_running_loop().call_later(0.05, app.late.set)
        assert await app.until(2) == [("one", "a"), ("one", "b")]


async def test_keys_behind_one_that_hangs_are_given_back_and_those_after_it_work() -> None:
    app = Window(longest=0.2)
    async with app.run_test() as pilot:
        slow = app.screen.query_one(Slow)
        try:
            # The work that a key began, and a widget that has the key.
            for place, name, then in (("two", "f2", "z"), ("slow", "x", "w")):
                app.screen.query_one(f"#{place}").focus()
                await pilot.pause()
                for typed in (name, "enter", "y"):
                    app.post_message(key(typed))
                assert await app.told() == IN_THE_INPUT and app.given_back.pop() == "y"
                app.screen.set_focus(app.screen.query_one("#two"))
                app.post_message(key(then))
                assert await app.until(1) == [("two", then)]
                app.typed.clear()
        finally:
            slow.let.set()
            app.late.set()


async def test_keys_behind_a_command_wait_for_it_a_moment_only() -> None:
    app = Window()
    async with app.run_test() as pilot:
        app.screen.query_one("#two").focus()
        await pilot.pause()
        for name in ("f6", "y"):
            app.post_message(key(name))
        assert await app.until(1) == [("two", "y")], "it goes on, and the key was typed into what is there"
        app.late.set()


async def test_an_api_key_pasted_for_what_could_not_be_opened_stands_nowhere() -> None:
    app = Window()
    async with app.run_test() as pilot:
        for pasted, given_back in (
            ("sk-ant-api03-abcdefghijklmnop", []),
            (
                "try 0123456789abcdef0123456789abcdef with src/a_module_of_the_parser_2.py",
                ["try  with src/a_module_of_the_parser_2.py"],
            ),
        ):
            app.late.clear()
            app.screen.query_one("#two").focus()
            await pilot.pause()
            app.post_message(key("f4"))
            app.post_message(events.Paste(pasted))
            app.late.set()
            await app.told()
            assert app.given_back == given_back


async def test_keys_for_what_could_not_be_opened_go_nowhere() -> None:
    app = Window()
    async with app.run_test() as pilot:
        app.screen.query_one("#two").focus()
        await pilot.pause()
        for name in ("a", "f4", "l", "enter"):
            app.post_message(key(name))
        assert await app.until(1) == [("two", "a")]
        app.post_message(events.Paste("isten\nto"))
        app.post_message(key("f5"))
        app.late.set()
        assert await app.told() == IN_THE_INPUT and app.given_back == ["l\nisten\nto"]
        app.post_message(key("z"))
        assert await app.until(2) == [("two", "a"), ("two", "z")]


async def test_a_widget_that_goes_with_its_key_holds_nothing_up() -> None:
    app = Window()
    async with app.run_test() as pilot:
        slow = app.screen.query_one(Slow)
        slow.focus()
        await pilot.pause()
        app.post_message(key("x"))
        await asyncio.sleep(0)
        slow.let.set()
        await slow.remove()
        app.screen.query_one("#one").focus()
        await pilot.pause()
        app.post_message(key("y"))
        assert await app.until(1) == [("one", "y")]
