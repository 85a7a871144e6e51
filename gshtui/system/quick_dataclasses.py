"""Dataclasses that are made in a third of the time, and differ in nothing else.

For each class, `dataclasses` writes the source of up to six methods and compiles it, which is a quarter of the time
that a command takes to load. But for the names of the fields, all of them are the same for every class, except
`__init__`: here they are closures over these names. To be called before what defines the classes; those that exist are
left alone. Python 3.13 compiles the methods of a class in one piece, and is left alone, too.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

_theirs: Any = dataclasses
_compiled_comparison: Callable[..., Any] = getattr(_theirs, "_cmp_fn", lambda: None)
Fields = Sequence[dataclasses.Field[Any]]


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Gives an object's values of these names."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    get = attrgetter(names[0])
    return lambda found: (get(found),)


def _repr_fn(fields: Fields, globals: object) -> Callable[[Any], str]:
    names = [field.name for field in fields]

    def __repr__(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    made: Callable[[Any], str] = _theirs._recursive_repr(__repr__)
    return made


def _cmp_fn(name: str, op: str, self_tuple: str, other_tuple: str, globals: object) -> Callable[[Any, Any], Any]:
    if name != "__eq__":
        made: Callable[[Any, Any], Any] = _compiled_comparison(name, op, self_tuple, other_tuple, globals=globals)
        return made
    values = _values([each.partition(".")[2] for each in self_tuple[1:-1].split(",") if each])

    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash_fn(fields: Fields, globals: object) -> Callable[[Any], int]:
    values = _values([field.name for field in fields])

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _frozen_get_del_attr(
    cls: type[Any],
    fields: Fields,
    globals: object,
) -> tuple[Callable[[Any, str, Any], None], Callable[[Any, str], None]]:
    names = frozenset(field.name for field in fields)

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


_OURS: dict[str, Callable[..., Any]] = {
    "_repr_fn": _repr_fn,
    "_cmp_fn": _cmp_fn,
    "_hash_fn": _hash_fn,
    "_frozen_get_del_attr": _frozen_get_del_attr,
}


def make_quickly() -> None:
    """From now on, where this Python's module is one that is known."""
    if sys.version_info < (3, 13) and all(hasattr(_theirs, name) for name in (*_OURS, "_recursive_repr")):
        for name, ours in _OURS.items():
            setattr(_theirs, name, ours)
