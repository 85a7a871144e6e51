"""The registry: commands that are made when they are first asked for, in the place where they were offered."""

from typing import ClassVar

import pytest

from gshtui.commands.declaration import (
    Access,
    Action,
    Command,
    Invocation,
    Outcome,
    Parameters,
    Returns,
    UnknownCommand,
    UsageError,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.commands.schema import tool_schema


async def nothing(_invocation: Invocation, _parameters: Parameters) -> Outcome:
    return Outcome(None, "")


def command(name: str, *aliases: str) -> AnyCommand:
    return Command(name, name, Parameters, nothing, aliases=aliases)


class Made:
    """Makes commands, and knows how often it was asked to."""

    def __init__(self, *commands: AnyCommand) -> None:
        self.commands = commands
        self.times = 0

    def __call__(self) -> tuple[AnyCommand, ...]:
        self.times += 1
        return self.commands


def test_a_name_makes_its_own_family_once_and_no_other() -> None:
    first, second = Made(command("a"), command("b", "bee")), Made(command("c"))
    registry = Registry()
    registry.offer(("a", "b", "bee"), first)
    registry.offer(("c",), second)
    assert "bee" in registry and "c" in registry
    assert (first.times, second.times) == (0, 0), "to know a name costs nothing"
    assert registry.get("bee").name == "b"
    assert registry.get("a").name == "a"
    assert (first.times, second.times) == (1, 0)


def test_the_order_is_that_of_the_offers() -> None:
    registry = Registry([command("z")])
    registry.offer(("m", "l"), Made(command("m"), command("l")))
    registry.register(command("a"))
    registry.get("l")
    assert [one.name for one in registry] == ["z", "m", "l", "a"]
    assert registry.names() == ["a", "l", "m", "z"]


def test_names_are_taken_by_an_offer_too() -> None:
    registry = Registry()
    registry.offer(("a", "b"), Made(command("a"), command("b")))
    with pytest.raises(ValueError, match="'b'"):
        registry.register(command("c", "b"))
    with pytest.raises(ValueError, match="'a'"):
        registry.offer(("a",), Made(command("a")))


def test_what_is_made_must_be_what_was_offered() -> None:
    registry = Registry()
    registry.offer(("a",), Made(command("a"), command("b")))
    with pytest.raises(ValueError, match=r"the offer of a does not name b: .* hub/command_offers\.py"):
        registry.get("a")


def test_a_wrong_name_is_told_the_near_ones_of_offers_too() -> None:
    registry = Registry()
    registry.offer(("compact",), Made(command("compact")))
    with pytest.raises(UsageError, match="compakt") as raised:
        registry.get("compakt")
    assert "compact" in raised.value.hint


class _OfPlant(Parameters):
    COMMAND: ClassVar[str] = "plant"
    name: str


class ShowPlant(_OfPlant, Returns[Outcome]):
    """Show a plant."""

    WORD: ClassVar[str] = "show"


class WaterPlant(_OfPlant, Returns[Outcome]):
    """Water a plant."""

    WORD: ClassVar[str] = "water"
    litres: int = 1


class RemovePlant(_OfPlant, Returns[Outcome]):
    """Remove a plant."""

    WORD: ClassVar[str] = "rm"
    how: str = ""


def test_a_model_calls_a_group_by_its_word_and_sees_only_what_it_may_use() -> None:
    words = (
        Action(ShowPlant, nothing, lambda _, outcome: outcome),
        Action(WaterPlant, nothing, lambda _, outcome: outcome),
        Action(RemovePlant, nothing, lambda _, outcome: outcome, access=Access.HUMAN_ONLY),
    )
    registry = Registry([group("plant", "Plants", *words, family="plants", bare="show", tool=True)])
    fields = tool_schema(registry.get("plant"))["properties"]
    assert fields["action"] == {"type": "string", "enum": ["show", "water"], "default": "show"}
    assert (set(fields), fields["litres"]["description"]) == ({"action", "name", "litres"}, "water")
    command, given = registry.called("plant", {"action": "show", "name": "fern", "litres": 1})
    assert (command.parameters, given, command.first_word) == (ShowPlant, {"name": "fern"}, "plant")
    with pytest.raises(UnknownCommand):
        registry.called("plant", {"action": "eat"})
