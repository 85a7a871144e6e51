"""What is shown under a call without opening it: its change, the end of its output, or why it failed; in brief, no more
than a failed one's last word. How many lines there are is in the call's own row. Called by `tool_blocks.py`.
"""

from __future__ import annotations

import re
from typing import Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from gshtui.text.diff_rows import DiffRow, compact_rows, diff_path, first_rows
from gshtui.text.sanitise import plain
from gshtui.text.styled_text import styled
from gshtui.ui.kit.drawing.diff_lines import diff_lines, is_split
from gshtui.ui.kit.drawing.page import Page, Palette
from gshtui.ui.kit.drawing.styled_lines import StyledLine, wrapped
from gshtui.ui.kit.transcript.entries import ToolEntry, ToolGroup, ToolStatus, only_looks

_PRINTED = 12
"""Rows of output shown under a person's command."""
ERROR_ROWS = 10
"""Rows of an error that are shown."""
_CHANGE = 6
"""A change's rows for each row of an output: one that an agent makes at once is mostly shown whole."""
_INDENT = 4
_WIDEST = 600
"""Maximum characters of a row that is wrapped."""
Wrapping = Literal["", "words", "cells"]
"""Where a row that is too long goes on: nowhere, behind a word, or at the edge as in a terminal."""
FAILED: frozenset[ToolStatus] = frozenset(("error", "denied", "timeout", "lost"))
_NO_OUTPUT = "(no output)"
_NOTE = re.compile(r"\[.*\]$")
"""A line of ours behind an output, such as its exit code."""


def size(count: int) -> str:
    """A number of bytes for people: `812 B`, `4.1 kB`, `50 MB`."""
    if count < 1_000:
        return f"{count} B"
    amount, unit = (count / 1_000, "kB") if count < 1_000_000 else (count / 1_000_000, "MB")
    return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"


def text_runs(text: str, look: Style, palette: Palette) -> list[Segment]:
    """Output as segments, in the colours that its escapes ask for; `look`: where they ask for none."""
    return [Segment(span.text.expandtabs(4), palette.programs.style(span.style, look)) for span in styled(text)]


def sent_of(tool: ToolEntry) -> str:
    """How much of a cut output is in the entry: `24 kB of 115 kB`; empty: all of it."""
    if not tool.cut:
        return ""
    return f"{size(min(tool.bytes, len(tool.output.encode(errors='replace'))))} of {size(tool.bytes)}"


def result_rows(tool: ToolEntry, most: int, *, brief: bool = False) -> int:
    """Estimates the rows of `result_lines`, from the end of the text alone."""
    failed = tool.status in FAILED
    if isinstance(tool, ToolGroup):
        return sum(1 + result_rows(call, most, brief=True) for call in tool.troubled)
    if brief and not tool.by_person:
        return int(failed and bool(tool.output))
    if (only_looks(tool) or tool.output == _NO_OUTPUT) and not failed:
        return 0
    if tool.diff and not failed:
        remarks = min(2 * most, tool.output.count("\n", 0, 4_000))
        return min(_CHANGE * most + 1, tool.diff.count("\n", 0, 4_000)) + remarks
    wanted = output_rows(tool, most)
    return min(wanted + tool.cut, tool.output.count("\n", max(0, len(tool.output) - 4_000)) + bool(tool.output))


def output_rows(tool: ToolEntry, most: int, *, brief: bool = False) -> int:
    """The most rows of its output that are shown. `most`: of a call that went well."""
    if tool.by_person:
        return _PRINTED
    if tool.status in FAILED:
        return 1 if brief else ERROR_ROWS
    return 0 if brief or only_looks(tool) else most


def result_lines(tool: ToolEntry, page: Page, *, brief: bool = False) -> list[StyledLine]:
    """The lines under a call that is not opened."""
    failed = tool.status in FAILED
    if isinstance(tool, ToolGroup) or (only_looks(tool) and not failed):
        return []
    palette, most = page.palette, page.result_lines
    inner = page.narrower(_INDENT)
    look = palette.error if failed and tool.status != "denied" else palette.muted
    bar = Segment("  │ ", palette.rule)
    if tool.by_person:
        lines = _piece(tool, most, palette.text, inner, wraps="cells")
    elif brief:
        word = _last_word(tool) if failed else ""
        return [line.behind(bar) for line in _row(word, look, inner)] if word else []
    elif failed:
        lines = _piece(tool, most, look, inner, wraps="words")
    elif not most or (tool.status == "asked" and not tool.diff):
        return []
    elif tool.diff:
        lines = [*_change(tool.diff, inner), *_remarks(tool, 2 * most, inner)]
    else:
        lines = _piece(tool, most, palette.faint if tool.live else palette.muted, inner)
    if tool.cut and not tool.live and not tool.diff and lines:
        lines = [cut_line(tool, inner), *lines]
    return [line.behind(bar) for line in lines]


def shows_whole_change(tool: ToolEntry, page: Page) -> bool:
    """Whether the lines under a call that is not opened hold all that it changes."""
    return bool(page.result_lines and tool.diff) and not _shortened(tool.diff, page.narrower(_INDENT))[1]


def printed_rows(tool: ToolEntry) -> list[str]:
    """The rows of an output: not that there is none, nor the exit code that the call's row says."""
    rows = tool.output.strip("\n").split("\n")
    rows = rows[1:] if rows[0] == _NO_OUTPUT else rows
    return [row for row in rows if not row.startswith("[exit code: ")] if tool.word else rows


def _last_word(tool: ToolEntry) -> str:
    """The row of an output that says most: a program's last one, any other call's first."""
    rows = [row for row in printed_rows(tool) if any(map(str.isalnum, plain(row)))]
    if "command" not in tool.arguments:
        rows = rows[:1]
    return next((row for row in reversed(rows) if not _NOTE.match(row)), rows[-1] if rows else "")


def _shortened(diff: str, page: Page) -> tuple[list[DiffRow], int]:
    """The rows of a change that are shown, and how many changed ones are not."""
    rows = compact_rows(diff)
    return first_rows(rows, _CHANGE * page.result_lines, split=is_split(rows, page))


def _change(diff: str, page: Page) -> list[StyledLine]:
    rows, left = _shortened(diff, page)
    lines = diff_lines(rows, page, diff_path(diff))
    if left:
        words = f"… {left:,} more changed line{'s' if left > 1 else ''} below"
        lines.append(StyledLine([Segment(words, page.palette.faint)]))
    return lines


def _remarks(tool: ToolEntry, most: int, page: Page) -> list[StyledLine]:
    """What is said of a change below the line that says what was changed, such as problems that it brought."""
    lines: list[StyledLine] = []
    rows = tool.output.strip("\n").split("\n", most + 1)[1 : most + 1]
    for row in rows:
        bad = row.startswith("│") and " error: " in row
        lines += _row(row, page.palette.error if bad else page.palette.muted, page, wraps="words")
    return lines


def _piece(tool: ToolEntry, most: int, look: Style, page: Page, *, wraps: Wrapping = "") -> list[StyledLine]:
    """The rows of the output that are shown: its last ones; the first of an error that no command printed."""
    count = output_rows(tool, most)
    begins = tool.status in FAILED and not tool.by_person and "command" not in tool.arguments
    rows = printed_rows(tool)[:count] if begins else printed_rows(tool)[-count:]
    return [line for row in rows for line in _row(row, look, page, wraps=wraps)] if any(map(str.strip, rows)) else []


def cut_line(tool: ToolEntry, page: Page) -> StyledLine:
    """The line across an output that was shortened: how much of it the model got."""
    palette = page.palette
    words = f" the model got {sent_of(tool)}"
    keys = "" if tool.by_person else " · r: receipt"
    keys = keys if cell_len(words + keys) + 5 <= page.width else ""
    rule = "─" * max(0, page.width - cell_len(words + keys) - 3)
    return StyledLine(
        [
            Segment("──", palette.rule),
            Segment(words, palette.muted),
            Segment(keys, palette.faint),
            Segment(f" {rule}", palette.rule),
        ]
    )


def _row(row: str, look: Style, page: Page, *, wraps: Wrapping = "") -> list[StyledLine]:
    if wraps:
        shown = row if len(row) <= _WIDEST else f"{row[:_WIDEST]}…"
        return wrapped(text_runs(shown, look, page.palette), page.width, hard=wraps == "cells")
    runs = text_runs(row[:_WIDEST], look, page.palette)
    lines = wrapped(runs, page.width, hard=True)
    if len(lines) == 1 and len(row) <= _WIDEST:
        return lines
    first = wrapped(runs, page.width - 1, hard=True)[0]
    return [StyledLine((*first.segments, Segment("…", look)))]


def gist_rows(text: str) -> list[str]:
    """The rows of a text that say something."""
    return [row.strip() for row in plain(text).split("\n") if row.strip()]
