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
