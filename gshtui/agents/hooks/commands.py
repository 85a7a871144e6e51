"""The command `hook`: the hooks of this folder; approve those that wait for it, and take that back.

Only people run it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, ClassVar

from pydantic import Field

from gshtui.agents.hooks.hook_set import Hook, HookSet, approve, withdraw
from gshtui.commands.declaration import (
    Access,
    Action,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Question,
    Returns,
    UsageError,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.text.sanitise import literal, one_line

_PARTS = frozenset({"store"})
_GROUP = ShellGroup(
    "Hooks: list, approve.",
    "Hooks: programs that are asked or told when agents do something.",
    (("list", "ls"), ("approve", "accept")),
)


class ListHooks(Parameters, Returns[HookSet]):
    """List the hooks of this folder, and whether they run."""

    COMMAND: ClassVar[str] = "hook"
    WORD: ClassVar[str] = "ls"
    SHELL = ShellForm(parts=_PARTS)


class AcceptHooks(Parameters, Returns[HookSet]):
    """Let hooks run that wait for it: of Claude Code's settings, or new in yours. Exactly as they are now."""

    COMMAND: ClassVar[str] = "hook"
    WORD: ClassVar[str] = "accept"
    SHELL = ShellForm(
        parts=_PARTS,
        needs_answer=True,
        examples=("gsh-tui hook accept all",),
    )
    id: Annotated[str, ShellOption(metavar="ID")] = Field(description="The hook's id, its beginning, or `all`.")
    outside: bool = Field(default=False, description="They run outside the sandbox.")


class RefuseHooks(Parameters, Returns[HookSet]):
    """Let hooks of Claude Code's settings run no more."""

    COMMAND: ClassVar[str] = "hook"
    WORD: ClassVar[str] = "refuse"
    SHELL = ShellForm(parts=_PARTS, rights=True)
    id: Annotated[str, ShellOption(metavar="ID")] = Field(description="The hook's id, its beginning, or `all`.")


ReadHooks = Callable[[], HookSet]
"""Gives the hooks as they are now; blocks for a moment."""


def commands(read: ReadHooks) -> list[AnyCommand]:

    async def chosen(word: str, *, approved: bool) -> list[Hook]:
        hooks = (await asyncio.to_thread(read)).hooks
        found = [hook for hook in hooks if word == "all" or (word and hook.id.startswith(word))]
        found = [
            hook for hook in found if word != "all" or (hook.approved == approved and not (approved and hook.is_own))
        ]
        if not found:
            raise UsageError(f"There is no such hook: {one_line(word, 40)!r}.", hint="`hook ls` lists them.")
        return found

    async def ls(_: Invocation, _wanted: ListHooks) -> HookSet:
        return await asyncio.to_thread(read)

    async def accept(_: Invocation, wanted: AcceptHooks) -> HookSet:
        hooks = await chosen(wanted.id, approved=False)
        await asyncio.to_thread(approve, {hook.id: wanted.outside or not hook.sandbox for hook in hooks})
        return await asyncio.to_thread(read)

    async def asks(_: Invocation, wanted: AcceptHooks) -> Question | None:
        hooks = await chosen(wanted.id, approved=False)
        outside = wanted.outside or any(hook.is_own and not hook.sandbox for hook in hooks)
        one = len(hooks) == 1
        where = "outside the sandbox, with all your rights" if outside else "in the sandbox, where that holds"
        return Question(
            wanted,
            f"Let {'this hook' if one else f'these {len(hooks)} hooks'} run?",
            f"{'It runs' if one else 'They run'} {where}, each time, until {'its' if one else 'a'} command changes.",
            "Let it run" if one else "Let them run",
            quoted="\n".join(
                f"{hook.event} {hook.matcher or '*'}: {literal(hook.command or hook.url)}" for hook in hooks
            ),
        )

    async def refuse(_: Invocation, wanted: RefuseHooks) -> HookSet:
        hooks = await chosen(wanted.id, approved=True)
        if own := next((hook for hook in hooks if hook.is_own), None):
            raise UsageError(f"The hook {own.shown!r} is of your configuration.", hint="`config edit` removes it.")
        await asyncio.to_thread(withdraw, [hook.id for hook in hooks])
        return await asyncio.to_thread(read)

    async def complete(_: Invocation, parameter: str, prefix: str) -> list[str]:
        found = await asyncio.to_thread(read)
        words = (
            ["all", *(hook.id for hook in found.hooks if not (hook.is_own and hook.approved))]
            if parameter == "id"
            else []
        )
        return [word for word in words if word.startswith(prefix)]

    return [
        group(
            "hook",
            "List the hooks around what agents do, and approve them",
            Action(ListHooks, ls, _listed),
            Action(AcceptHooks, accept, _listed, asks=asks, effect=Effect.EXECUTE),
            Action(RefuseHooks, refuse, _listed, effect=Effect.WRITE),
            family="agents",
            shell=_GROUP,
            access=Access.HUMAN_ONLY,
            complete=complete,
        )
    ]


def _listed(_: Invocation, found: HookSet) -> Outcome:
    data = {
        "hooks": [
            {
                "id": hook.id,
                "event": hook.event,
                "matcher": hook.matcher,
                "command": hook.command,
                "url": hook.url,
                "timeout": hook.seconds,
                "sandbox": hook.sandbox,
                "source": hook.source,
                "approved": hook.approved,
            }
            for hook in found.hooks
        ],
        "problems": found.problems,
    }
    lines = [
        f"{hook.id[:8]}  {hook.event} {one_line(hook.matcher, 40) or '*'}  {literal(hook.shown)}  "
        f"({hook.source}{'' if hook.approved else ', not approved: it does not run'})"
        for hook in found.hooks
    ]
    text = "\n".join(lines) or "No hooks yet."
    problems = "\n".join(found.problems)
    return Outcome(data, "\n\n".join(filter(None, (f"```\n{text}\n```", problems))), plain=text, aside=problems)
