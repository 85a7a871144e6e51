"""The `guard` command: what the policy decides about a shell line, without running it.

Changes nothing. Agents may use it, too: it reveals no more than a call would. Registered by the hub.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from gshtui.commands.declaration import (
    Action,
    Command,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
    UsageError,
)
from gshtui.commands.family import Family
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.text.sanitise import literal, one_line

if TYPE_CHECKING:
    from gshtui.guard.shell_policy import Judgement


@dataclass(frozen=True, slots=True)
class CheckedLine:
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
    command: Annotated[str, ShellOption(required=True, lines=True)] = ""


class GuardParameters(Parameters):
    """Parameters of `guard`."""

    SHELL = ShellGroup("Ask what the policy says about a shell line.", "Ask the policy without running anything.")
    action: Literal["check"] = Field(default="check", description="check: judge a shell line by the policy.")
    command: str = Field(default="", description="The shell line, as an agent would pass it to bash.")


def commands() -> list[AnyCommand]:
    """The guard family."""

    async def check(invocation: Invocation, wanted: CheckLine) -> CheckedLine:
        from gshtui.guard.shell_policy import judge  # import the parser and its table only once there is a line

        if not wanted.command:
            raise UsageError("No line to check.", hint="For example: guard check 'git status'")
        return CheckedLine(await asyncio.to_thread(judge, wanted.command, invocation.cwd, invocation.project))

    def answer(invocation: Invocation, value: object) -> dict[str, object]:
        return checked(value, invocation.cwd, invocation.project)

    family = Family[GuardParameters](
        lambda given: CheckLine(command=given.command),
        Action(CheckLine, CheckedLine, check, _render, answers=answer),
    )
    return [
        Command(
            "guard",
            "Show the policy's verdict on a shell line",
            GuardParameters,
            family.handle,
            effect=Effect.READ,
            positions=("action", "command"),
            family="workbench",
            actions=family.actions,
            bind=family.bind,
        )
    ]


def checked(value: object, cwd: Path, project: Path) -> dict[str, object]:
    """The answer to a script's question `{"command": …}`; anything else is denied."""
    from gshtui.guard.shell_policy import judge

    match value:
        case {"command": str(command)}:
            return judgement_data(judge(command, cwd, project))
        case _:
            why = 'it is not an object with a "command" string'
            return {"verdict": "deny", "rule": "input", "why": why, "parts": []}


def judgement_data(judged: Judgement) -> dict[str, object]:
    """The judgement as JSON has it."""
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
