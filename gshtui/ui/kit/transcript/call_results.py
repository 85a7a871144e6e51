"""What is shown under a call without opening it: its change, the end of its output, or why it failed.

Says exactly how much is left out, and nothing where nothing is. Called by `tool_blocks.py`.
"""

from __future__ import annotations

from typing import Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from gshtui.text.diff_rows import compact_rows, diff_path
from gshtui.text.sanitise import plain
from gshtui.text.styled_text import styled
from gshtui.ui.kit.drawing.diff_lines import diff_lines
from gshtui.ui.kit.drawing.page import Page, Palette
from gshtui.ui.kit.drawing.styled_lines import StyledLine, wrapped
from gshtui.ui.kit.transcript.entries import ToolEntry, ToolGroup, ToolStatus, only_looks

_PRINTED = 12
"""Rows of output shown under a person's command."""
ERROR_ROWS = 60
"""Rows of an error that are shown; nearly all are shorter."""
_WIDEST = 600
"""Maximum characters of a row that is wrapped."""
Wrapping = Literal["", "words", "cells"]
"""Where a row that is too long goes on: nowhere, behind a word, or at the edge as in a terminal."""
_FAILED: frozenset[ToolStatus] = frozenset(("error", "denied", "timeout", "lost"))


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


def result_rows(tool: ToolEntry, most: int) -> int:
    """Estimates the rows of `result_lines`, from the end of the text alone."""
    if isinstance(tool, ToolGroup):
        return sum(1 + result_rows(call, most) for call in tool.troubled)
    if only_looks(tool) and tool.status not in _FAILED:
        return 0
    if tool.diff and tool.status not in _FAILED:
        remarks = min(2 * most, tool.output.count("\n", 0, 4_000))
        return min(2 * most + 1, tool.diff.count("\n", 0, 4_000)) + remarks
    wanted = ERROR_ROWS if tool.status in _FAILED else _PRINTED if tool.by_person else most
    return min(wanted + 1 + tool.cut, tool.output.count("\n", max(0, len(tool.output) - 4_000)) + bool(tool.output))


def result_lines(tool: ToolEntry, page: Page) -> list[StyledLine]:
    """The lines under a call that is not opened."""
    if isinstance(tool, ToolGroup) or (only_looks(tool) and tool.status not in _FAILED):
        return []
    palette, most = page.palette, page.result_lines
    inner = page.narrower(4)
    if tool.status in _FAILED and not tool.by_person:
        look = palette.warning if tool.status == "denied" else palette.error
        lines = _tail(tool, ERROR_ROWS, look, inner, wraps="words")
    elif tool.by_person:
        lines = _tail(tool, _PRINTED, palette.text, inner, wraps="cells")
    elif not most or tool.status == "asked":
        return []
    elif tool.diff:
        lines = [*_change(tool.diff, 2 * most, inner), *_remarks(tool, 2 * most, inner)]
    else:
        lines = _tail(tool, most, palette.faint if tool.live else palette.muted, inner)
    if tool.cut and not tool.live and not tool.diff and lines:
        lines = [cut_line(tool, inner), *lines]
    bar = Segment("  │ ", palette.rule)
    return [line.behind(bar) for line in lines]


def _change(diff: str, most: int, page: Page) -> list[StyledLine]:
    rows, left = compact_rows(diff, most)
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


def _tail(tool: ToolEntry, most: int, look: Style, page: Page, *, wraps: Wrapping = "") -> list[StyledLine]:
    """The last rows of the output, and how many are above."""
    text = tool.output.strip("\n")
    if not text.strip():
        return []
    rows = text.rsplit("\n", most)
    above = rows[0].count("\n") + 1 if len(rows) > most else 0
    if above == 1:  # it takes no more room than the words about it
        above = 0
    lines: list[StyledLine] = []
    if above:
        rows = rows[1:]
        words = "…" if tool.live else f"… {above:,} more lines above"  # while it runs only the end is here
        lines.append(StyledLine([Segment(words, page.palette.faint)]))
    for row in rows:
        lines += _row(row, look, page, wraps=wraps)
    return lines


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


def _row(row: str, look: Style, page: Page, *, wraps: Wrapping) -> list[StyledLine]:
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
