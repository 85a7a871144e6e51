"""The command palette: type a few words, and run an action, a command, a theme, a model or a conversation.

Owns the search and the list. Found by what an entry is called, by what it does, by its key and by its id. What was
chosen lately comes first. Opened by the app.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from textual.content import Content
from textual.widgets import Static
from textual.widgets.option_list import Option

from gshtui.ui.kit.keys.bound_keys import key_of, with_keys
from gshtui.ui.kit.widgets.filtered_list import FilteredList
from gshtui.ui.kit.widgets.fitted_text import fit
from gshtui.ui.kit.widgets.list_rows import ListRow, list_lines
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


class Ranked(msgspec.Struct, frozen=True):
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
        self.show(options, fit(f"Nothing found for “{words}”. {key_of(self, 'app.help')} lists every key.", self.room))
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
