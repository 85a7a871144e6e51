"""The `config` command: shows, explains, sets and trusts settings, and gives their schema and paths."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import SettingChanged
from gshtui.commands.declaration import (
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    UsageError,
)
from gshtui.commands.registry import AnyCommand
from gshtui.settings import paths, trust, user_config
from gshtui.settings.keys import flat, known_keys
from gshtui.settings.loader import Loaded
from gshtui.settings.model import schema
from gshtui.settings.toml_file import Origin, Problem, read_bytes


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


Action = Literal["show", "path", "schema", "set", "edit", "trust", "untrust"]
_LOOKING = frozenset({"show", "path", "schema"})


class ConfigParameters(Parameters):
    """Parameters of `config`."""

    action: Action = Field(
        default="show",
        description="show: every value and its origin. path: the files. schema: every key. set: change a value. edit: "
        "prepare the file for editing. trust, untrust: whether to use this folder's .gsh/config.toml.",
    )
    key: str = Field(default="", description="A setting or table, such as agent.max_steps (show, set).")
    value: str = Field(default="", description="The new value (set); lists are JSON.")


def commands(loaded: Loaded, *, publish: Callable[[Event], None] | None = None) -> list[AnyCommand]:
    """The config family, about these layers. `publish` is told of changes (`SettingChanged`)."""

    async def run(invocation: Invocation, parameters: ConfigParameters) -> Outcome:
        if invocation.caller.is_agent and parameters.action not in _LOOKING:
            raise UsageError(
                "Only a person can change the configuration.", hint="Agents can use show, path and schema."
            )
        outcome = await asyncio.to_thread(_run, loaded, parameters)
        if parameters.action == "set" and publish is not None:
            publish(SettingChanged(key=parameters.key, value=outcome.data["value"]))
        return outcome

    async def assess(_invocation: Invocation, parameters: ConfigParameters) -> Assessment:
        effect = Effect.READ if parameters.action in _LOOKING else Effect.WRITE
        return Assessment(effect, f"config {parameters.action} {parameters.key}".strip(), inside=effect is Effect.READ)

    async def complete(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        options = known_keys(tuple(loaded.settings.providers)) if parameter == "key" else []
        return [option for option in options if option.startswith(prefix)]

    return [
        Command(
            "config",
            "Show or change the configuration",
            ConfigParameters,
            run,
            effect=Effect.WRITE,
            positions=("action", "key", "value"),
            family="workbench",
            assess=assess,
            complete=complete,
        )
    ]


def _run(loaded: Loaded, parameters: ConfigParameters) -> Outcome:
    match parameters.action:
        case "show":
            return _show(loaded.again(), parameters.key)
        case "path":
            return _paths(loaded)
        case "schema":
            made = schema()
            return Outcome(made, json.dumps(made, indent=2, ensure_ascii=False))
        case "set":
            return _set(parameters.key, parameters.value)
        case "edit":
            return _edit()
        case "trust":
            return trusting(loaded, project_bytes(loaded))
        case "untrust":
            return _untrust(loaded)


def _show(loaded: Loaded, key: str) -> Outcome:
    data = report(loaded, key)
    if key and not data["values"]:
        raise CommandError(f"There is no setting {key!r}.", hint="`config show` lists them all.")
    return Outcome(data, report_text(data))


def _paths(loaded: Loaded) -> Outcome:
    data: dict[str, Any] = {
        "config": str(paths.config_file()),
        "project": str(paths.project_config_file(loaded.project)),
        "data": str(paths.data_dir(create=False)),
        "state": str(paths.state_dir(create=False)),
        "logs": str(loaded.settings.general.log_dir),
        "runtime": str(paths.runtime_dir(create=False)),
    }
    return Outcome(data, "\n".join(f"{name:8} {path}" for name, path in data.items()))


def _set(key: str, value: str) -> Outcome:
    if not key:
        raise UsageError("Name the setting and its value.", hint="For example: config set agent.max_steps 30")
    try:
        written = user_config.set_value(key, value)
    except user_config.EditError as error:
        raise CommandError(str(error)) from error
    data = {"key": key, "value": written, "file": str(paths.config_file())}
    return Outcome(data, f"{key} = {json.dumps(written, ensure_ascii=False)} is in {paths.config_file()}.")


def _edit() -> Outcome:
    try:
        file = user_config.make_ready()
    except user_config.EditError as error:
        raise CommandError(str(error)) from error
    return Outcome({"file": str(file)}, f"Edit {file}; `config show` then says what counts.")


def project_bytes(loaded: Loaded) -> bytes | None:
    """The project's configuration as it is now; `None` when there is none. Raises `CommandError`."""
    file = paths.project_config_file(loaded.project)
    try:
        return read_bytes(file)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror or error}.") from error


def trusting(loaded: Loaded, raw: bytes | None, files: dict[str, str] | None = None) -> Outcome:
    """Trust the project with exactly this configuration and these files: what the person saw, whatever they say now."""
    files = trust.brought(loaded.project) if files is None else files
    try:
        trust.trust(loaded.project, raw, files)
    except OSError as error:
        raise CommandError(str(error)) from error
    fresh = loaded.again()
    refused = [str(problem) for problem in fresh.problems if problem.origin.layer == "project"]
    said = f"{loaded.project} is trusted; its configuration counts from the next start on, where it is stricter."
    named = [name if name.isprintable() else repr(name) for name in list(files)[:8]]
    brings = [f"These count as they are now: {', '.join([*named, *['…'][: len(files) > 8]])}."] if files else []
    data = {"project": str(loaded.project), "trust": fresh.trust, "problems": refused, "files": sorted(files)}
    return Outcome(data, "\n".join([said, *brings, *refused]))


def _untrust(loaded: Loaded) -> Outcome:
    try:
        trust.revoke(loaded.project)
    except OSError as error:
        raise CommandError(str(error)) from error
    data: dict[str, Any] = {"project": str(loaded.project), "trust": loaded.again().trust, "problems": []}
    return Outcome(data, f"{loaded.project} is not trusted.")
