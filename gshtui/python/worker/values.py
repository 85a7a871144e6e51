"""A value as text: tables as columns and rows, everything else as its representation, cut to a readable length.

Heavy libraries are recognised by the modules that a block has loaded; nothing is imported here. Runs under the
person's Python with nothing but the standard library.
"""

from __future__ import annotations

import reprlib
import sys
import types
from typing import Any, cast

_LONGEST = 20_000
"""Characters of one value."""
_ROWS, _COLUMNS, _CELL = 30, 20, 60
"""Of a table that is shown."""
_NAMES, _PREVIEW = 500, 120
_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = _PREVIEW
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxdict = _short.maxfrozenset = 8


def describe_value(value: Any) -> dict[str, Any]:
    """As `{"text": …}`, or as `{"columns": …, "rows": …, "total": …}` with texts only."""
    try:
        table = _table(value)
    except Exception:  # a frame that cannot be taken apart still has a representation
        table = None
    if table is not None:
        return table
    text = repr(value)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n… ({len(text) - _LONGEST:,} characters omitted) …\n{text[-_LONGEST // 2 :]}"
    return {"text": text}


def _table(value: Any) -> dict[str, Any] | None:
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.Series):
        value = value.to_frame(value.name if value.name is not None else "value")
    if pandas is not None and isinstance(value, pandas.DataFrame):
        shown = value.iloc[:_ROWS, :_COLUMNS]
        columns = [str(value.index.name or ""), *map(str, shown.columns)]
        rows = [[str(index), *map(_cell, row)] for index, row in zip(shown.index, shown.itertuples(index=False))]
        return _made(columns, rows, len(value), max(0, value.shape[1] - _COLUMNS))
    polars: Any = sys.modules.get("polars")
    if polars is not None and isinstance(value, polars.DataFrame):
        shown = value[:_ROWS, :_COLUMNS]
        return _made(list(shown.columns), [list(map(_cell, row)) for row in shown.rows()], len(value), 0)
    items = cast("list[Any]", value if type(value) is list else [])
    if items and all(type(item) is dict for item in items[: _ROWS + 1]):
        first: list[dict[Any, Any]] = items[:_ROWS]
        names = list(dict.fromkeys(str(key) for item in first for key in item))
        if not names:
            return None
        rows = [[_cell(by_name.get(name, "")) for name in names[:_COLUMNS]] for by_name in map(_by_name, first)]
        return _made(names[:_COLUMNS], rows, len(items), max(0, len(names) - _COLUMNS))
    return None


def _by_name(item: dict[Any, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in item.items()}


def _made(columns: list[str], rows: list[list[str]], total: int, hidden: int) -> dict[str, Any]:
    return {"columns": columns, "rows": rows, "total": total, "hidden": hidden}


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else _short.repr(value)
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def variable_names(own: dict[str, Any]) -> list[str]:
    """The names, at most so many."""
    return list(own)[:_NAMES]


def describe_variables(own: dict[str, Any]) -> list[dict[str, str]]:
    """Name, type, size and the beginning of each variable."""
    return [_variable(name, value) for name, value in list(own.items())[:_NAMES]]


def _variable(name: str, value: Any) -> dict[str, str]:
    kind = type(value).__name__
    try:
        size = _size(value)
    except Exception:  # a __len__ or shape of somebody's own
        size = ""
    try:
        preview = _preview(value)
    except Exception as error:  # a __repr__ of somebody's own
        preview = f"({type(error).__name__} in its __repr__)"
    return {"name": name, "type": kind, "size": size, "preview": preview[:_PREVIEW]}


def _size(value: Any) -> str:
    kind = cast("Any", type(value))
    shape = cast("Any", None if isinstance(value, type) else getattr(value, "shape", None))
    if type(shape) is tuple:
        return " × ".join(map(str, cast("tuple[Any, ...]", shape))) or "1"
    if not hasattr(kind, "__len__"):
        return ""
    many = len(cast("list[Any]", value))
    return f"{many:,} B" if kind in (bytes, bytearray) else f"{many:,}"


def _preview(value: Any) -> str:
    if isinstance(value, (types.FunctionType, type)):
        return (value.__doc__ or "").strip().partition("\n")[0]
    columns: Any = getattr(value, "columns", None)
    if hasattr(value, "shape") and columns is not None:
        return ", ".join(map(str, list(columns)[:_COLUMNS]))
    return " ".join(_short.repr(value).split())
