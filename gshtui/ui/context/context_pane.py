"""The context pane: what the model was last sent, by section, with tokens, shares and the provider's count.

`ContextState` is a pure reducer over events and the record; the pane owns the drawing, the cursor and the keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from msgspec.structs import replace
from textual import events
from textual.binding import BindingType
from textual.content import Content

from gshtui.bus.context_data import Iteration
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ContextAssembled, ModelChanged, UsageReported
from gshtui.bus.events.context_events import ContextCut, ContextTuned, CutUndone
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.messages import Usage
from gshtui.text import units
from gshtui.ui.context.context_host import ContextRow, ContextWanted
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.drawing.figures import context_meter, meter_sign
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.row_actions import row_binding, row_bindings
from gshtui.ui.kit.widget_messages import ForContext
from gshtui.ui.kit.widgets.side_pane import Pane

CONSUMED: tuple[type[Event], ...] = (
    ContextAssembled,
    ContextCut,
    ContextTuned,
    CutUndone,
    ModelChanged,
    SessionOpened,
    UsageReported,
)


class ContextState(msgspec.Struct, frozen=True):
    """The context of the agent in front."""

    agent: str
    session: str = ""
    sections: tuple[tuple[str, int], ...] = ()
    """Name and estimated tokens, in the order sent."""
    tokens: int = 0
    """The estimate."""
    expected: int = 0
    """The estimate as the provider would count it; 0: unknown."""
    window: int = 0
    trigger: int = 0
    """Tokens at which a compaction starts; 0: unknown."""
    modelless: bool = False
    """No model is connected: a window, a trigger and a count would be nobody's."""
    iteration: int = 0
    usage: Usage | None = None
    """The provider's count for this assembly; `None`: not yet."""
    total: Usage = msgspec.field(default_factory=Usage)
    requests: int = 0
    broken_by: str = ""
    """The block at which the provider's cache broke; empty: none, or unknown."""
    chosen: str = ""
    """The section under the cursor; empty: none."""

    @property
    def rows(self) -> tuple[tuple[str, int], ...]:
        """The sections that hold something: the others have no row."""
        return tuple(row for row in self.sections if row[1]) or self.sections

    @property
    def used(self) -> int:
        """The best known size: the provider's count, else the estimate as it would count."""
        return self.usage.context if self.usage is not None else self.expected or self.tokens

    @property
    def sent(self) -> int:
        """The provider's count of the input; 0: none yet."""
        usage = self.usage
        return usage.input + usage.cache_read + usage.cache_write if usage is not None else 0

    @property
    def has_meter(self) -> bool:
        return self.window > 0 and not self.modelless


def reduce(state: ContextState, event: Event) -> ContextState:
    """The state after an event; other agents' events change nothing."""
    if getattr(event, "agent", state.agent) != state.agent:
        return state
    match event:
        case ContextAssembled():
            return replace(
                state,
                sections=tuple((section.name, section.tokens) for section in event.sections),
                tokens=event.tokens,
                expected=event.size,
                window=event.window or state.window,
                trigger=event.trigger or state.trigger,
                iteration=event.iteration,
                usage=None,
                broken_by="",
            )
        case ContextCut() | CutUndone() if event.sections:
            sections = tuple((section.name, section.tokens) for section in event.sections)
            tokens = sum(tokens for _, tokens in sections)
            return replace(state, sections=sections, tokens=tokens, expected=event.expected, usage=None)
        case UsageReported():
            usage = event.usage if event.iteration else state.usage
            return replace(state, usage=usage, total=state.total + event.usage, requests=state.requests + 1)
        case ContextTuned():
            return replace(state, trigger=event.trigger or state.trigger)
        case ModelChanged():
            modelless = event.provider == "offline"
            return replace(state, window=event.window or state.window, trigger=0, modelless=modelless)
        case SessionOpened():
            if event.session == state.session:
                return state
            return ContextState(state.agent, session=event.session, window=state.window, modelless=state.modelless)
        case _:
            return state


def restored(state: ContextState, iterations: Sequence[Iteration], session: str) -> ContextState:
    """With the record's data, unless something was sent meanwhile or another conversation is open."""
    if state.requests or (state.session and session != state.session):
        return state
    mine = [one for one in iterations if not session or one.session == session]
    if not mine:
        return state
    last, total = mine[-1], Usage()
    counted = [one.usage for one in mine if one.usage is not None]
    for usage in counted:
        total = total + usage
    if state.sections:  # a request went out before the record was read
        return replace(state, total=total, requests=len(counted))
    return replace(
        state,
        sections=tuple(last.sections),
        tokens=last.tokens,
        window=state.window or last.window,
        trigger=last.trigger if last.window == (state.window or last.window) else state.trigger,
        iteration=last.iteration,
        usage=last.usage,
        total=total,
        requests=len(counted),
        broken_by=last.broken_by,
    )


def chosen(state: ContextState, step: int) -> ContextState:
    """With the cursor on the next section, or the one before."""
    names = [name for name, _ in state.rows]
    if not names:
        return state
    at = names.index(state.chosen) + step if state.chosen in names else 0 if step > 0 else len(names) - 1
    return replace(state, chosen=names[max(0, min(len(names) - 1, at))])


EMPTY = "Nothing has been sent yet: {context.inspect} to see what the model would get."


class ContextPane(Pane):
    """The last assembly of the agent in front."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("context.up", "choose(-1)"),
        bind("context.down", "choose(1)"),
        bind("context.open", "open"),
        row_binding("context.menu"),
        *row_bindings("context"),
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
        """Show the conversation's data from the record."""
        self._become(restored(self.state, iterations, session))

    def _become(self, state: ContextState) -> None:
        if state is not self.state:
            self.state = state
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    @property
    def is_empty(self) -> bool:
        return not self.state.sections

    def _draw(self) -> None:
        self._tell()
        if not self.display or not self.is_mounted:
            return
        state = self.state
        if not state.sections:
            self.show(None)
            return
        content = draw(state, self.columns)
        if content.plain.count("\n") >= self.rows:  # its scroll bar takes a cell
            content = draw(state, self.columns - 1)
        self.show(content)

    def summary(self, width: int) -> Content:
        state = self.state
        if not state.has_meter or not state.sections:
            return Content()
        warns = meter_sign(state.used, state.window, state.trigger)
        size = f"{figures.tokens(state.used)}{warns} of {figures.tokens(state.window)}"
        return self._summed(Content.styled(size, "bold $warning" if warns else ""))

    # Keys and mouse

    def action_choose(self, step: int) -> None:
        self._become(chosen(self.state, step))
        if self.state.chosen:
            at = [name for name, _ in self.state.rows].index(self.state.chosen) + 1
            if not self.scroll_offset.y <= at < self.scroll_offset.y + self.rows:
                self.scroll_to(y=max(0, at - 1), animate=False)

    def action_open(self) -> None:
        self.post_message(ForContext("inspect", self.state.agent, section=self.state.chosen))

    def action_want(self, key: str) -> None:
        self.post_message(ContextWanted(key, ContextRow(self.state.agent)))

    def on_click(self, event: events.Click) -> None:
        row = event.screen_y - self.scrollable_content_region.y + self.scroll_offset.y - self.state.has_meter
        if event.y > 0 and 0 <= row < len(self.state.rows):
            self._become(replace(self.state, chosen=self.state.rows[row][0]))
            self.action_open()
        elif event.y > 0 and row < 0:
            self.post_message(ForContext("inspect", self.state.agent))


def draw(state: ContextState, width: int) -> Content:
    """The meter, the sections as a table with bars, then the counts."""
    name_width = max(len(name) for name, _ in state.sections)
    most = max(tokens for _, tokens in state.rows)
    room = width - name_width - 16  # beside the names and figures; a narrow pane has no bars
    lines: list[Content] = []
    if state.has_meter:
        warns = meter_sign(state.used, state.window, state.trigger)
        size = f" {figures.tokens(state.used)}{warns} of {figures.tokens(state.window)}"
        bar = context_meter(state.used, state.window, state.trigger, max(4, width - len(size)))
        lines.append(Content.assemble(bar, (size, "bold" if warns else "")))
    for name, tokens in state.rows:
        share = units.percent(tokens, state.tokens)
        here = name == state.chosen
        lines.append(
            Content.assemble(
                (f"{'▸' if here else ''}{name}".ljust(name_width + 2), "bold $primary" if here else ""),
                (figures.tokens(tokens).rjust(6), "bold" if tokens else "$foreground-muted"),
                (share.rjust(6), "$foreground-muted"),
                (f" {figures.bar(tokens, most, room)}", "$primary"),
            )
        )
    for name, tokens in _counts(state):
        figure = figures.tokens(tokens).rjust(6)
        lines.append(Content.styled(f"{name.ljust(name_width + 2)}{figure}", "$foreground-muted"))
    if state.trigger and not state.modelless:
        at = f"compacts at {figures.tokens(state.trigger)} ({units.percent(state.trigger, state.window)})"
        lines.append(Content.styled(at, "$foreground-muted"))
    if state.usage is not None and not state.modelless:
        lines += [
            Content(""),
            counted("This request", state.usage, broken=bool(state.broken_by)),
            *([counted("All requests", state.total)] if state.requests != 1 else []),
        ]
    return Content("\n").join(lines)


def _counts(state: ContextState) -> list[tuple[str, int]]:
    """The estimate, and the provider's count where it has several parts."""
    estimate = ("estimated", state.tokens)
    if not state.sent or (state.usage is not None and state.sent == state.usage.input):
        return [estimate]  # the request's own line below says what was counted
    return [estimate, ("actual", state.sent)]


def counted(title: str, usage: Usage, *, broken: bool = False) -> Content:
    """The provider's count in two lines, or three if a cache was used."""
    lines = [f"  {figures.tokens(usage.input)} in · {figures.tokens(usage.output)} out"]
    if usage.cache_read or usage.cache_write:
        state = " · broken" if broken else ""
        lines.append(f"  cache {figures.tokens(usage.cache_read)} · written {figures.tokens(usage.cache_write)}{state}")
    return Content.assemble((f"{title}\n", "bold"), ("\n".join(lines), "$foreground-muted"))
