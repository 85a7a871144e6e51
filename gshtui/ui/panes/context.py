"""The context pane: what the model was last sent, by section, with tokens and shares, and what the provider counted.

Owns the drawing; the state is `context_state`'s. Fed by the bridge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from gshtui.bus.event import Event
from gshtui.bus.messages import Usage
from gshtui.ui import figures
from gshtui.ui.panes.context_state import CONSUMED, ContextState, reduce
from gshtui.ui.widgets.pane import Pane

EMPTY = (
    "Nothing has been sent yet.\n\nWith the first prompt you see here what the model receives: every section with its "
    "tokens and its share of the window, then what the provider counted."
)


class ContextPane(Pane):
    """The last assembly of the agent in front."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED

    def __init__(self, agent: str = "main") -> None:
        super().__init__("context", "Context", 4, EMPTY)
        self.state = ContextState(agent)

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            self.state = reduce(self.state, event)
        if self.state is not before:
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self.display or not self.is_mounted:
            return
        state = self.state
        if not state.sections:
            self.label("")
            self.show(None)
            return
        self.label(
            figures.percent(state.usage.context if state.usage else state.tokens, state.window) if state.window else ""
        )
        self.show(draw(state, self.columns))


def draw(state: ContextState, width: int) -> Content:
    """The sections as a table with bars, then the counts."""
    name_width = max(len(name) for name, _ in state.sections)
    most = max(tokens for _, tokens in state.sections)
    room = max(4, width - name_width - 15)
    lines: list[Content] = []
    for name, tokens in state.sections:
        share = figures.percent(tokens, state.tokens)
        drawn = figures.bar(tokens, most, room)
        lines.append(
            Content.assemble(
                name.ljust(name_width + 1),
                (figures.tokens(tokens).rjust(6), "bold" if tokens else "$foreground-muted"),
                (share.rjust(6), "$foreground-muted"),
                (f" {drawn}", "$primary"),
            )
        )
    window = f" of {figures.tokens(state.window)}" if state.window else ""
    lines.append(
        Content.styled(
            f"{'estimate'.ljust(name_width + 1)}{figures.tokens(state.tokens).rjust(6)}{window}", "$foreground-muted"
        )
    )
    if state.usage is not None:
        lines += [
            Content(""),
            counted("This request", state.usage),
            counted("All requests" if state.requests != 1 else "1 request so far", state.total),
        ]
    return Content("\n").join(lines)


def counted(title: str, usage: Usage) -> Content:
    """What a provider counted, in two lines, or three where a cache was used."""
    lines = [f"  {figures.tokens(usage.input)} in · {figures.tokens(usage.output)} out"]
    if usage.cache_read or usage.cache_write:
        lines.append(f"  cache {figures.tokens(usage.cache_read)} · written {figures.tokens(usage.cache_write)}")
    return Content.assemble((f"{title}\n", "bold"), ("\n".join(lines), "$foreground-muted"))
