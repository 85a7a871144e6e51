"""The questions of a program over ACP (`session/request_permission`): asked with the program's own choices.

The agent's mode answers some of them; a person answers the others, by `QuestionAnswered` for exactly the question that
they saw. One question is open at a time; whatever ends its turn cancels it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from gshtui.bus.agent_data import GuardMode, OpenQuestion, QuestionChoice
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentStatusChanged, QuestionAnswered
from gshtui.bus.events.hub_events import Noticed
from gshtui.guard import sensitive_paths
from gshtui.guard.approval import Respondent
from gshtui.programs.acp.acp_updates import CallReport
from gshtui.system.ids import new_id
from gshtui.text.sanitise import one_line, visible

Decision = Literal["allow", "deny", "ask"]
CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}
_READS = ("read", "search", "think")
_DETAIL = 4_000
_MOST = 9
"""Choices that have a digit."""


@dataclass(frozen=True, slots=True)
class Option:
    """One of the program's own answers."""

    id: str
    name: str
    kind: str
    """allow_once, allow_always, reject_once or reject_always."""


def options_of(params: Mapping[str, Any]) -> list[Option]:
    """The answers that a request offers."""
    found: list[Option] = []
    given = params.get("options")
    for item in cast("list[object]", given) if isinstance(given, list) else []:
        if not isinstance(item, dict):
            continue
        held = cast("Mapping[str, object]", item)
        id, name, kind = held.get("optionId"), held.get("name"), held.get("kind")
        if isinstance(id, str) and id:
            words = one_line(name, 120) if isinstance(name, str) else ""
            found.append(Option(id, words or one_line(id, 120), kind if isinstance(kind, str) else ""))
    return found


def decide(
    mode: GuardMode, respondent: Respondent, kind: str, paths: Sequence[str], folder: Path, command: str = ""
) -> Decision:
    """What may be answered without a person, as the agent's mode and its respondent say.

    Args:
        kind: the protocol's kind of the call: read, edit, execute …
        paths: the files that the call names.
        folder: the agent's folder.
        command: its command line, where it is known.
    """
    if command:
        from gshtui.guard import shell_policy  # its tables are large: not before something is to run

        if shell_policy.refused(command):
            return "deny"
    reads = kind in _READS
    if mode == "plan" and not reads:
        return "deny"
    if respondent == "nobody":
        return "deny"
    if mode == "yolo":
        return "allow"
    inside = bool(paths) and all(_is_plain(folder, path) for path in paths)
    if (
        inside
        and (reads or kind in ("edit", "delete", "move"))
        and (mode in ("edit", "auto") or respondent == "policy")
    ):
        return "allow"
    return "deny" if respondent == "policy" else "ask"


def _is_plain(folder: Path, path: str) -> bool:
    """Whether a path is really inside the folder, no secret, and not obeyed by other programs."""
    real, root = (folder / path).resolve(), folder.resolve()
    if not real.is_relative_to(root) or sensitive_paths.secret(real):
        return False
    return not (sensitive_paths.starts_things(real) or sensitive_paths.guarded(real))


def outcome(options: Sequence[Option], allowed: bool) -> dict[str, Any]:
    """The answer to the program that allows the call this once, or refuses it."""
    for kind in ("allow_once",) if allowed else ("reject_once", "reject_always"):
        for option in options:
            if option.kind == kind:
                return {"outcome": {"outcome": "selected", "optionId": option.id}}
    return CANCELLED


class AcpQuestions:
    """See the module. `asking` is held while a person is asked, here or by the guard."""

    def __init__(
        self, bus: Bus, agent: str, folder: Path, respondent: Respondent, mode: Callable[[], GuardMode]
    ) -> None:
        self.asking = asyncio.Lock()
        self._bus = bus
        self._agent = agent
        self._folder = folder
        self._respondent: Respondent = respondent
        self._mode = mode
        self._open: tuple[OpenQuestion, asyncio.Future[str]] | None = None

    async def ask(self, report: CallReport, params: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """Answer one request; waits for a person if it takes one. Cancelling the wait withdraws the question.

        Returns:
            The answer to the program, and whether it allows the call.
        """
        options = options_of(params)
        command = (report.arguments or {}).get("command")
        line = command if isinstance(command, str) else (report.title or "") if report.kind == "execute" else ""
        mode = self._mode()
        paths = report.paths or ()
        decided = await asyncio.to_thread(
            decide, mode, self._respondent, report.kind or "other", paths, self._folder, line
        )
        if decided != "ask":
            answer = outcome(options, decided == "allow")
            if decided == "deny":
                about = one_line(report.title or report.kind or "a call", 120)
                by = "plan mode" if mode == "plan" else "the guard"
                self._bus.publish(Noticed(level="info", text=f"Refused by {by}: {about}", about=self._agent))
            return answer, decided == "allow" and answer is not CANCELLED
        async with self.asking:
            question = question_of(report, options, line)
            chosen = await self._wait(question)
        if not chosen or (place := int(chosen) - 1) >= len(options):
            return CANCELLED, False
        option = options[place]
        return {"outcome": {"outcome": "selected", "optionId": option.id}}, option.kind.startswith("allow")

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


def question_of(report: CallReport, options: Sequence[Option], command: str = "") -> OpenQuestion:
    """The question to a person."""
    subject = one_line(" ".join(filter(None, (report.kind, report.title))), 200) or "May it go on?"
    parts = [visible(command)] if command and command != report.title else []
    parts += [f"file: {visible(path)}" for path in (report.paths or ())[:20]]
    if report.text:
        parts.append(report.text)
    choices = tuple(QuestionChoice(str(n), option.name) for n, option in enumerate(options[:_MOST], 1))
    return OpenQuestion(new_id(), subject, "\n".join(parts)[:_DETAIL], choices, diff=report.diff or "")
