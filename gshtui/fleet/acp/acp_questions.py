"""The questions of a program over ACP (`session/request_permission`): asked with the program's own choices.

The guard answers what the person's rules and the agent's mode decide, and never more than this once; a person answers
the others, by `QuestionAnswered` for exactly the question that they saw. One question is open at a time; whatever ends
its turn cancels it.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import Meaning, OpenQuestion, QuestionChoice
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentStatusChanged, QuestionAnswered
from gshtui.bus.events.approval_events import ApprovalSettled
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import Assessment, CommandError, Effect, Invocation
from gshtui.guard.approval.gate import Call, Gate, Verdict
from gshtui.programs.acp.acp_updates import TITLE, CallReport
from gshtui.programs.screen.choice_meaning import digits_of, meaning_of
from gshtui.system.ids import new_id
from gshtui.system.json_types import is_array, is_object
from gshtui.text.sanitise import literal, one_line, visible
from gshtui.text.unified_diff import is_cut
from gshtui.tools.files import path_location
from gshtui.tools.files.read import reading
from gshtui.tools.files.write import writable, writing

Answer = Literal["allowed", "denied", "withdrawn"]
CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}
_READS = {"read": "read", "search": "grep"}
"""The protocol's kinds of calls that read files, and the tool of ours whose rules are about the like."""
_WRITES = ("edit", "delete", "move")
_FOLDERS = ("cwd", "workdir", "working_dir", "workingDirectory", "directory", "dir_path")
"""What programs call the folder of a command."""
_COMMANDS = {"command", "cmd", "args", "argv", "arguments", "stdin"}
"""What programs call a command, and what else belongs to it."""
_PATHS = {"path", "file_path", "filePath", "filepath", "absolute_path", "abs_path"}
_TEXTS = {"content", "file_text", "changes", "edits", "replace_all", "replaceAll", "instruction"} | {
    f"{which}_{what}" for which in ("old", "new") for what in ("string", "str", "text")
}
_SHELLS = ("sh", "bash", "zsh", "dash")
_DETAIL = 4_000
_MOST = 9
"""Choices that have a digit."""


class Option(msgspec.Struct, frozen=True):
    """One of the program's own answers."""

    id: str
    name: str
    kind: str
    """allow_once, allow_always, reject_once or reject_always."""


def options_of(params: Mapping[str, Any]) -> list[Option]:
    """The answers that a request offers."""
    found: list[Option] = []
    given = params.get("options")
    for item in given if is_array(given) else []:
        if not is_object(item):
            continue
        id, name, kind = item.get("optionId"), item.get("name"), item.get("kind")
        if isinstance(id, str) and id:
            words = one_line(name, 120) if isinstance(name, str) else ""
            found.append(Option(id, words or one_line(id, 120), kind if isinstance(kind, str) else ""))
    return found


def outcome(options: Sequence[Option], allowed: bool) -> dict[str, Any]:
    """The answer to the program that allows the call this once, or refuses it; `CANCELLED` if it offers none."""
    for kind in ("allow_once",) if allowed else ("reject_once", "reject_always"):
        for option in options:
            if option.kind == kind:
                return {"outcome": {"outcome": "selected", "optionId": option.id}}
    return CANCELLED


def command_of(report: CallReport) -> tuple[str, bool, str]:
    """The shell line that a call would run, whether the program says so in so many words, and in which folder.

    Where it says neither line nor folder, its title stands for the line: that is enough to refuse it, never to allow.
    So is a line of which no more is kept, or to which other arguments may belong.
    """
    given = report.arguments or {}
    folder = next((str(given[name]) for name in _FOLDERS if isinstance(given.get(name), str)), "")
    command: object = given.get("command", given.get("cmd"))
    whole = not report.cut and len(given.keys() & _COMMANDS) == 1
    if is_array(command) and all(isinstance(word, str) for word in command):
        words: list[str] = command
        shell = len(words) == 3 and Path(words[0]).name in _SHELLS and words[1].lstrip("-") in ("c", "lc")
        return words[2] if shell else shlex.join(words), whole and bool(words), folder
    if isinstance(command, str) and command:
        return command, whole, folder
    return (report.title or "").strip("` ") if report.kind == "execute" else "", False, folder


def assess_request(report: CallReport, invocation: Invocation) -> tuple[str, Assessment]:
    """The tool of ours that comes closest, and what the call would do, as its program tells. Blocks for a moment."""
    line, certain, folder = command_of(report)
    title = one_line(report.title or report.kind or "a call", 300)
    if line and certain:
        return "bash", _running(line, folder, invocation)
    if line or report.kind == "execute":
        return "execute", Assessment(Effect.EXECUTE, one_line(literal(line)) or title, inside=False, line=line)
    kind = report.kind or "other"
    paths = report.paths or ()
    if kind in _READS or kind in _WRITES:
        effect = Effect.READ if kind in _READS else Effect.WRITE
        found = [_touching(path, effect, _READS.get(kind, "edit"), invocation) for path in paths]
        if not found:
            return _READS.get(kind, "edit"), Assessment(effect, title, inside=False)
        inside = all(one.inside for one in found)
        every = tuple(replace(one, inside=False) for one in found) if found[1:] else ()  # each needs a rule
        return _READS.get(kind, "edit"), replace(found[0], inside=inside, diff=report.diff or "", every=every)
    effect = Effect.NETWORK if kind == "fetch" else Effect.EXECUTE
    return kind, Assessment(effect, title, inside=False)


def _running(line: str, folder: str, invocation: Invocation) -> Assessment:
    """A command that the program runs by itself: no sandbox holds it, so only a rule for each part of it allows it."""
    from gshtui.tools.shell.shell_assessment import assess_line  # its tables are large: not before something is to run

    try:
        place = path_location.locate(invocation, folder or str(invocation.cwd))
    except CommandError as error:
        return Assessment(Effect.EXECUTE, one_line(literal(line), 300), inside=False, why=error.message, line=line)
    found = assess_line(line, place, invocation.project)
    if not place.inside:  # a rule speaks of the project
        return replace(found, inside=False, reads=False, sandbox=False, parts=(), line=line)
    parts = tuple(replace(part, verdict="ask") if part.verdict == "allow" else part for part in found.parts)
    return replace(found, inside=False, reads=False, sandbox=False, parts=parts)


def _touching(path: str, effect: Effect, tool: str, invocation: Invocation) -> Assessment:
    try:
        if effect is Effect.READ:
            return reading(path_location.locate(invocation, path), tool)
        place = writable(invocation, path)
        return writing(place, tool, "", os.fspath(place.real))
    except CommandError as error:
        return Assessment(effect, one_line(literal(path), 300), inside=False, why=error.message)


class AcpQuestions:
    """See the module. `asking` is held while a person is asked, here or by the guard."""

    def __init__(self, bus: Bus, agent: str, gate: Gate, invocation: Invocation) -> None:
        """`invocation`: the context of what the program does, as an agent."""
        self.asking = asyncio.Lock()
        self._bus = bus
        self._agent = agent
        self._gate = gate
        self._invocation = invocation
        self._open: tuple[OpenQuestion, asyncio.Future[str]] | None = None

    async def ask(self, report: CallReport, params: Mapping[str, Any]) -> tuple[dict[str, Any], Answer]:
        """Answer one request; waits for a person if it takes one. Cancelling the wait withdraws the question.

        Returns:
            The answer to the program, and what it means.
        """
        options = options_of(params)
        tool, assessment = await asyncio.to_thread(assess_request, report, self._invocation)
        verdict = await self._decided(report, options, tool, assessment)
        if verdict is not None:
            self._say(report, verdict)
            return outcome(options, verdict.allowed), "allowed" if verdict.allowed else "denied"
        async with self.asking:
            question = replace(question_of(report, options), warnings=assessment.warnings)
            chosen = await self._wait(question)
        place = next((place for place, one in enumerate(question.choices) if one.key == chosen), -1)
        if not chosen or place < 0:
            return CANCELLED, "withdrawn"
        option = options[place]
        answer = {"outcome": {"outcome": "selected", "optionId": option.id}}
        allowed = option.kind.startswith("allow")
        lasting = "session" if option.kind == "allow_always" else "once"
        self._bus.publish(
            ApprovalSettled(
                approval=question.id, agent=self._agent, call=report.id, decision=lasting if allowed else "deny"
            )
        )
        return answer, "allowed" if allowed else "denied"

    async def _decided(
        self, report: CallReport, options: Sequence[Option], tool: str, assessment: Assessment
    ) -> Verdict | None:
        """What the guard decides without a person; `None`: nothing, or the program has no answer that says it."""
        line = command_of(report)[0]
        arguments = {**(report.arguments or {}), **({"command": line} if line else {})}
        also = ("write",) if tool == "edit" else ("bash",) if tool == "execute" else ()
        call = Call(self._agent, self._invocation.session, report.id, tool, arguments, also)
        if outcome(options, True) is CANCELLED and self._gate.modes.mode_of(self._agent) != "plan":
            # It offers no mere yes, so that only a refusal can be decided.
            assessment = replace(assessment, inside=False, only_person=True)
        verdict = await self._gate.decide(call, assessment)
        if not isinstance(verdict, Verdict) or (verdict.allowed and outcome(options, True) is CANCELLED):
            return None
        return verdict

    def _say(self, report: CallReport, verdict: Verdict) -> None:
        """Tell a person what was refused without them, and what a rule of theirs allowed."""
        about = one_line(report.title or report.kind or "a call", 120)
        if not verdict.allowed:
            by = "your " + verdict.by if verdict.by.startswith("rule ") else verdict.by or "the guard"
            by = "the guard" if by == "guard" else by
            self._bus.publish(Noticed(level="info", text=f"Refused by {by}: {about}", about=self._agent))
        elif verdict.by.startswith("rule "):
            self._bus.publish(Noticed(level="info", text=f"Allowed by your {verdict.by}: {about}", about=self._agent))

    def handle_answer(self, event: QuestionAnswered) -> None:
        """Take a person's answer, if it is one to the question that is open now."""
        if self._open is None or self._open[0].id != event.question or self._open[1].done():
            return
        if event.choice in {choice.key for choice in self._open[0].choices}:
            self._open[1].set_result(event.choice)

    def withdraw(self) -> None:
        """Answer the open question as cancelled."""
        if self._open is not None and not self._open[1].done():
            self._open[1].set_result("")

    async def _wait(self, question: OpenQuestion) -> str:
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._open = question, answered
        doing = f"approval of {question.subject}"
        self._bus.publish(AgentStatusChanged(agent=self._agent, status="waiting", doing=doing, question=question))
        try:
            return await answered
        finally:
            self._open = None
            self._bus.publish(AgentStatusChanged(agent=self._agent, status="thinking"))


_KINDS: dict[str, Meaning] = {
    "allow_once": "once",
    "allow_always": "more",
    "reject_once": "deny",
    "reject_always": "deny",
}


def _meaning(option: Option) -> Meaning:
    """What an answer means: its kind says it, but not that it also changes the program's mode."""
    return "mode" if meaning_of(option.name) == "mode" else _KINDS.get(option.kind, "")


def _named(name: str, value: object) -> str:
    """An argument as `name: value`. Its further lines are indented, so that none looks like another argument."""
    is_plain = isinstance(value, str) and value.strip() and value == value.strip()
    text = value if is_plain else json.dumps(value, ensure_ascii=False)
    return f"{visible(name, counted=False)}: {visible(str(text), counted=False)}".replace("\n", "\n  ")


def question_of(report: CallReport, options: Sequence[Option]) -> OpenQuestion:
    """The question to a person."""
    title, diff = report.title or "", report.diff or ""
    told = " ".join(filter(None, (report.kind, title)))
    subject = one_line(told, 200) or "May it go on?"
    command, certain, folder = command_of(report)
    paths, named = report.paths or (), title.strip("` ")
    parts = [visible(command)] if command and not (command == named and told == subject) else []
    if told != subject and one_line(literal(command), TITLE) != named:
        parts.insert(0, visible(title))
    parts += [f"in {visible(folder)}"] if folder else []
    parts += [f"file: {visible(path)}" for path in paths]
    untold = {
        name: value
        for name, value in (report.arguments or {}).items()
        if not (certain and name in _COMMANDS)
        and not (name in _FOLDERS and value == folder)
        and not (name in _PATHS and value in paths)
        and not (diff and name in _TEXTS)
    }
    parts += [_named(name, value) for name, value in untold.items()]
    if report.text:
        parts.append(report.text)
    detail = "\n".join(parts)
    cut = report.cut or (bool(command) and not certain and title.endswith("…"))
    partial = cut or len(detail) > _DETAIL or is_cut(diff)
    meanings: list[Meaning] = [_meaning(option) for option in options[:_MOST]]
    digits = digits_of(meanings) or tuple(str(n) for n in range(1, len(meanings) + 1))
    choices = tuple(
        QuestionChoice(digit, option.name, means)
        for digit, option, means in zip(digits, options, meanings, strict=False)
    )
    overflows = len(options) > _MOST
    return OpenQuestion(new_id(), subject, detail[:_DETAIL], choices, partial, overflows=overflows, diff=diff)
