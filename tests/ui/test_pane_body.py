"""A pane's body that is given lines: drawn as Textual would draw the whole, but only where a line is another one."""

import random

from textual.app import App, ComposeResult
from textual.content import Content
from textual.selection import SELECT_ALL
from textual.widgets import Static

from gshtui.ui.kit.textual.pane_body import PaneBody

STYLES = ("", "$primary", "bold $warning", "on $primary 18%", "underline")
WORDS = ("agent", "日本語", "● thinking", "", "a much longer line that is cut by whoever draws it", "x")


class Both(App[None]):
    """The same lines in a body and, as one text, in a `Static`."""

    CSS = "PaneBody, Static { width: 100%; height: auto; }"

    def compose(self) -> ComposeResult:
        self.body = PaneBody(Content(), classes="")
        self.static = Static(markup=False)
        yield self.body
        yield self.static

    def put(self, lines: list[Content]) -> None:
        self.body.put_lines(lines)
        self.static.update(Content("\n").join(lines))


def line(random: random.Random) -> Content:
    return Content.assemble(*((random.choice(WORDS) + " ", random.choice(STYLES)) for _ in range(random.randint(0, 3))))


def look(widget: Static) -> list[str]:
    """Text, styles and offsets of all rows."""
    return [repr(list(widget.render_line(y).simplify())) for y in range(widget.size.height)]


async def test_lines_look_as_one_text_whatever_changes() -> None:
    app, chance = Both(), random.Random(7)
    async with app.run_test(size=(120, 60)) as pilot:
        lines = [line(chance) for _ in range(12)]
        for step in range(80):
            if step % 10 == 9:
                lines = [line(chance) for _ in range(chance.randint(1, 20))]
            elif step % 4:
                lines[chance.randrange(len(lines))] = line(chance)
            if step == 40:
                app.theme = "textual-light"
            if step == 60:
                await pilot.resize_terminal(64, 60)
            app.put(list(lines))
            await pilot.pause()
            assert look(app.body) == look(app.static)


async def test_lines_can_be_selected_and_may_be_too_wide() -> None:
    app = Both()
    async with app.run_test(size=(30, 20)) as pilot:
        app.put([Content("one"), Content.styled("two", "$primary"), Content("three " * 10)])
        await pilot.pause()
        assert look(app.body) == look(app.static)
        app.screen.selections = {app.body: SELECT_ALL, app.static: SELECT_ALL}
        await pilot.pause()
        assert look(app.body) == look(app.static)
        assert app.screen.get_selected_text() is not None
        app.screen.selections = {}
        await pilot.pause()
        assert look(app.body) == look(app.static)


async def test_only_what_changed_is_drawn_again() -> None:
    app = Both()
    async with app.run_test(size=(30, 20)) as pilot:
        lines = [Content(f"line {number}") for number in range(10)]
        app.put(lines)
        await pilot.pause()
        before = [app.body.render_line(y) for y in range(10)]
        app.body.put_lines([*lines[:4], Content.styled("line 4", "$error"), *lines[5:]])
        await pilot.pause()
        after = [app.body.render_line(y) for y in range(10)]
        assert [y for y in range(10) if after[y] is not before[y]] == [4]
