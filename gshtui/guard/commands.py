"""The `guard` command: what policy and rules decide about a shell line, without running it, and the rules.

Changes nothing. Agents may use it, too: it reveals no more than a call would. Registered by the hub.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec
from msgspec.structs import replace
from pydantic import Field

from gshtui.commands.declaration import Access, Action, Invocation, Mark, Outcome, Parameters, Returns, UsageError
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.commands.timespec import parse_time
from gshtui.guard.rules.rule_book import RuleBook, RuleFiles, line_matter
from gshtui.guard.rules.rule_file import own_file
from gshtui.store.log import log_reader
from gshtui.store.log.log_records import Record
from gshtui.text.sanitise import literal, one_line

if TYPE_CHECKING:
    from gshtui.guard.policy.shell_policy import Judgement
    from gshtui.settings.model import Settings
    from gshtui.store.record.store import Store
    from gshtui.store.tables.grant_table import Grant


class CheckedLine(msgspec.Struct, frozen=True):
    """What the policy thinks of a shell line."""

    judgement: Judgement


class CheckLine(Parameters, Returns[CheckedLine]):
    """Say what the policy decides about COMMAND: allow, ask or deny, by which rule, and why.

    With `-` it reads JSON lines {"command": …} and answers each with one line, in order.
    """

    COMMAND: ClassVar[str] = "guard"
    WORD: ClassVar[str] = "check"
    SHELL = ShellForm(
        ("command",),
        summary="Say whether a shell line would run, ask first, or be refused.",
        examples=("gsh-tui guard check 'git log --oneline -5 | head'", "gsh-tui guard check - < commands.jsonl"),
        parts=frozenset(),
    )
    command: Annotated[str, Mark.VERBATIM, ShellOption(required=True, lines=True)] = Field(
        default="", description="The shell line, as an agent would pass it to bash."
    )


class RuleList(msgspec.Struct, frozen=True):
    """The rules in force, and what was always allowed here before there were rules."""

    book: RuleBook
    old: tuple[Grant, ...] = ()


class ListRules(Parameters, Returns[RuleList]):
    """List the rules in force here, and what is wrong with the files.

    Approvals saved before rules existed are listed as `old`. They have no effect.
    """

    COMMAND: ClassVar[str] = "guard"
    WORD: ClassVar[str] = "rules"
    SHELL = ShellForm(parts=frozenset({"store"}))


class DecisionList(msgspec.Struct, frozen=True):
    """Calls and what was decided about them, oldest first."""

    decisions: tuple[LoggedDecision, ...]


class ReadDecisions(Parameters, Returns[DecisionList]):
    """Show what agents ran and were refused, oldest first: when, by which rule or answer, in the sandbox or not.

    QUERY is a word of the command or path. It reads the log (`gsh-tui logs`), of all folders.
    """

    COMMAND: ClassVar[str] = "guard"
    WORD: ClassVar[str] = "log"
    SHELL = ShellForm(
        ("query",),
        summary="Show what ran or was refused, and by which rule or answer.",
        examples=("gsh-tui guard log --since today --verdict deny", "gsh-tui guard log --agent 0003 --tool bash"),
        parts=frozenset(),
    )
    FORMER_NAMES = {"command": "query"}
    query: Annotated[str, ShellOption(words=-1)] = Field(default="", description="A word to find.")
    agent: Annotated[str, ShellOption(metavar="NAME", kind="agent")] = Field(
        default="", description="Only this agent's calls."
    )
    tool: Annotated[str, ShellOption(metavar="NAME")] = Field(default="", description="Only calls of this tool.")
    verdict: Literal["", "allow", "deny"] = Field(default="", description="Only what was allowed, or refused.")
    since: Annotated[str, ShellOption(metavar="WHEN")] = Field(
        default="", description="Only calls since: 2h, 7d, today, 2026-11-21 …"
    )
    limit: Annotated[int, ShellOption("--limit -n")] = Field(
        default=50, ge=0, le=100_000, description="Maximum number of calls; the newest are shown."
    )


_GROUP = ShellGroup(
    "Ask what the policy allows; list rules and decisions.",
    "Ask the policy without running anything.",
)


def commands(settings: Settings, store: Callable[[], Store | None]) -> list[AnyCommand]:
    """The guard family. `store`: has what was always allowed before there were rules."""

    async def check(invocation: Invocation, wanted: CheckLine) -> CheckedLine:
        from gshtui.guard.policy.shell_policy import judge  # import the parser and its table only once there is a line

        if not wanted.command:
            raise UsageError("No line to check.", hint="For example: guard check 'git status'")
        cwd, project = invocation.cwd, invocation.project
        judged = await asyncio.to_thread(judge, wanted.command, cwd, project)
        return CheckedLine(await asyncio.to_thread(ruled, judged, wanted.command, _book(project)))

    async def list_rules(invocation: Invocation, _wanted: ListRules) -> RuleList:
        book = await asyncio.to_thread(_book, invocation.project)
        if invocation.caller.is_agent:
            return RuleList(book)
        record = store()
        old = [] if record is None else await record.grants.find_all(str(invocation.project))
        return RuleList(book, tuple(old))

    async def read_log(_invocation: Invocation, wanted: ReadDecisions) -> DecisionList:

        since = parse_time(wanted.since, time.time())
        query = DecisionQuery(wanted.agent, wanted.tool, wanted.verdict, since, wanted.query)
        return DecisionList(
            tuple(await asyncio.to_thread(read_decisions, settings.general.log_dir, query, wanted.limit))
        )

    def answer(invocation: Invocation, value: object) -> dict[str, object]:
        return checked(value, invocation.cwd, invocation.project)

    return [
        group(
            "guard",
            "Show the policy's verdict on a shell line",
            Action(CheckLine, check, _render, answers=answer),
            Action(ListRules, list_rules, _render_rules),
            Action(ReadDecisions, read_log, _render_log, access=Access.HUMAN_ONLY),
            family="workbench",
            bare="check",
            shell=_GROUP,
        )
    ]


def checked(value: object, cwd: Path, project: Path) -> dict[str, object]:
    """The answer to a script's question `{"command": …}`; anything else is denied."""
    from gshtui.guard.policy.shell_policy import judge

    match value:
        case {"command": str(command)}:
            return judgement_data(ruled(judge(command, cwd, project), command, _book(project)))
        case _:
            why = 'it is not an object with a "command" string'
            return {"verdict": "deny", "rule": "input", "why": why, "parts": []}


def ruled(judged: Judgement, command: str, book: RuleBook) -> Judgement:
    """The judgement with the rules in force: the strictest one that matches decides, but for what is always refused."""
    free = frozenset(number for number, part in enumerate(judged.parts) if part.verdict == "allow")
    outside = frozenset(number for number, part in enumerate(judged.parts) if part.rule == "outside")
    found = book.decide(line_matter("bash", command), free=free, outside=outside) if book.rules else None
    if found is None or judged.verdict == "deny" or (found.do == "allow" and judged.verdict == "allow"):
        return judged
    if found.do == "allow" and any(part.rule == "secret" for part in judged.parts):
        return judged
    why = found.why or f"your rule says so: {found.words}"
    return replace(judged, verdict=found.do, rule=found.name, why=why, contained=found.do == "allow")


def _book(project: Path) -> RuleBook:
    return RuleFiles(own_file(), project).current()


def _render_rules(_invocation: Invocation, found: RuleList) -> Outcome:
    book = found.book
    rules = [
        {"do": rule.do, "file": str(rule.file), "line": rule.line, "rule": rule.words, "why": rule.why}
        for rule in book.rules
    ]
    mistakes = [{"file": str(one.file), "line": one.line, "mistake": one.text} for one in book.mistakes]
    lines = [f"- {rule.words} ({rule.name}{': ' + rule.why if rule.why else ''})" for rule in book.rules]
    lines = lines or [f"No rules yet. Write them in `{own_file()}`."]
    if found.old:
        lines.append("Old, and without effect until `approvals keep` makes rules of them:")
        lines += [f"- {one.tool}: {one.pattern}" for one in found.old]
    said = [one_line(literal(line), 400) for line in (*lines, *map(str, book.mistakes))]
    old = [{"tool": one.tool, "pattern": one.pattern} for one in found.old]
    return Outcome({"rules": rules, "mistakes": mistakes, "old": old}, "\n".join(said), is_error=bool(mistakes))


def _render_log(_invocation: Invocation, found: DecisionList) -> Outcome:
    lines = [_decision_line(one) for one in found.decisions] or ["Nothing was decided then."]
    return Outcome([one.data for one in found.decisions], "\n".join(lines))


def _decision_line(one: LoggedDecision) -> str:
    by = f"you ({one.answer})" if one.by == "person" else "it only reads" if one.by == "reads" else one.by
    why = f": {one.reason}" if one.reason and one.verdict == "deny" else ""
    where = " · sandbox" if one.sandboxed else ""
    failed = f" · {one.status}" if one.ran and one.status not in ("", "ok") else ""
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.at))
    said = f"{at}  {one.verdict:5}  {one.agent}  {one.tool}  {one.subject}  · {by}{where}{failed}{why}"
    return one_line(literal(said), 400)


def judgement_data(judged: Judgement) -> dict[str, object]:
    parts = [
        {"command": part.text, "verdict": part.verdict, "rule": part.rule, "why": part.why} for part in judged.parts
    ]
    return {"verdict": judged.verdict, "rule": judged.rule, "why": judged.why, "parts": parts, "yes": judged.contained}


def _render(_invocation: Invocation, found: CheckedLine) -> Outcome:
    return Outcome(judgement_data(found.judgement), _said(found.judgement))


def _said(judged: Judgement) -> str:
    lines = [f"{judged.verdict}: {judged.why} (rule {judged.rule})"]
    if judged.verdict == "ask" and judged.contained:
        lines.append("`--yes` runs it.")
    if len(judged.parts) > 1:
        lines += [f"  {part.verdict:5}  {part.text}" for part in judged.parts]
    return "\n".join(one_line(literal(line), limit=400) for line in lines)


_ALLOWED = frozenset(("once", "session", "always"))
_MOST = 100_000
"""Records to look at."""
_APART = 86_400.0
"""Seconds between two decisions that cannot be about the same call."""


class DecisionQuery(msgspec.Struct, frozen=True):
    """Conditions on calls; empty fields match everything.

    Attributes:
        verdict: `allow` or `deny`.
        since: seconds since the epoch.
    """

    agent: str = ""
    tool: str = ""
    verdict: str = ""
    since: float | None = None
    text: str = ""


class LoggedDecision(msgspec.Struct, frozen=True):
    """One call. `at` in seconds since the epoch."""

    at: float
    agent: str
    tool: str
    subject: str
    verdict: str
    by: str
    """`person`, `rule rules.toml:3`, `edit mode`, `sandbox`, `policy` (`--yes`), `guard`, or `reads`: it only read."""
    reason: str = ""
    answer: str = ""
    """What a person chose: once, session, always, deny."""
    ran: bool = False
    status: str = ""
    sandboxed: bool = False

    @property
    def data(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__struct_fields__}


def read_decisions(folder: Path, wanted: DecisionQuery, limit: int) -> list[LoggedDecision]:
    """The newest matching calls, oldest first. Blocks for a moment."""
    records: list[Record] = []
    for type in ("approval", "bash_exec", "tool_call"):
        query = log_reader.LogQuery(type=type, agent=wanted.agent, after=wanted.since)
        records += log_reader.find_records(folder, query, _MOST)
    found = [one for one in _joined(records) if _fits(one, wanted)]
    return sorted(found, key=lambda one: one.at)[-limit:] if limit else []


def _joined(records: Sequence[Record]) -> Iterator[LoggedDecision]:
    decided: dict[tuple[str, str], Record] = {}
    unwidened: dict[tuple[str, str], Record] = {}
    """What ran in the sandbox, and was not allowed to run once more with more room."""
    for record in sorted(records, key=lambda one: float(one["at"])):
        if record["type"] != "approval":
            # A call that was asked about twice, once for more room, ran by the last answer that allowed it.
            yield _decision(decided.pop(_call(record), None), record)
            if (refused := unwidened.pop(_call(record), None)) is not None:
                yield _decision(refused, None)
            continue
        # Some providers count their calls from the start in each conversation: the record that follows is the call's.
        before = decided.get(_call(record))
        if before is not None and float(record["at"]) - float(before["at"]) > _APART:
            yield _decision(before, None)
            before = None
        if before is not None and before.get("decision") in _ALLOWED and record.get("decision") not in _ALLOWED:
            unwidened[_call(record)] = record
        else:
            decided[_call(record)] = record
    for record in (*decided.values(), *unwidened.values()):
        yield _decision(record, None)


def _call(record: Record) -> tuple[str, str]:
    return str(record.get("agent", "")), str(record.get("call", ""))


def _decision(decided: Record | None, ran: Record | None) -> LoggedDecision:
    first: Mapping[str, object] = ran or decided or {}
    decision = str((decided or {}).get("decision", "once"))
    refused = ran is None or ran.get("status") == "denied"
    allowed = decision in _ALLOWED
    command = str((ran or {}).get("command") or (ran or {}).get("subject") or (decided or {}).get("subject", ""))
    by = str((decided or {}).get("by", "")) or ("guard" if refused else "reads")
    return LoggedDecision(
        at=float(str(first.get("at", 0.0))),
        agent=str(first.get("agent", "")),
        tool=str((decided or {}).get("tool") or (ran or {}).get("tool") or "bash"),
        subject=command,
        verdict="allow" if allowed and not (refused and decided is None) else "deny",
        by=by,
        reason=str((decided or {}).get("reason", "")),
        answer=decision if by == "person" else "",
        ran=ran is not None and not refused,
        status=str((ran or {}).get("status", "")),
        sandboxed=bool((ran or {}).get("sandbox", False)),
    )


def _fits(one: LoggedDecision, wanted: DecisionQuery) -> bool:
    if wanted.text.lower() not in f"{one.subject} {one.by} {one.reason}".lower():
        return False
    return (not wanted.tool or one.tool == wanted.tool) and (not wanted.verdict or one.verdict == wanted.verdict)
