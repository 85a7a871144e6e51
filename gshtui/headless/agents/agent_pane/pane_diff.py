"""A change as lines of an agent's own pane: numbers, signs, and the words that differ, as the window has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import LiteralString

from gshtui.guard.approval.question_text import digits_of, numbered, question_rows
from gshtui.headless.agents.agent_pane.pane_style import DIM, GREEN, RED, styled
from gshtui.text.diff_rows import DiffRow, change_at, changed_words, diff_rows, partner_in
from gshtui.text.sanitise import CleanText, clean_text, plain

_MOST = 40
_REVERSED = "7"


def diff_lines(diff: str) -> list[CleanText]:
    """A unified diff, cut to fit a pane. The file is named where there are several: the call names a single one."""
    if not diff:
        return []
    rows = list(diff_rows(plain(diff)))
    if sum(row.kind == "file" for row in rows) == 1:
        rows = [row for row in rows if row.kind != "file"]
    if rows and rows[0].kind == "hunk" and not rows[0].text:
        del rows[0]
    shown = _lines(rows, _MOST)
    more = sum(row.changed for row in rows[_MOST:])
    return [*shown, styled(f"  … {more} more changed {'line' if more == 1 else 'lines'}", DIM)] if more else shown


def change_asked(diff: str, subject: str, most: int) -> list[CleanText]:
    """The change that a question is about, in at most `most` lines and a count of the others."""
    rows = question_rows(diff, subject)
    more = len(rows) - most
    return [*_lines(rows, most), *([styled(f"  … {more:,} more lines", DIM)] if more > 0 else [])]


def _lines(rows: Sequence[DiffRow], most: int) -> list[CleanText]:
    digits = digits_of(rows)
    return [_line(rows, at, digits) for at in range(min(len(rows), most))]


def _line(rows: Sequence[DiffRow], at: int, digits: int) -> CleanText:
    row = rows[at]
    text = numbered(row, digits).expandtabs(4)
    if not row.changed:
        return styled(f"  {text}".rstrip(), "1" if row.kind == "file" else DIM)
    colour = GREEN if row.kind == "added" else RED
    if "\t" in row.text:  # what differs is counted in characters
        return styled(f"  {text}", colour)
    head = styled(f"  {text[: digits + 3]}", colour)
    return clean_text(head, *_marked(row.text, _differing(rows, at), colour))


def _differing(rows: Sequence[DiffRow], at: int) -> list[range]:
    """The characters of a changed row that its other version does not have."""
    other = partner_in(change_at(rows, at), at)
    if other is None:
        return []
    removed, added = sorted((at, other))
    before, after = changed_words(rows[removed].text, rows[added].text)
    return before if at == removed else after


def _marked(text: str, marks: Sequence[range], colour: LiteralString) -> list[CleanText]:
    parts: list[CleanText] = []
    here = 0
    for mark in marks:
        parts += [styled(text[here : mark.start], colour), styled(text[mark.start : mark.stop], colour, _REVERSED)]
        here = mark.stop
    return [*parts, styled(text[here:], colour)]
