"""The agents list as drawn in the sidebar: its order, and the look of each agent.

Agents that wait for the person come first, children below their parents, ended ones last. Pure; sanitises text that
programs chose. No line is wider than the pane, so that a click hits the right agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args

import msgspec
from msgspec.structs import replace
from rich.cells import cell_len
from textual.content import Content

from gshtui.ui.agents.agents_state import AgentsState, AgentView
from gshtui.ui.kit import figures
from gshtui.ui.kit.themes import STATUS_SIGNS

ENDED_SHOWN = 4
"""How many ended agents with nothing new to read are listed."""


Only = Literal["all", "waiting", "working", "idle", "ended"]
FILTERS: tuple[Only, ...] = get_args(Only)
"""The kinds of agents that can be listed alone, in the order of the key."""


class AgentPlace(msgspec.Struct, frozen=True):
    """An agent in the list.

    Args:
        depth: how many listed agents are above it.
        last: whether it is its parent's last.
        group: the folder whose first agent it is; empty: it is not the first, or there are no groups.
    """

    agent: AgentView
    depth: int = 0
    last: bool = True
    group: str = ""


class AgentListing(msgspec.Struct, frozen=True):
    """The listed agents in order, and how many are left out: ended ones, those of other folders and archived ones."""

    placed: tuple[AgentPlace, ...] = ()
    ended: int = 0
    elsewhere: int = 0
    archived: int = 0


def list_agents(
    state: AgentsState, *, everything: bool = False, only: Only = "all", grouped: bool = False
) -> AgentListing:
    """The agents in order.

    Args:
        everything: include other folders and all ended agents.
        only: the kind of agents to list.
        grouped: put the agents of one folder together, under its name.
    """
    kept = [agent for agent in state.agents.values() if everything or not agent.archived]
    here = [agent for agent in kept if everything or agent.row.home in ("", state.home)]
    archived = sum(agent.archived and agent.row.home == state.home for agent in state.agents.values())
    old = [agent for agent in here if agent.ended and not agent.row.unread and not agent.waits_for_you]
    hidden = set[str]() if everything else {agent.id for agent in sorted(old, key=_since)[ENDED_SHOWN:]}
    hidden = set[str]() if only == "ended" else hidden
    shown = [agent for agent in here if agent.id not in hidden and _is_kind(agent, only)]
    placed = _groups(shown) if grouped else _tree(shown)
    ended = len(hidden) if only == "all" else 0
    return AgentListing(placed, ended, len(kept) - len(here), 0 if everything else archived)


def _is_kind(agent: AgentView, only: Only) -> bool:
    match only:
        case "waiting":
            return agent.waits_now
        case "working":
            return not agent.ended and not agent.waits_now and agent.status in ("starting", "thinking", "tool")
        case "idle":
            return not agent.ended and not agent.waits_now and agent.status in ("idle", "quiet")
        case "ended":
            return agent.ended
        case _:
            return True


def _groups(agents: list[AgentView]) -> tuple[AgentPlace, ...]:
    """The agents by folder; the folder with the most urgent agent first."""
    folders: dict[str, list[AgentView]] = {}
    for agent in agents:
        folders.setdefault(agent.row.worktree or agent.row.cwd or agent.row.home, []).append(agent)
    trees = {folder: _tree(mine) for folder, mine in folders.items()}
    ordered = sorted(trees, key=lambda folder: _urgency(trees[folder][0].agent))
    return tuple(
        replace(place, group=folder if number == 0 else "")
        for folder in ordered
        for number, place in enumerate(trees[folder])
    )


def _urgency(agent: AgentView) -> int:
    return 0 if agent.waits_now else 2 if agent.ended else 1


def _since(agent: AgentView) -> float:
    return -agent.since


def _tree(agents: list[AgentView]) -> tuple[AgentPlace, ...]:
    ids = {agent.id for agent in agents}
    below: dict[str, list[AgentView]] = {}
    for agent in agents:
        parent = agent.row.parent if agent.row.parent in ids and agent.row.parent != agent.id else ""
        below.setdefault(parent, []).append(agent)
    urgent: dict[str, int] = {}

    def urgency(agent: AgentView) -> int:
        if agent.id not in urgent:
            urgent[agent.id] = 2 if agent.ended else 1  # against a circle of parents
            own = 0 if agent.waits_for_you else urgent[agent.id]
            urgent[agent.id] = min([own, *(urgency(child) for child in below.get(agent.id, ()))])
        return urgent[agent.id]

    placed: list[AgentPlace] = []
    seen: set[str] = set()

    def take(parent: str, depth: int) -> None:
        children = sorted(below.get(parent, ()), key=urgency)
        for number, agent in enumerate(children, 1):
            if agent.id not in seen:
                seen.add(agent.id)
                placed.append(AgentPlace(agent, depth, number == len(children)))
                take(agent.id, depth + 1)

    take("", 0)
    for agent in agents:  # who has only each other for parents
        if agent.id not in seen:
            seen.add(agent.id)
            placed.append(AgentPlace(agent))
            take(agent.id, 1)
    return tuple(placed)


FULL = 3
"""Up to this many agents are drawn in full; more are drawn in three lines each, or in one where those do not fit."""
_METER = 5
_ROOM = 3
"""Cells below which nothing is said behind a name."""
_INDENT = 2
_DEEPEST = 4
_MUTED = "$foreground-muted"


def draw_agents(
    listing: AgentListing, width: int, now: float, chosen: str = "", height: int = 0
) -> tuple[list[Content], list[str]]:
    """The lines of the list, and the id of each line's agent (empty between agents).

    Args:
        now: seconds since the epoch.
        chosen: the agent under the cursor; empty if the pane is not focused.
        height: rows of the pane; a list that is longer has one line for each agent. 0: any number.
    """
    full = sum(not placed.agent.ended for placed in listing.placed) <= FULL
    lines, owners = _draw_list(listing, width, now, chosen, "full" if full else "short")
    if height and len(lines) > height:
        lines, owners = _draw_list(listing, width, now, chosen, "line")
    return lines, owners


def _draw_list(
    listing: AgentListing, width: int, now: float, chosen: str, size: Size
) -> tuple[list[Content], list[str]]:
    lines: list[Content] = []
    owners: list[str] = []
    for placed in listing.placed:
        agent = placed.agent
        apart = size == "full" or (size == "short" and not placed.depth)
        if lines and (placed.group or (apart and not (agent.ended and owners[-1]))):
            lines.append(Content())
            owners.append("")
        if placed.group:
            lines.append(Content.styled(_folder(placed.group, width), f"bold {_MUTED}"))
            owners.append("")
        own = draw_agent(placed, width, now, size=size, chosen=agent.id == chosen)
        lines += own
        owners += [agent.id] * len(own)
    for words in _left_out(listing):
        apart = [] if size == "line" else [Content()]
        lines += [*apart, Content.styled(words, _MUTED).truncate(width, ellipsis=True)]
        owners += [""] * (len(apart) + 1)
    return lines, owners


def _folder(path: str, width: int) -> str:
    """A folder's path, from its end where there is little room."""
    shown = _clean(path)
    return shown if len(shown) <= width else "…" + shown[-max(1, width - 1) :]


def _left_out(listing: AgentListing) -> list[str]:
    parts: list[str] = []
    if listing.ended:
        parts.append(f"{listing.ended} more ended")
    if listing.elsewhere:
        parts.append(f"{listing.elsewhere} elsewhere")
    if listing.archived:
        parts.append(f"{listing.archived} archived")
    return [f"{' · '.join(parts)} · e shows all"] if parts else []


Size = Literal["full", "short", "line"]


def draw_agent(
    placed: AgentPlace, width: int, now: float, *, size: Size = "full", chosen: bool = False
) -> list[Content]:
    """One agent in lines of at most `width` cells."""
    agent = placed.agent
    age = figures.age(max(0.0, now - agent.since)) if agent.since else ""
    left = f"{max(0.0, agent.killed_until - now):.0f} s" if agent.killed_until else ""
    return list(_lines(placed, width, age, left, size, chosen))


@lru_cache(maxsize=512)
def _lines(placed: AgentPlace, width: int, age: str, left: str, size: Size, chosen: bool) -> tuple[Content, ...]:
    """Cached, because a long list is drawn several times a second.

    Args:
        age: how long its status has lasted, in words.
        left: how long a kill can be undone.
    """
    agent = placed.agent
    depth = min(placed.depth, _DEEPEST)
    indent = " " * (_INDENT * (depth - 1)) + ("└ " if depth else "")
    room = max(8, width - len(indent))
    head = _head(agent, room, age, chosen, _in_short(agent, left) if size == "line" else Content())
    if size == "line" or (agent.ended and not agent.waits_for_you):
        rest = []
    else:
        rest = [line.truncate(room - 2, ellipsis=True) for line in _rest(agent, left, size == "full", room - 2)]
    lines = [Content.assemble(indent, head)]
    bar = Content.styled("▌ ", "$primary") if chosen else Content("  ")
    lines += [Content.assemble(" " * len(indent), bar, line) for line in rest]
    if chosen:
        lines = [_padded(line, width).stylize_before("$chosen") for line in lines]
    return tuple(lines)


def _padded(line: Content, width: int) -> Content:
    return Content.assemble(line, " " * max(0, width - line.cell_length))


def _in_short(agent: AgentView, left: str) -> Content:
    """Its state where it has one line: what needs the person, or else what it is doing."""
    if left:
        return Content.styled(f"killed · u · {left}", "$error")
    if agent.waits_now:
        return Content.assemble(("needs you", "bold $warning"), f" {_clean(agent.row.doing)}".rstrip())
    return Content.styled("" if agent.ended else _clean(agent.row.doing), _MUTED)


def _head(agent: AgentView, width: int, age: str, chosen: bool, doing: Content) -> Content:
    sign, colour = STATUS_SIGNS[agent.status]
    marks = f"{agent.row.unread} new " if agent.row.unread else ""
    if agent.ended:
        marks = f"{agent.status} {marks}"
    tail = Content.assemble((marks, "$warning" if agent.row.unread else _MUTED), (age, _MUTED))
    name = Content.styled(_clean(agent.row.name), "bold underline" if chosen else "bold")
    name = name.truncate(max(4, width - 3 - tail.cell_length), ellipsis=True)
    room = width - 4 - name.cell_length - tail.cell_length
    if doing.cell_length and room > _ROOM:
        name = Content.assemble(name, " ", doing.truncate(room, ellipsis=True))
    gap = " " * max(1, width - 2 - name.cell_length - tail.cell_length)
    return Content.assemble((f"{sign} ", colour), name, gap, tail).truncate(width, ellipsis=True)


def _rest(agent: AgentView, left: str, full: bool, width: int) -> list[Content]:
    _, colour = STATUS_SIGNS[agent.status]
    doing = _clean(agent.row.doing)
    status = Content.styled(agent.status, colour)
    if agent.row.needs_you and agent.terminal:
        before = "" if agent.status == "waiting" else f"{agent.status} · "
        status = Content.assemble((before, colour), ("needs you", "bold $warning"))
    source = "" if agent.row.status_source == "event" else f" · by {agent.row.status_source}"  # else it says so itself
    lines = [Content.assemble(status, (source, _MUTED))]
    if not full and doing and not agent.killed_until:
        lines = [Content.assemble(status, f" · {doing}")]
    if left:
        lines = [Content.styled(f"killed · u to undo · {left}", "$error")]
    elif full and doing:
        lines.append(Content(doing))
    if waits := agent.queued + len(agent.messages):
        what = "message" if agent.terminal else "prompt"
        why = f": {_clean(agent.row.held_up)}" if agent.row.held_up else ""
        lines.append(Content.styled(f"{waits} {what}{'s' if waits > 1 else ''} waiting{why}", "$warning"))
    mode = _clean(agent.row.mode_words) or (f"{agent.mode} mode" if agent.mode not in (None, "ask") else "")
    model = _clean(agent.model)
    kinds = [
        " · ".join(word for word in (_clean(agent.made_of), name, mode) if word) for name in (model, _short_name(model))
    ]
    kind = kinds[0]
    if full and kind:
        lines.append(Content.styled(_longest_that_fits(kinds, width), _MUTED))
    if agent.row.exceeds and not agent.ended:
        lines.insert(1, Content.styled(mode, "bold $warning"))
    spent = spending(agent)
    if full:
        spent = _longest_that_fits((spent, spending(agent, window=False)), width)
        lines.append(Content.assemble(*_meter(agent, width - len(spent)), (spent, _MUTED)))
    else:
        lines.append(Content.styled(" · ".join(filter(None, (spent, kind))), _MUTED))
    return lines


def _meter(agent: AgentView, room: int) -> list[tuple[str, str]]:
    """A bar for how full its context is, if there is room."""
    if room <= _METER or not agent.row.window or not agent.row.context:
        return []
    bar = figures.bar(min(agent.row.context, agent.row.window), agent.row.window, _METER)
    colour = "$warning" if agent.row.context > 0.85 * agent.row.window else "$primary"
    return [(bar, colour), (f"{'─' * (_METER - len(bar))} ", _MUTED)]


def _short_name(model: str) -> str:
    """The model's name without what runs it, behind it in brackets, or else without its maker's, which comes first."""
    name, runs_it, _ = model.partition(" (")
    return name if runs_it else model.partition(" ")[2] or model


def _longest_that_fits(wordings: Sequence[str], width: int) -> str:
    """The first of these that fits, the longest first; none does: the last, which is cut."""
    return next((words for words in wordings if cell_len(words) <= width), wordings[-1])


def spending(agent: AgentView, *, window: bool = True) -> str:
    """Tokens in the context, of how many where there is room for that, and money spent, in words."""
    if agent.row.kind == "cli" and not agent.row.tokens and not agent.row.context:
        return "cost unknown"
    estimate = "" if agent.exact or not agent.row.context else "~"
    size = f"/{figures.tokens(agent.row.window)}" if agent.row.window and window else ""
    cost = figures.dollars(agent.known_cost, known=agent.cost_known)
    return f"{estimate}{figures.tokens(agent.row.context)}{size} · {cost}"


def _clean(text: str) -> str:
    from gshtui.text.sanitise import one_line

    return one_line(text, 200)
