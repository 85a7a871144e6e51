"""The command palette: every command of the registry, every key's action, themes, models, conversations.

Owns only the search; entries run the same way as keys and lines. Used by the app.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen
from textual.style import Style

from gshtui.text.sanitise import one_line
from gshtui.ui.conversation.conversation_feature import ConversationFeature
from gshtui.ui.kit.bridge import NotReady
from gshtui.ui.kit.key_table import KEYS
from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.kit.workbench_port import WorkbenchPort
from gshtui.ui.window.features import FEATURES, PALETTE, action_of
from gshtui.ui.window.workbench_screen import WorkbenchScreen

if TYPE_CHECKING:
    from gshtui.bus.agent_data import AgentRow

PaletteEntry = tuple[str, str, Callable[[], Any]]
"""Name, help, action."""


class PaletteHost(WorkbenchPort, Protocol):
    """The window as the palette needs it."""

    @property
    def available_themes(self) -> Mapping[str, object]: ...
    def choose_theme(self, name: str) -> None: ...
    def part(self, kind: type[ConversationFeature]) -> ConversationFeature: ...


@dataclass
class RankedHit(DiscoveryHit):
    """An entry of the empty palette. Textual keeps providers in a set, so their order in the list needs a score."""

    rank: int = 0
    """Higher ranks come first."""

    @property
    def score(self) -> float:
        return self.rank


class WorkbenchProvider(Provider):
    """Entries from a list built when the palette opens."""

    RANK: ClassVar[int] = 0
    """Of its entries in the empty palette."""

    @property
    def workbench(self) -> PaletteHost:
        return cast("PaletteHost", self.app)

    def entries(self) -> Iterator[PaletteEntry]:
        """The entries."""
        raise NotImplementedError

    async def discover(self) -> Hits:
        for name, help, run in self.entries():
            yield RankedHit(_shown(Content(name), help), run, text=name, rank=self.RANK)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, help, run in self.entries():
            score = max(matcher.match(name), matcher.match(help) * 0.5)
            if score > 0:
                found = Content(name)
                for at in matcher.fuzzy_search.match(query, name)[1]:
                    found = found.stylize(matcher.match_style, at, at + 1)
                yield Hit(score, _shown(found, help), run, text=name)


def _shown(name: Content, help: str) -> Content:
    """Name and help. Textual's own help line and highlighting would interpret them as markup."""
    return Content.assemble(name, (f"\n{help}", "$foreground-muted")) if help else name


class ActionProvider(WorkbenchProvider):
    """The actions of keys, shown with the keys so that people learn them."""

    RANK = 2

    def entries(self) -> Iterator[PaletteEntry]:
        for id, action in palette_actions():
            key = KEYS[id]
            yield key.help, f"{key.group} · {key.keys.split(',')[0]}", partial(self.workbench.run_action, action)


def palette_actions() -> Iterator[tuple[str, str]]:
    """The key table rows that the palette can run, with their actions."""
    for id in PALETTE:
        yield id, f"app.{action_of(id)}"
    for binding in WorkbenchScreen.BINDINGS:
        if not isinstance(binding, tuple) and binding.id and binding.id.startswith(("panes.", "tabs.")):
            yield binding.id, f"screen.{binding.action}"
    for feature in FEATURES:
        for id in feature.PALETTE:
            yield id, f"app.{action_of(id)}"


class CommandProvider(WorkbenchProvider):
    """Every command that a person may run."""

    RANK = 1

    def entries(self) -> Iterator[PaletteEntry]:
        registry = self.workbench.bridge.registry
        for command in registry or ():
            name = f"/{command.name}"
            required = [name for name, field in command.parameters.model_fields.items() if field.is_required()]
            # A command with required parameters goes into the input, where they can be completed.
            run = self.workbench.write if required else self.workbench.run_command
            yield name, command.summary, partial(run, f"{name} " if required else command.name)


class ThemeProvider(WorkbenchProvider):
    """Every theme."""

    def entries(self) -> Iterator[PaletteEntry]:
        for name in self.workbench.available_themes:
            yield f"Theme: {name}", "Change how the workbench looks", partial(self.workbench.choose_theme, name)


class ListProvider(WorkbenchProvider):
    """Models, conversations and agents' terminals, fetched when the palette opens."""

    def __init__(self, screen: Screen[Any], match_style: Style | None = None) -> None:
        super().__init__(screen, match_style)
        self._found: list[PaletteEntry] = []

    async def startup(self) -> None:
        from gshtui.ui.conversation import pickers

        conversation = self.workbench.part(ConversationFeature)
        for model in await conversation.models():
            choice = pickers.model_choice(model)
            run = partial(conversation.choose_model, choice.id)
            self._found.append((f"Model: {choice.name}", choice.detail, run))
        for row in await self._agents():
            if row.pane and row.status != "lost":
                name, detail = one_line(row.name, 60), f"{row.id} · {row.status} · in a tab"
                self._found.append((f"Open terminal of {name}", detail, partial(self._terminal, row.id)))
        for session in await conversation.sessions():
            choice = pickers.session_choice(session, self.workbench.clock())
            run = partial(conversation.choose_session, choice.id)
            self._found.append((f"Continue: {choice.name}", choice.detail, run))

    async def _agents(self) -> list[AgentRow]:
        from gshtui.commands.declaration import CommandError
        from gshtui.fleet.agent_calls import ListAgents

        try:
            return (await self.workbench.bridge.call(ListAgents(windows=False))).rows
        except (NotReady, CommandError):
            return []

    def _terminal(self, agent: str) -> None:
        self.workbench.show_centre()
        self.workbench.post_message(OpenTerminal(agent))

    def entries(self) -> Iterator[PaletteEntry]:
        yield from self._found

    async def discover(self) -> Hits:
        return
        yield
