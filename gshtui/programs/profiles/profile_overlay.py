"""Overlays of profiles: files that change single keys and rules of another profile. Plain tables in, plain tables out.

`extends` names the profile. A table is merged with the one below it, key by key; any other value takes the place of the
old one. A rule with a known name changes that rule; one with a new name comes before all others, or `before` or `after`
the one that it names. `remove` lists keys and rules that are taken away.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from gshtui.settings.toml_file import load_toml
from gshtui.system.json_types import is_array, is_object, seq

EXTENDS, REMOVE, RULES = "extends", "remove", "rules"
_BEFORE, _AFTER = "before", "after"
Table = dict[str, Any]


class OverlayError(Exception):
    """An overlay does not fit; the end of a sentence that begins with its file."""


def overlaid(base: Mapping[str, Any], overlay: Mapping[str, Any]) -> Table:
    """The tables of a profile with an overlay's changes; neither is changed. Raises `OverlayError`."""
    result = copy.deepcopy(dict(base))
    changes = copy.deepcopy(dict(overlay))
    changes.pop(EXTENDS, None)
    removed, rules = changes.pop(REMOVE, []), changes.pop(RULES, [])
    if not is_array(removed) or not all(isinstance(key, str) for key in removed):
        raise OverlayError("`remove` must be a list of keys, such as `rules.rest` or `input.above`")
    for key in removed:
        _remove(result, key)
    _merge(result, changes)
    if not is_array(rules) or not all(is_object(rule) for rule in rules):
        raise OverlayError("`rules` must be tables, each below [[rules]]")
    if rules:
        result[RULES] = _placed(result.get(RULES, []), rules)
    return result


def key_path(key: str) -> tuple[str, ...]:
    """The parts of a dotted key as TOML writes it. Raises `OverlayError`."""
    try:
        table: object = load_toml(f"{key} = 0") if "\n" not in key else {}
    except tomllib.TOMLDecodeError:
        table = {}
    parts: list[str] = []
    while is_object(table) and len(found := table) == 1:
        ((part, table),) = found.items()
        parts.append(part)
    if not parts or table != 0:
        raise OverlayError(f"`remove` names {key!r}, which is no key; it is written as in TOML, such as `input.above`")
    return tuple(parts)


def _merge(into: Table, changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        below = into.get(key)
        if is_object(value) and is_object(below):
            _merge(below, value)
        else:
            into[key] = value


def _remove(tables: Table, key: str) -> None:
    """Take away a key, or a rule by its name; one that is not there is an error, since the profile below may have
    changed it.
    """
    parts = key_path(key)
    if parts[0] == RULES and len(parts) == 2:
        rules = seq(tables.get(RULES))
        rules.pop(_place(rules, parts[1], "`remove`"))
        return
    *way, last = parts
    table: object = tables
    for part in way:
        table = table.get(part) if is_object(table) else None
    if not is_object(table) or last not in table:
        raise OverlayError(f"`remove` names {key}, which the profile below does not have")
    del table[last]


def _placed(rules: Sequence[Table], own: Sequence[Table]) -> list[Table]:
    """The rules with an overlay's: changed where they are, or put where they belong."""
    result = list(rules)
    front = 0
    for rule in own:
        name = rule.get("name")
        if not isinstance(name, str) or not name:
            raise OverlayError("a rule has no `name`, by which an overlay changes or adds one")
        neighbours = [(word, rule.pop(word)) for word in (_BEFORE, _AFTER) if word in rule]
        known = [at for at, each in enumerate(result) if each.get("name") == name]
        changed = {**result.pop(known[0]), **rule} if known else rule
        if len(neighbours) > 1:
            raise OverlayError(f"the rule {name!r} has both `before` and `after`")
        if neighbours:
            word, neighbour = neighbours[0]
            at = _place(result, neighbour, f"`{word}` of the rule {name!r}") + (word == _AFTER)
        elif known:
            at = known[0]
        else:
            at, front = front, front + 1
        result.insert(at, changed)
    return result


def _place(rules: Sequence[Table], name: object, where: str) -> int:
    names = [rule.get("name", "") for rule in rules]
    if name not in names:
        raise OverlayError(f"{where} names the rule {name!r}; there are {', '.join(filter(None, names)) or 'none'}")
    return names.index(name)
