"""Keys that are typed faster than they are handled go where they would go if each had waited for the one before."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from gshtui.ui.kit.textual.key_order import LONGEST, KeyOrder, Typed


class Form(Screen[None]):
    """Opens with the focus in its field; `ctrl+x` closes it."""

    BINDINGS = [("ctrl+x", "leave", "Leave")]

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Input(id="form")

    def action_leave(self) -> None:
        self.dismiss()


class Front(Screen[None]):
    """Two fields, deep in the tree, and keys that move between them."""

    BINDINGS = [("alt+1", "to('one')", "One"), ("alt+2", "to('two')", "Two"), ("f1", "form", "Form")]

    def compose(self) -> ComposeResult:
        with Vertical(), Vertical(), Vertical():
            yield Input(id="one")
            yield Slow(id="slow")
        yield Input(id="two")

    def action_to(self, name: str) -> None:
        self.query_one(f"#{name}").focus()

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


class Window(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.order = KeyOrder(self, self.route)
        self.typed: list[tuple[str, str]] = []
        self.changed = asyncio.Condition()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self.order.deliver(event)
        else:
            await super().on_event(event)

    async def route(self, event: Typed) -> None:
        await super().on_event(event)

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


def key(name: str) -> events.Key:
    return events.Key(name, name if len(name) == 1 else None)


def expected(keys: list[str]) -> list[tuple[str, str]]:
    below, form, found = "two", False, list[tuple[str, str]]()
    for name in keys:
        match name:
            case "alt+1" | "alt+2":
                below = below if form else {"alt+1": "one", "alt+2": "two"}[name]
            case "f1":
                form = True
            case "ctrl+x":
                form = False
            case _:
                found.append(("form" if form else below, name))
    return found


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(("alt+1", "alt+2", "f1", "ctrl+x", *"abcdef")), max_size=24))
def test_a_burst_of_keys_goes_where_each_would_go_alone(keys: list[str]) -> None:
    async def burst() -> None:
        app = Window()
        async with app.run_test() as pilot:
            app.screen.query_one("#two").focus()
            await pilot.pause()
            for name in keys:
                app.post_message(key(name))
            assert await app.until(len(expected(keys))) == expected(keys)

    asyncio.run(burst())


async def test_a_widget_that_is_busy_holds_keys_up_for_a_moment_only() -> None:
    app = Window()
    async with app.run_test() as pilot:
        app.screen.query_one("#slow").focus()
        await pilot.pause()
        began = asyncio.get_running_loop().time()
        app.post_message(key("x"))
        app.post_message(key("y"))
        app.screen.query_one("#two").focus()
        await asyncio.sleep(0)
        assert await app.until(1) == [("two", "y")]
        assert asyncio.get_running_loop().time() - began >= LONGEST * 0.9
        app.screen.query_one(Slow).let.set()


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
