"""The line at the bottom: the keys that work where you are. Clicking one is the same as pressing it.

Owns one line; reads the screen's bindings and has no keys of its own. It is empty beside the input, whose keys stand
right below it.
"""

from __future__ import annotations

from typing import Any, cast

from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.signal import Signal
from textual.widget import Widget

from gshtui.ui.kit.keys.bound_keys import is_sent, printed_key, sent_first
from gshtui.ui.kit.keys.key_table import ANYWHERE, IN_PANE, KEYS, PANES, hint_word
from gshtui.ui.kit.textual.driver import sends_every_key
from gshtui.ui.kit.textual.key_bindings import keymap_of
from gshtui.ui.kit.textual.typed_app import app_of

_ORDER = {id: at for at, id in enumerate(KEYS)}


class KeyBar(Widget):
    """One line of keys, as many as fit, the focused widget's first; none while `input` has the focus. Those of what is
    in `below`, the middle column, start at its edge where there is room for all of them.
    """

    DEFAULT_CSS = "KeyBar { height: 1; }"

    def __init__(self, input: Widget, below: Widget) -> None:
        super().__init__(id="keybar")
        self._input = input
        self._below = below
        self._edge = 0
        self._places: list[tuple[int, int, str]] = []

    def on_mount(self) -> None:
        signal = cast("Signal[Any]", self.screen.bindings_updated_signal)  # pyright: ignore[reportUnknownMemberType]
        signal.subscribe(self, self._updated, immediate=True)  # drawn with what has the focus now

    def _updated(self, _: object) -> None:
        self.refresh()

    def stand_below(self, edge: int) -> None:
        """The column at which the middle one begins."""
        if edge != self._edge:
            self._edge = edge
            self.refresh()

    def render(self) -> RenderResult:
        width = self.size.width
        self._places = []
        parts: list[Content] = []
        keys = [(key, display, label, len(display) + 1 + len(label)) for key, display, label in self._keys()]
        focused, at = self.screen.focused, 1
        if keys and focused is not None and self._below in focused.ancestors:
            needed = 1 + sum(length + 2 for *_, length in keys)
            at += self._edge if self._edge + needed <= width else 0
        indent = " " * at
        for key, display, label, length in keys:
            if at + length > width:
                break
            self._places.append((at, at + length, key))
            parts.append(Content.assemble((display, "bold $footer-key-foreground"), (f" {label}", "$foreground-muted")))
            at += length + 2
        return Content(indent) + Content("  ").join(parts)

    def _keys(self) -> list[tuple[str, str, str]]:
        if app_of(self).screen is not self.screen or self.screen.focused is self._input:
            return []  # a dialog has the keys, and names them
        seen: set[str] = set()
        found: list[tuple[str, str, str]] = []
        ranks: dict[str, tuple[int, int]] = {}
        extended = sends_every_key(app_of(self))
        shown = sorted(
            self.screen.active_bindings.values(), key=lambda one: not is_sent(one.binding.key, extended=extended)
        )
        for active in shown:
            binding = active.binding
            if not binding.show or not active.enabled or binding.action in seen:
                continue
            seen.add(binding.action)
            found.append((binding.key, printed_key(binding.key), hint_word(binding.description)))
            ranks[binding.key] = _rank(binding.id)
        return sorted(found, key=lambda one: ranks[one[0]])

    async def on_click(self, event: events.Click) -> None:
        for start, end, key in self._places:
            if start <= event.x < end:
                app_of(self).simulate_key(key)


def _rank(id: str | None) -> tuple[int, int]:
    """The order in the line: the focused widget's own keys, those of every pane, global ones; as in the key table."""
    row = KEYS.get(id or "")
    group = 2 if row is None or row.group in (ANYWHERE, PANES) else int(row.group == IN_PANE)
    return (group, _ORDER.get(id or "", len(_ORDER)))


def shown_keys(widget: Widget, id: str) -> str:
    """The keys of a row of the key table that this terminal sends, separated by ", ", after remapping."""
    keys = (keymap_of(widget).get(id) or KEYS[id].keys).split(",")
    return ", ".join(map(printed_key, sent_first(keys, extended=sends_every_key(app_of(widget)))))
