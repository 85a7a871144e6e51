"""A command of several words or forms: a line becomes one of its actions, which code calls by value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from gshtui.commands.declaration import (
    Access,
    AnyAction,
    Assessment,
    Effect,
    Invocation,
    NotAllowed,
    Outcome,
    Parameters,
    Returns,
    UsageError,
)

G = TypeVar("G", bound=Parameters)


class Family(Generic[G]):
    """A command whose line becomes one of several actions."""

    def __init__(self, bind: Callable[[G], Parameters], *actions: AnyAction) -> None:
        """`bind`: a line's parameters as those of one of the actions. Raises `UsageError`."""
        self.bind = bind
        self.actions = actions

    async def handle(self, invocation: Invocation, given: G) -> Outcome:
        """Run a line's parameters. Raises as the action does, and `NotAllowed`: the action is for people only."""
        value = self.bind(given)
        action = self._action(value)
        if invocation.caller.is_agent and action.access is Access.HUMAN_ONLY:
            shared = [one.parameters.WORD for one in self.actions if one.access is not Access.HUMAN_ONLY]
            hint = f"Agents can use {', '.join(filter(None, shared))}." if any(shared) else ""
            name = " ".join(filter(None, (action.parameters.COMMAND, action.parameters.WORD)))
            raise NotAllowed(f"`{name}` is for people only.", hint=hint)
        return await action.handle(invocation, value)

    async def assess(self, _invocation: Invocation, given: G) -> Assessment:
        """What a line does, by its action's effect: one that only reads stays inside the project."""
        try:
            value = self.bind(given)
        except UsageError as error:
            return Assessment(Effect.READ, error.message)  # it does nothing, and the run says why
        effect = self._action(value).effect
        subject = value.words() if isinstance(value, Returns) else ""
        return Assessment(effect, subject, inside=effect is Effect.READ)

    def _action(self, value: Parameters) -> AnyAction:
        return next(one for one in self.actions if one.parameters is type(value))
