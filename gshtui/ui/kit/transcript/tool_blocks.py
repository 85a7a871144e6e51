"""Draws tool calls, thoughts and outcomes of commands: a line and the result when folded; all of it when opened.

Owns the look of both; runs nothing. Called by `sheet.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import islice

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from gshtui.text.diff_rows import DiffRow, diff_counts, diff_path, diff_rows
from gshtui.text.markdown_table import unmarked_line
from gshtui.text.sanitise import one_line, plain
from gshtui.text.units import counted, duration
from gshtui.ui.kit.drawing.diff_lines import diff_lines
from gshtui.ui.kit.drawing.page import Page, Palette
from gshtui.ui.kit.drawing.styled_lines import StyledLine, wrapped
from gshtui.ui.kit.transcript.call_results import (
    gist_rows,
    output_rows,
    printed_rows,
    result_lines,
    sent_of,
    size,
    text_runs,
)
from gshtui.ui.kit.transcript.entries import OutcomeEntry, ThoughtEntry, ToolEntry, ToolGroup
from gshtui.ui.kit.transcript.entry_blocks import EntryBlock, pieces
from gshtui.ui.kit.transcript.markdown_splitter import ROWS

_SIGNS = {
    "asked": "○",
    "running": "◐",
    "ok": "✓",
    "error": "✗",
    "denied": "⊘",
    "cancelled": "■",
    "timeout": "◷",
    "lost": "?",
}
_WORDS = {"asked": "waiting", "running": "running", "error": "failed", "timeout": "timed out"}
_LONG = 160


def tool_blocks(tool: ToolEntry, *, opened: bool, brief: bool = False) -> list[EntryBlock]:
    """The blocks of a call: its line, all details when open, and the pictures that it has drawn. `brief`: if it is not
    open, no more of its result than a failed one's last word."""
    if isinstance(tool, ToolGroup):
        return _group_blocks(tool, opened)
    header = EntryBlock(partial(_header, tool, opened, brief), tool.subject or tool.name, toggles=True)
    blocks = [header, *_opened(tool)] if opened else [header]
    if tool.pictures:
        from gshtui.ui.kit.transcript.picture_blocks import picture_blocks  # few calls draw any

        blocks += picture_blocks(tool)
    return blocks


def _group_blocks(group: ToolGroup, opened: bool) -> list[EntryBlock]:
    """The row of the calls; below it those with trouble, or all with what they gave."""
    blocks = [EntryBlock(partial(_header, group, opened, True), group.subject, toggles=True)]
    for call in group.calls if opened else group.troubled:
        blocks.append(EntryBlock(partial(_header, call, opened, True), call.subject))
        blocks += _opened(call) if opened else ()
    return blocks


def thought_header(thought: ThoughtEntry, *, opened: bool) -> EntryBlock:
    """The line of a thought, followed by its text when open."""
    return EntryBlock(partial(_thought, thought, opened), thought.text, toggles=True)


def outcome_header(outcome: OutcomeEntry, *, opened: bool) -> EntryBlock:
    """The line of an outcome, followed by its text when open."""
    return EntryBlock(partial(_outcome, outcome, opened), outcome.text, toggles=True)


def _look(tool: ToolEntry, palette: Palette) -> Style:
    if tool.status == "ok":
        return palette.ok
    if tool.status in ("error", "timeout", "lost"):
        return palette.error
    if tool.status == "asked":
        return palette.warning
    return palette.muted if tool.status in ("denied", "cancelled") else palette.marker


def _header(tool: ToolEntry, opened: bool, brief: bool, page: Page) -> list[StyledLine]:
    palette = page.palette
    look = _look(tool, palette)
    left = [
        Segment(f"{_SIGNS[tool.status]} ", look),
        Segment(one_line(tool.name, 40), palette.tool),
        Segment(f" {one_line(tool.subject, 400)}" if tool.subject else "", palette.muted),
    ]
    lines = [_ends(left, _meta(tool, opened, brief, page), page)]
    if not opened:
        lines += result_lines(tool, page, brief=brief)
    return lines


def _meta(tool: ToolEntry, opened: bool, brief: bool, page: Page) -> list[Segment]:
    """The right end: change, size, whether it ran in the sandbox, status word, duration, and whether it is open."""
    palette = page.palette
    parts: list[list[Segment]] = []
    if tool.diff:
        added, removed = diff_counts(tool.diff)
        parts.append(
            [Segment(f"+{added}", palette.ok), Segment(" ", palette.text), Segment(f"-{removed}", palette.error)]
        )
    elif tool.cut:
        parts.append([Segment(size(tool.bytes), palette.faint)])
    elif tool.output.strip() and not (tool.live or isinstance(tool, ToolGroup)):
        count = len(printed_rows(tool))
        if count > output_rows(tool, page.result_lines, brief=brief):
            parts.append([Segment(counted(count, "line"), palette.faint)])
    if tool.sandboxed:
        parts.append([Segment("sandbox", palette.faint)])
    if tool.status != "ok":
        parts.append([Segment(tool.word or _WORDS.get(tool.status, tool.status), _look(tool, palette))])
    if tool.duration >= 0.05:
        parts.append([Segment(duration(tool.duration), palette.faint)])
    parts.append([Segment("▾" if opened else "▸", palette.faint)])
    meta: list[Segment] = []
    for part in parts:
        meta += [Segment(" ", palette.text), *part] if meta else part
    return meta


def _ends(left: list[Segment], right: list[Segment], page: Page) -> StyledLine:
    """One line with a left and a right end; the left one is cut where they would overlap."""
    space = page.palette.text
    taken = sum(cell_len(segment.text) for segment in right)
    room = max(4, page.width - taken - 1)
    out: list[Segment] = []
    for segment in left:
        cells = cell_len(segment.text)
        if cells > room:
            if room > 0:
                out.append(Segment(set_cell_size(segment.text, room - 1).rstrip() + "…", segment.style))
            room = 0
            break
        if segment.text:
            out.append(segment)
        room -= cells
    used = sum(cell_len(segment.text) for segment in out)
    spare = page.width - taken - used
    if spare < 1:
        return StyledLine(out)
    return StyledLine([*out, Segment(" " * spare, space), *right])


def _opened(tool: ToolEntry) -> Iterator[EntryBlock]:
    inputs = _arguments(tool)
    if inputs:
        for at, piece in enumerate(pieces(inputs)):
            yield EntryBlock(partial(_section, "input" if not at else "", piece, False), piece, goes_on=bool(at))
    if tool.diff:
        rows = diff_rows(tool.diff)
        at = 0
        while part := list(islice(rows, ROWS)):
            copied = tool.diff if not at else ""
            yield EntryBlock(partial(_diff, part, diff_path(tool.diff), not at), copied, goes_on=bool(at))
            at += 1
    if tool.output.strip():
        name = f"output, {sent_of(tool)}" if tool.cut else "output"
        for at, piece in enumerate(pieces(tool.output.rstrip())):
            yield EntryBlock(partial(_section, name if not at else "", piece, True), piece, goes_on=bool(at))
    elif not tool.live:
        yield EntryBlock(partial(_section, "no output", "", False), "")


def _arguments(tool: ToolEntry) -> str:
    """The arguments as text, one per line; long ones that the diff shows anyway by length only."""
    rows: list[str] = []
    for name, value in tool.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if tool.diff and len(text) > _LONG:
            rows.append(f"{name}: {len(text):,} characters, see the diff")
        elif "\n" in text:
            rows.append(f"{name}:\n" + "\n".join(f"  {row}" for row in text.split("\n")))
        else:
            rows.append(f"{name}: {text}")
    return "\n".join(rows)


def _section(name: str, text: str, coloured: bool, page: Page) -> list[StyledLine]:
    palette = page.palette
    bar = Segment("  │ ", palette.rule)
    inner = page.narrower(4)
    lines = [StyledLine([Segment(name, palette.faint)]).behind(Segment("  ╷ ", palette.rule))] if name else []
    if not text:
        return lines
    runs = text_runs(text, palette.muted, palette) if coloured else [Segment(plain(text).expandtabs(4), palette.muted)]
    return lines + [line.behind(bar) for line in wrapped(runs, inner.width, hard=coloured)]


def _diff(rows: list[DiffRow], path: str, first: bool, page: Page) -> list[StyledLine]:
    bar = Segment("  │ ", page.palette.rule)
    top = [StyledLine([Segment("diff", page.palette.faint)]).behind(Segment("  ╷ ", page.palette.rule))]
    return [*(top if first else []), *(line.behind(bar) for line in diff_lines(rows, page.narrower(4), path))]


def _thought(thought: ThoughtEntry, opened: bool, page: Page) -> list[StyledLine]:
    palette = page.palette
    if thought.live:
        words = "Thinking…"
    else:
        words = f"Thought for {duration(thought.seconds)}" if thought.seconds >= 0.05 else "Thought"
    left = [Segment("✻ ", palette.faint), Segment(words, palette.muted)]
    if not opened:
        left.append(Segment(f"  {_gist(thought)}", palette.faint))
    return [_ends(left, [Segment("▾" if opened else "▸", palette.faint)], page)]


def _outcome(outcome: OutcomeEntry, opened: bool, page: Page) -> list[StyledLine]:
    palette = page.palette
    sign, look = ("✗ ", palette.error) if outcome.failed else ("› ", palette.marker)
    left = [Segment(sign, look), Segment(one_line(outcome.line, 200), palette.tool)]
    if not opened:
        rows = outcome.text.count("\n") + 1
        gist = f"{rows:,} lines" if rows > 1 else one_line(unmarked_line(outcome.text), 200)
        left.append(Segment(f"  {gist}", palette.faint))
    return [_ends(left, [Segment("▾" if opened else "▸", palette.faint)], page)]


def _gist(thought: ThoughtEntry) -> str:
    """The line to show of a folded thought: the last one while it streams, else the first."""
    part = thought.text[-400:] if thought.live else thought.text[:400]
    rows = gist_rows(part)
    return one_line(rows[-1 if thought.live else 0].strip("*# "), 200) if rows else ""
