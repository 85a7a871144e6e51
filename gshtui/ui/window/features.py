"""The list of the window's features, the keys that work wherever the focus is, and the actions of the window's own
keys.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from textual.content import Content
from textual.widget import Widget
from textual.widgets import TextArea

from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.settings.contract import brought
from gshtui.ui.agents.agents_feature import AgentsFeature
from gshtui.ui.approvals.approvals_feature import ApprovalsFeature
from gshtui.ui.calls.calls_feature import CallsFeature
from gshtui.ui.changes.changes_feature import ChangesFeature
from gshtui.ui.context.context_feature import ContextFeature
from gshtui.ui.conversation.conversation_feature import ConversationFeature
from gshtui.ui.kit.feature import Feature
from gshtui.ui.kit.keys.bound_keys import key_of
from gshtui.ui.kit.workbench_port import WorkbenchPort
from gshtui.ui.prompt.plan_feature import PlanFeature
from gshtui.ui.prompt.prompt_input import PromptInput
from gshtui.ui.servers.servers_feature import ServersFeature
from gshtui.ui.settings.settings_feature import SettingsFeature
from gshtui.ui.shell.shell_feature import ShellFeature
from gshtui.ui.terminal.terminal_feature import TerminalFeature
from gshtui.ui.window.own_status import OwnStatus

if TYPE_CHECKING:
    from gshtui.settings.settings_tables import Features


class WindowHost(WorkbenchPort, Protocol):
    """The window as this feature needs it."""

    theme: str
    notices: Sequence[tuple[float, str, str]]

    @property
    def focused(self) -> Widget | None: ...
    def selected_text(self) -> str:
        """The selected text on the screen in front."""
        ...

    def clear_selection(self) -> None: ...
    def clear_notifications(self) -> None: ...
    async def interrupt(self) -> bool:
        """Stop the current activity; returns whether there was any."""
        ...

    def themes(self) -> list[str]:
        """All themes, ours first."""
        ...

    def preview_theme(self, name: str) -> None:
        """Change the theme until it is chosen or another is."""
        ...

    def choose_theme(self, name: str) -> None:
        """Change the theme, and remember it."""
        ...

    def offered_session(self) -> str:
        """The conversation offered to continue; empty: none."""
        ...


class WindowFeature(Feature):
    """See the module."""

    KEYS = ("app.copy", "app.theme", "app.notices", "session.continue")
    WORDS = {"theme": "app.theme", "notices": "app.notices"}

    def __init__(self, window: WindowHost) -> None:
        super().__init__(window)
        self._host = window

    def press(self, key: str) -> None:
        does = {"app.copy": self._copy_soon, "app.theme": self._pick_theme, "app.notices": self._show_notices}
        does.get(key, self._continue_last)()

    def _copy_soon(self) -> None:
        """Act once the focused widget has handled the keys that were pressed before."""
        focused = self._host.focused
        if focused is None or not focused.call_later(self._copy_or_interrupt):
            self._copy_or_interrupt()

    def _copy_or_interrupt(self) -> None:
        """Copy the selection; else clear the input, interrupt the current activity, or show how to quit."""
        host = self._host
        selected = host.selected_text()
        if not selected and isinstance(host.focused, TextArea):
            selected = host.focused.selected_text
        if selected:
            host.copy_to_clipboard(selected)
            host.clear_selection()
            host.notify("Copied.", markup=False, timeout=2)
        elif isinstance(host.focused, PromptInput) and host.focused.clear_line():
            return
        else:
            host.run_worker(self._interrupt(), exit_on_error=False, group="interrupt")

    async def _interrupt(self) -> None:
        host = self._host
        if not await host.interrupt():
            host.notify(
                f"{key_of(host.input_line, 'app.quit')} to quit. The conversation is kept.", markup=False, timeout=4
            )

    def _show_notices(self) -> None:
        """Show what this window has said, the newest at the end."""
        from gshtui.ui.kit.transcript.text_screen import TextScreen

        self._host.clear_notifications()  # they would cover the list that has them
        lines = [
            f"{time.strftime('%H:%M:%S', time.localtime(at))}  {f'{title}: ' if title else ''}{text}"
            for at, title, text in self._host.notices
        ]
        self._host.push_screen(TextScreen("Notices", Content("\n".join(lines) or "No notices yet.")))

    def _pick_theme(self) -> None:
        from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice

        before = self._host.theme
        choices = [PickerChoice(name, name, current=name == before) for name in self._host.themes()]
        hint = "{list.choose} to keep it · {list.close} to go back"
        picker = Picker("Themes", choices, empty="", hint=hint, preview=self._host.preview_theme)

        def answered(chosen: str | None) -> None:
            if chosen is None:
                self._host.preview_theme(before)
            else:
                self._host.choose_theme(chosen)

        self._host.push_screen(picker, answered)

    def _continue_last(self) -> None:
        session = self._host.offered_session()
        if session:
            self._host.publish(SessionChangeRequested(agent=self._host.front, session=session))
        else:
            key = key_of(self._host.input_line, "app.sessions")
            words = f"No earlier conversation to continue here. Press {key} to list all conversations."
            self._host.notify(words, markup=False, timeout=4)


class PythonFeature(Feature):
    """It runs the command `python show`, whose result the window shows."""

    KEYS = ("python.variables",)

    def press(self, key: str) -> None:
        self.window.run_command("python show")


_BROUGHT: dict[str, type[Feature]] = {one.name: one.load() for one in brought("windows")}
"""Those that come in by the plugins' door, by the names under which the settings can switch them off."""
FEATURES: tuple[type[Feature], ...] = (
    WindowFeature,
    ConversationFeature,
    AgentsFeature,
    ApprovalsFeature,
    CallsFeature,
    ChangesFeature,
    ContextFeature,
    TerminalFeature,
    ShellFeature,
    PlanFeature,
    PythonFeature,
    ServersFeature,
    *_BROUGHT.values(),
    SettingsFeature,
    OwnStatus,
)
ACTIONS = {"app.palette": "palette", "app.help": "keys", "app.quit": "quit", "app.suspend": "sleep"}
"""Keys of the window itself → its actions."""
WORDS = {"keys": "app.help"}
"""Lines that the window itself handles: no command of the hub has their names."""
PALETTE = (
    "agents.spawn",
    "app.sessions",
    "app.calls",
    "app.servers",
    "app.workflows",
    "app.models",
    "model.effort",
    "diff.open",
    "context.inspect",
    "agents.waiting",
    "terminal.shared",
    "session.continue",
    "python.variables",
    "app.setup",
    "app.notices",
    "app.theme",
    "app.settings",
    "app.help",
    "app.suspend",
    "app.quit",
)
"""The keys in the palette, in order."""


def switched_off(switches: Features) -> frozenset[type[Feature]]:
    """Those that the settings switch off; they are known once the window has its hub."""
    return frozenset(made for name, made in _BROUGHT.items() if not getattr(switches, name))


def own_keys() -> list[str]:
    """The keys that work wherever the focus is."""
    return [*ACTIONS, *(key for feature in FEATURES for key in feature.KEYS)]


def action_of(key: str) -> str:
    """The app's action of one of these keys, or of one that a feature offers in the palette."""
    return ACTIONS.get(key, f"press('{key}')")


def opening_key(line: str, opened: str) -> str:
    """The key equivalent to a line; empty: the line is a command of the hub. `opened`: what the command opens by its
    bare name (`Command.opens`).
    """
    word = line.strip().removeprefix("/")
    if key := dict(slash_words()).get(word):
        return key
    return next((feature.OPENS[opened] for feature in FEATURES if opened in feature.OPENS), "")


def slash_words() -> Iterator[tuple[str, str]]:
    """The words after a slash that open a view of the window, with their keys."""
    for words in (WORDS, *(feature.WORDS for feature in FEATURES)):
        yield from words.items()
