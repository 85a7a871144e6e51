"""What a face knows of the commands that it does not run itself: their names, and how each is typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from gshtui.commands.declaration import UnknownCommand
from gshtui.commands.language import usage
from gshtui.commands.registry import AnyCommand, Registry


class CommandEntry(msgspec.Struct, frozen=True):
    """A command, as a list of commands shows it."""

    name: str
    summary: str
    aliases: tuple[str, ...] = ()
    parameters: frozenset[str] = frozenset()
    complete: bool = True
    """The bare name can be run: no parameter is required, or a window has a list for it."""
    tool: bool = False
    """A model's tool in the first place."""
    usage: str = ""
    """How it is written, if the bare name cannot be run."""


class Catalogue(Mapping[str, CommandEntry]):
    """The commands of a registry by name. One is loaded only when it is looked up."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __contains__(self, name: object) -> bool:
        return name in self._registry

    def __getitem__(self, name: str) -> CommandEntry:
        try:
            return _entry(self._registry.get(name))
        except UnknownCommand as error:
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._registry.offered_names)

    def __len__(self) -> int:
        return len(self._registry.offered_names)


def _entry(command: AnyCommand) -> CommandEntry:
    fields = command.parameters.model_fields
    complete = bool(command.opens) or not any(field.is_required() for field in fields.values())
    return CommandEntry(
        command.name,
        command.summary,
        tuple(command.aliases),
        frozenset(fields),
        complete,
        command.tool,
        "" if complete else usage(command).removeprefix("Usage: "),
    )
