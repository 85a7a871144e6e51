"""Approval: the questions that a person answers before something runs, and the rules that their answers save."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import Respondent
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.bus.events.approval_events import DENIED, REASON, ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import Assessment, Effect, RuleScope, SandboxUse
from gshtui.commands.known_tools import DOES
from gshtui.guard.approval.question_text import waiting_words
from gshtui.guard.modes import AgentModes
from gshtui.guard.policy import sensitive_paths
from gshtui.guard.rules.rule_book import GuardRule, RuleBook, RuleMatter, line_matter, parse_rules
from gshtui.guard.rules.rule_paths import escaped
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.markdown_table import unmarked
from gshtui.text.sanitise import literal, one_line

_RULED_AS = {
    **dict.fromkeys(("read", "list", "go"), "read"),
    **dict.fromkeys(("write", "make", "remove"), "write"),
}
"""What a tool does → the tool whose rules hold for it, too, besides rules of its own."""
_ON_FILES = frozenset((*_RULED_AS, "search", "edit"))
"""Of our own tools, the subject of one that does this is a path: what others say of theirs may only look like one."""


def _ruled_as(tool: str) -> str:
    return _RULED_AS.get(DOES.get(tool, ""), tool)


def _names_files(tool: str) -> bool:
    return DOES.get(tool) in _ON_FILES or tool == "ssh"


_PLAN = (
    "The agent is in plan mode, in which it only reads: {what} was refused. Finish your plan without it and say what "
    "you would do; the person changes the mode when they agree."
)
_REFUSALS = 3
_ALLOWS = frozenset({"once", "session", "always"})


class Verdict(msgspec.Struct, frozen=True):
    """Whether the call may run. `reason` is for the model if it may not."""

    allowed: bool
    reason: str = ""
    sandboxed: bool = False
    """It may run in the sandbox only."""
    values: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """What the person filled in, if the question asks for values."""
    by: str = ""
    """The rule, mode or policy that decided it; empty: it needed no decision, or a person's."""


_CEASED = "gsh-tui is closing, so nothing was started."


class Call(msgspec.Struct, frozen=True):
    """The call in question."""

    agent: str
    session: str
    id: str
    tool: str
    arguments: dict[str, Any]
    also: tuple[str, ...] = ()
    """Other tools whose rules hold for it, too."""


class Gate:
    """Reviews calls, one question each. Made and closed by the hub."""

    def __init__(
        self,
        bus: Bus,
        *,
        respondent: Respondent,
        auto_approve: frozenset[str],
        modes: AgentModes | None = None,
        rules: Callable[[], RuleBook] = RuleBook,
        save: Callable[[str], GuardRule] | None = None,
        timeout: float | None = None,
    ) -> None:
        """
        Args:
            respondent: who answers.
            auto_approve: tools that need no question inside the project.
            modes: the agents' modes; by default, all of them ask.
            rules: gives the rules in force now.
            save: adds a rule, as TOML, to the person's own; raises `RuleFileError`. Without it `always` is not offered.
            timeout: seconds to wait for an answer.
        """
        self._bus = bus
        self._respondent: Respondent = respondent
        self._rules = rules
        self._save_rule = save
        self.modes = AgentModes(bus, "") if modes is None else modes
        self._auto_approve = auto_approve
        self._timeout = timeout
        self._exact: set[tuple[str, str, str]] = set()
        self._waiting: dict[str, tuple[ApprovalRequested, asyncio.Future[ApprovalAnswered]]] = {}
        self._ceased = False
        self._subscription = bus.subscribe(self._answered, ApprovalAnswered, name="guard")

    def cease(self) -> None:
        """Allow nothing from now on, not even what a person has just allowed: gsh-tui is closing."""
        self._ceased = True

    async def close(self) -> None:
        """Stop listening; questions still open end as withdrawn with their turns."""
        self._subscription.unsubscribe()
        self.modes.close()

    async def review(self, call: Call, assessment: Assessment) -> Verdict:
        """Decide on one call; wait for a person if it takes one. Cancelling the wait withdraws the question."""
        decided = await self.decide(call, assessment)
        return decided if isinstance(decided, Verdict) else self._unless_ceased(await self._ask(call, decided))

    async def decide(self, call: Call, assessment: Assessment) -> Verdict | Assessment:
        """Decide on one call as far as that takes no person; else its assessment, as they are to be asked about it."""
        decided = await self._decide(call, assessment)
        return self._unless_ceased(decided) if self._ceased or isinstance(decided, Verdict) else decided

    def _unless_ceased(self, decided: Verdict | Assessment) -> Verdict:
        if self._ceased or not isinstance(decided, Verdict):
            return Verdict(False, _CEASED, by="guard")
        return decided

    async def _decide(self, call: Call, assessment: Assessment) -> Verdict | Assessment:
        if refused := self._refused(call, assessment):
            return self._settle(self._request(call, assessment), "deny", refused, by="guard")
        book = self._rules()
        if assessment.machine:
            book = replace(book, machine=assessment.machine, project=Path(assessment.root))
        if assessment.only_person:  # allowed only by a rule that names this tool
            kept = (one for one in book.rules if one.do != "allow" or call.tool in one.tool)
            book = replace(book, rules=tuple(kept))
        rule = await asyncio.to_thread(_rule, book, call, assessment) if book.rules else None
        if rule is not None and rule.do == "deny":
            return self._settle(self._request(call, assessment), "deny", _said("denies", rule), by=f"rule {rule.name}")
        if rule is not None and rule.do == "ask":
            assessment = replace(assessment, inside=False, sandbox=False, pattern="", key="", why=_said("asks", rule))
        if self._is_free(call, assessment) and not (assessment.drops and self.modes.mode_of(call.agent) == "plan"):
            return Verdict(True)
        plan = self.modes.mode_of(call.agent) == "plan"
        if rule is not None and rule.do == "allow" and not plan:
            return self._allowed_by(call, assessment, f"rule {rule.name}")
        if (rule is None or plan) and (decided := self._by_mode(call, assessment)) is not None:
            return decided
        if rule is None and self._known(call, assessment):
            return Verdict(True)
        if self._respondent == "policy":
            return self._by_policy(call, assessment)
        if self._respondent == "nobody":
            reason = "It needs a person's approval, and nobody is there to ask."
            return self._settle(self._request(call, assessment), "nobody", reason, by="guard")
        return assessment

    async def review_wider(self, call: Call, assessment: Assessment, use: SandboxUse) -> Verdict:
        """Decide whether a call that failed in the sandbox, for what that refused, runs once more, wider.

        Only a person allows it: with the hosts that it lacked, and still in the sandbox, or else outside. Without one
        to ask it does not, and there is nothing to say. Cancelling the wait withdraws the question.
        """
        if self._respondent != "person" or self.modes.mode_of(call.agent) == "plan":
            return Verdict(False)
        refused = "; ".join(_line(each) for each in use.refused[:_REFUSALS])
        again = f"with {', '.join(use.hosts)} for this conversation" if use.hosts else "outside the sandbox"
        question = replace(
            assessment,
            inside=False,
            sandbox=False,
            parts=(),
            why=f"the sandbox refused it something: {refused}",
            warnings=(f"runs once more, {again}; what it has done already stays done", *assessment.warnings),
            **({"pattern": "", "key": ""} if use.hosts else {}),
        )
        if not use.hosts and self._known(call, question):
            return Verdict(True)
        verdict = self._unless_ceased(await self._ask(call, question))
        return replace(verdict, sandboxed=verdict.allowed and bool(use.hosts))

    def _refused(self, call: Call, assessment: Assessment) -> str:
        command = call.arguments.get("command")
        if assessment.effect is not Effect.EXECUTE or not isinstance(command, str):
            return ""
        from gshtui.guard.policy import shell_policy  # its tables are large: not before something is to run

        why = shell_policy.refused(command)
        return f"Always refused: {why}." if why else ""

    def _is_free(self, call: Call, assessment: Assessment) -> bool:
        """Whether it needs no question in any mode: it only reads the project, with a tool that may."""
        if not assessment.inside:
            return False
        if assessment.reads:
            return bool({"read", call.tool} & self._auto_approve)
        unasked = bool({_ruled_as(call.tool), call.tool} & self._auto_approve)
        return assessment.effect is Effect.READ and (unasked or DOES.get(call.tool) not in _ON_FILES)

    def _by_mode(self, call: Call, assessment: Assessment) -> Verdict | None:
        """What the agent's mode decides without a person; `None`: nothing."""
        mode = self.modes.mode_of(call.agent)
        if assessment.only_person or mode == "ask":
            return None
        if mode == "plan":
            if (assessment.effect is Effect.READ or assessment.reads) and not assessment.drops:
                return None
            request = self._request(call, assessment)
            return self._settle(request, "deny", _PLAN.format(what=call.tool), by="plan mode")
        edits = assessment.effect is Effect.WRITE and assessment.inside
        sandboxed = mode == "auto" and assessment.sandbox
        if not (mode == "yolo" or edits or sandboxed):
            return None
        return self._allowed_by(call, assessment, "sandbox" if sandboxed else f"{mode} mode", sandboxed=sandboxed)

    def _allowed_by(self, call: Call, assessment: Assessment, by: str, *, sandboxed: bool = False) -> Verdict:
        """Publish that a call may run though nobody was asked."""
        request = self._request(call, assessment)
        self._bus.publish(
            ApprovalSettled(
                approval=request.approval,
                agent=call.agent,
                call=call.id,
                decision="once",
                by=by,
                tool=call.tool,
                subject=request.subject,
            )
        )
        return Verdict(True, sandboxed=sandboxed, by=by)

    def _known(self, call: Call, assessment: Assessment) -> bool:
        """Whether the settings allow it, or the person allowed exactly this call before."""
        if assessment.inside and call.tool in self._auto_approve:
            return True
        return bool(assessment.key) and (call.session, call.tool, assessment.key) in self._exact

    def _by_policy(self, call: Call, assessment: Assessment) -> Verdict:
        if assessment.inside or assessment.sandbox:
            by = "sandbox" if assessment.sandbox else "policy"
            return self._allowed_by(call, assessment, by, sandboxed=assessment.sandbox)
        request = self._request(call, assessment)
        outside = f"The policy denies anything outside the project: {assessment.subject}."
        reason = f"The policy does not allow this without a person: {assessment.why}." if assessment.why else outside
        return self._settle(request, "deny", reason, by="policy")

    def _request(self, call: Call, assessment: Assessment, rule: str = "") -> ApprovalRequested:
        return ApprovalRequested(
            approval=new_id(),
            agent=call.agent,
            session=call.session,
            call=call.id,
            tool=call.tool,
            effect=assessment.effect.value,
            subject=assessment.subject,
            detail="\n".join((*_elsewhere(assessment), assessment.detail)).strip("\n"),
            beside="\n".join(_explained(assessment)),
            diff=assessment.diff,
            pattern=assessment.pattern if rule else "",
            rule=rule,
            repeatable=bool(assessment.key),
            warnings=assessment.warnings,
            arguments=call.arguments,
        )

    async def _ask(self, call: Call, assessment: Assessment) -> Verdict:
        request = self._request(call, assessment, await asyncio.to_thread(self._draft, call, assessment))
        answer_to_come: asyncio.Future[ApprovalAnswered] = asyncio.get_running_loop().create_future()
        self._waiting[request.approval] = (request, answer_to_come)
        self._bus.publish(request)
        self._bus.publish(AgentStatusChanged(agent=call.agent, status="waiting", doing=waiting_words(request)))
        try:
            async with time_limit(self._timeout):
                answer = await answer_to_come
        except TimeoutError:
            return self._settle(request, "timeout", f"Nobody answered within {self._timeout:g} s.", by="guard")
        except asyncio.CancelledError:
            self._settle(request, "withdrawn", "", by="guard")
            raise
        finally:
            del self._waiting[request.approval]
        if answer.decision not in _ALLOWS:
            why = f"{REASON}{answer.reason}" if answer.reason else ""
            return self._settle(request, "deny", f"{DENIED}{why}", said=answer.reason)
        decision = answer.decision
        if decision == "session" and assessment.key:
            self._exact.add((call.session, call.tool, assessment.key))
        elif decision == "session":
            decision = "once"  # from a face that does not know that it is not offered
        if decision == "always" and not await self._saved(request, answer.rule):
            decision = "once"
        self._settle(request, decision, "")
        return Verdict(True, values=answer.values)

    def _draft(self, call: Call, assessment: Assessment) -> str:
        """The rule that `always` would save; empty if none would allow this call, and it is not offered."""
        if self._save_rule is None or not assessment.pattern:
            return ""
        from gshtui.guard.rules import rule_draft

        here = self._rules().project
        project = Path(assessment.root) if assessment.machine else here
        for scope in dict.fromkeys(
            (assessment.scope, assessment.scope and RuleScope(exactly=assessment.scope.exactly))
        ):
            text = rule_draft.draft(call.tool, project, assessment.pattern, scope, assessment.machine)
            book = RuleBook(parse_rules(project, text).rules, project=project, machine=assessment.machine)
            if book.rules and (found := _rule(book, call, assessment)) and found.do == "allow":
                return text
        return ""

    async def _saved(self, request: ApprovalRequested, text: str) -> bool:
        """Save the rule of an `always`, as the person left it; says so if it could not be."""
        from gshtui.guard.rules.rule_draft import DraftError, check
        from gshtui.guard.rules.rule_file import RuleFileError

        assert self._save_rule is not None
        try:
            checked = await asyncio.to_thread(check, text or request.rule, request)
            await asyncio.to_thread(self._save_rule, checked.text)
        except (DraftError, RuleFileError) as error:
            said = f"The call was allowed once. No rule was saved: {error}"
            self._bus.publish(Noticed(level="warning", text=one_line(literal(said), 400), about=request.agent))
            return False
        return True

    def _settle(
        self,
        request: ApprovalRequested,
        decision: Literal["once", "session", "always", "deny", "withdrawn", "timeout", "nobody"],
        reason: str,
        *,
        by: str = "person",
        said: str = "",
    ) -> Verdict:
        self._bus.publish(
            ApprovalSettled(
                approval=request.approval,
                agent=request.agent,
                call=request.call,
                decision=decision,
                reason=said or reason,
                by=by,
                tool=request.tool,
                subject=request.subject,
            )
        )
        return Verdict(False, reason, by="" if by == "person" else by)

    def _answered(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, ApprovalAnswered):
                self._handle_answer(event)

    def _handle_answer(self, answer: ApprovalAnswered) -> None:
        """Accept an answer to an open question of this gate; ignores those to other gates' or closed questions."""
        request, answer_to_come = self._waiting.get(answer.approval, (None, None))
        if request is None or answer_to_come is None or answer_to_come.done():
            return
        offered = {"deny", *_ALLOWS} if request.rule else {"deny", *_ALLOWS} - {"always"}
        if answer.decision in offered:
            answer_to_come.set_result(answer)
            return
        text = f"“{one_line(str(answer.decision), 40)}” is not an answer to {one_line(request.tool, 40)}, still open."
        self._bus.publish(Noticed(level="warning", text=text, about=request.agent))


_BY_RULE = re.compile(r" \(rule [\w-]+\)$")
"""The name of the rule of our own policy that decided; `guard check` says it."""
_PART = 50
"""Characters of a part of the call, which is said whole above it."""
_VERDICTS = {"allow": "allowed", "ask": "needs approval", "deny": "denied"}


def _names_all(rule: GuardRule, call: Call, assessment: Assessment, path: str) -> bool:
    """Whether a rule that allows says enough: a secret never, a file that starts programs only by its whole name."""
    if rule.do != "allow":
        return True
    if rule.paths and not _names_files(call.tool):
        return False
    real = Path(assessment.key.partition("\0")[0])
    if sensitive_paths.secret(real):
        return False
    starts = assessment.effect is Effect.WRITE and sensitive_paths.starts_things(real)
    return not starts or any(one in (path, escaped(path)) for one in rule.paths)


def _said(does: str, rule: GuardRule) -> str:
    why = f": {rule.why}" if rule.why else ""
    return f"your rule {rule.name} {does} this{why}" if does == "asks" else f"The rule {rule.name} {does} this{why}."


def _elsewhere(assessment: Assessment) -> list[str]:
    """What a question says above the call, which could be long or pretend to say it."""
    return [f"It acts on {_line(assessment.machine)}, another machine."] if assessment.machine else []


def _explained(assessment: Assessment) -> list[str]:
    """What a question says besides the call: why it asks, unless it is our policy and a warning says it, which parts
    need approval where some do not, and what the sandbox would do.
    """
    lines: list[str] = []
    warned = assessment.why in assessment.warnings or (assessment.warnings and _BY_RULE.search(assessment.why))
    if assessment.why and not warned:
        lines.append(unmarked(f"Not allowed unasked: {_BY_RULE.sub('', _line(assessment.why))}."))
    if len({part.verdict for part in assessment.parts}) > 1:
        lines += (f"{_VERDICTS[part.verdict]}: {one_line(literal(part.text), _PART)}" for part in assessment.parts)
    if assessment.sandbox:
        reach = f": {_line(assessment.reach)}" if assessment.reach else ""
        lines.append(f"Could run sandboxed with /mode auto{reach}.")
    return lines


def _line(text: str) -> str:
    return one_line(literal(text), 200)


def _strictness(rule: GuardRule) -> int:
    return ("deny", "ask", "allow").index(rule.do)


def _rule(book: RuleBook, call: Call, assessment: Assessment) -> GuardRule | None:
    """The rule that decides on the call: where it touches several things, each that asks needs one."""
    if assessment.every:
        found = [(_rule(book, call, one), one.inside) for one in assessment.every]
        strictest = min((rule for rule, _ in found if rule is not None), key=_strictness, default=None)
        if strictest is not None and strictest.do == "allow" and (None, False) in found:
            return None
        return strictest
    if assessment.line:
        return _rule_of_line(book, call, assessment)
    command = call.arguments.get("command")
    if assessment.effect is not Effect.EXECUTE or not isinstance(command, str):
        path = assessment.subject if assessment.effect in (Effect.READ, Effect.WRITE) else ""
        if not assessment.below or assessment.effect is not Effect.READ:
            tools = dict.fromkeys((call.tool, _ruled_as(call.tool), *call.also))
            decided = [book.decide(RuleMatter(tool, path=path, about=assessment.pattern)) for tool in tools]
            found = min((one for one in decided if one is not None), key=_strictness, default=None)
            return None if found is not None and path and not _names_all(found, call, assessment, path) else found
        # The subject of a search begins with what it looks for; its key begins with the folder.
        place = Path(assessment.key.partition("\0")[0])
        path = str(place.relative_to(book.project) if place.is_relative_to(book.project) else place)
        return book.decide(RuleMatter(call.tool, path=path, below=assessment.below))
    free = frozenset(number for number, part in enumerate(assessment.parts) if part.verdict == "allow")
    outside = frozenset(number for number, part in enumerate(assessment.parts) if part.rule == "outside")
    found = book.decide(line_matter(call.tool, command), free=free, outside=outside)
    secret = any(part.rule == "secret" for part in assessment.parts)
    return None if found is not None and found.do == "allow" and secret else found


def _rule_of_line(book: RuleBook, call: Call, assessment: Assessment) -> GuardRule | None:
    """The rule that decides on what takes the place of a shell line: only one for the tool itself allows it."""
    own = book.decide(RuleMatter(call.tool, about=assessment.pattern))
    lines = (book.decide(line_matter(tool, assessment.line)) for tool in ("bash", call.tool))
    found = [rule for rule in lines if rule is not None and rule.do != "allow"]
    return min((*found, *((own,) if own is not None else ())), key=_strictness, default=None)
