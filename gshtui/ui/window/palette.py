"""The command palette: type a few words, and run an action, a command, a theme, a model or a conversation.

Owns the search and the list. Found by what an entry is called, by what it does, by its key and by its id. What was
chosen lately comes first. Opened by the app.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gshtui.ui.kit.dialogs import move_in_list
from gshtui.ui.kit.fitted_text import fit
from gshtui.ui.kit.key_table import bind
from gshtui.ui.window.palette_entries import (
    PaletteEntry,
    PaletteHost,
    action_entries,
    command_entries,
    listed_entries,
    theme_entries,
)

_LABEL = 24
"""Cells of the column of labels, where there is room for more."""
_NARROW = 60
"""Below this many cells an entry shows no detail."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """An entry that matches, with the letters of its label to mark."""

    entry: PaletteEntry
    score: float
    marked: frozenset[int] = frozenset()


def search(entries: Sequence[PaletteEntry], query: str, recent: Sequence[str] = ()) -> list[Ranked]:
    """The entries that match every word of the query, best first; equal ones as they were, the recent ones first.

    Args:
        query: words in any order; case does not matter. Empty: everything matches.
        recent: ids of what was chosen lately, the latest first.
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


class PaletteScreen(ModalScreen[PaletteEntry | None]):
    """Returns the chosen entry; `None`: none.

    Args:
        recent: ids of what was chosen lately, the latest first.
        words: what is in the input at first.
    """

    BINDINGS = [bind("list.choose", "choose"), bind("list.close", "dismiss(None)")]

    def __init__(self, window: PaletteHost, recent: Sequence[str] = (), words: str = "") -> None:
        super().__init__()
        self._window = window
        self._recent = recent
        self._words = words
        self._groups: list[tuple[str, list[PaletteEntry]]] = []
        self.listed: list[PaletteEntry] = []
        """The entries shown, from the top."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -palette"):
            yield Input(self._words, placeholder="What do you want to do?", id="filter", compact=True)
            yield OptionList(id="choices", markup=False, compact=True)
            yield Static("", classes="dialog-hint", markup=False)

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False
        self._groups = [
            ("Actions", list(action_entries(self._window))),
            ("Commands", list(command_entries(self._window))),
            ("Themes", list(theme_entries(self._window))),
        ]
        self.run_worker(self._list_more(), exit_on_error=False, group="palette")
        self.query_one(Input).focus()

    async def _list_more(self) -> None:
        more = await listed_entries(self._window)
        self._groups.insert(2, ("Agents, models and conversations", more))
        self._fill()

    def on_resize(self) -> None:
        self._fill()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._words = event.value
        self._fill()

    def _fill(self) -> None:
        listed = self.query_one(OptionList)
        before = self._chosen()
        width = max(20, listed.scrollable_content_region.width or self.size.width * 96 // 100 - 6)
        groups = self._recent_first() if not self._words.strip() else [("", self._ranked())]
        self.listed = []
        options: list[Option] = []
        for name, found in groups:
            if name and found:
                options.append(Option(Content.styled(name, "$foreground-muted"), disabled=True))
            for ranked in found:
                options.append(Option(_line(ranked, width), id=str(len(self.listed))))
                self.listed.append(ranked.entry)
        if not options:
            says = f"Nothing found for “{self._words.strip()}”. f1 lists every key."
            options = [Option(Content.styled(fit(says, width), "$foreground-muted"), disabled=True)]
        listed.clear_options()
        listed.add_options(options)
        kept = next((at for at, entry in enumerate(self.listed) if before and entry.id == before.id), 0)
        if self.listed:
            listed.highlighted = listed.get_option_index(str(kept if not self._words.strip() else 0))
        count = f"{len(self.listed)} found · " if self._words.strip() else ""
        self.query_one(".dialog-hint", Static).update(f"{count}enter runs it · escape closes")

    def _ranked(self) -> list[Ranked]:
        return search([entry for _, group in self._groups for entry in group], self._words, self._recent)

    def _recent_first(self) -> list[tuple[str, list[Ranked]]]:
        by_id = {entry.id: entry for _, group in self._groups for entry in group}
        recent = [by_id[id] for id in self._recent if id in by_id]
        groups = [("Recent", recent), *self._groups]
        return [(name, [Ranked(entry, 0) for entry in found]) for name, found in groups]

    def _chosen(self) -> PaletteEntry | None:
        listed = self.query_one(OptionList)
        option = listed.get_option_at_index(listed.highlighted) if listed.highlighted is not None else None
        return self.listed[int(option.id)] if option is not None and option.id else None

    def on_key(self, event: events.Key) -> None:
        """Arrows and page keys move in the list while the input has the focus."""
        if move_in_list(self.query_one(OptionList), event.key):
            event.stop()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        chosen = self._chosen()
        if chosen is not None:
            self.dismiss(chosen)


def _line(ranked: Ranked, width: int) -> Content:
    entry = ranked.entry
    key = fit(entry.keys.split(", ")[0], 14)
    room = width - cell_len(key) - (1 if key else 0)
    label = fit(entry.label, room)
    column = _LABEL if width >= _NARROW else 0
    detail = fit(entry.detail, room - max(column, cell_len(label)) - 2) if width >= _NARROW else ""
    gap = max(column - cell_len(label), 0) + 2 if detail else 0
    rest = width - cell_len(label) - gap - cell_len(detail) - cell_len(key)
    pieces = [
        Content.styled(letter, "bold $primary") if at in ranked.marked else Content(letter)
        for at, letter in enumerate(label)
    ]
    return Content.assemble(
        *pieces,
        " " * gap,
        (detail, "$foreground-muted"),
        " " * max(rest, 0),
        (key, "$foreground-muted" if not key else "bold $footer-key-foreground"),
    )


def open_palette(window: PaletteHost, recent: Sequence[str], chose: Callable[[str], None]) -> None:
    """Show the palette, and run what is chosen.

    Args:
        chose: told the id of what was chosen, before it runs.
    """

    def run(entry: PaletteEntry | None) -> None:
        if entry is not None:
            chose(entry.id)
            window.call_after_refresh(entry.run)

    window.push_screen(PaletteScreen(window, recent), run)
