"""The `guard` command: what the policy thinks of a shell line, without running it.

Looks and changes nothing; also for agents, who see no more by it than a call would tell them. Registered by the hub.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from gshtui.commands.declaration import Command, Effect, Invocation, Outcome, Parameters, UsageError
from gshtui.commands.registry import AnyCommand
from gshtui.text.sanitise import literal, one_line

if TYPE_CHECKING:
    from gshtui.guard.shell_policy import Judgement


class GuardParameters(Parameters):
    """Parameters of `guard`."""

    action: Literal["check"] = Field(default="check", description="check: judge a shell line by the policy.")
    command: str = Field(default="", description="The shell line, as an agent would pass it to bash.")


def commands() -> list[AnyCommand]:
    """The guard family."""

    async def run(invocation: Invocation, parameters: GuardParameters) -> Outcome:
        from gshtui.guard.shell_policy import judge  # import the parser and its table only once there is a line

        if not parameters.command:
            raise UsageError("There is no line to check.", hint="For example: guard check 'git status'")
        judged = await asyncio.to_thread(judge, parameters.command, invocation.cwd, invocation.project)
        return Outcome(judgement_data(judged), _said(judged))

    return [
        Command(
            "guard",
            "Say what the policy thinks of a shell line",
            GuardParameters,
            run,
            effect=Effect.READ,
            positions=("action", "command"),
            family="workbench",
        )
    ]


def checked(value: Any, cwd: Path, project: Path) -> dict[str, Any]:
    """The answer to one question `{"command": …}` of a script; what is none is denied."""
    from gshtui.guard.shell_policy import judge

    command = value.get("command") if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(command, str):
        return {"verdict": "deny", "rule": "input", "why": 'it is no object with a "command" that is text', "parts": []}
    return judgement_data(judge(command, cwd, project))


def judgement_data(judged: Judgement) -> dict[str, Any]:
    """The judgement as JSON has it."""
    parts = [
        {"command": part.text, "verdict": part.verdict, "rule": part.rule, "why": part.why} for part in judged.parts
    ]
    return {"verdict": judged.verdict, "rule": judged.rule, "why": judged.why, "parts": parts, "yes": judged.contained}


def _said(judged: Judgement) -> str:
    lines = [f"{judged.verdict}: {judged.why} (rule {judged.rule})"]
    if judged.verdict == "ask" and judged.contained:
        lines.append("`--yes` runs it.")
    if len(judged.parts) > 1:
        lines += [f"  {part.verdict:5}  {part.text}" for part in judged.parts]
    return "\n".join(one_line(literal(line), limit=400) for line in lines)
