"""A part whose drawing or layout raises costs its own place: the window lives, the part says so, and comes back."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.app import App
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widget import Widget

import gshtui.ui
from gshtui.settings import paths
from tests.kit.home import Home
from tests.kit.scenes import SCENES, open_scene
from tests.kit.storms import some
from tests.kit.terminal_agents import wait_until
from tests.kit.terminal_screen import TerminalDriver, draw_fresh, terminal_of, wait_until_idle
from tests.kit.window import Window

pytestmark = pytest.mark.faults

DRAWING = ("render", "render_line", "render_lines", "row_strip")
LAYOUT = ("get_content_width", "get_content_height", "arrange", "_size_updated", "_get_box_model")
NAMED = {scene.name: scene for scene in SCENES}
SHOWN_IN = {
    "Box": "palette",
    "ChangesView": "changes",
    "CompletionPopup": "completion",
    "FastScrollBar": "found",
    "HeaderBar": "chat",
    "KeptLines": "terminal",
    "KeyBar": "chat",
    "OutlineView": "inspector",
    "PaneBody": "agents",
    "QuestionView": "asked",
    "QueuePane": "queue",
    "ShellLogView": "shell",
    "Splitter": "agents",
    "SummariesPane": "summary",
    "TabBar": "chat",
    "TasksStrip": "tasks",
    "TerminalView": "terminal",
    "Transcript": "chat",
}
"""Where each class that draws can be seen."""


def classes(of: type[Widget]) -> Iterator[type[Widget]]:
    for derived in of.__subclasses__():
        yield derived
        yield from classes(derived)


def ours() -> Iterator[tuple[type[Widget], str]]:
    """Every method of a class of ours by which something is drawn or laid out."""
    for module in pkgutil.walk_packages(gshtui.ui.__path__, "gshtui.ui."):
        importlib.import_module(module.name)
    found = {one for one in classes(Widget) if one.__module__.startswith("gshtui.")}
    for one in sorted(found, key=lambda one: one.__name__):
        for name in (*DRAWING, *LAYOUT):
            if name in vars(one):
                yield one, name


UNUSED = {("KeptLines", "row_strip"), ("KeptLines", "render_line"), ("QueuePane", "get_content_height")}
"""What no part on the screen goes by: others have their own, or sizes that were set."""


class Broken(Exception):
    """What a part raises here."""


def breaking(patch: pytest.MonkeyPatch, one: type[Widget], name: str, times: int) -> list[int]:
    """Have a method of a class raise for so many times; the list holds how often it did."""
    method: Callable[..., object] = getattr(one, name)
    raised: list[int] = []

    def broken(self: Widget, *args: Any, **options: Any) -> object:
        if len(raised) < times:
            raised.append(len(raised))
            raise Broken("it is\nbroken")
        return method(self, *args, **options)

    patch.setattr(one, name, broken)
    return raised


def part(app: App[Any], one: type[Widget]) -> tuple[Widget, Region]:
    """A widget of this class that can be seen, and where."""
    for widget, (region, clip) in app.screen._compositor.visible_widgets.items():
        if isinstance(widget, one) and region.intersection(clip):
            return widget, region.intersection(clip)
    raise AssertionError(f"no {one.__name__} can be seen")


def said(app: App[Any], region: Region) -> str:
    """What a part of the terminal says, its rows joined."""
    rows = terminal_of(app).screenful.rows[region.y : region.bottom]
    return " ".join("".join(cell[0] for cell in row[region.x : region.right]).strip() for row in rows)


def reports() -> list[str]:
    return [path.read_text() for path in paths.logs_dir().glob("crash-*.log")]


def test_every_class_that_draws_is_seen_somewhere() -> None:
    assert {one.__name__ for one, _ in ours()} == set(SHOWN_IN)


@pytest.mark.parametrize("scene", some(sorted(set(SHOWN_IN.values())), by=5))
async def test_a_part_that_fails(home: Home, monkeypatch: pytest.MonkeyPatch, scene: str) -> None:
    """Each part that this scene shows, by each method in turn, in one window: it has to live through all of them."""
    async with open_scene(NAMED[scene]) as (app, pilot):
        for one, name in ours():
            if SHOWN_IN[one.__name__] == scene:
                await _fail(app, pilot, monkeypatch, one, name)
                for path in paths.logs_dir().glob("crash-*.log"):
                    path.unlink()


async def _fail(app: Window, pilot: Pilot[int], monkeypatch: pytest.MonkeyPatch, one: type[Widget], name: str) -> None:
    widget, _ = part(app, one)
    sizes = (widget.styles.width, widget.styles.height)
    if name.startswith("get_content"):  # which are asked only then
        widget.styles.width = widget.styles.height = "auto"
    await wait_until_idle(pilot)
    before = draw_fresh(app).rows

    with monkeypatch.context() as patch:
        raised = breaking(patch, one, name, 1)
        widget.refresh(layout=name in LAYOUT)
        await wait_until_idle(pilot)
        await wait_until(pilot, lambda: not app.drawing.failing)
        await wait_until_idle(pilot)
        assert raised or (one.__name__, name) in UNUSED
        assert app._exception is None
        assert terminal_of(app).screenful.rows == draw_fresh(app).rows == before

    with monkeypatch.context() as patch:
        raised = breaking(patch, one, name, 1_000)
        for _ in range(10):
            widget.refresh(layout=name in LAYOUT)
            await wait_until_idle(pilot)
        await pilot.press("down")
        await wait_until_idle(pilot)
        assert app.is_running and app._exception is None
        if raised:
            _, region = part(app, one)
            text = said(app, region)
            assert "Broken" in text or region.width < 12, text
            files = reports()
            assert all("it is\nbroken" in file for file in files)
            assert len({file.splitlines()[1] for file in files}) == len(files) <= 4, "one a part, not one a frame"

    await wait_until(pilot, lambda: not app.drawing.failing)
    widget.styles.width, widget.styles.height = sizes
    widget.refresh(layout=True)
    await wait_until_idle(pilot)
    assert "could not be" not in terminal_of(app).screenful.text
    assert terminal_of(app).screenful.rows == draw_fresh(app).rows


async def test_a_frame_that_cannot_be_laid_out_is_lost_and_said_once(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_scene(SCENES[0]) as (app, pilot):
        with monkeypatch.context() as patch:

            def broken(self: Compositor, *args: object, **options: object) -> object:
                raise Broken("no place for anything")

            patch.setattr(Compositor, "_arrange_root", broken)
            terminal_of(app).resize(60, 20)
            for _ in range(10):
                app.screen.refresh(layout=True)
                await pilot.pause()
            assert app.is_running and app._exception is None
            assert len(reports()) == 1
        await wait_until(pilot, lambda: not app.drawing._waits)
        await wait_until_idle(pilot)
        assert terminal_of(app).screenful.rows == draw_fresh(app).rows
        await pilot.press(*"alive")
        await wait_until_idle(pilot)
        assert "alive" in terminal_of(app).screenful.text


async def test_a_driver_that_cannot_write_costs_the_frame(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_scene(SCENES[0]) as (app, pilot):
        with monkeypatch.context() as patch:

            def broken(self: TerminalDriver, data: str) -> None:
                raise Broken("the terminal does not listen")

            patch.setattr(TerminalDriver, "write", broken)
            for key in "unseen":
                await pilot.press(key)
            assert app.is_running and app._exception is None
            assert len(reports()) == 1
        await wait_until(pilot, lambda: "unseen" in terminal_of(app).screenful.text)
        await wait_until_idle(pilot)
        assert terminal_of(app).screenful.rows == draw_fresh(app).rows
