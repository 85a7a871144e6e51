"""The window's key for Python: the variables of the interpreter of the agent in front."""

from __future__ import annotations

from gshtui.ui.kit.feature import Feature


class PythonFeature(Feature):
    """It runs the command `python show`, whose result the window shows."""

    KEYS = ("python.variables",)

    def press(self, key: str) -> None:
        self.window.run_command("python show")
