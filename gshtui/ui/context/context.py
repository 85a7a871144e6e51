"""The context pane: what the model was last sent, by section, with tokens and shares, and what the provider counted.

Owns the drawing, the cursor over sections and the keys; the state is `context_state`'s. Fed by the bridge; what is
opened or done is said upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace
from textual import events
from textual.binding import BindingType
from textual.content import Content

from gshtui.bus.context import Iteration
from gshtui.bus.event import Event
from gshtui.bus.messages import Usage
from gshtui.ui.context import context_state as states
from gshtui.ui.context.context_state import CONSUMED, ContextState, reduce
from gshtui.ui.kit import figures
from gshtui.ui.kit.bindings import bind
from gshtui.ui.kit.messages import ForContext
from gshtui.ui.kit.meter import meter, sign
from gshtui.ui.kit.pane import Pane

EMPTY = (
    "Nothing has been sent yet.\n\nWith the first prompt you see here what the model receives: every section with its "
    "tokens and its share of the window, then what the provider counted."
)


class ContextPane(Pane):
    """The last assembly of the agent in front."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("context.up", "choose(-1)"),
        bind("context.down", "choose(1)"),
        bind("context.open", "open"),
        *(bind(f"context.{name}", f"act('{name}')") for name in ("compact", "prune", "clear", "tune", "what_if")),
    ]

    def __init__(self, agent: str = "main") -> None:
        super().__init__("context", "Context", 4, EMPTY)
        self.state = ContextState(agent)

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        state = self.state
        for event in events:
            state = reduce(state, event)
        self._become(state)

    def restore(self, iterations: Sequence[Iteration], session: str) -> None:
        """Show what the record holds of the conversation."""
        self._become(states.restored(self.state, iterations, session))

    def _become(self, state: ContextState) -> None:
        if state is not self.state:
            self.state = state
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
        self.label(figures.percent(state.used, state.window) if state.window else "")
        content = draw(state, self.columns)
        if content.plain.count("\n") >= self.rows:  # its scroll bar takes a cell
            content = draw(state, self.columns - 1)
        self.show(content)

    # Keys and mouse

    def action_choose(self, step: int) -> None:
        self._become(states.chosen(self.state, step))
        if self.state.chosen:
            at = [name for name, _ in self.state.sections].index(self.state.chosen) + 1
            if not self.scroll_offset.y <= at < self.scroll_offset.y + self.rows:
                self.scroll_to(y=max(0, at - 1), animate=False)

    def action_open(self) -> None:
        self.post_message(ForContext("inspect", self.state.agent, section=self.state.chosen))

    def action_act(self, action: str) -> None:
        self.post_message(ForContext(action, self.state.agent))

    def on_click(self, event: events.Click) -> None:
        row = event.screen_y - self.scrollable_content_region.y + self.scroll_offset.y - bool(self.state.window)
        if event.y > 0 and 0 <= row < len(self.state.sections):
            self._become(replace(self.state, chosen=self.state.sections[row][0]))
            self.action_open()
        elif event.y > 0 and row < 0:
            self.post_message(ForContext("inspect", self.state.agent))


def draw(state: ContextState, width: int) -> Content:
    """The meter, the sections as a table with bars, then the counts."""
    name_width = max(len(name) for name, _ in state.sections)
    most = max(tokens for _, tokens in state.sections)
    room = max(4, width - name_width - 16)
    lines: list[Content] = []
    if state.window:
        warns = sign(state.used, state.window, state.trigger)
        size = f" {figures.tokens(state.used)}{warns} of {figures.tokens(state.window)}"
        bar = meter(state.used, state.window, state.trigger, max(4, width - len(size)))
        lines.append(Content.assemble(bar, (size, "bold" if warns else "")))
    for name, tokens in state.sections:
        share = figures.percent(tokens, state.tokens)
        here = name == state.chosen
        lines.append(
            Content.assemble(
                (f"{'▸' if here else ''}{name}".ljust(name_width + 2), "bold $primary" if here else ""),
                (figures.tokens(tokens).rjust(6), "bold" if tokens else "$foreground-muted"),
                (share.rjust(6), "$foreground-muted"),
                (f" {figures.bar(tokens, most, room)}", "$primary"),
            )
        )
    for name, tokens, note in _counts(state):
        figure = figures.tokens(tokens).rjust(6)
        lines.append(Content.styled(f"{name.ljust(name_width + 2)}{figure}{note}", "$foreground-muted"))
    if state.trigger:
        at = f"compacts at {figures.tokens(state.trigger)} ({figures.percent(state.trigger, state.window)})"
        lines.append(Content.styled(at, "$foreground-muted"))
    if state.usage is not None:
        lines += [
            Content(""),
            counted("This request", state.usage, broken=bool(state.broken_by)),
            counted("All requests" if state.requests != 1 else "1 request so far", state.total),
        ]
    return Content("\n").join(lines)


def _counts(state: ContextState) -> list[tuple[str, int, str]]:
    """The estimate, and what the provider counted beside it."""
    if not state.sent:
        return [("estimate", state.tokens, "")]
    off = 100 * (state.tokens - state.sent) / state.sent
    told = f"{off:+.0f} %".rjust(7) if abs(off) < 1_000 else ""  # a provider that counts something else
    return [("estimate", state.tokens, told), ("counted", state.sent, "")]


def counted(title: str, usage: Usage, *, broken: bool = False) -> Content:
    """What a provider counted, in two lines, or three where a cache was used."""
    lines = [f"  {figures.tokens(usage.input)} in · {figures.tokens(usage.output)} out"]
    if usage.cache_read or usage.cache_write:
        state = " · it broke" if broken else ""
        lines.append(f"  cache {figures.tokens(usage.cache_read)} · written {figures.tokens(usage.cache_write)}{state}")
    return Content.assemble((f"{title}\n", "bold"), ("\n".join(lines), "$foreground-muted"))
