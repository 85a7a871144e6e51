"""The lines at the head of an inspector: whose request this is and which, how large it is, and what it cost.

Pure: state in, content out. Called by the inspector's tab.
"""

from __future__ import annotations

import time

from textual.content import Content

from gshtui.bus.context import Iteration
from gshtui.context.views import ContextView
from gshtui.guard.sanitise import one_line
from gshtui.ui.context.inspector_state import InspectorState
from gshtui.ui.kit import figures
from gshtui.ui.kit.meter import meter, sign

METER = 24


def title(state: InspectorState, name: str, width: int) -> Content:
    """Two lines."""
    view = state.view
    who = Content.styled(one_line(name, 40), "bold $primary")
    if view is None:
        return Content.assemble(
            who, (f"  {state.problem or 'Reading …'}", "$warning" if state.problem else "$foreground-muted")
        )
    first = Content.assemble(
        who, f" · {which(state)}", (_comparison(state), "$warning"), (f" · {view.model}", "$foreground-muted")
    )
    if state.problem:
        return Content("\n").join([first, Content.styled(state.problem, "$warning")])
    return Content("\n").join([first.truncate(max(8, width), ellipsis=True), size(view, width)])


def which(state: InspectorState) -> str:
    """Which request this is, in words."""
    count = len(state.iterations)
    one = state.view.iteration if state.view is not None else None
    if one is None:
        coming = f" · answer so far ~{figures.tokens(state.streamed // 4)}" if state.streamed else ""
        return f"the next request, {count} sent{coming}"
    at = time.strftime("%H:%M:%S", time.localtime(one.at)) if one.at else ""
    return f"request {state.place + 1} of {count}{f' at {at}' if at else ''}"


def _comparison(state: InspectorState) -> str:
    if state.mode == "request":
        return " · as sent" if state.request is None or state.request.exact else " · about as sent"
    if state.other is None:
        return ""
    one = state.other.iteration
    numbers = [iteration.id for iteration in state.iterations]
    if state.other.agent != state.agent:
        return f" · against {one_line(state.other.agent, 24)}"
    if one is None:
        return " · against the next request"
    return f" · against request {numbers.index(one.id) + 1}" if one.id in numbers else " · against an older request"


def size(view: ContextView, width: int) -> Content:
    """The meter, the estimate and what the provider counted, as much of it as there is room for."""
    used = counted(view.iteration) or view.expected or view.tokens
    parts = [Content.assemble(meter(used, view.window, view.trigger, METER), " ")] if view.window and width > 60 else []
    window = f" of {figures.tokens(view.window)} ({figures.percent(used, view.window)})" if view.window else ""
    parts.append(Content(f"{figures.tokens(used)}{window}{sign(used, view.window, view.trigger)}"))
    facts = [f"compacts at {figures.tokens(view.trigger)}" if view.trigger else "", estimate(view)]
    one = view.iteration
    if one is not None:
        facts += [figures.dollars(one.cost) if one.cost is not None else "", one_line(one.error, 60)]
        facts.append("the cached beginning broke" if one.broken_by else "")
    told = "".join(f" · {fact}" for fact in facts if fact)
    return Content("").join([*parts, Content.styled(told, "$foreground-muted")]).truncate(max(8, width), ellipsis=True)


def counted(iteration: Iteration | None) -> int:
    """What the provider counted as input; 0: it has not."""
    usage = iteration.usage if iteration is not None else None
    return usage.input + usage.cache_read + usage.cache_write if usage is not None else 0


def estimate(view: ContextView) -> str:
    """The estimate beside the count, with its error."""
    exact = counted(view.iteration)
    if exact:
        off = 100 * (view.tokens - exact) / exact
        return f"counted by the provider; the estimate was {figures.tokens(view.tokens)} ({off:+.0f} %)"
    if view.error is not None:
        return f"estimated; so far {100 * abs(view.error):.0f} % off"
    return "estimated"
