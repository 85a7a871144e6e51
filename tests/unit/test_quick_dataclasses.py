"""Dataclasses that are made quickly behave as the standard library's do, in everything that can be seen of them."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any, cast

import pytest

from gshtui.system import quick_dataclasses

NAN = float("nan")
PATCHED = ("_repr_fn", "_cmp_fn", "_hash_fn", "_frozen_get_del_attr")

SOURCE = """
import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar

@dataclass({options})
class Made:
    {first}
    kind: ClassVar[str] = "a"
    hidden: int = field(default=2, repr=False)
    apart: list[int] = field(default_factory=list, compare=False)
    given: dataclasses.InitVar[int] = 0

    def __post_init__(self, given: int) -> None:
        object.__setattr__(self, "hidden", self.hidden + given)

@dataclass({options})
class Below(Made):
    last: object = None

@dataclass({options})
class Nothing:
    pass

@dataclass({options})
class Lone:
    only: object = None

class Plain(Below):
    pass
"""


def made(options: str, first: str, *, quickly: bool) -> types.ModuleType:
    """A module with dataclasses of these options."""
    module = types.ModuleType("made_dataclasses")
    sys.modules[module.__name__] = module
    before = {name: getattr(dataclasses, name) for name in PATCHED if hasattr(dataclasses, name)}
    try:
        if quickly:
            quick_dataclasses.make_quickly()
            quick_dataclasses.make_quickly()  # twice changes nothing
        exec(compile(SOURCE.format(options=options, first=first), "made", "exec"), module.__dict__)
    finally:
        for name, value in before.items():
            setattr(dataclasses, name, value)
    return module


def seen(act: Callable[[], Any]) -> object:
    """What comes of it."""
    try:
        return act()
    except Exception as error:
        return type(error), str(error)


def all_seen(module: types.ModuleType) -> list[object]:
    """Whatever can be seen of a module's classes and their objects."""
    found: list[object] = []
    classes = [cast("type[Any]", getattr(module, name)) for name in ("Made", "Below", "Nothing", "Lone", "Plain")]
    for one in classes:
        methods = [name for name in vars(one) if name.startswith("__") and callable(vars(one)[name])]
        found.append((one.__name__, sorted(methods), one.__doc__, getattr(one, "__match_args__", None)))
        found += [vars(one)[name].__qualname__ for name in ("__eq__", "__repr__", "__hash__") if vars(one).get(name)]
    made, below, nothing, lone, plain = classes
    objects: list[Any] = [made(first=1), made(first=1, given=3), below(first=1, last=2), nothing(), plain(first=1)]
    objects += [lone(), lone(only=NAN), lone(only=[]), below(first=[1]), lone(only="x"), _in_itself(lone())]
    for one in objects:
        found += [repr(one), seen(lambda one=one: hash(one) == hash(copy.copy(one))), seen(lambda one=one: one == 1)]
        for name in ("first", "only", "unknown"):
            found += [seen(lambda o=one, n=name: setattr(o, n, 5)), seen(lambda o=one, n=name: delattr(o, n))]
        found.append(seen(lambda one=one: dataclasses.asdict(one)))
        found.append(seen(lambda one=one: repr(pickle.loads(pickle.dumps(one)))))
        found.append(seen(lambda one=one: repr(dataclasses.replace(one, given=0))))
    for left, right in itertools.product(objects, repeat=2):
        found += [seen(lambda a=left, b=right: a == b), seen(lambda a=left, b=right: a < b)]
    return [str(one) for one in found]


def _in_itself(one: Any) -> Any:
    """The object, as the content of its field."""
    object.__setattr__(one, "only", [one])
    return one


OPTIONS = ("", "frozen=True", "slots=True", "frozen=True, slots=True", "order=True", "eq=False", "unsafe_hash=True")


@pytest.mark.parametrize("options", [*OPTIONS, "frozen=True, slots=True, order=True, kw_only=True"])
def test_they_behave_alike(options: str) -> None:
    for first in ("first: object", "first: object = dataclasses.field(hash=False)"):
        as_ever = all_seen(made(options, first, quickly=False))
        quickly = all_seen(made(options, first, quickly=True))
        assert quickly == as_ever
