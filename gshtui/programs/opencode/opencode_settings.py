"""The agent and the permissions in OpenCode's own settings, and the stricter of these and ours, action by action.

OpenCode lays what its environment says over its files key by key, and of several patterns the last one counts.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gshtui.bus.agent_data import GuardMode
from gshtui.programs.profiles.settings_files import content_of, folders_above, json_of
from gshtui.system.json_types import is_object, obj, string

VARIABLE = "OPENCODE_PERMISSION"
_ACTIONS = ("deny", "ask", "allow")
"""Strictest first."""
_PATTERNED = ("edit", "bash")
"""Those of which our variables speak that take a pattern for each action."""
_NAMES = ("opencode.jsonc", "opencode.json")
_Rules = list[tuple[str, str]]


class OpenCodeSettings(NamedTuple):
    """What it starts with, and the file that says so."""

    like: GuardMode
    file: str
    permissions: Mapping[str, object]


def read(environ: Mapping[str, str], home: Path, folder: Path) -> OpenCodeSettings | None:
    """Those for a start in this folder; `None`: nothing says anything. Blocks for a moment."""
    agent, permissions, file = "", dict[str, Any](), ""
    for name, table in _layers(environ, home, folder):
        chosen, more = string(table.get("default_agent")), _table(table.get("permission"))
        agent = chosen or agent
        permissions = _laid_over(permissions, more)
        file = name if chosen or more else file
    if not file:
        return None
    edit, runs = (_usual(rules_for(permissions, name)) for name in ("edit", "bash"))
    like: GuardMode = "plan" if agent == "plan" else "yolo" if runs == "allow" else "edit" if edit == "allow" else "ask"
    return OpenCodeSettings(like, file, permissions)


def narrowed(environment: Mapping[str, str], own: Mapping[str, object]) -> dict[str, str]:
    """Our variables for a start, with the stricter of its own action and ours for each thing.

    What its files name keeps its place before what is new, so ours are written in another way, to come last.
    """
    made = dict(own)
    ours = json_of(environment.get(VARIABLE, ""))
    for name, action in ours.items():
        key = name
        while key in made:
            key += "*"
        rules = {pattern: min(its, string(action), key=_strictness) for pattern, its in rules_for(own, name)}
        # Most things take no patterns.
        made[key] = rules if len(rules) > 1 and name in _PATTERNED else min(rules.values(), key=_strictness)
    return {**environment, VARIABLE: json.dumps(made)} if ours else dict(environment)


def rules_for(own: Mapping[str, object], name: str) -> _Rules:
    """The patterns and actions that count for one thing, the last one most."""
    found: _Rules = [("*", "allow")]
    for key, value in own.items():
        if fnmatch.fnmatchcase(name, key):
            for pattern, action in _table(value).items():
                found = [] if pattern == "*" else [each for each in found if each[0] != pattern]
                found.append((pattern, string(action)))
    return found


def _strictness(action: str) -> int:
    return _ACTIONS.index(action) if action in _ACTIONS else 1


def _usual(rules: _Rules) -> str:
    return next(action for pattern, action in reversed(rules) if pattern == "*")


def _table(value: object) -> dict[str, Any]:
    """One action stands for all."""
    return {"*": value} if isinstance(value, str) else obj(value)


def _laid_over(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(below)
    for name, value in above.items():
        old = made.get(name)
        made[name] = {**old, **value} if is_object(old) and is_object(value) else value
    return made


def _layers(environ: Mapping[str, str], home: Path, folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Those that count least first."""
    config = Path(environ.get("XDG_CONFIG_HOME", "") or home / ".config") / "opencode"
    files = [config / "config.json", *(config / name for name in reversed(_NAMES))]
    if named := environ.get("OPENCODE_CONFIG"):
        files.append(Path(named))
    above = list(folders_above(folder))[::-1]
    files += [each / name for each in above for name in reversed(_NAMES)]
    files += [each / ".opencode" / name for each in (home, *above) for name in reversed(_NAMES)]
    if named := environ.get("OPENCODE_CONFIG_DIR"):
        files += [Path(named) / name for name in reversed(_NAMES)]
    for file in files:
        yield str(file), content_of(file)
    yield "OPENCODE_CONFIG_CONTENT", json_of(environ.get("OPENCODE_CONFIG_CONTENT", ""))
    yield VARIABLE, {"permission": dict(json_of(environ.get(VARIABLE, "")))}
