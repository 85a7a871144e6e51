"""A command of several words or forms: a line becomes one of its actions, which code calls by value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from gshtui.commands.declaration import AnyAction, Invocation, Outcome, Parameters

G = TypeVar("G", bound=Parameters)


class Family(Generic[G]):
    """A command whose line becomes one of several actions."""

    def __init__(self, bind: Callable[[G], Parameters], *actions: AnyAction) -> None:
        """`bind`: a line's parameters as those of one of the actions. Raises `UsageError`."""
        self.bind = bind
        self.actions = actions

    async def handle(self, invocation: Invocation, given: G) -> Outcome:
        """Run a line's parameters. Raises as the action does."""
        value = self.bind(given)
        found = next(one for one in self.actions if one.parameters is type(value))
        return await found.handle(invocation, value)
