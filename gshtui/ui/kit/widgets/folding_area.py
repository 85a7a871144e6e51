"""A text area that folds long pastes into labels and handles its bound keys in the order they were pressed.

Knows nothing about prompts, and never changes a folded text. Textual runs bound keys only after they have bubbled up
to the app, so in a burst (a slow connection, a macro) `enter` would act after letters typed later.
"""

from __future__ import annotations

import re
from typing import ClassVar

import msgspec
from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import DocumentBase, EditResult, Location

from gshtui.ui.kit.keys.bound_keys import BoundKeys
from gshtui.ui.kit.textual.painting import echo_now

FOLD_LINES = 10
FOLD_CHARACTERS = 1_000
_LABEL = re.compile(r"\[(?:pasted|shell) #(\d+) · [^\[\]\n]*\]")
_SHELL = re.compile(r"<shell-command [^\n]*>\n\$ ([^\n]*)")
"""A reference to a command in the shell log; its label names the command."""
_NAMED = 40
"""How many characters of a command a label shows."""
_BREAKS_LIKE_A_LINE = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Characters at which a text area would break a line without remembering which one."""


def newlines(text: str) -> str:
    """The text with `\\r\\n` and `\\r` as `\\n`: terminals send carriage returns in a paste."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def pasted(text: str) -> str:
    """A text from outside as plain text, with the newlines of a text area."""
    from gshtui.text.sanitise import plain  # not before the first letter

    return plain(newlines(text))


def wants_fold(text: str) -> bool:
    """Whether a paste is too long for the input, or would be changed by it."""
    return len(text) > FOLD_CHARACTERS or text.count("\n") >= FOLD_LINES or _BREAKS_LIKE_A_LINE.search(text) is not None


def byte_size(count: int) -> str:
    """A number of bytes for people: `812 B`, `14.2 KB`, `1.0 MB`."""
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:.1f} KB" if count < 999_950 else f"{count / 1_000_000:.1f} MB"


class Folds(msgspec.Struct):
    """The folded texts of one input, by number. Numbers are not reused before `clear`."""

    texts: dict[int, str] = msgspec.field(default_factory=dict[int, str])
    _last: int = 0

    def __bool__(self) -> bool:
        return bool(self.texts)

    def add(self, text: str) -> str:
        """Store the text; returns its label."""
        self._last = max(self._last, *self.texts, 0) + 1
        self.texts[self._last] = text
        return self.label(self._last)

    def label(self, number: int) -> str:
        """The label shown in place of this text."""
        text = self.texts[number]
        if shell := _SHELL.match(text):
            name = shell[1].strip().replace("[", "(").replace("]", ")")
            name = name if len(name) <= _NAMED else name[: _NAMED - 1] + "…"
            return f"[shell #{number} · {name}]"
        lines = text.count("\n") + (not text.endswith("\n"))
        of = "line" if lines == 1 else "lines"
        return f"[pasted #{number} · {lines:,} {of} · {byte_size(len(text.encode(errors='surrogatepass')))}]"

    def expand(self, text: str) -> str:
        """The text with each label expanded; labels inside an expanded text stay."""
        if not self.texts:
            return text
        return _LABEL.sub(lambda found: self.texts.get(int(found[1]), found[0]), text)

    def spans(self, line: str) -> list[tuple[int, int, int]]:
        """(start, end, number) of each of our labels in a line of the input."""
        if not self.texts or " #" not in line:
            return []
        return [
            (found.start(), found.end(), int(found[1]))
            for found in _LABEL.finditer(line)
            if int(found[1]) in self.texts
        ]

    def at(self, line: str, column: int) -> int | None:
        """The number of the label at a column, else of the line's first label; `None`: the line has none."""
        spans = self.spans(line)
        touching = [number for start, end, number in spans if start <= column <= end]
        return touching[-1] if touching else spans[0][2] if spans else None

    def around(self, lines: DocumentBase, start: Location, end: Location) -> tuple[Location, Location]:
        """The range, widened to include whole labels; an insertion inside a label moves behind it."""
        if not self.texts:
            return start, end
        top, bottom = sorted((start, end))
        for left, right, _ in self.spans(lines[top[0]]):
            if left < top[1] < right:
                top = (top[0], right) if start == end else (top[0], left)
                bottom = max(top, bottom)
        for left, right, _ in self.spans(lines[bottom[0]]):
            if left < bottom[1] < right and top != bottom:
                bottom = (bottom[0], right)
        return top, bottom

    def used(self, text: str) -> dict[int, str]:
        """The texts with a label in the input."""
        return {n: self.texts[n] for _, _, n in self.spans(text)}

    def clear(self) -> None:
        """Forget all; numbers start again at 1."""
        self.texts.clear()
        self._last = 0


TOO_MUCH_TO_SHOW = 20_000
"""Characters; longer texts from the history, a draft or an editor are folded too."""
_TYPED = {"shift+space": " "}
_MEANT = {"shift+\r": "shift+enter", "alt+\r": "alt+enter", "ctrl+m": "enter"}
"""Other names that some terminals use for keys."""


class FoldingArea(TextArea, inherit_bindings=True):
    """A `TextArea` that shows long pastes as labels; `value` is the whole text."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"prompt--fold"}

    class FoldOpened(Message):
        """The person wants to see a label's text."""

        def __init__(self, title: str, text: str) -> None:
            super().__init__()
            self.title = title
            self.text = text

    def __init__(self, *, id: str, placeholder: str = "") -> None:
        self.folds = Folds()
        self._keys = BoundKeys()
        self.foreseen: events.Key | None = None
        """The last key whose letter was written before it was handled."""
        super().__init__(id=id, placeholder=placeholder, highlight_cursor_line=False, compact=True)
        self.cursor_blink = False  # no blinking cursor: an idle window costs nothing
        self.match_cursor_bracket = False

    @property
    def value(self) -> str:
        """The text with every folded part in full."""
        return self.folds.expand(self.text)

    def put(self, text: str, folds: dict[int, str] | None = None) -> None:
        """Replace the whole text and put the cursor at its end; the undo history is cleared."""
        self.folds.clear()
        self.folds.texts.update(folds or {})
        text = pasted(text)
        if not folds and len(text) > TOO_MUCH_TO_SHOW:
            text = self.folds.add(text)
        self.load_text(text)
        self.move_cursor(self.document.end)

    def insert_pasted(self, text: str, start: Location | None = None, end: Location | None = None) -> None:
        """Insert a paste in place of a range (the selection unless given), folded if it is long."""
        text = pasted(text)
        first, last = self.selection
        text = self.folds.add(text) if wants_fold(text) else text
        self.type_over(text, first if start is None else start, last if end is None else end)

    def insert_folded(self, text: str) -> None:
        """Insert a text at the cursor as a label, however short it is."""
        self.type_over(self.folds.add(pasted(text)), *self.selection)

    def insert_typed(self, character: str) -> None:
        """Insert at the cursor as if typed."""
        self.type_over(character, *self.selection)

    def type_over(self, text: str, start: Location, end: Location) -> None:
        """Replace part of the text as a key would: the cursor moves behind it; read-only areas ignore it."""
        if not self.read_only:
            self.replace(text, start, end, maintain_selection_offset=False)

    # What a key will do (see `letter_echo`)

    def appends(self, key: events.Key) -> bool:
        """Whether this key adds its character behind the last of the line, which has one, and does nothing else."""
        return key.is_printable and "+" not in key.key and self._ends_line() and not self._keys.action(self, key.key)

    def shortens(self, key: events.Key) -> bool:
        """Whether this key takes the last character of the line, which has more, and does nothing else."""
        row, column = self.selection.end
        return (
            self._keys.action(self, key.key) == "delete_left"
            and column > 1
            and self._ends_line()
            and not self.wrapped_document.get_offsets(row)
        )

    def _ends_line(self) -> bool:
        start, (row, column) = self.selection
        plain = not (self.read_only or self.suggestion or self.folds)
        return plain and start == (row, column) and column == len(self.document[row]) and column > 0

    @property
    def cursor_offset(self) -> tuple[int, int]:
        """Column and row of the cursor in what can be seen of the text."""
        column, row = self.wrapped_document.location_to_offset(self.cursor_location)
        left, top = self.scroll_offset
        return column - left, row - top

    def changed(self) -> None:
        """The text has changed. Called at every keystroke, for subclasses."""

    def update_suggestion(self) -> None:
        """Textual's hook after every edit, undo and load."""
        self.changed()

    def action_open_paste(self) -> None:
        """Show the folded text under the cursor, or the first one in its line."""
        row, column = self.cursor_location
        number = self.folds.at(self.document[row], column)
        if number is not None:
            self.post_message(self.FoldOpened(self.folds.label(number), self.folds.texts[number]))

    def get_line(self, line_index: int) -> Text:
        """A line with its labels highlighted."""
        line = super().get_line(line_index)
        if self.folds:
            style = self.get_component_rich_style("prompt--fold")
            for start, end, _ in self.folds.spans(line.plain):
                line.stylize(style, start, end)
        return line

    async def on_key(self, event: events.Key) -> None:
        key = _MEANT.get(event.key, event.key)
        action = self._keys.action(self, key)
        if action is not None:
            if await self.run_bound(key, action):
                event.stop()
                self._echo(event)
            event.prevent_default()
            return
        typed = _TYPED.get(key) or (event.character if event.is_printable and "+" not in key else None)
        event.prevent_default()
        if typed and not self.read_only:
            event.stop()
            self.insert_typed(typed)
            self._echo(event)

    def _echo(self, event: events.Key) -> None:
        """Write the row at once, unless the letter is there already."""
        if event is not self.foreseen:
            echo_now(self)

    async def run_bound(self, key: str, action: str) -> bool:
        """Handle a bound key now. False: it is not for this widget, and bubbles on."""
        await self.run_action(action)
        return True

    async def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_pasted(event.text)

    async def on_click(self, event: events.Click) -> None:
        if event.chain == 2 and self.folds:
            self.action_open_paste()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """`changed` has reported it; no parent needs another message at every keystroke."""
        event.stop()

    def replace(
        self, insert: str, start: Location, end: Location, *, maintain_selection_offset: bool = True
    ) -> EditResult:
        start, end = self.folds.around(self.document, start, end)
        return super().replace(insert, start, end, maintain_selection_offset=maintain_selection_offset)

    def delete(self, start: Location, end: Location, *, maintain_selection_offset: bool = True) -> EditResult:
        start, end = self.folds.around(self.document, start, end)
        return super().delete(start, end, maintain_selection_offset=maintain_selection_offset)
