"""An agent's events, answer, changes and questions as lines of its own pane: sanitised text in a few colours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import LiteralString

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    PromptQueued,
    PromptWithdrawn,
    ProviderRetried,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.hub_events import FaultReported, Noticed
from gshtui.bus.loop_faults import in_words
from gshtui.guard.approval import question_text
from gshtui.guard.approval.answer_keys import Offer, line_of, list_of
from gshtui.guard.approval.question_text import DECISIONS, LineKind, QuestionLine, digits_of, numbered, question_rows
from gshtui.headless.agents.agent_pane.pane_markdown import AnswerLayout, MarkdownLines
from gshtui.text import cells, units
from gshtui.text.diff_rows import DiffRow, change_at, changed_words, diff_rows, first_rows, partner_in
from gshtui.text.sanitise import CleanText, clean_lines, clean_text, coloured, one_line, plain

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"


def styled(text: str, *codes: LiteralString) -> CleanText:
    """The text, sanitised, in colours of our own; with `NO_COLOR`, only in bold and the like."""
    if os.environ.get("NO_COLOR"):
        codes = tuple(code for code in codes if len(code) == 1)
    return coloured(text, *codes)


_LOW = 16
"""Rows of a pane below which the answers are on one line."""
_PROMPT_LINES, _QUESTION_LINES, _DIFF_LINES = 20, 60, 40
_REVERSED = "7"
_COLOURS: dict[LineKind, tuple[LiteralString, ...]] = {
    "warning": (RED,),
    "pattern": (DIM,),
    "add": (GREEN,),
    "remove": (RED,),
    "hunk": (DIM,),
    "context": (DIM,),
}


def lines_of(event: Event) -> list[CleanText]:
    """The lines that an event adds to the transcript; most add none."""
    match event:
        case TurnStarted():
            return [clean_text(), *_block(event.text, _PROMPT_LINES, BOLD, CYAN, first="› ")]
        case PromptQueued():
            return [styled(f"({'held' if event.held else 'waits'}) {one_line(event.text)}", DIM)]
        case PromptWithdrawn():
            return [styled(f"(not sent) {one_line(event.text)}", DIM)]
        case ToolStarted():
            return [clean_text(), _tool_line(event)]
        case ToolFinished():
            return _tool_ended(event)
        case ProviderRetried():
            return [styled(f"{one_line(event.why)} Again in {event.wait:.0f} s.", YELLOW)]
        case ApprovalSettled():
            said = DECISIONS.get(event.decision, event.decision)
            why = f": {one_line(event.reason)}" if event.reason and event.decision == "deny" else ""
            return [styled(f"  {said}{why}", GREEN if event.decision in ("once", "session", "always") else RED)]
        case Noticed():
            words = f"! {one_line(event.text, 500)} {one_line(event.hint, 300)}".rstrip()
            return [styled(words, RED if event.level == "error" else YELLOW if event.level == "warning" else DIM)]
        case FaultReported(shown=False):
            return [styled(one_line(f"! {' '.join(in_words(event))}", 800), YELLOW)]
        case TurnFinished():
            return _turn_ended(event)
        case _:
            return []


def question_keys(offered: Sequence[Offer], waiting: int, width: int, height: int) -> list[CleanText]:
    """How the current question can be answered: a list, or one line in a low pane. `waiting`: with this question."""
    count = f" · 1 of {waiting}" if waiting > 1 else ""
    if height < _LOW:
        tail = f" · and enter{count}"
        return [plain(line_of(offered, width - len(tail)) + tail)]
    return [*clean_lines(plain(list_of(offered, width))), plain(f"  its number and enter answers{count}")]


def question_lines(event: ApprovalRequested, name: str = "") -> list[CleanText]:
    """A question, with a count of the lines that do not fit. `name`: of who asks."""
    parts = question_text.question_parts(event)
    diff, tail = parts.diff, parts.tail
    shown = _words(question_text.shortened(parts.above_change, _QUESTION_LINES))
    if diff:
        shown += [clean_text(), *change_asked(diff, event.subject, _QUESTION_LINES)]
    shown += [*([clean_text()] if tail else []), *_words(tail)]
    return [clean_text(), styled(f"? {question_text.question_title(event, name)}", BOLD, YELLOW), *shown]


def _words(lines: Sequence[QuestionLine]) -> list[CleanText]:
    return [styled(f"  {line.text.expandtabs(4)}".rstrip(), *_COLOURS.get(line.kind, ())) for line in lines]


def rule_lines(event: ApprovalRequested) -> list[CleanText]:
    """The rule that would be saved, and what it would let run. To change one, `guard rules` names the file."""
    from gshtui.guard.rules.rule_file import own_file  # not before there is a rule

    told, *covered = question_text.rule_words(event.rule, own_file())
    rule = [styled(f"  {line}", CYAN) for text in event.rule.rstrip().split("\n") for line in visible_lines(text)]
    return [clean_text(), styled(told, BOLD, YELLOW), *(plain(f"  {line}") for line in covered), *rule]


def _tool_line(event: ToolStarted) -> CleanText:
    return clean_text(styled("●", CYAN), " ", styled(one_line(event.tool), BOLD), " ", one_line(event.subject, 300))


def _tool_ended(event: ToolFinished) -> list[CleanText]:
    found = diff_lines(event.diff)
    if event.status == "ok":
        return [*found, styled(f"  ✓ {units.duration(event.duration)}", DIM)]
    words = next((line for line in event.content.splitlines() if line.strip()), "")
    return [*found, styled(f"  ✗ {event.status}: {one_line(words, 300)}", RED)]


def _turn_ended(event: TurnFinished) -> list[CleanText]:
    usage = event.usage
    cost = f" · {units.money(event.cost)}" if event.cost else ""
    wait = f" working · {units.duration(event.waited)} waiting for you" if event.waited >= 1 else ""
    figures = f"{units.duration(event.worked)}{wait} · {units.tokens(usage.context)} tokens{cost}"
    if event.stop == "end":
        return [styled(f"── done · {figures}", DIM)]
    why = one_line(f"{event.error or event.stop} {event.hint}".strip(), 500)
    return [styled(f"── stopped: {why} · {figures}", RED if event.stop == "error" else YELLOW)]


def visible_lines(text: str) -> list[CleanText]:
    """The text's lines, sanitised."""
    return clean_lines(plain(text)) if text else []


def _block(text: str, most: int, *codes: LiteralString, first: str = "") -> list[CleanText]:
    lines = list(visible_lines(text))
    indent = " " * len(first)
    shown = [styled(f"{indent if n else first}{line}", *codes) for n, line in enumerate(lines[:most])]
    more = len(lines) - len(shown)
    return [*shown, styled(f"{indent}… {more} more lines", DIM)] if more > 0 else shown


_LONGEST = 2_000
"""A line longer than this many characters is moved to the transcript in pieces."""


class AnswerLines:
    """The unfinished end of an answer, either text or thinking.

    Args:
        layout: lays text out as Markdown; `None`: it is shown as it is, line by line, as thinking always is.
    """

    def __init__(self, layout: AnswerLayout | None = None) -> None:
        self._layout = layout
        self._answer: MarkdownLines | None = None
        self._message = ""
        self._codes: tuple[LiteralString, ...] = ()
        self._line = ""
        self._begun = False

    def add_text(self, message: str, text: str, *codes: LiteralString) -> list[CleanText]:
        """Add more text; returns the lines that are now complete."""
        found: list[CleanText] = []
        if (message, codes) != (self._message, self._codes):
            found = self.rest()
            self._message, self._codes = message, codes
        if not self._begun and text:
            self._begun = True
            found.append(clean_text())
        if self._layout is not None and not codes:
            if self._answer is None:
                self._answer = MarkdownLines(styled, self._layout)
            return [*found, *self._answer.feed(text)]
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            found += self._shown(line)
        while len(self._line) > _LONGEST:
            at = self._line.rfind(" ", 0, _LONGEST) + 1 or _LONGEST
            found += self._shown(self._line[:at])
            self._line = self._line[at:]
        return found

    def rest(self) -> list[CleanText]:
        """The unfinished end, now that the answer has ended."""
        line, self._line = self._line, ""
        self._begun = False
        if self._answer is not None:
            answer, self._answer = self._answer, None
            return answer.finish()
        return self._shown(line) if line else []

    def unfinished(self, width: int, most: int) -> list[CleanText]:
        """The last `most` rows of the unfinished end."""
        if self._answer is not None:
            return self._answer.rows(most)
        if not self._line:
            return []
        shown = plain(self._line).replace("\n", " ").replace("\t", "    ")
        return [styled(row, *self._codes) for row in cells.rows(shown, width)[-most:]]

    def _shown(self, line: str) -> list[CleanText]:
        return [styled(part, *self._codes) for part in clean_lines(plain(line))]


def diff_lines(diff: str) -> list[CleanText]:
    """A unified diff, cut to fit a pane. The file is named where there are several: the call names a single one."""
    if not diff:
        return []
    rows = list(diff_rows(plain(diff)))
    if sum(row.kind == "file" for row in rows) == 1:
        rows = [row for row in rows if row.kind != "file"]
    if rows and rows[0].kind == "hunk" and not rows[0].text:
        del rows[0]
    kept, more = first_rows(rows, _DIFF_LINES, split=False)
    shown = _lines(kept)
    return [*shown, styled(f"  … {more} more changed {'line' if more == 1 else 'lines'}", DIM)] if more else shown


def change_asked(diff: str, subject: str, most: int) -> list[CleanText]:
    """The change that a question is about, in at most `most` lines and a count of the others."""
    rows = question_rows(diff, subject)
    kept, _ = first_rows(rows, most, split=False)
    more = len(rows) - len(kept)
    return [*_lines(kept), *([styled(f"  … {more:,} more lines", DIM)] if more > 0 else [])]


def _lines(rows: Sequence[DiffRow]) -> list[CleanText]:
    digits = digits_of(rows)
    return [_line(rows, at, digits) for at in range(len(rows))]


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
