"""A text area that folds long pastes and keeps the order of keys. Knows nothing of prompts.

Textual runs a widget's bound keys only after they have bubbled up to the app, so that in a burst (a slow line, a macro)
`enter` would act behind letters typed after it, and `alt+a` would type an `a`. Here a bound key acts in its turn.
Base of `PromptInput`.
"""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.document._document import EditResult, Location
from textual.message import Message
from textual.widgets import TextArea

from gshtui.guard.sanitise import plain
from gshtui.ui.kit.folds import Folds, newlines, wants_fold
from gshtui.ui.kit.keys import OwnKeys

TOO_MUCH_TO_SHOW = 20_000
"""Characters; a longer text that comes from the history, a draft or an editor is folded too."""
_TYPED = {"shift+space": " "}
_MEANT = {"shift+\r": "shift+enter", "alt+\r": "alt+enter", "ctrl+m": "enter"}
"""What some terminals call keys that others name plainly."""


class FoldingArea(TextArea, inherit_bindings=True):
    """A `TextArea` whose long pastes stand as labels; `value` is the whole text."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"prompt--fold"}

    class FoldOpened(Message):
        """The person wants to see the text behind a label."""

        def __init__(self, title: str, text: str) -> None:
            super().__init__()
            self.title = title
            self.text = text

    def __init__(self, *, id: str, placeholder: str = "") -> None:
        self.folds = Folds()
        self._keys = OwnKeys()
        super().__init__(id=id, placeholder=placeholder, highlight_cursor_line=False, compact=True)
        self.cursor_blink = False  # a steady cursor: an idle window costs nothing
        self.match_cursor_bracket = False

    @property
    def value(self) -> str:
        """The text with every folded part in full."""
        return self.folds.expand(self.text)

    def put(self, text: str, folds: dict[int, str] | None = None) -> None:
        """Show this text in place of what stands there, the cursor behind it; undo begins anew."""
        self.folds.clear()
        self.folds.texts.update(folds or {})
        text = plain(newlines(text))
        if not folds and len(text) > TOO_MUCH_TO_SHOW:
            text = self.folds.add(text)
        self.load_text(text)
        self.move_cursor(self.document.end)

    def insert_pasted(self, text: str) -> None:
        """Insert what was pasted at the cursor, folded if it is long, in place of what is selected."""
        text = plain(newlines(text))
        self._replace_via_keyboard(self.folds.add(text) if wants_fold(text) else text, *self.selection)

    def insert_folded(self, text: str) -> None:
        """Insert a text at the cursor as a label, however short it is."""
        self._replace_via_keyboard(self.folds.add(plain(newlines(text))), *self.selection)

    def insert_typed(self, character: str) -> None:
        """Insert at the cursor as if it had been typed here."""
        self._replace_via_keyboard(character, *self.selection)

    def changed(self) -> None:
        """The text is another one now. Called at every keystroke, for subclasses."""

    def update_suggestion(self) -> None:
        """Textual's hook behind every edit, undo and load."""
        self.changed()

    def action_open_paste(self) -> None:
        """Show the folded text under the cursor, or the last one in its line."""
        row, column = self.cursor_location
        spans = self.folds.spans(self.document[row])
        for start, end, number in reversed(spans):
            if start <= column <= end or number == spans[0][2]:
                self.post_message(self.FoldOpened(self.folds.label(number), self.folds.texts[number]))
                return

    def get_line(self, line_index: int) -> Text:
        """A line with its labels set off."""
        line = super().get_line(line_index)
        if self.folds:
            style = self.get_component_rich_style("prompt--fold")
            for start, end, _ in self.folds.spans(line.plain):
                line.stylize(style, start, end)
        return line

    async def _on_key(self, event: events.Key) -> None:
        key = _MEANT.get(event.key, event.key)
        action = self._keys.action(self, key)
        if action is not None:
            if await self.run_bound(key, action):
                event.stop()
            event.prevent_default()
            return
        typed = _TYPED.get(key) or (event.character if event.is_printable and "+" not in key else None)
        event.prevent_default()
        if typed and not self.read_only:
            event.stop()
            self._replace_via_keyboard(typed, *self.selection)

    async def run_bound(self, key: str, action: str) -> bool:
        """Act on a bound key, now. False: it is not for this widget, and goes on to those above."""
        await self.run_action(action)
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.insert_pasted(event.text)

    async def _on_click(self, event: events.Click) -> None:
        if event.chain == 2 and self.folds:
            self.action_open_paste()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """`changed` has said it already; nobody above needs another message at every keystroke."""
        event.stop()

    def _replace_via_keyboard(self, insert: str, start: Location, end: Location) -> EditResult | None:
        return super()._replace_via_keyboard(insert, *self._around_labels(start, end))

    def _delete_via_keyboard(self, start: Location, end: Location) -> EditResult | None:
        return super()._delete_via_keyboard(*self._around_labels(start, end))

    def _around_labels(self, start: Location, end: Location) -> tuple[Location, Location]:
        """The range, widened so that a label goes as a whole; an insertion inside one moves behind it."""
        if not self.folds:
            return start, end
        top, bottom = sorted((start, end))
        for left, right, _ in self.folds.spans(self.document[top[0]]):
            if left < top[1] < right:
                top = (top[0], right) if start == end else (top[0], left)
                bottom = max(top, bottom)
        for left, right, _ in self.folds.spans(self.document[bottom[0]]):
            if left < bottom[1] < right and top != bottom:
                bottom = (bottom[0], right)
        return top, bottom
