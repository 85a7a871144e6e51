"""What a project's own configuration may do: make things stricter, never looser, and never say where data goes.

Pure. Compares each value with the user's; a key without a mark in `tables` is not the project's to set. What is marked
as asked is the one exception: it may be set, and whoever uses it asks a person first.
"""

from __future__ import annotations

from typing import Any, cast

from gshtui.settings.check import Checked, OriginOf
from gshtui.settings.keys import field_of, flat, shown, spelled
from gshtui.settings.model import Settings

_NOT_YOURS = "A project's configuration can only make things stricter; put it into your own."


def tightened(values: dict[str, dict[str, Any]], user: Settings, origin_of: OriginOf) -> Checked:
    """The part of a project's checked values that counts, against what the user's layers say."""
    out = Checked()
    for path, value in flat(values):
        info = field_of(path)
        marks = info.json_schema_extra if info is not None else None
        mark = cast("dict[str, Any]", marks) if isinstance(marks, dict) else {}
        rule = str(mark.get("project", ""))
        if not rule:
            out.refuse(origin_of, path, f"a project cannot set {spelled(path)}.", _NOT_YOURS)
            continue
        before: Any = getattr(getattr(user, path[0]), path[1])
        if rule == "asked":
            out.values.setdefault(path[0], {})[path[1]] = value
        elif rule == "fewer":
            kept, added = _fewer(cast("list[str]", before), cast("list[str]", value))
            for item in added:
                out.refuse(origin_of, path, f"a project cannot add {shown(item)} to {spelled(path)}.", _NOT_YOURS)
            out.values.setdefault(path[0], {})[path[1]] = kept
        elif _is_stricter(rule, before, value, zero_is_unlimited=bool(mark.get("zero_is_unlimited"))):
            out.values.setdefault(path[0], {})[path[1]] = value
        else:
            text = f"a project cannot change {spelled(path)} from {shown(before)} to {shown(value)}."
            out.refuse(origin_of, path, text, _NOT_YOURS)
    return out


def _is_stricter(rule: str, before: Any, value: Any, *, zero_is_unlimited: bool) -> bool:
    """Whether the value is as strict as the one before, or stricter."""
    if rule in ("true", "false"):
        return value is (rule == "true") or value is before
    if zero_is_unlimited and 0 in (before, value):
        return before == 0
    return value <= before


def _fewer(before: list[str], value: list[str]) -> tuple[list[str], list[str]]:
    """(items of `value` that were there before, items that were not)"""
    return [item for item in value if item in before], [item for item in value if item not in before]
