"""The registry: every command of the hub by name and alias. Packages declare, the hub registers, faces look up.

It refuses two commands with the same name, and never gives an agent a command that is for people only.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from gshtui.commands.declaration import (
    Access,
    Action,
    AnyAction,
    Caller,
    Command,
    Incomplete,
    NotAllowed,
    R,
    Returns,
    UnknownCommand,
    Where,
)
from gshtui.commands.line_parser import ACTION
from gshtui.commands.shell_form import ShellGroup
from gshtui.text.plain_name import similar_names

AnyCommand = Command[Any]


class ListedTool(msgspec.Struct, frozen=True):
    """What a list of tools says of one. `always_offered`: each request describes it."""

    name: str
    family: str
    always_offered: bool


class _Offer(msgspec.Struct, frozen=True, eq=False):
    """Commands that have not been created yet."""

    names: tuple[str, ...]
    make: Callable[[], Iterable[AnyCommand]]


class Registry:
    """Commands by name; iteration is in the order in which they were registered or offered."""

    def __init__(self, commands: Iterable[AnyCommand] = ()) -> None:
        self._places: dict[str, AnyCommand | _Offer] = {}
        """The order of the names: each is a command's, or an offer's that creates some."""
        self._commands: dict[str, AnyCommand] = {}
        self._names: dict[str, str | _Offer] = {}
        self._actions: dict[type[Any], AnyAction] = {}
        """By the type of their parameters."""
        self._groups: dict[str, tuple[str, ...]] = {}
        """The names of the commands of each group that can change."""
        self._where: dict[str, list[Where[Any, Any]]] = {}
        """The panes that offer actions, by key; one key can have several, such as pin and unpin."""
        self._added: dict[str, AnyCommand] = {}
        """Commands of plugins, which give way to ours of the same name, by name and alias."""
        self.why_absent: Callable[[str], str] = lambda name: ""
        """Why there is no command of a name that could be there, and what to do; empty: nobody knows it."""
        for command in commands:
            self.register(command)

    def register(self, command: AnyCommand) -> None:
        """Add a command. Raises `ValueError`: its name or one of its aliases is taken, or a position names no
        parameter.
        """
        self._claim((command.name, *command.aliases), command.name)
        self._add(command)
        self._places[command.name] = command

    def add(self, command: AnyCommand) -> None:
        """Add a command of a plugin; it goes again if one of ours is registered under its name later.
        Raises `ValueError`: its name or one of its aliases is taken, or a position names no parameter.
        """
        if taken := next((name for name in (command.name, *command.aliases) if name in self._names), ""):
            raise ValueError(f"there is a command {taken!r} already")
        self.register(command)
        self._added.update(dict.fromkeys((command.name, *command.aliases), command))

    def _give_way(self, command: AnyCommand) -> None:
        for name in (command.name, *command.aliases):
            del self._names[name], self._added[name]
        del self._places[command.name], self._commands[command.name]
        self._actions = {key: one for key, one in self._actions.items() if one not in command.actions}

    def put(self, group: str, commands: Iterable[AnyCommand]) -> None:
        """Replace the commands of a group that can change while the hub runs; a taken name is left out. `group`: whose
        they are; they are not to be part of another one.
        """
        for name in self._groups.pop(group, ()):
            del self._places[name], self._commands[name], self._names[name]
        added: list[str] = []
        for command in commands:
            if command.name not in self._names:
                self.register(command)
                added.append(command.name)
        if added:
            self._groups[group] = tuple(added)

    def offer(self, names: Sequence[str], make: Callable[[], Iterable[AnyCommand]]) -> None:
        """Add commands that are created when one of them is first requested: a short call loads only what it uses.
        `names`: with aliases, in their order. Raises `ValueError`: a name is taken.
        """
        offer = _Offer(tuple(names), make)
        self._claim(offer.names, offer)
        self._places[names[0]] = offer

    def __iter__(self) -> Iterator[AnyCommand]:
        self._make_all()
        return iter([place for place in self._places.values() if not isinstance(place, _Offer)])

    def __contains__(self, name: object) -> bool:
        return name in self._names or self._of_group(name) is not None

    @property
    def offered_names(self) -> tuple[str, ...]:
        """Every name and alias, without loading the commands."""
        return tuple(self._names)

    def _claim(self, names: Iterable[str], owner: str | _Offer) -> None:
        for name in names:
            if (added := self._added.get(name)) is not None:
                self._give_way(added)
            if name in self._names:
                raise ValueError(f"two commands are called {name!r}")
            self._names[name] = owner

    def _add(self, command: AnyCommand) -> None:
        if unknown := set(command.positions) - set(command.parameters.model_fields):
            raise ValueError(f"{command.name}: positions {sorted(unknown)} are not parameters")
        for action in command.actions:
            called = action.parameters
            if getattr(called, "COMMAND", "") != command.name or returned(called) is None:
                raise ValueError(f"{called.__name__} must be Returns[…] with COMMAND = {command.name!r}")
            self._actions[called] = action
            for place in action.where:
                self._where.setdefault(place.key, []).append(place)
        self._commands[command.name] = command

    def _make_all(self) -> None:
        for offer in [place for place in self._places.values() if isinstance(place, _Offer)]:
            self._make(offer)

    def _make(self, offer: _Offer) -> None:
        """Replace an offer with its commands. Raises `ValueError` if they are not the ones that it named."""
        made = list(offer.make())
        named = [name for command in made for name in (command.name, *command.aliases)]
        if tuple(named) != offer.names:
            unnamed = ", ".join(name for name in named if name not in offer.names)
            unmade = ", ".join(name for name in offer.names if name not in named)
            wrong = f"does not name {unnamed}" if unnamed else f"names {unmade}" if unmade else "has another order"
            raise ValueError(
                f"the offer of {offer.names[0]} {wrong}: its names must be those of the commands that are made,"
                " in their order. They are in hub/command_offers.py"
            )
        places: dict[str, AnyCommand | _Offer] = {}
        for name, place in self._places.items():
            places.update({command.name: command for command in made} if place is offer else {name: place})
        self._places = places
        for command in made:
            self._add(command)
            self._names.update(dict.fromkeys((command.name, *command.aliases), command.name))

    def meant(self, name: str, given: Iterable[str]) -> AnyCommand:
        """The command that a line or call under this name with these parameters is of. Raises `UnknownCommand`."""
        command = self.get(name)
        other = next((command.instead[one] for one in given if one in command.instead), "")
        return self.get(other) if other else command

    def called(self, name: str, arguments: Mapping[str, Any]) -> tuple[AnyCommand, dict[str, Any]]:
        """The command that a model's call is of, and its parameters: a call of a group names the word as `action`.
        Raises `UsageError`: there is no such command, or the group needs another word.
        """
        command, given = self.meant(name, arguments), dict(arguments)
        if not command.words:
            return command, given
        word = given.pop(ACTION, None)
        if not (word or getattr(command.parameters, "WORD", "")):
            raise needs_word(command)
        called = command.words.get(str(word)) if word else command
        if called is None:
            raise UnknownCommand(f"{command.name} has no action {word!r}.", hint=f"It has {_listed(command, 'and')}.")
        own = called.parameters.model_fields
        every = [field for one in command.words.values() for field in one.parameters.model_fields.items()]
        usual = {name: field.default for name, field in every}  # models give those of other words, too
        return called, {
            name: value
            for name, value in given.items()
            if value is not None and (name in own or value != usual.get(name))
        }

    def get(self, name: str) -> AnyCommand:
        """The command of this name or alias. Raises `UnknownCommand`: there is none; the text names the nearest."""
        if (found := self._of_group(name)) is not None:
            return found
        owner = self._names.get(name)
        if isinstance(owner, _Offer):
            self._make(owner)
            owner = self._names[name]
        if isinstance(owner, str):
            return self._commands[owner]
        if hint := self.why_absent(name):
            raise UnknownCommand(f"There is no command {name!r}.", hint=hint)
        near = self._doing(name) or similar_names(name, self._names, most=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`help` lists all commands."
        raise UnknownCommand(f"There is no command {name!r}.", hint=hint)

    def _of_group(self, name: object) -> AnyCommand | None:
        """The command of a group's word, such as `agent kill`; `None`: it is the name of none."""
        group, _, word = str(name).partition(" ")
        return self.get(group).words.get(word) if word and group in self._names else None

    def action(self, parameters: Returns[R]) -> Action[Any, R]:
        """The action that these parameters call. Raises `UnknownCommand`."""
        self.get(parameters.COMMAND)
        return self._actions[type(parameters)]

    def for_row(self, key: str, row: object) -> Returns[object] | None:
        """The call that a pane's key makes for one of its rows; `None`: none, or no command has this key. `key`: its id
        in the key table: `agents.kill`. `row`: of the kind that the pane has.
        """
        self._make_all()
        found = (place.of(row) for place in self._where.get(key, ()))
        return next((parameters for parameters in found if parameters is not None), None)

    def keys(self) -> set[str]:
        """Ids of the keys that actions are declared for."""
        return {place.key for command in self for action in command.actions for place in action.where}

    def _doing(self, action: str) -> list[str]:
        """The commands that have this word as an action: `session export` for `export`."""
        return [f"`{command.name} {action}`" for command in self if action in words_of(command)][:3]

    def names(self) -> list[str]:
        """Every name, without aliases, sorted."""
        return sorted(command.name for command in self)

    def visible(self, caller: Caller) -> list[AnyCommand]:
        return [command for command in self if may_run(command, caller)]

    def listed_tools(self) -> list[ListedTool]:
        """What `tools` gives, without creating the commands of which `known_tools.py` says what they are."""
        from gshtui.commands.known_tools import NO_TOOLS, TOOLS  # only requests to models list tools

        for place in list(self._places.values()):
            if isinstance(place, _Offer) and not all(name in TOOLS or name in NO_TOOLS for name in place.names):
                self._make(place)
        listed: list[ListedTool] = []
        for place in self._places.values():
            if isinstance(place, _Offer):
                listed += [ListedTool(name, *TOOLS[name]) for name in place.names if name in TOOLS]
            elif _is_tool(place):
                listed.append(ListedTool(place.name, place.family, place.always_offered))
        return sorted(listed, key=lambda tool: tool.name)

    def tools(self) -> list[AnyCommand]:
        """The commands that agents get as tools, sorted by name: a stable order keeps a provider's prompt cache."""
        return sorted(filter(_is_tool, self), key=lambda command: command.name)


def _is_tool(command: AnyCommand) -> bool:
    return command.tool and command.access is not Access.HUMAN_ONLY


def _actions(command: AnyCommand) -> tuple[Any, ...]:
    if not command.positions:
        return ()
    annotation = command.parameters.model_fields[command.positions[0]].annotation
    return typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()


def words_of(command: AnyCommand) -> dict[str, str]:
    """The words that select an action of a family, in order, each with the one that it stands for, its own mostly."""
    if command.words:
        return {word: one.name.split(" ")[1] for word, one in command.words.items()}
    declared = (action.parameters.WORD for action in command.actions if action.parameters.WORD)
    words = {str(word): str(word) for word in _actions(command) or declared if word}
    shell = command.parameters.SHELL
    also = shell.synonyms if isinstance(shell, ShellGroup) else ()
    return {**{other: word for other, word in also if word in words}, **words} if words else {}


def own_words(command: AnyCommand) -> list[str]:
    """The words of a group or family without synonyms, in order."""
    return list(dict.fromkeys(words_of(command).values()))


def _listed(command: AnyCommand, joint: str) -> str:
    *others, last = own_words(command)
    return f"{', '.join(others)} {joint} {last}" if others else last


def needs_word(command: AnyCommand) -> Incomplete:
    """What is wrong with the bare name of a group that does nothing by itself."""
    return Incomplete(f"`{command.name}` is incomplete.", hint=f"Add {_listed(command, 'or')}.")


def returned(parameters: type[Any]) -> Any:
    """The result that a type of parameters declares by `Returns`; `None`: none."""
    for one in parameters.__mro__:
        for base in one.__dict__.get("__orig_bases__", ()):
            if typing.get_origin(base) is Returns:
                return typing.get_args(base)[0]
    return None


def may_run(command: AnyCommand, caller: Caller) -> bool:
    """Whether access allows it at all; the guard decides whether a run needs approval."""
    if caller.is_guest and not command.guests:
        return False
    return not (caller.is_agent and command.access is Access.HUMAN_ONLY)


def refused(name: str, caller: Caller) -> NotAllowed:
    """Why somebody may not run a command."""
    if caller.is_guest:
        return NotAllowed(f"You may not run {name} here.", hint="`help` lists what you can do.")
    return NotAllowed(f"{name} is for people only.")
