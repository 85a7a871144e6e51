"""What the makers of commands are given, by the names of types."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gshtui.hub.provision import Provision


class Lamp:
    """Something that is there."""


class Room:
    """Something that is made of another."""

    def __init__(self, lamp: Lamp) -> None:
        self.lamp = lamp


def room(lamp: Lamp) -> Room:
    return Room(lamp)


def needs(room: Room, later: Callable[[], Room], maybe: Callable[[], Lamp | None], plain: int = 3) -> list[object]:
    return [room, later(), maybe(), plain]


def test_things_are_made_once_when_they_are_first_needed() -> None:
    lamp = Lamp()
    things = Provision(lamp)
    things.add(room)
    first, second, third, plain = things.call(needs)
    assert first is second is things.get(room)
    assert (things.get(room).lamp, third, plain) == (lamp, lamp, 3)


def test_what_is_missing_is_named_or_none() -> None:
    things = Provision()
    things.add(room)

    def finds(maybe: Callable[[], Lamp | None], lamp: Lamp | None = None) -> object:
        assert lamp is None
        return maybe

    find = things.call(finds)
    assert callable(find) and find() is None
    with pytest.raises(LookupError, match="Lamp"):
        things.call(needs)
    things.have(lamp := Lamp())
    assert find() is lamp


def test_what_a_part_brings_replaces_what_was_there_for_later() -> None:
    refused: list[str] = []
    things = Provision(lamp := Lamp())
    for kind in ("Room", "Lamp2"):
        things.add_later(kind, lambda: other, lambda error: refused.append(str(error)))
    with pytest.raises(ValueError, match="there is a Lamp already"):
        things.add_later("Lamp", lambda: other)
    assert things.call(lambda_of_room).lamp is not lamp
    things.add(room)
    assert things.call(lambda_of_room).lamp is lamp and refused == ["there is a Room already"]
    things.have(Lamp2())
    assert refused[1:] == ["there is a Lamp2 already"]


class Lamp2(Lamp):
    """Another one."""


def other() -> Room:
    return Room(Lamp())


def lambda_of_room(room: Room) -> Room:
    return room
