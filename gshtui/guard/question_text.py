"""The text of an approval question, the same in the window, in an agent's pane and at a shell prompt: who asks for
what, all its lines, and its outcome.

Nothing is left out or shortened, because a person must have read what they approve; escapes are made visible. Pure; a
face draws the lines and counts those it has no room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.bus.events.approval_events import ApprovalRequested

LineKind = Literal["subject", "warning", "pattern", "label", "detail", "add", "remove", "hunk", "context"]
PROGRAM = "ask"
"""Used instead of an effect when another vendor's program asks in its terminal."""
EFFECTS = {"write": "write", "execute": "execute", "network": "reach the network", "read": "read"}
BUDGET = "budget"
"""Used instead of a tool's name when an agent asks to continue beyond its budget."""
DECISIONS = {
    "once": "allowed once",
    "session": "this exact call allowed for the session",
    "always": "always allowed in this project",
    "deny": "denied",
    "withdrawn": "withdrawn",
    "timeout": "not answered in time",
    "nobody": "refused: nobody is there to ask",
}
"""What became of a question, by its decision."""


class QuestionLine(NamedTuple):
    """A line and its kind."""

    kind: LineKind
    text: str


def question_title(request: ApprovalRequested, place: int = 1, count: int = 1, name: str = "") -> str:
    """Who asks, to what effect, with which tool, and which of how many questions this is.

    Args:
        name: what the agent is called, where it is known by a number.
    """
    from gshtui.text.sanitise import one_line  # not before the first letter

    effect = "continue" if request.tool == BUDGET else EFFECTS.get(request.effect, one_line(request.effect, 40))
    who = one_line(request.agent, 40)
    if name and name != request.agent:
        who = f"{one_line(name, 40)} ({who})"
    of = f" · {place} of {count}" if count > 1 else ""
    if request.effect == PROGRAM:
        return f"{who} asks · {one_line(request.tool, 40)}{of}"
    return f"{who} asks to {effect} · {one_line(request.tool, 40)}{of}"


def program_request(row: AgentRow, question: OpenQuestion) -> ApprovalRequested:
    """A program's question in the form of our own ones. Its id names the agent and the question."""
    partial = ("Its beginning is above the screen: open its tab to read all of it.",) if question.partial else ()
    program = row.profile or (row.argv[0].rpartition("/")[2] if row.argv else "") or "a program"
    return ApprovalRequested(
        approval=f"{row.id}/{question.id}",
        agent=row.id,
        session="",
        call="",
        tool=program,
        effect=PROGRAM,
        subject=question.subject,
        detail=question.detail,
        warnings=partial,
    )


def question_lines(request: ApprovalRequested) -> list[QuestionLine]:
    """The whole question: its subject, its warnings, what `always` would allow, then detail and diff."""
    from gshtui.text.sanitise import visible  # not before the first letter

    found = [QuestionLine("subject", text) for text in visible(request.subject).split("\n")]
    found += [
        QuestionLine("warning", f"⚠ {text}") for warning in request.warnings for text in visible(warning).split("\n")
    ]
    if request.pattern:
        found.append(QuestionLine("pattern", f"3 always allows: {' '.join(visible(request.pattern).split())}"))
    if request.effect == PROGRAM:  # as its screen shows it, where every row counts
        shown = (visible(text) for text in request.detail.split("\n"))
        return found + [QuestionLine("detail", text) for text in shown if text.strip()]
    if request.detail and request.detail.strip() != request.subject.strip():
        found.append(QuestionLine("label", ""))
        found += [QuestionLine("detail", text) for text in visible(request.detail).split("\n")]
    if request.diff:
        found += [QuestionLine("label", ""), *diff_lines(request.diff)]
    return found


def diff_lines(diff: str) -> Iterator[QuestionLine]:
    """A unified diff, each line with its kind."""
    from gshtui.text.sanitise import literal  # not before the first letter

    for text in literal(diff).removesuffix("\n").split("\n"):
        if text.startswith(("+++", "---", "@@", "diff ", "index ")):
            yield QuestionLine("hunk", text)
        elif text.startswith("+"):
            yield QuestionLine("add", text)
        else:
            yield QuestionLine("remove" if text.startswith("-") else "context", text)


def shortened(lines: Sequence[QuestionLine], most: int) -> list[QuestionLine]:
    """The lines, with at most `most` of the detail and of the diff each, and a count of the rest."""
    found: list[QuestionLine] = []
    at = 0
    while at < len(lines):
        end = next((n for n in range(at, len(lines)) if lines[n].kind == "label" and n > at), len(lines))
        part = lines[at:end]
        found += part if part[0].kind != "label" or len(part) <= most + 1 else part[: most + 1]
        if part[0].kind == "label" and len(part) > most + 1:
            found.append(QuestionLine("context", f"… {len(part) - most - 1} more lines"))
        at = end
    return found
