"""What the window keeps for its next start: layout, theme, and the snapshot that the first frame is painted from.

Owns when these are written; a state folder that cannot be written costs the memory and nothing else, and is said once.
Called by the app.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.app import App

from gshtui.bus.events.hub import Noticed
from gshtui.settings.paths import FolderError
from gshtui.ui.kit.bridge import Bridge
from gshtui.ui.kit.layout import Layout
from gshtui.ui.kit.themes import DARK
from gshtui.ui.window import remembered
from gshtui.ui.window.attention import Attention
from gshtui.ui.window.remembered import Remembered
from gshtui.ui.window.workbench import WorkbenchScreen


class Upkeep:
    """The memory of one window."""

    def __init__(self, app: App[Any], cwd: str) -> None:
        self._app = app
        self._cwd = cwd
        self.memory: Remembered = remembered.load()
        self.configured = self.memory.configured or DARK
        """The theme of the settings, as far as they are known."""
        self._complained = False

    @property
    def theme(self) -> str:
        """The theme to show: chosen here before, or the settings'."""
        wanted = self.memory.theme_for(self.configured)
        return wanted if wanted in self._app.available_themes else DARK

    def settings_say(self, theme: str) -> None:
        """The settings are read, and say this theme."""
        self.configured = theme
        self._app.theme = self.theme
        if self.memory.configured != theme:
            # Remembered, so that the next first frame has the right colours before settings are read.
            self._keep(self.memory.with_theme(self.theme, theme))

    def apply(self, bridge: Bridge, watchers: Iterable[object]) -> None:
        """The hub is up: what the settings say about the window holds from now on."""
        settings = bridge.settings
        self.settings_say(settings.ui.theme)
        bridge.fps = settings.ui.fps
        for watcher in watchers:
            if isinstance(watcher, Attention):
                watcher.ways = tuple(settings.ui.notifications)
        from gshtui.settings.model import DEFAULT_KEYS
        from gshtui.ui.kit.keymap import effective

        keymap, problems = effective(settings.keybindings, elsewhere=DEFAULT_KEYS)
        self._app.set_keymap(keymap)
        for problem in problems:
            bridge.publish(Noticed(level="warning", text=problem, about="keybindings"))

    def theme_chosen(self, theme: str) -> None:
        """A person chose this theme."""
        self._keep(self.memory.with_theme(theme, self.configured))
        self._forget_frames()
        self._app.call_after_refresh(self.keep_frame)

    def layout_chosen(self, layout: Layout) -> None:
        """A person changed the layout; it is written when the window ends, or soon."""
        self.memory = Remembered(layout, self.memory.theme, self.memory.configured)
        self._forget_frames()

    def keep_layout(self) -> None:
        """Write layout and theme."""
        self._keep(self.memory)

    def keep_frame(self) -> None:
        """Take the snapshot of this folder and size: the window at rest, before anything has happened in it."""
        from gshtui.ui.window import frames

        bench = self._app.screen
        if self._app.is_headless or not isinstance(bench, WorkbenchScreen) or not bench.is_plain:
            return
        try:
            with bench.as_at_first():
                blank = [bench.deck.body, *(pane for pane in bench.panes.values() if bench.on_screen(pane))]
                data = frames.captured(bench, blank, self._app.console)
            frames.save(self._cwd, (bench.size.width, bench.size.height), data)
        except (OSError, FolderError) as error:
            self._complain(error)

    def _keep(self, memory: Remembered) -> None:
        self.memory = memory
        try:
            remembered.save(memory)
        except (OSError, FolderError) as error:
            self._complain(error)

    def _forget_frames(self) -> None:
        from gshtui.ui.window import frames

        try:
            frames.forget()
        except (OSError, FolderError) as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        if not self._complained:
            self._complained = True
            text = f"Layout and theme are not remembered: {error.strerror or error}."
            self._app.notify(text, severity="warning", markup=False)
