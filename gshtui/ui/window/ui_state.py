"""What the window stores for its next start: layout, theme and the palette's recent entries in a small JSON
file, and a frame snapshot.

The file is written whole or not at all; a broken one is ignored. If the state folder cannot be written, only this
memory is lost, and the person is told once. Stores nothing from conversations.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from gshtui.bus.events.hub_events import Noticed
from gshtui.client.pane_names import PANES, RIGHT
from gshtui.settings.paths import FolderError, state_dir
from gshtui.system.files import private_files
from gshtui.system.json_types import is_array, is_object
from gshtui.ui.kit.bridge import Bridge
from gshtui.ui.kit.drawing.themes import DARK, ThemedApp
from gshtui.ui.window.notifications import Attention
from gshtui.ui.window.pane_layout import PaneLayout
from gshtui.ui.window.workbench_screen import WorkbenchScreen

if TYPE_CHECKING:
    from gshtui.settings.model import Settings

NAME = "workbench.json"
LARGEST = 64 * 1024
"""Maximum bytes; a larger file is not ours."""
MOST_RECENT = 8
"""Maximum number of the palette's recent entries."""


class UiState(msgspec.Struct, frozen=True):
    """The window as it was left."""

    layout: PaneLayout = msgspec.field(default_factory=PaneLayout)
    theme: str = ""
    """The theme chosen in the window; empty: none."""
    configured: str = ""
    """The settings' theme at that time; if the settings have changed since, they win."""
    recent: tuple[str, ...] = ()
    """What was chosen in the palette, by id, the latest first."""

    def theme_for(self, configured: str) -> str:
        """The theme to show, given the settings' one."""
        return self.theme if self.theme and self.configured == configured else configured

    def with_theme(self, theme: str, configured: str) -> UiState:
        """With this theme chosen while the settings say `configured`."""
        return replace(self, theme=theme, configured=configured)

    def with_recent(self, id: str) -> UiState:
        """With this entry of the palette as the latest chosen."""
        return replace(self, recent=(id, *(other for other in self.recent if other != id))[:MOST_RECENT])


def load_ui_state(folder: Path | None = None) -> UiState:
    """The file's content; defaults for anything missing or invalid."""
    try:
        path = (folder or state_dir(create=False)) / NAME
        if path.stat().st_size > LARGEST:
            return UiState()
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return UiState()
    if not is_object(found):
        return UiState()
    layout = found.get("layout")
    return UiState(
        layout=_layout(layout) if is_object(layout) else PaneLayout(),
        theme=_text(found.get("theme")),
        configured=_text(found.get("configured")),
        recent=_texts(found.get("recent")),
    )


def save_ui_state(remembered: UiState, folder: Path | None = None) -> None:
    """Write the file, whole or not at all. Raises `OSError`: it cannot be written."""
    folder = folder or state_dir()
    layout = remembered.layout
    fields = {
        "theme": remembered.theme,
        "configured": remembered.configured,
        "recent": remembered.recent,
        "layout": {
            "left": layout.left,
            "right": layout.right,
            "hidden": sorted(layout.hidden),
            "opened": sorted(layout.opened),
            "weights": layout.weights,
        },
    }
    private_files.write_whole(folder / NAME, json.dumps(fields, indent=1).encode())


def _layout(fields: dict[str, object]) -> PaneLayout:
    weights = fields.get("weights")
    fitting = PaneLayout().weights | {
        name: weight
        for name, weight in (weights if is_object(weights) else {}).items()
        if name in RIGHT and type(weight) is int and 0 < weight < 1_000
    }
    return PaneLayout(
        left=_columns(fields.get("left")),
        right=_columns(fields.get("right")),
        hidden=_panes(fields.get("hidden"), PANES),
        opened=_panes(fields.get("opened"), PANES),
        weights=fitting,
    )


def _panes(value: object, known: Sequence[str]) -> frozenset[str]:
    found = value if is_array(value) else []
    return frozenset(name for name in known if name in found)


def _columns(value: object) -> int:
    return value if type(value) is int and 0 <= value <= 1_000 else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 100 else ""


def _texts(value: object) -> tuple[str, ...]:
    found = value if is_array(value) else []
    return tuple(text for one in found[:MOST_RECENT] if (text := _text(one)))


class UiStateStore:
    """The memory of one window."""

    def __init__(self, app: ThemedApp[Any], cwd: str) -> None:
        self._app = app
        self._cwd = cwd
        self.memory: UiState = load_ui_state()
        self.configured = self.memory.configured or DARK
        """The settings' theme, as far as known."""
        self._complained = False

    @property
    def theme(self) -> str:
        """The theme to show: chosen here before, or the settings'."""
        return self._app.showable_theme(self.memory.theme_for(self.configured))

    def settings_say(self, theme: str) -> None:
        """The settings were read and name this theme."""
        self.configured = theme
        self._app.theme = self.theme
        if self.memory.configured != theme:
            # Remembered, so that the next first frame has the right colours before settings are read.
            self._keep(self.memory.with_theme(self.memory.theme_for(theme), theme))

    def apply(self, settings: Settings, bridge: Bridge, watchers: Iterable[object]) -> None:
        """The hub is up: apply the settings for the window."""
        from gshtui.hub.person_notifier import PersonNotifier
        from gshtui.ui.kit.drawing.page import ONE_COLUMN

        self.settings_say(settings.ui.theme)
        wanted = self.memory.theme_for(self.configured)
        if wanted not in self._app.available_themes and (problem := self._app.theme_problem(wanted)):
            bridge.publish(Noticed(level="warning", text=problem, about="theme"))
        self._app.set_class(settings.ui.diff_columns == "one", ONE_COLUMN)
        bridge.fps = settings.ui.fps
        if settings.ui.reduce_motion:
            self._app.animation_level = "none"
        for watcher in watchers:
            if isinstance(watcher, Attention):
                watcher.ways = tuple(settings.ui.notifications)
                watcher.folder = bridge.resident_folder
                watcher.notifier = PersonNotifier(bridge.publish, settings, os.environ)
        from gshtui.settings.model import DEFAULT_KEYS
        from gshtui.ui.kit.keys.keymap import effective_keymap

        keymap, problems = effective_keymap(settings.keybindings, elsewhere=DEFAULT_KEYS)
        self._app.set_keymap(keymap)
        for problem in problems:
            bridge.publish(Noticed(level="warning", text=problem, about="keybindings"))

    def theme_chosen(self, theme: str) -> None:
        """The person chose this theme; empty: that of the settings."""
        self._keep(self.memory.with_theme(theme, self.configured))
        self._forget_frames()
        self._app.call_after_refresh(self.keep_frame)

    def entry_chosen(self, id: str) -> None:
        """The person chose this entry of the palette."""
        self._keep(self.memory.with_recent(id))

    def layout_chosen(self, layout: PaneLayout) -> None:
        """The person changed the layout; it is saved soon, or when the window ends."""
        self.memory = replace(self.memory, layout=layout)
        self._forget_frames()

    def keep_layout(self) -> None:
        """Save layout and theme."""
        self._keep(self.memory)

    def keep_frame(self) -> None:
        """Take the snapshot for this folder and size, of the window at rest."""
        from gshtui.ui.window import frame_snapshots

        bench = self._app.screen
        if self._app.is_headless or not isinstance(bench, WorkbenchScreen):
            return
        if not frame_snapshots.is_plain(bench):
            return
        try:
            data = frame_snapshots.capture_frame(bench, self._app.console)
            frame_snapshots.save_frame(self._cwd, (bench.size.width, bench.size.height), data)
        except (OSError, FolderError) as error:
            self._complain(error)

    def _keep(self, memory: UiState) -> None:
        self.memory = memory
        try:
            save_ui_state(memory)
        except (OSError, FolderError) as error:
            self._complain(error)

    def _forget_frames(self) -> None:
        from gshtui.ui.window import frame_snapshots

        try:
            frame_snapshots.forget_frames()
        except (OSError, FolderError) as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        if not self._complained:
            self._complained = True
            text = f"Can't save the layout and theme: {error.strerror or error}."
            self._app.notify(text, severity="warning", markup=False)
