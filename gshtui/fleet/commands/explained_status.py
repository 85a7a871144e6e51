"""Why an agent has its status, for people and for scripts: what each source says, and on which grounds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gshtui.commands.declaration import Invocation, Outcome
from gshtui.fleet.core import agent_tables
from gshtui.fleet.core.agent_calls import ExplainedStatus
from gshtui.text.markdown_table import bare_columns, cell
from gshtui.text.markdown_table import table as made_table
from gshtui.text.sanitise import literal, one_line

if TYPE_CHECKING:
    from gshtui.programs.status.evidence import Evidence


def explained_status(_invocation: Invocation, found: ExplainedStatus) -> Outcome:
    """The answer of `agent explain`."""
    row, known = found.row, found.known
    program = agent_tables.program_words(row)
    data: dict[str, Any] = {
        "agent": row.id,
        "name": row.name,
        "program": row.profile,
        "version": row.version,
        "version_seen": row.version_seen,
        "version_checked": row.version_checked,
        "mode": row.mode_words,
        "listed": {"status": row.status, "source": row.status_source, "age_s": agent_tables.status_age(row)},
    }
    listed = f"**{row.name}** ({row.id}) is listed as {cell(agent_tables.status_words(row))}."
    if known is None:
        why = "It does not run." if row.ended else "It tells its status by its own events."
        why = why if row.ended or row.speaks_events else "Its terminal could not be looked at."
        text = f"{listed} {why}"
        return Outcome(data | {"sources": [], "silent": [], "disagreements": []}, text, plain=bare_columns(text))
    from gshtui.programs.status.disagreements import parted, sentence

    now = time.time()
    apart = [sentence(*pair, now) for pair in parted(known.evidences)]
    sources = [
        {
            "rank": int(one.rank),
            "source": one.source,
            "status": one.status,
            "sure": one.sure,
            "age_s": _age(one.at, now),
            "read_s": _age(one.confirmed, now),
            "doing": one_line(one.doing),
            "why": one_line(one.why),
            "taken": one.source == known.source,
        }
        for one in known.evidences
    ]
    data |= {
        "status": known.status,
        "source": known.source,
        "sure": known.sure,
        "age_s": _age(known.at, now),
        "doing": one_line(known.doing),
        "followed": found.followed,
        "sources": sources,
        "silent": [{"source": source, "why": why} for source, why in found.silent],
        "disagreements": apart,
        "files": list(found.files),
    }
    head = ("source", "rank", "says", "for", "why")
    rows = [_table_row(one, taken=one.source == known.source, now=now) for one in known.evidences]
    rows += [(source, "", "nothing", "", why) for source, why in found.silent]
    table = made_table(head, rows, right=(1, 3))
    mark = "" if known.sure else "?"
    taken = f"Now: {known.status}{mark} by its {known.source}, for {_age(known.at, now):.0f} s."
    if known.status == "quiet":
        taken += " It seems to rest, and nothing shows that its turn is over."
    lines = [listed, f"Program: {program}." if program else "", taken]
    lines += [f"Mode: {cell(literal(one_line(row.mode_words)))}"] if row.mode_words else []
    lines += [f"They part: {cell(literal(one))}." for one in apart]
    lines += [] if found.followed else ["Another process follows it, or none: this was one look of its own."]
    words = "\n".join(line for line in lines if line)
    read = [f"- {cell(literal(one_line(file, 300)))}" for file in found.files]
    files = ["", "Read for it:", *read] if read else []
    shown = "\n".join([words, "", table, *files])
    return Outcome(data, shown, plain=bare_columns(shown))


def _table_row(one: Evidence, *, taken: bool, now: float) -> tuple[str, ...]:
    says = one.status if one.sure else f"{one.status}?"
    if one.doing:
        says = f"{says} · {cell(literal(one_line(one.doing, 60)))}"
    source = f"{one.source} ✓" if taken else one.source
    rank, since = str(int(one.rank)), f"{_age(one.at, now):.0f} s"
    return source, rank, says, since, cell(literal(one_line(one.why, 120)))


def _age(at: float, now: float) -> float:
    return round(max(0.0, now - at), 1) if at else 0.0
