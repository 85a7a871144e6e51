"""Lays out the whole question, once the person has gone to it, in at most half of the window: its title, its lines,
where, the answers, and what is said besides. Until then one row says who wants what.
"""

from __future__ import annotations

import msgspec
from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.guard.approval.question_text import PROGRAM, QuestionLine, question_parts, question_row, question_title
from gshtui.text.program_words import is_general, only_line
from gshtui.ui.approvals.approvals_state import ApprovalsState
from gshtui.ui.approvals.question_sight import QuestionSight
from gshtui.ui.approvals.question_view import Answers, QuestionView, wrapped_question
from gshtui.ui.kit.keys.bound_keys import key_of
from gshtui.ui.kit.widgets.fitted_text import fit, fit_middle

_ROOMY = 30
"""Rows of the window from which on an empty one is between question and answers."""
_FRAMED = 24
"""Rows of the window from which on a question has a frame."""
_LEAST_NAME = 8
"""Cells of a name in the title that are left where room is short."""
_WIDE = 70
"""Columns from which on a panel that has not the focus says what its key is for."""
_LISTED = 24
"""Rows of the window from which on the answers are a list, whatever else there is to show."""
_MORE = 14
"""Cells of the title in which the rows out of sight are counted."""


def draw_question(
    pane: Widget, state: ApprovalsState, request: ApprovalRequested, count: int, *, known: bool, marks: bool, said: str
) -> None:
    """Draw it into the parts of the pane.

    Args:
        count: how many questions wait.
        known: the person knows that it is this one.
        marks: `enter` gives the marked answer now.
        said: what the last key did.
    """
    from gshtui.text.sanitise import one_line  # not before the first letter

    name = _called(state, request)
    view, answers = pane.query_one(QuestionView), pane.query_one(Answers)
    height, width = pane.screen.size.height, pane.size.width or pane.screen.size.width
    low, tiny = height < _FRAMED, height < 9
    pane.set_class(low, "-low")
    pane.set_class(tiny, "-tiny")
    inner = max(8, pane.content_size.width or width - 4)
    parts = question_parts(request)
    where = [text for _, text in wrapped_question([QuestionLine("detail", parts.where)], inner)] if parts.where else []
    place = pane.query_one("#approval-where", Static)
    place.display = bool(where) and view.display
    place.update(Content("\n".join(where)))
    roomy = height >= _ROOMY
    changes = bool(request.diff) or any(line.kind in ("add", "remove") for line in parts.head)
    program = request.effect == PROGRAM
    subject = one_line(request.subject, 200) if changes or program else ""
    heading = f"◆ {question_title(request, name, subject)}"
    of = _place(state, count)
    tail = of if known else f"{of} · {key_of(pane, 'approval.focus')}{' to answer' if width >= _WIDE else ''}"
    room = width - 4 - cell_len(tail)
    named = (program or request.effect == "write") and subject == request.subject and cell_len(heading) <= room
    if program and not named and not changes:  # it has rows of its own
        subject = ""
        heading = f"◆ {question_title(request, name)}"
    note = [text for _, text in wrapped_question(parts.tail, inner)]
    # Rather no words for what can't be answered, and few for what can, than little of the question.
    packed = low or (program and not roomy)
    for short, every in ((packed, True), (packed, False), (True, False)):
        drawn = state.numbered if every else state.offered
        rows = answers.offer(request.approval, drawn, inner, low=short, marks=marks, tiny=tiny)
        left = height // 2 - 1 - (0 if low else 2 + roomy) - len(where) - rows
        most = max(1, left)
        told = view.fit(inner, most, named=named, tail=False)
        seen = left > 0 and not (view.above or view.hidden)
        if seen and (told + len(note) <= most or not every):
            break
        if not every and height >= _LISTED and request.effect != PROGRAM:
            break
    told = view.fit(inner, max(1, most - len(note)), named=named, tail=False)
    if len(note) < most and not (view.above or view.hidden):
        shown = pane.query_one("#approval-note", Static)
        shown.display = bool(note) and view.display
        shown.update(Content("\n".join(note)))
    else:  # it gives way, and is read on after what is asked
        told = view.fit(inner, most, named=named, tail=False)
        view.fit(inner, told, named=named)
    pane.set_class(roomy and not view.says_nothing, "-roomy")
    general = program and is_general(subject, request.detail)
    if named and (view.above or view.hidden) and cell_len(heading) > room - _MORE and not general:
        view.fit(inner, told)  # the title will shorten it
    up = f" · ↑ {view.above}" if view.above and view.display else ""
    down = f" · ↓ {view.hidden} more" if view.hidden and view.display else ""
    paging = f"{down} ({key_of(pane, 'approval.page_down')})" if down else ""
    counts = (f"{up}{paging}", f"{up}{down}", down)
    if said:  # rather said short than with the question's own words cut
        short = f" · {said.partition(';')[0]}"
        counts = (f"{up}{paging} · {said}", f"{up}{down}{short}", short)
    who = one_line(state.names.get(request.agent) or request.agent, 40)
    least = 2 + min(_LEAST_NAME, cell_len(who))
    wide = next((one for one in counts if cell_len(heading) <= room - cell_len(one)), "")
    told = wide or next((one for one in counts if said and least <= room - cell_len(one)), counts[-1])
    tail = told + tail
    room = max(8, width - 4 - cell_len(tail))
    if cell_len(heading) > room:  # rather its own words than all of a name
        over = cell_len(f"◆ {question_title(request, who, subject)}") - room
        who = fit_middle(who, max(_LEAST_NAME, cell_len(who) - max(0, over)))
        titles = [f"◆ {question_title(request, who, subject, short=short)}" for short in (False, True)]
        if room < least + _LEAST_NAME:  # no more than the beginning of a word
            titles.append(f"◆ {who}")
        heading = next((one for one in titles if cell_len(one) <= room), titles[-1])
    pane.query_one("#approval-title", Static).update(fit(heading, room) + tail)


def _called(state: ApprovalsState, request: ApprovalRequested, *, named: bool = True) -> str:
    """Who asks, with the name of its folder where that is not the window's; empty: `request.agent` says it."""
    name, path = state.names.get(request.agent, ""), state.elsewhere(request)
    folder = path.rstrip("/").rpartition("/")[2] or path
    return f"{name or request.agent} in {folder}" if folder and named else name


def _place(state: ApprovalsState, count: int) -> str:
    return f" · {state.place} of {count}" if count > 1 else ""


_LEAST = 20
"""Cells that a question has in its row, before its number and its key."""


_NAMES_FOLDER = 50
"""Cells of a row from which on it names another folder."""


class WaitingQuestion(msgspec.Struct, frozen=True):
    """What the row is made of. A key is empty where it does not answer this question."""

    state: ApprovalsState
    request: ApprovalRequested
    folder: str
    """Where the window's own agent works: that goes without saying."""
    count: int
    sight: QuestionSight
    replaced: bool
    """It took the place of another one: no key counts before the person has gone to it."""
    written: bool
    """What is in the input would be the reason of a denial."""
    focus: str
    allow: str
    refuse: str


class WaitingRow(msgspec.Struct, frozen=True):
    """The row as drawn: the words at its left, and those at its right."""

    words: str
    keys: str
    whole: bool
    """It says all that would be decided."""

    def title(self, width: int) -> Content:
        """Both in one row of so many cells."""
        gap = " " * max(2, width - cell_len(self.words) - cell_len(self.keys))
        return Content.assemble(self.words, gap, (self.keys, "not bold $text-muted"))


def waiting_row(asked: WaitingQuestion, width: int) -> WaitingRow:
    """The question in one row of so many cells; short ones are in it whole."""
    request, key = asked.request, asked.focus
    name = _called(asked.state, request, named=width >= _NAMES_FOLDER)
    of = _place(asked.state, asked.count)
    parts = question_parts(request)
    told = only_line(request.detail) if request.effect == PROGRAM else ""
    others = [line for line in parts.head[1:] if line.text.strip() != told and not asked.sight.below]
    here = parts.where in ("", f"in {asked.folder}")
    all_said = here and (asked.sight.in_chat or asked.sight.below) and all(line.kind == "warning" for line in others)
    behind = "".join(f" · {line.text}" for line in others) if all_said else ""
    allow = f"{asked.allow} allow" if asked.allow and all_said else ""
    deny = f"{asked.refuse} deny… · " if asked.refuse and not asked.written else ""
    if asked.replaced:
        allow, deny = "", "new question · "
    sign = ""
    if any(line.kind == "warning" for line in others) and (
        not all_said or cell_len(f"◆ {question_row(request, name)}{behind}  {allow} · {key}") > width
    ):  # it is allowed where its warnings are read
        sign, behind, allow, all_said = "⚠ ", "", "", False
    words, short = (f"◆ {sign}{question_row(request, name, short=cut)}{behind}" for cut in (False, True))
    first = f"{allow} · " if allow else ""
    denying, tail = (f"{first}{some}{key} answer{of}" for some in (deny, ""))
    # What it wants to do is said rather than how to deny it, but not rather than how to read it, or how many wait.
    pairs = [(words, denying), (words, tail), (short, tail)]
    pairs += [(one, f"{allow}{of}") for one in (words, short) if allow]
    cut = (
        short,
        next((one for one in (f"{key} answer{of}", f"{key}{of}", key) if width - cell_len(one) >= _LEAST), ""),
    )
    words, tail = next((pair for pair in pairs if cell_len("  ".join(pair)) <= width), cut)
    row = fit(words, max(8, width - cell_len(tail) - 2))
    return WaitingRow(row, tail, row == words and all_said)
