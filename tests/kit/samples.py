"""One plain instance of any event: every field that has no default gets the simplest value of its type."""

from typing import Any

import msgspec

from gshtui.bus.event import Event


def sample(kind: type[Event]) -> Event:
    return kind(**_fields(kind))


def _fields(kind: type[Any]) -> dict[str, Any]:
    described = msgspec.inspect.type_info(kind)
    assert isinstance(described, msgspec.inspect.StructType)
    return {field.name: _value(field.type) for field in described.fields if field.required}


def _value(of: msgspec.inspect.Type) -> Any:
    match of:
        case msgspec.inspect.StrType():
            return "x"
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.IntType():
            return 1
        case msgspec.inspect.FloatType():
            return 1.0
        case msgspec.inspect.BytesType():
            return b"x"
        case msgspec.inspect.LiteralType():
            return of.values[0]
        case msgspec.inspect.StructType():
            return of.cls(**_fields(of.cls))
        case msgspec.inspect.UnionType():
            return _value(of.types[0])
        case msgspec.inspect.DictType():
            return {}
        case msgspec.inspect.ListType():
            return []
        case msgspec.inspect.VarTupleType() | msgspec.inspect.TupleType():
            return ()
        case _:
            return None
