"""The window as the settings need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from textual.app import App

    from gshtui.settings.model import Settings


class SettingsHost(WorkbenchPort, Protocol):
    """See the module."""

    theme: str

    def themes(self) -> list[str]:
        """All themes, ours first."""
        ...

    def preview_theme(self, name: str) -> None:
        """Change the theme until it is chosen or another is."""
        ...

    def unchoose_theme(self) -> None:
        """Forget the theme that was chosen here: the settings' one is shown once they are applied."""
        ...

    def apply_settings(self, settings: Settings) -> None:
        """Apply what the window takes from the settings."""
        ...

    @property
    def textual(self) -> App[Any]:
        """The app that gives its terminal to an editor."""
        ...
