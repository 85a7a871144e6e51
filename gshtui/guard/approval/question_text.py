"""The text of an approval question, the same in the window, in an agent's pane and at a shell prompt: who asks for
what, all its lines, and its outcome.

Nothing is left out or shortened, because a person must have read what they approve; escapes are made visible. Pure; a
face draws the lines and counts those it has no room for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.text.program_words import asked_line, change_wish

if TYPE_CHECKING:
    from gshtui.text.diff_rows import DiffRow

LineKind = Literal["subject", "warning", "pattern", "label", "detail", "add", "remove", "hunk", "context"]
PROGRAM = "ask"
"""Used instead of an effect when another vendor's program asks in its terminal."""
EFFECTS = {"write": "write", "execute": "run", "network": "reach the network:", "read": "read"}
"""What an agent wants to do, by effect; what it wants to do that with follows."""
_USUAL = {"bash": "a command", "edit": "a file", "write": "a file", "read": "a file"}
"""What the everyday tools act on."""
BUDGET = "budget"
"""Used instead of a tool's name when an agent asks to continue beyond its budget."""
_OWN_WORDS = {
    "mcp_server": "asks whether to trust an MCP server",
    "mcp_question": "passes on a question from an MCP server",
    "mcp_sampling": "asks whether an MCP server may use its model",
    "mcp_sign_in": "asks you to sign in to an MCP server",
    "spawn_agent": "wants to start an agent",
    "workflow_continue": "asks whether to go on after a failed step",
    "worktree_setup": "wants to run the setup of a worktree",
    "worktree_setup_outside": "wants to run the setup of a worktree outside the sandbox",
}
"""Questions that are about no tool of an agent, by the name that stands for one: what is asked."""
_SENTENCES = frozenset(("mcp_server", "mcp_question", "mcp_sampling", "mcp_sign_in", "workflow_continue"))
"""Those of them whose subject says it all."""
DECISIONS = {
    "once": "allowed once",
    "session": "this exact call allowed for the session",
    "always": "always allowed, by a rule that was saved",
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


def question_title(request: ApprovalRequested, name: str = "", subject: str = "", *, short: bool = False) -> str:
    """Who wants to do what. `name`: what the agent is called, where it is known by a number; `subject`: what it wants
    to do that with, where no line says it; `short`: not which program asks.
    """
    who, wants, what = _wish(request, name)
    if subject and request.effect == PROGRAM:
        wish = change_wish(request.subject, request.diff)
        return f"{who}{f' {what}' if what and not short else ''}{f' {wish}' if wish else f': {subject}'}"
    return f"{who} {_wanted(request, wants, what, subject)}"


def question_row(request: ApprovalRequested, name: str = "", *, short: bool = False) -> str:
    """The question in one row, while nobody has gone to it; `short`: who asks about what, and no more."""
    from gshtui.text.sanitise import one_line

    who, wants, what = _wish(request, name)
    subject = one_line(request.subject, 400)
    if request.effect == PROGRAM:
        subject = asked_line(subject, request.detail, request.diff)
        if change_wish(request.subject, request.diff):
            return f"{who} {subject}"
    if subject and (short or request.effect == PROGRAM):
        return f"{who}: {subject}"
    return f"{who} {_wanted(request, wants, what, subject)}"


def _wanted(request: ApprovalRequested, wants: str, what: str, subject: str) -> str:
    if request.tool in _USUAL and subject:
        return f"{wants} {subject}" if request.tool in ("edit", "write", "read") else f"{wants}: {subject}"
    words = f"{wants} {what}".rstrip(": ")
    return f"{words}: {subject}" if subject else words


def _wish(request: ApprovalRequested, name: str) -> tuple[str, str, str]:
    """Who asks, for what, and with what."""
    from gshtui.guard.rules.rule_book import SERVER_TOOL  # not before the first letter
    from gshtui.text.sanitise import one_line

    who, tool = one_line(name or request.agent, 80), one_line(request.tool, 40)
    if request.effect == PROGRAM:
        return (
            who,
            "asks",
            "" if who.partition(" ")[0].partition("-")[0] == tool else f"· {tool}",
        )  # it is named after its program
    if request.tool in _OWN_WORDS:
        return who, _OWN_WORDS[request.tool], ""
    if request.tool == BUDGET:
        return who, "wants to continue", "beyond its budget"
    if SERVER_TOOL in request.tool:
        return who, "wants to use", tool
    verb = "edit" if request.tool == "edit" else EFFECTS.get(request.effect, one_line(request.effect, 40))
    return who, f"wants to {verb}", _USUAL.get(request.tool, tool)


def asked_words(tool: str, subject: str) -> str:
    """What a question is about, where one line tells of it; not sanitised."""
    if tool == BUDGET:
        return f"continue beyond its budget: {subject}"
    return subject if tool in _SENTENCES else f"{tool} {subject}".strip()


def waiting_words(request: ApprovalRequested, name: str = "") -> str:
    """What an agent waits for that asks this, as its status says it; the subject is not sanitised. `name`: who it is,
    to be put in front.
    """
    if request.tool in _SENTENCES:
        return f"{name} asks: {request.subject}" if name else request.subject
    _, wants, what = _wish(request, "")
    return f"{name} {_wanted(request, wants, what, request.subject)}".lstrip()


def program_request(row: AgentRow, question: OpenQuestion) -> ApprovalRequested:
    """A program's question in the form of our own ones. Its id names the agent and the question."""
    rest = "it" if question.changeless else "the rest"
    warnings = list(question.warnings)
    if question.partial:
        warnings.append(f"{question.unseen}: open its tab to read {rest}.")
    if question.overflows:
        tab = "It has more choices than fit here: open its tab."
        warnings.append("It has more choices: no digit chooses the others." if row.kind == "acp" else tab)
    program = row.profile or (row.argv[0].rpartition("/")[2] if row.argv else "") or "a program"
    return ApprovalRequested(
        approval=f"{row.id}/{question.id}",
        agent=row.id,
        session="",
        call="",
        tool=program,
        effect=PROGRAM,
        subject=question.subject,
        detail=question.unsaid,
        diff=question.diff,
        beside=question.beside,
        warnings=tuple(warnings),
    )


class QuestionParts(NamedTuple):
    """A question in its order: what it is about, the change, where, what is said besides."""

    head: list[QuestionLine]
    diff: str
    where: str
    tail: list[QuestionLine]

    @property
    def above_change(self) -> list[QuestionLine]:
        """What stands before the change where no row is kept for the folder: it is said behind the warnings."""
        at = next((n for n, line in enumerate(self.head) if line.kind not in ("subject", "warning")), len(self.head))
        return [*self.head[:at], *([QuestionLine("detail", self.where)] if self.where else []), *self.head[at:]]

    @property
    def without_repeats(self) -> list[QuestionLine]:
        """The head without the subject in one line, where the lines that it was made of follow."""
        subject = [line.text for line in self.head if line.kind == "subject"]
        at = next((n for n, line in enumerate(self.head) if line.kind == "label"), 0)
        lines = self.head[at + 1 :]
        if not (at and self.where) or len(subject) > 1:
            return self.head
        if not _letters("".join(text for _, text in lines)).startswith(_letters(subject[0].rstrip("…"))):
            return self.head
        return [*lines, *(line for line in self.head[:at] if line.kind == "warning")]


def _letters(text: str) -> str:
    """What two layouts of the same words have in common."""
    return "".join(text.replace("␊", "").split())


def question_parts(request: ApprovalRequested) -> QuestionParts:
    """The subject with its warnings, and all that the call says; the change; where; then what is said besides: the rule
    that `always` would make, why it asks, what the sandbox would do, what a program says beside its question.
    """
    from gshtui.text.markdown_table import unmarked  # not before the first letter
    from gshtui.text.sanitise import visible

    head = [QuestionLine("subject", text) for text in visible(request.subject).split("\n")]
    head += [
        QuestionLine("warning", f"⚠ {text}")
        for warning in request.warnings
        for text in visible(unmarked(warning)).split("\n")
    ]
    tail = [QuestionLine("context", text) for text in map(visible, request.beside.split("\n")) if text.strip()]
    if request.rule:
        pattern = " ".join(visible(request.pattern).split()).replace(f" {Path.home()}/", " ~/")
        tail.insert(0, QuestionLine("pattern", f"always allow would add: {pattern}"))
    if request.effect == PROGRAM:  # as its screen shows it, where every row counts
        shown = [text for text in map(visible, request.detail.split("\n")) if text.strip()]
        head += [QuestionLine(_program_kind(text), text) for text in shown]
        return QuestionParts(head, request.diff, "", tail)
    said = (request.subject.strip(), f"{request.tool} {request.subject}".strip())
    words = request.detail
    if "\n" not in request.subject and request.subject.strip():  # it stands above, whole
        for one in said:
            words = words.removesuffix(f"\n{one}").rstrip("\n")
    if not words or words.strip() in said:
        return QuestionParts(head, request.diff, "", tail)
    # Each line has a row of its own here, so that their number needs no telling.
    texts, where = visible(words, counted=False).split("\n"), ""
    if request.effect == "execute" and texts[0].startswith("in ") and len(texts[0]) <= _WHERE:
        where = texts.pop(0)  # the tool's own line, shown whole beside what is asked; behind it are others' words
    lines = [QuestionLine("detail", text) for text in texts]
    head += lines if len(lines) <= 1 else [QuestionLine("label", ""), *lines]
    return QuestionParts(head, request.diff, where, tail)


_WHERE = 160
"""Characters of a line that says where; a longer one is read with what is asked."""
_CHANGED = re.compile(r"^ *\d+ (?= *[+-](?: |$)|[+-]) *([+-])")
"""A line of a change, as programs draw it: its sign is apart from its words, or next to its number."""


def _program_kind(line: str) -> LineKind:
    match = _CHANGED.match(line)
    return "detail" if match is None else "add" if match.group(1) == "+" else "remove"


def question_lines(request: ApprovalRequested) -> list[QuestionLine]:
    """The whole question as lines: subject, warnings, detail, the change; what `always` would allow, behind it."""
    parts = question_parts(request)
    head, diff, tail = parts.above_change, parts.diff, parts.tail
    behind = [QuestionLine("label", ""), *tail] if tail else []
    if not diff:
        return [*head, *behind]
    rows = question_rows(diff, request.subject)
    digits = digits_of(rows)
    change = [QuestionLine(_KINDS[row.kind], numbered(row, digits)) for row in rows]
    return [*head, QuestionLine("label", ""), *change, *behind]


def rule_words(rule: str, file: Path) -> list[str]:
    """What a person is told about a rule before it is saved: where, and what it would let run."""
    from gshtui.guard.rules.rule_draft import coverage  # its parsers are needed only now
    from gshtui.text.sanitise import literal, one_line

    home = Path.home()
    shown = f"~/{file.relative_to(home)}" if file.is_relative_to(home) else str(file)
    covered = coverage(rule) or ["Nothing: it is no rule."]
    return [
        f"Saved in {shown}, it would let run without a question:",
        *(one_line(literal(each), 300) for each in covered),
    ]


def question_rows(diff: str, subject: str) -> list[DiffRow]:
    """The change that a question is about, every escape in it visible; its file is named where that is not the subject.

    Every face draws these rows.
    """
    from gshtui.text.diff_rows import diff_rows, without_names
    from gshtui.text.sanitise import literal  # not before the first letter

    return without_names(list(diff_rows(literal(diff))), subject)


_KINDS: dict[str, LineKind] = {
    "added": "add",
    "removed": "remove",
    "same": "context",
    "note": "context",
    "hunk": "hunk",
    "file": "hunk",
}
_SIGNS = {"added": "+", "removed": "-", "same": " "}


def digits_of(rows: Sequence[DiffRow]) -> int:
    """The places that the numbers of these rows need."""
    return max((len(str(row.number)) for row in rows), default=1)


def numbered(row: DiffRow, digits: int) -> str:
    """A row as text: its number, its sign, and the line."""
    if row.kind == "hunk":
        return f"{'⋯':>{digits}} {row.text}".rstrip()
    return f"{row.number:>{digits}} {_SIGNS[row.kind]} {row.text}" if row.kind in _SIGNS else row.text


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
