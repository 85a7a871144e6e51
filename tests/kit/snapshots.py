"""SVG snapshots of the window in `snapshots/`, by syrupy, without the plugin that embeds the whole environment.

`snap` compares what the running app shows now. `pytest --snapshot-update` writes what changed; look at it before you
commit it.
"""

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex
from textual.app import App
from textual.widgets import Input, TextArea

from tests.kit.legibility import unreadable
from tests.kit.storms import FULL
from tests.kit.svg_tour import without_web_font

ROOT = Path(__file__).parent.parent.parent
Snap = Callable[[App[Any]], None]
_SMALL, _LARGE = (80, 24), (200, 50)
_UNKEPT = "unkept-light"


def screens(*states: str, light: Collection[str] | bool = ()) -> pytest.MarkDecorator:
    """Run a test with `theme` and `size` (and each `state`): in dark, small and large.

    Args:
        light: the states (`True`: all, or the test without states) whose colours carry meaning: small in light as well.
            The others are kept in no picture there; with all storms they are drawn, and their words must be readable.
    """

    def variants(state: str) -> list[tuple[str, tuple[int, int]]]:
        in_light = light if isinstance(light, bool) else state in light
        third = ["light"] if in_light else [_UNKEPT] if FULL else []
        return [("dark", _SMALL), ("dark", _LARGE), *((theme, _SMALL) for theme in third)]

    return pytest.mark.parametrize(
        ("state", "theme", "size") if states else ("theme", "size"),
        [
            pytest.param(
                *([state] if states else []),
                f"gsh-{theme.removeprefix('unkept-')}",
                size,
                id="-".join([*([state] if states else []), theme, f"{size[0]}x{size[1]}"]),
            )
            for state in states or ("",)
            for theme, size in variants(state)
        ],
    )


class SVG(SingleFileSnapshotExtension):
    """One file a test, named for it, in `snapshots/<test module>/`."""

    file_extension = "svg"
    _write_mode = WriteMode.TEXT

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(ROOT / "snapshots" / Path(test_location.filepath).stem)

    def serialize(self, data: Any, **_: Any) -> str:
        # Class names carry a hash of the whole text; without it a change of one cell is a change of one line.
        return re.sub(r"\bterminal-\d+-([\w-]+)", r"terminal-\1", str(data))


class Readme(SVG):
    """The picture at the top of the README: `snapshots/readme.svg`."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(ROOT / "snapshots")

    def serialize(self, data: Any, **options: Any) -> str:
        return without_web_font(super().serialize(data, **options))

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        return "readme"


class Tour(Readme):
    """The tour below it: `snapshots/tour.svg`."""

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        return "tour"


@pytest.fixture
def readme_snap(snapshot: SnapshotAssertion) -> Snap:
    """Compare the screen with the README's picture."""
    kept = snapshot.use_extension(Readme)

    def compare(app: App[Any]) -> None:
        assert not (bad := unreadable(app)), "\n".join(bad)
        assert app.export_screenshot(title="gsh-tui") == kept

    return compare


@pytest.fixture
def snap(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Snap:
    """Compare the screen with its snapshot; its words must be readable. No cursor blinks, whenever it is taken."""
    monkeypatch.setattr(Input, "_toggle_cursor", lambda _: None)
    monkeypatch.setattr(TextArea, "_toggle_cursor_blink_visible", lambda _: None)
    kept = snapshot.use_extension(SVG)

    def compare(app: App[Any]) -> None:
        assert not (bad := unreadable(app)), "\n".join(bad)
        if _UNKEPT in request.node.name:
            return
        assert app.export_screenshot(title="gsh-tui") == kept

    return compare
