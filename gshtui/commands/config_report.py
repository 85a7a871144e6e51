"""What `config show` says: every value with its origin, and the problems, as data and as text.

Pure; reads only what was loaded. Values of the configuration are never secret: keys are not taken from it.
"""

from __future__ import annotations

import json
from typing import Any

from gshtui.settings import paths
from gshtui.settings.keys import flat
from gshtui.settings.load import Loaded
from gshtui.settings.problem import Origin, Problem


def report(loaded: Loaded, under: str = "") -> dict[str, Any]:
    """Everything about the settings as plain data; `under` keeps one key or table."""
    values = {
        key: {"value": value, "origin": origin_data(loaded.origins.get(key, Origin("default")))}
        for key, value in ((".".join(path), value) for path, value in flat(loaded.settings))
        if not under or key == under or key.startswith(f"{under}.")
    }
    return {
        "file": str(paths.config_file()),
        "project": {
            "root": str(loaded.project),
            "file": str(paths.project_config_file(loaded.project)),
            "trust": loaded.trust,
        },
        "values": values,
        "problems": [problem_data(problem) for problem in loaded.problems],
    }


def origin_data(origin: Origin) -> dict[str, Any]:
    """An origin as plain data."""
    return {"layer": origin.layer, "where": origin.where, "line": origin.line}


def problem_data(problem: Problem) -> dict[str, Any]:
    """A problem as plain data."""
    return {
        "level": problem.level,
        "key": problem.key,
        "text": problem.text,
        "hint": problem.hint,
        **origin_data(problem.origin),
    }


def report_text(data: dict[str, Any]) -> str:
    """The report for people: `key = value  # origin`, aligned, the problems last."""
    rows = [(f"{key} = {_short(entry['value'])}", entry["origin"]) for key, entry in data["values"].items()]
    width = min(max((len(row) for row, _ in rows), default=0), 64)
    lines = [f"{row:{width}}  # {Origin(**origin)}" for row, origin in rows]
    for problem in data["problems"]:
        origin = Origin(problem["layer"], problem["where"], problem["line"])
        mark = "note" if problem["level"] == "info" else "problem"
        lines.append(f"{mark}: {Problem(problem['text'], problem['hint'], origin)}")
    return "\n".join(lines)


def _short(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
