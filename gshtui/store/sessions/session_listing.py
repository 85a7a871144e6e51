"""Conversations and hits in them as lines of text, safe to print."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from gshtui.store.engine.encoding import visible
from gshtui.store.tables.message_table import SearchHit
from gshtui.store.tables.session_table import SessionInfo
from gshtui.text import cells, markdown_table, units

LabelModel = Callable[[str], str]
"""(a model's id) → how people call it."""
_HEAD = ("number", "id", "age", "messages", "agent", "provider", "model", "cost", "title")


def sessions_text(
    found: Sequence[SessionInfo],
    *,
    folders: bool,
    numbered: bool = False,
    headed: bool = False,
    aloud: bool = False,
    called: Mapping[str, str] = {},
) -> str:
    """One line each: its number, id, age, messages, agent, provider, model, cost, title, and where it is open; with its
    folder if several are shown. `headed`: below headings; `aloud`: as a Markdown table; `called`: how agents and models
    are called, by id.
    """
    rows = [
        (
            *([str(number)] if numbered else []),
            info.id,
            age(info.updated),
            str(info.messages),
            single_line(called.get(info.agent, info.agent)),
            single_line(info.provider) or "-",
            single_line(called.get(info.model, info.model)) or "-",
            "-" if info.cost is None else units.money(info.cost),
            _title(info) + (f"  {single_line(info.cwd)}" if folders else ""),
        )
        for number, info in enumerate(found, start=1)
    ]
    head = _HEAD if numbered else _HEAD[1:]
    if aloud:
        cells_of = ([cell.replace("|", "/") for cell in row] for row in rows)
        return markdown_table.table(head, cells_of)
    if headed and rows:
        rows.insert(0, head)
    sides = (">" if numbered else "") + "<>><<<>"
    widths = [max((cells.width(row[at]) for row in rows), default=0) for at in range(len(sides))]

    def padded(row: Sequence[str], at: int) -> str:
        space = " " * (widths[at] - cells.width(row[at]))
        return row[at] + space if sides[at] == "<" else space + row[at]

    return "\n".join("  ".join([*(padded(row, at) for at in range(len(sides))), row[-1]]) for row in rows)


def details_text(info: SessionInfo, called: Mapping[str, str]) -> str:
    """What is known of a conversation, before what was said in it. `called`: as above."""
    model = " ".join(filter(None, (info.provider, called.get(info.model, info.model))))
    spent = units.money(info.cost) if info.cost is not None else "cost unknown" if info.tokens else ""
    used = ", ".join(filter(None, (f"{info.tokens:,} tokens" if info.tokens else "", spent)))
    when = f"{_when(info.created)}, last used {_when(info.updated)} ({age(info.updated)})"
    rows = (
        ("conversation", f"{info.id}  {_title(info)}"),
        ("agent", called.get(info.agent, info.agent) + (f", started from {info.parent}" if info.parent else "")),
        ("model", model),
        ("folder", info.cwd),
        ("begun", when),
        ("messages", str(info.messages)),
        ("used", used),
    )
    return "\n".join(f"{name:<12}  {single_line(value)}" for name, value in rows if value)


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def hits_text(hits: Sequence[SearchHit]) -> str:
    """Two lines for each: where it is, and the words around it."""
    return "\n".join(
        f"{hit.session} #{hit.seq} {hit.role}, {age(hit.at)}: {single_line(hit.title)}\n    {single_line(hit.excerpt)}"
        for hit in hits
    )


def age(at: float) -> str:
    return units.age(time.time() - at) if at > 0 else "-"


def single_line(text: str) -> str:
    """The text on one line, control characters escaped."""
    return visible(" ".join(text.split()))


def _title(info: SessionInfo) -> str:
    title = single_line(info.title) or "(no title)"
    return f"{title}  [open in {single_line(info.held_by)}]" if info.held_by else title
