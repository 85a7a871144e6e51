"""Textual's app where it does what a tool must not: style sheets read twice at the start, tracebacks on the screen.

Owns these two corrections; refuses anything of the workbench. `ActingApp` is built on it.
"""

from __future__ import annotations

from textual.app import App


class SteadyApp(App[int]):
    """An app that starts with its theme and ends without a traceback."""

    def begin_with_theme(self, name: str) -> None:
        """Begin with this theme: set as later on, it would have all style sheets read twice before the first frame."""
        self.set_reactive(App.theme, name)
        self.stylesheet.set_variables(self.get_css_variables())

    def _watch_theme(self, theme_name: str) -> None:
        if self.is_running:
            super()._watch_theme(theme_name)
            return
        dark = self.current_theme.dark
        self.update_classes({"-dark-mode": dark, "-light-mode": not dark, f"-theme-{theme_name}": True}, update=False)

    def _fatal_error(self) -> None:
        """End without a traceback on the screen: `run` raises what happened, and the command line reports it."""
        self._close_messages_no_wait()

    @property
    def broke(self) -> Exception | None:
        """What ended the window, if it was a fault."""
        return self._exception
