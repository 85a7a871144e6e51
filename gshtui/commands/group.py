"""A word with several actions, such as `agent`: a group, in which each action is a command with its own parameters.

A command of several words or forms: a line becomes one of its actions, which code calls by value.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from gshtui.commands.declaration import (
    Access,
    AnyAction,
    Assess,
    Assessment,
    Command,
    Complete,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
)
from gshtui.commands.registry import AnyCommand, needs_word
from gshtui.commands.shell_form import ShellForm, ShellGroup


class _NoParameters(Parameters):
    """Nothing: the bare name of a group does nothing by itself."""


def group(
    name: str,
    summary: str,
    *actions: AnyAction,
    family: str,
    bare: str = "ls",
    otherwise: str = "",
    shell: ShellGroup | None = None,
    synonyms: Mapping[str, str] | None = None,
    access: Access = Access.SHARED,
    guests: bool = False,
    aliases: tuple[str, ...] = (),
    elsewhere: Mapping[str, str] | None = None,
    assess: Assess[Any] | None = None,
    complete: Complete | None = None,
    opens: str = "",
    description: str = "",
    **as_tool: Any,
) -> AnyCommand:
    """The group of these actions, each of which has a word.

    Args:
        actions: one without a word is for code alone.
        bare: the word that is left out: its parameters may follow the name of the group. Empty: there is none.
        otherwise: the word that is left out before anything else, where that is another one: `mode edit`.
        synonyms: other words for one, each with its own; by default, those of the shell.
        access: of the group; an action can be for people only by itself.
        as_tool: what a `Command` that agents get as a tool says of itself: a call names its word as `action`.
    """

    def command(action: AnyAction) -> AnyCommand:
        said, _, more = inspect.cleandoc(action.parameters.__doc__ or "").partition("\n\n")
        return Command(
            f"{name} {action.parameters.WORD}",
            " ".join(said.split()),
            action.parameters,
            action.handle,
            access if action.access is Access.SHARED else action.access,
            guests and action.access is Access.SHARED,
            action.effect,
            positions_of(action),
            description=more.strip(),
            family=family,
            assess=assess or _assess(action),
            complete=complete,
            actions=(action,),
            **as_tool,
        )

    words = {action.parameters.WORD: command(action) for action in actions if action.parameters.WORD}
    also = synonyms if synonyms is not None else dict(shell.synonyms) if shell is not None else {}
    first = words.get(otherwise or bare)

    async def bare_name(_invocation: Invocation, _given: Parameters) -> Outcome:
        raise needs_word(made)

    made: AnyCommand = Command(
        name,
        summary,
        first.parameters if first is not None else _NoParameters,
        first.handler if first is not None else bare_name,
        access,
        guests,
        max((action.effect for action in actions), key=list(Effect).index),
        first.positions if first is not None else (),
        description=description,
        aliases=aliases,
        elsewhere=elsewhere or {},
        family=family,
        assess=first.assess if first is not None else None,
        complete=complete,
        actions=actions,
        opens=opens,
        bare=f"{name} {bare}" if otherwise else "",
        words={**words, **{other: words[word] for other, word in also.items() if word in words}},
        shell=shell,
        **as_tool,
    )
    return made


def positions_of(action: AnyAction) -> tuple[str, ...]:
    """The positional parameters of an action."""
    shell = action.parameters.SHELL
    if action.positions is not None:
        return action.positions
    if isinstance(shell, ShellForm) and shell.places is not None:
        return shell.places
    return tuple(name for name, field in action.parameters.model_fields.items() if field.is_required())


def _assess(action: AnyAction) -> Assess[Any]:
    """What a line does, by its action's effect: one that only reads stays inside the project."""

    async def assess(_invocation: Invocation, given: Returns[Any]) -> Assessment:
        return Assessment(action.effect, given.words(), inside=action.effect is Effect.READ)

    return assess
