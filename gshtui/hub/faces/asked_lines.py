"""Lines of the command language, run for another process, as the person or with an agent's rights."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ModelChangeRequested
from gshtui.bus.events.approval_events import AgentModeChanged
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.commands.declaration import (
    Caller,
    CommandError,
    Outcome,
    Parameters,
    ProgramView,
    Question,
    TalkView,
    Unconfirmed,
    UsageError,
)
from gshtui.commands.evaluation import run_line
from gshtui.commands.execution import run_parsed
from gshtui.commands.language import read_line
from gshtui.commands.printed_outcome import ended
from gshtui.commands.registry import AnyCommand, Registry, may_run
from gshtui.commands.shell_form import ShellForm
from gshtui.hub.hub import Hub
from gshtui.system.ids import new_id

TOLD = (ModelChangeRequested, AgentModeChanged, SessionChangeRequested)
"""What a line does to the conversation of a person who goes on with another one."""


class LineConversation(msgspec.Struct, frozen=True):
    """The conversation of a person who types one line after the other."""

    session: str = "new"
    agent: str = "main"
    provider: str = ""
    model: str = ""
    mode: GuardMode | None = None
    open: bool = False
    """The line is about it, so it is open meanwhile."""


class LinesRequest(msgspec.Struct, frozen=True):
    """Lines, and who runs them."""

    lines: tuple[str, ...]
    agent: str = ""
    """Whose rights apply; empty: the person's."""
    yes: bool = False
    """With an agent's: allow, without asking, what its mode `auto` allows."""
    conversation: LineConversation | None = None
    """Of a person at a screen reader, who is asked what commands ask; a kept prompt is left to a turn."""

    @property
    def parts(self) -> frozenset[str]:
        """The parts of a hub that they need besides those of commands."""
        return frozenset({"agents"} if self.conversation is not None and self.conversation.open else ())

    @property
    def options(self) -> dict[str, Any]:
        """Options of their hub, see `HubOptions`."""
        one = self.conversation
        if one is None or not one.open:
            return {}
        given = {name: getattr(one, name) for name in ("session", "agent", "provider", "model", "mode")}
        return given | {"looks": one.session == "new"}


class CallRefused(Exception):
    """What a line does was not allowed; the text says why."""


def check_line(registry: Registry, line: str) -> None:
    """Raises `UsageError`: it is not of the language, or is about the process that would run it."""
    for stage in (stage for pipeline in read_line(registry, line).pipelines for stage in pipeline.stages):
        form = registry.get(stage.name).parameters.SHELL if stage.name in registry else None
        if stage.name.startswith("hub ") and isinstance(form, ShellForm) and form.alone:
            raise UsageError(f"`{stage.name}` is a line of its own.")


async def run_lines(
    hub: Hub, request: LinesRequest, ask: Callable[[Question], Awaitable[bool]]
) -> AsyncGenerator[Outcome]:
    """The outcome of each, until one fails. Raises `CommandError`, `CallRefused`."""
    for number, line in enumerate(request.lines, 1):
        check_line(hub.registry, line)
        if request.agent:
            outcome = await _as_agent(hub, request, line)
        elif request.conversation is not None:
            outcome = await _asking(hub, line, ask)
        else:
            outcome = await hub.run(line)
        if number < len(request.lines) and isinstance(outcome.view, ProgramView | TalkView):
            raise UsageError("What needs a terminal can only be the last line.")
        yield outcome
        if any(ended(outcome).values()):
            return


async def is_prompt(hub: Hub, line: str) -> bool:
    """Whether it is a kept prompt, which a turn sends."""
    from gshtui.agents.prompts.commands import FAMILY

    await hub.read_prompts()
    word = line.partition(" ")[0]
    return word != "prompts" and word in hub.registry and hub.registry.get(word).family == FAMILY


async def _asking(hub: Hub, line: str, ask: Callable[[Question], Awaitable[bool]]) -> Outcome:
    try:
        return await hub.run(line, ask=ask)
    except Unconfirmed as error:
        raise CallRefused(error.message) from error


def told_by(outcome: Outcome) -> Sequence[Event]:
    """What an outcome does to the conversation besides."""
    return [outcome.intent] if isinstance(outcome.intent, TOLD) else []


async def _as_agent(hub: Hub, request: LinesRequest, line: str) -> Outcome:
    """Run each command of the line as a tool call of the agent: check access, ask the guard, run."""
    from gshtui.agents.toolbox import assess
    from gshtui.guard.approval.gate import Call, Gate
    from gshtui.guard.modes import AgentModes
    from gshtui.guard.rules.rule_book import RuleFiles
    from gshtui.guard.rules.rule_file import own_file

    caller = Caller(request.agent, is_agent=True)
    auto = frozenset(hub.settings.agent.auto_approve)
    modes = AgentModes(hub.bus, request.agent, "auto" if request.yes else hub.settings.agent.mode)
    files = RuleFiles(own_file(), hub.project)
    respondent = "policy" if request.yes else "nobody"
    gate = Gate(hub.bus, respondent=respondent, auto_approve=auto, modes=modes, rules=files.current)
    refusals: list[str] = []

    async def judged(command: AnyCommand, parameters: Parameters, invocation: Any) -> Outcome:
        """Run a command of the line as a call of its own."""
        if not may_run(command, caller):
            raise UsageError(f"{command.name} is for people only.")
        arguments: dict[str, Any] = parameters.model_dump(exclude_unset=True)
        assessment = await assess(command, invocation, parameters, arguments)
        verdict = await gate.review(Call(request.agent, "", new_id(), command.first_word, arguments), assessment)
        if not verdict.allowed:
            name, subject = command.name, assessment.subject
            what = subject if subject.split(" ")[0] == name else f"{name} {subject}"
            refusals.append(f"{what}: {verdict.reason}")
            raise CommandError(refusals[-1])
        return await run_parsed(command, parameters, replace(invocation, sandboxed=verdict.sandboxed))

    try:
        return await run_line(hub.registry, line, replace(hub.invocation(caller), run_stage=judged))
    except CommandError as error:
        if refusals:
            raise CallRefused(refusals[-1]) from error
        raise
    finally:
        await gate.close()
