"""The registry: every command of the hub by name and alias. Packages declare, the hub registers, faces look up.

It refuses two commands of one name, and hands an agent nothing that is for people only.
"""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterable, Iterator
from typing import Any

from gshtui.commands.declaration import Access, Caller, Command, UsageError

AnyCommand = Command[Any]


class Registry:
    """Commands by name; iteration is in the order of registration."""

    def __init__(self, commands: Iterable[AnyCommand] = ()) -> None:
        self._commands: dict[str, AnyCommand] = {}
        self._names: dict[str, str] = {}
        for command in commands:
            self.register(command)

    def register(self, command: AnyCommand) -> None:
        """Add a command.

        Raises:
            ValueError: its name or one of its aliases is taken, or a position names no parameter.
        """
        for name in (command.name, *command.aliases):
            if name in self._names:
                raise ValueError(f"two commands are called {name!r}")
        if unknown := set(command.positions) - set(command.parameters.model_fields):
            raise ValueError(f"{command.name}: positions {sorted(unknown)} are no parameters")
        self._commands[command.name] = command
        self._names.update(dict.fromkeys((command.name, *command.aliases), command.name))

    def __iter__(self) -> Iterator[AnyCommand]:
        return iter(tuple(self._commands.values()))

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def get(self, name: str) -> AnyCommand:
        """The command of this name or alias.

        Raises:
            UsageError: there is none; the text names the nearest ones.
        """
        if (canonical := self._names.get(name)) is not None:
            return self._commands[canonical]
        near = self._doing(name) or difflib.get_close_matches(name, self._names, n=3, cutoff=0.6)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`help` lists all commands."
        raise UsageError(f"There is no command {name!r}.", hint=hint)

    def _doing(self, action: str) -> list[str]:
        """The commands that know this word as what to do: `session export` for `export`."""
        return [f"`{command.name} {action}`" for command in self if action in _actions(command)][:3]

    def names(self) -> list[str]:
        """Every name, without aliases, sorted."""
        return sorted(self._commands)

    def visible(self, caller: Caller) -> list[AnyCommand]:
        """The commands that this caller may run."""
        return [command for command in self if may_run(command, caller)]

    def tools(self) -> list[AnyCommand]:
        """The commands that agents are offered as tools, by name: a stable order keeps a provider's prompt cache."""
        offered = [command for command in self if command.tool and command.access is not Access.HUMAN_ONLY]
        return sorted(offered, key=lambda command: command.name)


def _actions(command: AnyCommand) -> tuple[Any, ...]:
    if not command.positions:
        return ()
    annotation = command.parameters.model_fields[command.positions[0]].annotation
    return typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()


def may_run(command: AnyCommand, caller: Caller) -> bool:
    """Whether access allows it at all; whether a run needs approval is the guard's question."""
    return not (caller.is_agent and command.access is Access.HUMAN_ONLY)
