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
from rich.segment import Segment
from textual.content import Content

from gshtui.ui.agents.agents_state import AgentsState, AgentView
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.drawing.themes import STATUS_SIGNS
from gshtui.ui.kit.widgets.fitted_text import fit_middle, fit_paths
from gshtui.ui.kit.widgets.list_rows import TableColumn, aligned, column, heading_line, room_left, table_width

ENDED_SHOWN = 4
"""How many ended agents with nothing new to read are listed."""


Kind = Literal["waiting", "working", "idle", "ended"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""What an agent can be, as a word to filter by."""


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
    needing: int = 0
    """How many of those of other folders wait for the person."""


def list_agents(
    state: AgentsState, *, everything: bool = False, words: str = "", grouped: bool = False
) -> AgentListing:
    """The agents in order.

    Args:
        everything: include other folders and all ended agents.
        words: list only agents that have each of these in their name, state, program, task or place.
        grouped: put the agents of one folder together, under its name.
    """
    kept = [agent for agent in state.agents.values() if everything or not agent.archived]
    here = [agent for agent in kept if everything or agent.row.home in ("", state.home)]
    archived = sum(agent.archived and agent.row.home == state.home for agent in state.agents.values())
    old = [agent for agent in here if agent.ended and not agent.row.unread and not agent.waits_for_you]
    hidden = set[str]() if everything else {agent.id for agent in sorted(old, key=_since)[ENDED_SHOWN:]}
    hidden = set[str]() if words else hidden
    wanted = words.lower().split()
    shown = [agent for agent in here if agent.id not in hidden and _has(agent, wanted)]
    placed = _groups(shown) if grouped else _tree(shown)
    needing = sum(agent.waits_now for agent in kept) - sum(agent.waits_now for agent in here)
    return AgentListing(placed, len(hidden), len(kept) - len(here), 0 if everything else archived, needing)


def _has(agent: AgentView, words: Sequence[str]) -> bool:
    """Whether each word is part of what is known of the agent; a kind stands for the agents of this kind."""
    row = agent.row
    known = (row.name, row.id, row.status, row.doing, row.model, agent.made_of, row.worktree or row.cwd, row.group)
    text = "\n".join((*known, *(kind for kind in KINDS if _is_kind(agent, kind)))).lower()
    return all(word in text for word in words)


def _is_kind(agent: AgentView, kind: Kind) -> bool:
    match kind:
        case "waiting":
            return agent.waits_now
        case "working":
            return not agent.ended and not agent.waits_now and agent.status in figures.WORKING
        case "idle":
            return not agent.ended and not agent.waits_now and agent.status in ("idle", "quiet")
        case "ended":
            return agent.ended


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


COLUMNS = 58
"""Cells from which on each fact has a column of its own, with a heading: those of the pane in a window of 60."""
_NEW = " new"
"""Behind how many reports nobody has read."""
_ASKING = 2
"""Agents that need the person, of whom each has a second row for its question; of more, each says it in its one row
where the pane has no rows to spare.
"""
_SPARE, _LONGEST = 8, 13
"""Rows that are free below a list of which more have a second row, for what is said of the chosen one; and the most
that such a list has.
"""
_LEAST_NAME = 16
"""Cells of a name that has no room alone, from which on how the agent is has the rest of its row."""
_WISH = "wants to "
"""How our own agents' questions begin, which the sign says, too."""
_TASK = 9
"""Cells below which nothing is said behind a state."""
_TASK_COLUMN = 24
"""Cells of the task's column below which further columns are left out."""
_INDENT = 2
_DEEPEST = 4
_MUTED = "$foreground-muted"


def draw_agents(
    listing: AgentListing, width: int, now: float, chosen: str = "", rows: int = 0
) -> tuple[list[Content], list[str]]:
    """The lines of the list, and the id of each line's agent (empty: nobody's): one line each, and a second for few who
    need the person. Of the chosen one, all is said below the list.

    Args:
        now: seconds since the epoch.
        chosen: the agent under the cursor; empty if the pane is not focused.
        rows: of the pane; what a wide list leaves of them shows the end of what the chosen one said last.
    """
    lines: list[Content] = []
    owners: list[str] = []
    # Where long names leave no room for columns, each row says what it has room for.
    columns = _columns(listing, width, now) if width >= COLUMNS and listing.placed else ()
    if columns:
        lines.append(heading_line(columns).truncate(width))
        owners.append("")
    names, short = (0, False) if columns else _narrow(listing, width, now)
    asking = sum(placed.agent.waits_now for placed in listing.placed)
    listed = len(listing.placed) + asking
    spare = listed <= min(_LONGEST, rows - _SPARE)
    few = spare or (asking <= _ASKING and not columns)
    for placed in listing.placed:
        agent = placed.agent
        if placed.group:
            lines.append(Content.styled(_folder(placed.group, width), f"bold {_MUTED}"))
            owners.append("")
        left = f"{max(0.0, agent.killed_until - now):.0f} s" if agent.killed_until else ""
        own = _lines(placed, width, age_of(agent, now), left, columns, names, short, few, agent.id == chosen)
        lines += own
        owners += [agent.id] * len(own)
    below = [Content.styled(words, _MUTED).truncate(width, ellipsis=True) for words in _left_out(listing, width)]
    marked = next((one.agent for one in listing.placed if one.agent.id == chosen), None)
    if marked is not None:
        below += _details(marked, width, now, rows - len(lines) - len(below))
    if columns and marked is not None:
        below += _last_words(marked, width, rows - len(lines) - len(below) - 1)
    return [*lines, *below], [*owners, *[""] * len(below)]


def _last_words(agent: AgentView, width: int, room: int) -> list[Content]:
    """The end of its last answer."""
    if room < 1 or not agent.row.report:
        return []
    from gshtui.text.sanitise import plain  # not before the first letter
    from gshtui.ui.kit.drawing.styled_lines import wrapped

    said = plain("\n".join(agent.row.report.strip().splitlines()[-room:]))
    lines = wrapped([Segment(said)], width)[-room:]
    return [Content(), *(Content(line.text) for line in lines)]


def age_of(agent: AgentView, now: float) -> str:
    """How long it has been in its state."""
    return figures.age_in(agent.status, agent.since, now)


def _folder(path: str, width: int) -> str:
    """A folder's path, from its end where there is little room."""
    shown = _clean(path)
    return shown if len(shown) <= width else "…" + shown[-max(1, width - 1) :]


def _left_out(listing: AgentListing, width: int) -> list[str]:
    needing = f" ({listing.needing} waiting)" if listing.needing else ""
    counts = (
        (listing.ended, f"{listing.ended} more ended"),
        (listing.elsewhere, f"{listing.elsewhere} elsewhere{needing}"),
        (listing.archived, f"{listing.archived} archived"),
    )
    if not (said := " · ".join(words for count, words in counts if count)):
        return []
    short = f"{sum(count for count, _ in counts)} more{needing}"
    wordings = [f"{words} · e{key}" for words in (said, short) for key in (" to show all", ": all")]
    return [_longest_that_fits(wordings, width)]


@lru_cache(maxsize=512)
def _lines(
    placed: AgentPlace,
    width: int,
    age: str,
    left: str,
    columns: tuple[TableColumn, ...],
    names: int,
    short: bool,
    few: bool,
    chosen: bool,
) -> tuple[Content, ...]:
    """Cached, because a long list is drawn several times a second.

    Args:
        age: how long its status has lasted, in words.
        left: how long a kill can be undone.
        columns: of a wide list; empty: it is a narrow one.
        names: the cells of the names in a narrow one.
        short: a narrow one tells how many are new by a number alone.
        few: what an agent asks has a row of its own, in a wide one if its column has no room for it.
    """
    agent = placed.agent
    indent, task = _indent(placed), _task(agent, left)
    asks = few and agent.waits_now and task and (not columns or cell_len(task) > columns[3].width)
    if columns:
        cells = _cells(agent, age, left, indent, "" if asks else task, chosen)
        cells[3] = [(fit_paths(text, columns[3].width), look) for text, look in cells[3]]
        lines = [Content.assemble(*aligned(cells, columns, "")).truncate(width, ellipsis=True)]
    else:
        room = max(8, width - len(indent))
        state = Content.assemble(*_state(agent, left))
        state = Content("") if agent.waits_now and task and not few else state
        head = _head(agent, room, age, names - len(indent), short, chosen, state, "" if asks else task)
        lines = [Content.assemble(indent, head)]
    if asks:
        lines.append(Content(f"{' ' * len(indent)}  {fit_paths(task, width - len(indent) - 2)}"))
    if agent.row.exceeds and not agent.ended:
        lines.append(
            Content.styled(f"  {_clean(agent.row.mode_words)}", "bold $warning").truncate(width, ellipsis=True)
        )
    if chosen:
        lines = [line.pad_right(max(0, width - line.cell_length)).stylize_before("$chosen") for line in lines]
    return tuple(lines)


def _sign(agent: AgentView) -> tuple[str, str]:
    """Its sign and the colour of that: one that rests may wait for its person, too."""
    return STATUS_SIGNS["waiting" if agent.waits_now else "done" if agent.finished else agent.status]


def _state(agent: AgentView, left: str) -> list[tuple[str, str]]:
    """How it is, in styled words."""
    _, colour = STATUS_SIGNS[agent.status]
    if left:
        return [(f"killed · u · {left}", "$error")]
    if agent.waits_now:
        return [("needs you", "bold $warning")]
    if agent.row.held_up:
        colour = "$warning"
    elif agent.finished:
        colour = STATUS_SIGNS["done"][1]
    state, dot, more = agent.state_words.partition(" · ")
    return [(state, colour), (f"{dot}{more}", "$primary" if more.endswith(_NEW) else colour)]


def _task(agent: AgentView, left: str) -> str:
    """What it does or asks, why its turn failed, else what it said last; empty: its state says it all."""
    if left:
        return ""
    asked = agent.row.question if agent.waits_now and agent.row.unsent is None else None
    if asked is not None and (line := asked.line) != asked.subject:
        return _clean(line)
    if agent.waits_now:
        return _clean(agent.row.about or agent.row.said).removeprefix(_WISH)
    if agent.status == "idle" and agent.row.kind != "cli" and agent.row.doing:
        return _clean(agent.row.doing)
    return _clean(agent.row.about if agent.row.about and not agent.ended else agent.row.said)


def _indent(placed: AgentPlace) -> str:
    depth = min(placed.depth, _DEEPEST)
    return " " * (_INDENT * (depth - 1)) + ("└ " if depth else "")


def _narrow(listing: AgentListing, width: int, now: float) -> tuple[int, bool]:
    """Of a narrow list: the cells of the names, so that states begin in one column, and whether the count of what is
    new is told in short, as it is for all where one has no room. 0: there is no room for a column.
    """
    agents = [placed.agent for placed in listing.placed]
    states = [Content.assemble(*_state(one, "")) for one in agents]
    called = [len(_indent(one)) + cell_len(_clean(one.agent.row.name)) for one in listing.placed]
    names = max(called, default=0)
    first = max((cell_len(state.plain.partition(" · ")[0]) for state in states), default=0)
    ages = [cell_len(age_of(one, now)) for one in agents]
    if 2 + names + 1 + first + 1 + max(ages, default=0) > width:
        names = 0
    rows = zip(called, states, ages, strict=True)
    short = any(
        state.plain.endswith(_NEW) and 2 + max(names, name) + 1 + state.cell_length + 1 + age > width
        for name, state, age in rows
    )
    return names, short


def _head(
    agent: AgentView, width: int, age: str, names: int, brief: bool, chosen: bool, said: Content, task: str
) -> Content:
    """The one line of a narrow list: the name, how it is, the age, and what else there is room for. The age gives way
    to the name, then how it is, which the sign says at least; the name only where it has no room alone, and then to
    both. Nothing `said`: the agent waits for the person with this `task`.
    """
    sign, colour = _sign(agent)
    tail = Content.styled(age, _MUTED)
    called, words = _clean(agent.row.name), said.plain.partition(" · ")[0]
    state, none, room = said[: len(words)], Content(""), width - 2
    is_new = agent.row.unread and not agent.finished
    news = Content.styled(f"+{agent.row.unread}", "$primary") if is_new else none
    short = Content.assemble(state, " ", news) if news else state
    if brief and said.plain.endswith(_NEW):
        said = short
    wordings = ((said, tail), (short, tail), (state, tail), (short, none), (state, none), (news, none), (none, none))
    least = max(names, cell_len(called)) if cell_len(called) <= room else _LEAST_NAME
    lengths = ((one, end, sum(part.cell_length + bool(part) for part in (one, end))) for one, end in wordings)
    whole = ((one, end) for one, end, length in lengths if length + least <= room)
    said, tail = next(whole, (none, none))
    room -= sum(part.cell_length + bool(part) for part in (said, tail))
    name = Content.styled(fit_middle(called, max(1, room)), f"bold{' underline' * chosen}")
    if said.cell_length or task:
        name = name.pad_right(max(0, min(room, names) - name.cell_length))
    room -= name.cell_length
    if task and room >= _TASK and not words:
        said = Content.styled(task, "$warning").truncate(room - 1, ellipsis=True)
    elif task and room >= _TASK:
        said = Content.assemble(said, (f" · {task}", _MUTED)).truncate(said.cell_length + room, ellipsis=True)
    if said.cell_length:
        name = Content.assemble(name, " ", said)
    gap = " " * (width - 2 - name.cell_length - tail.cell_length)
    return Content.assemble((f"{sign} ", colour), name, gap, tail).truncate(width, ellipsis=True)


def _columns(listing: AgentListing, width: int, now: float) -> tuple[TableColumn, ...]:
    agents = [placed.agent for placed in listing.placed]
    states = ["".join(text for text, _ in _state(one, "60 s" if one.killed_until else "")) for one in agents]
    deepest = _INDENT * max(min(placed.depth, _DEEPEST) for placed in listing.placed)
    names = [" " * deepest + _clean(agent.row.name) for agent in agents]
    around = [
        column("state", [f"○ {state}" for state in [*states, "needs you"]]),
        column("name", names),
        column("program", [_program(agent) for agent in agents] if width >= 80 else (), 16),
        column("branch", [_branch(agent) for agent in agents] if width >= 100 else (), 16),
        column("cost", [_cost(agent) for agent in agents], 8, right=True),
        column("age", [age_of(agent, now) for agent in agents], 7, right=True),
    ]
    for optional in (3, 2, 4):  # names are whole before these, and so is most of a task
        if room_left(around, width) < _TASK_COLUMN:
            around[optional] = TableColumn(0)
    task = TableColumn(room_left(around, width), heading="task or last line")
    columns = (*around[:3], task, *around[3:])
    return columns if table_width(columns) <= width else ()


def _cells(agent: AgentView, age: str, left: str, indent: str, task: str, chosen: bool) -> list[list[tuple[str, str]]]:
    sign, colour = _sign(agent)
    return [
        [(f"{sign} ", colour), *_state(agent, left)],
        [(indent, ""), (_clean(agent.row.name), "bold underline" if chosen else "bold")],
        [(_program(agent), _MUTED)],
        [(task, "")],
        [(_branch(agent), _MUTED)],
        [(_cost(agent), _MUTED)],
        [(age, _MUTED)],
    ]


def _program(agent: AgentView) -> str:
    return _clean(agent.made_of) or _short_name(_clean(agent.model))


def _branch(agent: AgentView) -> str:
    return _clean(agent.worktree).rstrip("/").rpartition("/")[2]


def _cost(agent: AgentView) -> str:
    """What it has cost, where that is known."""
    silent = agent.row.kind == "cli" and not agent.row.tokens
    return "" if silent or not agent.has_model else figures.money(agent.known_cost, known=agent.cost_known)


def _details(agent: AgentView, width: int, now: float, room: int) -> list[Content]:
    """All that is known of the agent under the cursor: what it is made of, how that is known, what it has used; whole
    where there are as many rows.
    """
    mode = _clean(agent.row.mode_words) or (f"{agent.mode} mode" if agent.mode not in (None, "ask") else "")
    model = _clean(agent.model)
    kinds = [
        " · ".join(word for word in (_clean(agent.made_of), name, mode) if word) for name in (model, _short_name(model))
    ]
    facts = [_longest_that_fits(kinds, width)] if kinds[0] else []
    source = "" if agent.row.status_source == "event" else f", by {agent.row.status_source}"
    facts.append(" · ".join(filter(None, (f"{agent.state}{source}", age_of(agent, now), _clean(agent.row.doing)))))
    if waits := agent.queued + len(agent.messages):
        why = f": {_clean(agent.row.held_up)}" if agent.row.held_up else ""
        facts.append(f"{f'{waits} prompts' if waits > 1 else 'prompt'} not sent{why}")
    if spent := spending(agent):
        facts.append(_longest_that_fits((spent, spending(agent, window=False)), width))
    lines = [line for fact in facts for line in Content.styled(fact, _MUTED).wrap(width)]
    if len(lines) >= room:
        lines = [Content.styled(fact, _MUTED).truncate(width, ellipsis=True) for fact in facts]
    return [Content(), *lines]


def _short_name(model: str) -> str:
    """The model's name without what runs it, behind it in brackets, or else without its maker's, which comes first."""
    name, runs_it, _ = model.partition(" (")
    return name if runs_it else model.partition(" ")[2] or model


def _longest_that_fits(wordings: Sequence[str], width: int) -> str:
    """The first of these that fits, the longest first; none does: the last, which is cut."""
    return next((words for words in wordings if cell_len(words) <= width), wordings[-1])


def spending(agent: AgentView, *, window: bool = True) -> str:
    """Tokens in the context, of how many where there is room for that, and money spent, in words; empty: unknown."""
    if not agent.has_model or (agent.row.kind == "cli" and not agent.row.tokens and not agent.row.context):
        return ""
    estimate = "" if agent.exact or not agent.row.context else "~"
    size = f" of {figures.tokens(agent.row.window)}" if agent.row.window and window else ""
    cost = figures.money(agent.known_cost, known=agent.cost_known)
    return " · ".join(filter(None, (f"{estimate}{figures.tokens(agent.row.context)}{size} tokens", cost)))


def _clean(text: str) -> str:
    from gshtui.text.sanitise import one_line

    return one_line(text, 200)
