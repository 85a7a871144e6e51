"""The line at the bottom: the keys that work where you are. A click on one is the same as the key.

Owns one line; reads the bindings of the screen and refuses to have keys of its own.
"""

from __future__ import annotations

from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget


class KeyBar(Widget):
    """One line of keys, as many as there is room for, those of the focused widget first."""

    DEFAULT_CSS = "KeyBar { height: 1; }"

    def __init__(self) -> None:
        super().__init__(id="keybar")
        self._places: list[tuple[int, int, str]] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._updated)

    def _updated(self, _: Screen[object]) -> None:
        self.refresh()

    def render(self) -> RenderResult:
        width = self.size.width
        self._places = []
        parts: list[Content] = []
        at = 1
        for key, display, label in self._keys():
            length = len(display) + 1 + len(label)
            if at + length > width:
                break
            self._places.append((at, at + length, key))
            parts.append(Content.assemble((display, "bold $footer-key-foreground"), (f" {label}", "$text-muted")))
            at += length + 2
        return Content(" ") + Content("  ").join(parts)

    def _keys(self) -> list[tuple[str, str, str]]:
        seen: set[str] = set()
        found: list[tuple[str, str, str]] = []
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if not binding.show or not active.enabled or binding.action in seen:
                continue
            seen.add(binding.action)
            found.append((binding.key, key_name(self.app.get_key_display(binding)), binding.description))
        return found

    async def on_click(self, event: events.Click) -> None:
        for start, end, key in self._places:
            if start <= event.x < end:
                self.app.simulate_key(key)


def key_name(display: str) -> str:
    """Textual's display of a key, with words for the modifiers that people know from their keyboards."""
    return display.replace("^", "ctrl+") if len(display) > 1 else display
