"""The command palette: type a few words, and run an action, a command, a theme, a model or a conversation.

Owns the entries, the search and the list. Each entry runs the same way as its key or its line; an action of a pane goes
to that pane first. Found by what an entry is called, by what it does, by its key and by its id. What was
chosen lately comes first. Opened by the app.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from textual.binding import Binding
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets.option_list import Option

from gshtui.system.expected_error import ExpectedError
from gshtui.text.sanitise import one_line
from gshtui.ui.conversation.conversation_feature import ConversationFeature
from gshtui.ui.kit.keys.bound_keys import key_of, with_keys
from gshtui.ui.kit.keys.key_bar import shown_keys
from gshtui.ui.kit.keys.key_table import KEYS
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widget_messages import open_agent
from gshtui.ui.kit.widgets.filtered_list import FilteredList
from gshtui.ui.kit.widgets.fitted_text import fit
from gshtui.ui.kit.widgets.list_rows import ListRow, list_lines
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
        "search_end",
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
    return PaletteEntry(
        f"key:{id}", row.name, row.help.removeprefix(row.name).lstrip(", "), run, shown_keys(screen, id), words
    )


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
            detail = f"{row.id} · {row.state} · in a tab"
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
    from gshtui.fleet.core.agent_calls import ListAgents

    try:
        return (await window.bridge.call(ListAgents(windows=False))).rows
    except ExpectedError:
        return []


def _open_agent(window: PaletteHost, row: AgentRow) -> None:
    window.show_centre()
    window.post_message(open_agent(row))


_LABEL = 24
"""Cells of the column of labels, where there is room for more."""


class Ranked(msgspec.Struct, frozen=True):
    """An entry that matches, with the letters of its label to mark."""

    entry: PaletteEntry
    score: float
    marked: frozenset[int] = frozenset()


def search(entries: Sequence[PaletteEntry], query: str, recent: Sequence[str] = ()) -> list[Ranked]:
    """The entries that match every word of the query, best first; equal ones as they were, the recent ones first.
    `query`: words in any order; case does not matter. Empty: everything matches. `recent`: ids of what was chosen
    lately, the latest first.
    """
    words = query.lower().split()
    age = {id: at for at, id in enumerate(recent)}
    found = [ranked for entry in entries if (ranked := _rank(entry, words)) is not None]
    return sorted(found, key=lambda one: (-one.score, age.get(one.entry.id, len(age))))


def _rank(entry: PaletteEntry, words: Sequence[str]) -> Ranked | None:
    label = entry.label.lower()
    score = 0.0
    marked: set[int] = set()
    for word in words:
        best, at = _word_in_label(label, word)
        if not best and len(word) > 1 and word in entry.keys.lower().split(", "):
            best = 90.0
        for text, whole, part in ((entry.words, 60.0, 40.0), (entry.detail, 50.0, 25.0)):
            if best < whole and (found := _find(text.lower(), word)):
                best = max(best, whole if found == "start" else part if len(word) > 2 else 0.0)
        if not best:
            return None
        score += best
        marked |= set(at)
    return Ranked(entry, score, frozenset(marked))


def _word_in_label(label: str, word: str) -> tuple[float, range]:
    at = label.find(word)
    while at > 0 and label[at - 1].isalnum():  # a beginning of a word counts more than its middle
        later = label.find(word, at + 1)
        if later < 0:
            return 70.0, range(at, at + len(word))
        at = later
    return (100.0 + 20.0 * (at == 0), range(at, at + len(word))) if at >= 0 else (0.0, range(0))


def _find(text: str, word: str) -> str:
    """`start`: a word of the text begins so; `part`: it stands somewhere inside; empty: nowhere."""
    at = text.find(word)
    inside = at >= 0
    while at > 0 and text[at - 1].isalnum():
        at = text.find(word, at + 1)
    return "start" if at >= 0 else "part" if inside else ""


class PaletteScreen(FilteredList[PaletteEntry | None]):
    """Returns the chosen entry; `None`: none.

    Args:
        recent: ids of what was chosen lately, the latest first.
    """

    def __init__(self, window: PaletteHost, recent: Sequence[str] = ()) -> None:
        super().__init__(prompt="What do you want to do?", look="-palette")
        self._window = window
        self._recent = recent
        self._groups: list[tuple[str, list[PaletteEntry]]] = []
        self.listed: list[PaletteEntry] = []
        """The entries shown, from the top."""

    def on_mount(self) -> None:
        self._groups = [
            ("Actions", list(action_entries(self._window))),
            ("Commands", list(command_entries(self._window))),
            ("Themes", list(theme_entries(self._window))),
        ]
        self.run_worker(self._list_more(), exit_on_error=False, group="palette")

    async def _list_more(self) -> None:
        more = await listed_entries(self._window)
        self._groups.insert(2, ("Agents, models and conversations", more))
        self.fill()

    def fill(self) -> None:
        before = self.chosen_entry
        words = self.words.strip()
        groups = self._recent_first() if not words else [("", self._ranked())]
        self.listed = []
        options: list[Option] = []
        for name, found in groups:
            if name and found:
                options.append(Option(Content.styled(name, "$foreground-muted"), disabled=True))
            rows = [
                ListRow(
                    one.entry.label, one.entry.detail, key=one.entry.keys.split(", ")[0], mark="", marked=one.marked
                )
                for one in found
            ]
            for ranked, line in zip(found, list_lines(rows, self.room, _LABEL), strict=True):
                options.append(Option(line, id=str(len(self.listed))))
                self.listed.append(ranked.entry)
        self.show(
            options, fit(f"Nothing found for “{words}”. {key_of(self, 'app.help')} to list every key.", self.room)
        )
        kept = next((at for at, entry in enumerate(self.listed) if before and entry.id == before.id), 0)
        if self.listed:
            self.choices.highlighted = self.choices.get_option_index(str(kept if not words else 0))
        count = f"{len(self.listed)} found · " if words else ""
        self.query_one(".dialog-hint", Static).update(
            count + with_keys(self, "{list.choose} to run it · {list.close} to close")
        )

    def _ranked(self) -> list[Ranked]:
        return search([entry for _, group in self._groups for entry in group], self.words, self._recent)

    def _recent_first(self) -> list[tuple[str, list[Ranked]]]:
        by_id = {entry.id: entry for _, group in self._groups for entry in group}
        recent = [by_id[id] for id in self._recent if id in by_id]
        groups = [("Recent", recent), *self._groups]
        return [(name, [Ranked(entry, 0) for entry in found]) for name, found in groups]

    @property
    def chosen_entry(self) -> PaletteEntry | None:
        """The entry that is highlighted."""
        return None if (id := self.chosen) is None else self.listed[int(id)]

    def choose(self, id: str) -> None:
        self.dismiss(self.listed[int(id)])


def open_palette(window: PaletteHost, recent: Sequence[str], chose: Callable[[str], None]) -> None:
    """Show the palette, and run what is chosen. `chose`: told the id of what was chosen, before it runs."""

    def run(entry: PaletteEntry | None) -> None:
        if entry is not None:
            chose(entry.id)
            window.call_after_refresh(entry.run)

    window.push_screen(PaletteScreen(window, recent), run)
