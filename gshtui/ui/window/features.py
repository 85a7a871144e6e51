"""The list of the window's features, and the keys that work wherever the focus is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gshtui.settings.contract import brought
from gshtui.ui.agents.agents_feature import AgentsFeature
from gshtui.ui.approvals.approvals_feature import ApprovalsFeature
from gshtui.ui.calls.calls_feature import CallsFeature
from gshtui.ui.changes.changes_feature import ChangesFeature
from gshtui.ui.context.context_feature import ContextFeature
from gshtui.ui.conversation.conversation_feature import ConversationFeature
from gshtui.ui.kit.feature import Feature
from gshtui.ui.prompt.plan_feature import PlanFeature
from gshtui.ui.servers.servers_feature import ServersFeature
from gshtui.ui.settings.settings_feature import SettingsFeature
from gshtui.ui.shell.shell_feature import ShellFeature
from gshtui.ui.terminal.terminal_feature import TerminalFeature
from gshtui.ui.window.own_status import OwnStatus
from gshtui.ui.window.window_feature import WindowFeature

if TYPE_CHECKING:
    from gshtui.settings.settings_tables import Features


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
