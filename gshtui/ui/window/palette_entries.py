"""The entries of the command palette: actions of keys, commands, themes, models, terminals and conversations.

Each runs the same way as its key or its line. An action of a pane goes to that pane first. Used by `palette.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from textual.binding import Binding
from textual.widget import Widget

from gshtui.text.sanitise import one_line
from gshtui.ui.conversation.conversation_feature import ConversationFeature
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.keys.key_bar import shown_keys
from gshtui.ui.kit.keys.key_table import KEYS
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widget_messages import open_agent
from gshtui.ui.kit.workbench_port import WorkbenchPort
from gshtui.ui.window.features import FEATURES, PALETTE, action_of
from gshtui.ui.window.workbench_screen import WorkbenchScreen

if TYPE_CHECKING:
    from gshtui.bus.agent_data import AgentRow

_ANYWHERE = ("panes.", "tabs.", "mode.", "queue.focus", "approval.focus")
_MOVES = frozenset(
    {
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
        "page_up",
        "page_down",
        "page_left",
        "page_right",
        "menu",
        "back",
        "next",
        "previous",
        "search_close",
        "search_next",
        "search_previous",
        "submit",
        "newline",
        "complete",
        "word_left",
        "word_right",
        "delete_word_right",
        "line_start",
        "line_end",
    }
)
"""The last parts of the ids of keys that only move, or that mean nothing away from what they act on."""
_SAME = frozenset({"transcript.previous_prompt", "transcript.next_prompt"})
"""Keys that do what other ones do, for another place."""


class PaletteEntry(msgspec.Struct, frozen=True):
    """One entry. `label` and `detail` are shown as they are, never as markup."""

    id: str
    """Names it in the list of what was chosen lately."""
    label: str
    detail: str
    run: Callable[[], Any]
    keys: str = ""
    """Its keys as on the keyboard, separated by ", "; the first one is shown."""
    words: str = ""
    """More that it is found by: its id, its group."""


class PaletteHost(WorkbenchPort, Protocol):
    """The window as the palette needs it."""

    @property
    def bench(self) -> WorkbenchScreen: ...
    @property
    def keys_off(self) -> frozenset[str]: ...
    @property
    def available_themes(self) -> Mapping[str, object]: ...
    def choose_theme(self, name: str) -> None: ...
    def part(self, kind: type[ConversationFeature]) -> ConversationFeature: ...


def action_entries(window: PaletteHost) -> Iterator[PaletteEntry]:
    """The actions of keys: those that work everywhere first, then those of the panes."""
    everywhere = dict(palette_actions())
    for id, action in everywhere.items():
        if id not in window.keys_off:
            yield _action_entry(id, partial(window.run_action, action), window.bench)
    for widget in _places(window.bench):
        for id, action in _bindings(widget):
            if id in everywhere:
                continue
            yield _action_entry(id, partial(_act_there, window.bench, widget, action), window.bench)


def palette_actions() -> Iterator[tuple[str, str]]:
    """The rows of the key table that work everywhere, with their actions."""
    for id in PALETTE:
        yield id, f"app.{action_of(id)}"
    for binding in WorkbenchScreen.BINDINGS:
        if isinstance(binding, Binding) and binding.id and binding.id.startswith(_ANYWHERE) and _acts(binding.id):
            yield binding.id, f"screen.{binding.action}" if "." not in binding.action else binding.action
    for feature in FEATURES:
        for id in feature.PALETTE:
            yield id, f"app.{action_of(id)}"


def _action_entry(id: str, run: Callable[[], Any], screen: Widget) -> PaletteEntry:
    row = KEYS[id]
    words = f"{id} {row.label} {row.group}"
    return PaletteEntry(f"key:{id}", row.name, row.help, run, shown_keys(screen, id), words)


def _places(screen: WorkbenchScreen) -> Iterator[Widget]:
    """The widgets with keys of their own that the palette can go to."""
    yield from screen.deck.query(Transcript).results()
    yield screen.input
    yield from screen.panes.values()


def _bindings(widget: Widget) -> Iterator[tuple[str, str]]:
    """The ids and actions of a widget's own keys."""
    for each in type(widget).__dict__.get("BINDINGS", ()):
        if isinstance(each, Binding) and each.id and _acts(each.id):
            yield each.id, each.action


def _acts(id: str) -> bool:
    return id in KEYS and id not in _SAME and id.rpartition(".")[2] not in _MOVES


async def _act_there(screen: WorkbenchScreen, widget: Widget, action: str) -> None:
    name = next((name for name, pane in screen.panes.items() if pane is widget), "")
    if name and screen.front_pane() != name:
        screen.action_pane(name)
    widget.focus()
    await widget.run_action(action)


def command_entries(window: PaletteHost) -> Iterator[PaletteEntry]:
    """Every command that a person may run; what is a model's tool in the first place comes last."""
    known = {command.name: command for command in window.bridge.commands.values()}
    for command in sorted(known.values(), key=lambda command: command.tool):
        name = f"/{command.name}"
        # A command with required parameters goes into the input, where they can be completed.
        run = window.run_command if command.complete else window.write
        line = command.name if command.complete else f"{name} "
        yield PaletteEntry(
            f"command:{command.name}", name, command.summary, partial(run, line), words=" ".join(command.aliases)
        )


def theme_entries(window: PaletteHost) -> Iterator[PaletteEntry]:
    """Every theme."""
    for name in window.available_themes:
        run = partial(window.choose_theme, name)
        yield PaletteEntry(f"theme:{name}", f"Theme: {name}", "Change the colours", run)


async def listed_entries(window: PaletteHost) -> list[PaletteEntry]:
    """Models, agents' terminals and conversations, fetched when the palette opens."""
    from gshtui.ui.conversation import pickers

    found: list[PaletteEntry] = []
    conversation = window.part(ConversationFeature)
    for row in await _agents(window):
        if row.pane and row.status != "lost":
            detail = f"{row.id} · {row.status} · in a tab"
            run = partial(_open_agent, window, row)
            label = f"Open {one_line(row.name, 60)}"
            found.append(PaletteEntry(f"agent:{row.id}", label, detail, run, words="terminal conversation"))
    for model in (await conversation.models()).models:
        choice = pickers.model_choice(model)
        run = partial(conversation.choose_model, choice.id)
        found.append(PaletteEntry(f"model:{choice.id}", f"Model: {choice.name}", choice.detail, run))
    for session in await conversation.sessions():
        choice = pickers.session_choice(session, window.clock())
        run = partial(conversation.choose_session, choice.id)
        found.append(PaletteEntry(f"session:{choice.id}", f"Continue: {choice.name}", choice.detail, run))
    return found


async def _agents(window: PaletteHost) -> list[AgentRow]:
    from gshtui.commands.declaration import CommandError
    from gshtui.fleet.core.agent_calls import ListAgents

    try:
        return (await window.bridge.call(ListAgents(windows=False))).rows
    except (NotReady, CommandError):
        return []


def _open_agent(window: PaletteHost, row: AgentRow) -> None:
    window.show_centre()
    window.post_message(open_agent(row))
