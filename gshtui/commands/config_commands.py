"""The `config` command: shows, explains, sets and trusts settings, and gives their schema and paths.

A line becomes one of the calls of `config_calls`. An agent may read the settings, but change nothing.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import SettingChanged
from gshtui.commands import config_calls as calls
from gshtui.commands.declaration import (
    Access,
    Action,
    AnyAction,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Question,
    UsageError,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.settings import paths, trust, user_config
from gshtui.settings.git_programs import GitProgram, git_programs
from gshtui.settings.keys import flat, known_keys
from gshtui.settings.loader import Loaded
from gshtui.settings.model import schema
from gshtui.settings.toml_file import Origin, Problem, read_bytes
from gshtui.text.markdown_table import bare_columns, cell, facts, fenced
from gshtui.text.sanitise import one_line, visible

_LONGEST_NAME = 4_096
"""Characters of a path, at most, as the system has it."""
_SHOWN = 64 * 1024
"""Bytes of a file shown to a person before they trust it."""
_GIT_RUNS = (
    "What is listed after `git:` is run by git, whenever you or a command use it in this folder, whether you trust the"
    " folder or not. The git calls of gsh-tui itself run none of it."
)
A = TypeVar("A", bound=Parameters)
R = TypeVar("R")


def report(loaded: Loaded, under: str = "") -> dict[str, Any]:
    """Everything about the settings as plain data; `under` keeps one key or table."""
    values = {
        key: {"value": value, "origin": origin_data(loaded.origins.get(key, Origin("default")))}
        for key, value in ((".".join(path), value) for path, value in flat(loaded.settings))
        if _is_under(key, under)
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


def _is_under(key: str, under: str) -> bool:
    return not under or key == under or key.startswith(f"{under}.")


def origin_data(origin: Origin) -> dict[str, Any]:
    return {"layer": origin.layer, "where": origin.where, "line": origin.line}


def problem_data(problem: Problem) -> dict[str, Any]:
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


SettingsChanged = Callable[[Loaded], None]
"""Receives the changed settings, in a thread."""


def commands(loaded: Loaded, bus: Bus, changed: SettingsChanged = lambda _: None) -> list[AnyCommand]:
    """The config family, about these layers."""

    async def complete(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        options = known_keys(tuple(loaded.settings.providers)) if parameter == "key" else []
        return [option for option in options if option.startswith(prefix)]

    return [
        group(
            "config",
            "Show or change the configuration",
            *_actions(_Handlers(loaded, changed), bus),
            family="workbench",
            bare="show",
            shell=calls.CONFIG_GROUP,
            complete=complete,
        )
    ]


def _action(
    parameters: type[A],
    run: Callable[[A], R],
    render: Callable[[R], Outcome],
    asks: Callable[[Invocation, A], Awaitable[Question | None]] | None = None,
    access: Access = Access.HUMAN_ONLY,
    then: Callable[[R], None] = lambda _: None,
    positions: tuple[str, ...] | None = None,
) -> Action[A, R]:
    """An action that reads and writes files, and so runs in a thread. `then` gets its result, outside the thread."""

    @functools.wraps(run)
    async def in_thread(_invocation: Invocation, given: A) -> R:
        result = await asyncio.to_thread(run, given)
        then(result)
        return result

    effect = Effect.READ if access is Access.SHARED else Effect.WRITE
    return Action(
        parameters,
        in_thread,
        lambda _, found: render(found),
        asks,
        access=access,
        effect=effect,
        positions=positions,
    )


def _actions(do: _Handlers, bus: Bus) -> tuple[AnyAction, ...]:
    shared = Access.SHARED

    def announce(done: calls.ChangedSetting) -> None:
        bus.publish(SettingChanged(key=done.key, value=done.value))

    def announce_reset(done: calls.ResetValue) -> None:
        bus.publish(SettingChanged(key=done.key, value=None))

    return (
        _action(calls.ShowSettings, do.show, _render_settings, access=shared, positions=("key",)),
        _action(calls.GetSetting, do.get, _render_value, access=shared, positions=("key",)),
        _action(calls.ShowPlaces, do.places, _render_places, access=shared),
        _action(calls.ShowSchema, do.schema, _render_schema, access=shared),
        _action(calls.SetSetting, do.set, _render_changed, then=announce, positions=("key", "value")),
        _action(calls.ResetSetting, do.reset, _render_reset, then=announce_reset, positions=("key",)),
        _action(calls.MakeConfigFile, do.make_file, _render_file),
        _action(calls.TrustProject, do.trust, _render_trust, do.ask_trust),
        _action(calls.UntrustProject, do.trust, _render_trust),
    )


class _Handlers:
    """The actions' handlers. All except the question block, so they run in a thread."""

    def __init__(self, loaded: Loaded, changed: Callable[[Loaded], None]) -> None:
        self._loaded = loaded
        self._changed = changed

    def show(self, wanted: calls.ShowSettings) -> calls.ShownSettings:
        loaded = self._loaded.again()
        if not any(_is_under(".".join(path), wanted.key) for path, _ in flat(loaded.settings)):
            raise CommandError(f"There is no setting {wanted.key!r}.", hint="`config show` lists all settings.")
        return calls.ShownSettings(loaded, wanted.key)

    def get(self, wanted: calls.GetSetting) -> calls.SettingValue:
        if not wanted.key:
            raise UsageError("Name the setting.", hint="For example: config get agent.max_steps")
        loaded = self.show(calls.ShowSettings(key=wanted.key)).loaded
        values = {key: entry["value"] for key, entry in report(loaded, wanted.key)["values"].items()}
        return calls.SettingValue(values.get(wanted.key, values))

    def places(self, _: calls.ShowPlaces) -> calls.ConfigPlaces:
        places = {
            "config": paths.config_file(),
            "project": paths.project_config_file(self._loaded.project),
            "data": paths.data_dir(create=False),
            "state": paths.state_dir(create=False),
            "logs": self._loaded.settings.general.log_dir,
            "runtime": paths.runtime_dir(create=False),
        }
        return calls.ConfigPlaces(places)

    def schema(self, _: calls.ShowSchema) -> calls.SettingsSchema:
        return calls.SettingsSchema(schema())

    def set(self, wanted: calls.SetSetting) -> calls.ChangedSetting:
        if not wanted.key:
            raise UsageError("Name the setting and its value.", hint="For example: config set agent.max_steps 30")
        written = user_config.set_value(wanted.key, wanted.value, lambda: self._must_be_seen(wanted))
        self._changed(self._loaded.again())
        return calls.ChangedSetting(wanted.key, written, paths.config_file())

    def _must_be_seen(self, wanted: calls.SetSetting) -> None:
        """Raise `CommandError` if the value is no longer the one that the person saw."""
        if wanted.seen is None:
            return
        now = next((v for path, v in flat(self._loaded.again().settings) if ".".join(path) == wanted.key), None)
        if json.loads(wanted.seen) != now:
            raise CommandError(f"{wanted.key} is {_short(now)} by now: it was changed elsewhere.", hint="Look again.")

    def reset(self, wanted: calls.ResetSetting) -> calls.ResetValue:
        if not wanted.key:
            raise UsageError("Name the setting.", hint="For example: config unset agent.max_steps")
        found = user_config.unset_value(wanted.key)
        self._changed(self._loaded.again())
        return calls.ResetValue(wanted.key, found, paths.config_file())

    def make_file(self, _: calls.MakeConfigFile) -> calls.ConfigFile:
        return calls.ConfigFile(user_config.make_ready())

    async def ask_trust(self, _invocation: Invocation, wanted: calls.TrustProject) -> Question | None:
        """Show exactly what would be trusted; nothing if trust is withdrawn."""
        return None if wanted.revoke else await asyncio.to_thread(_trust_question, self._loaded.project)

    def trust(self, wanted: calls.TrustProject) -> calls.ProjectTrust:
        """Trust the files as the person saw them, whatever they contain now."""
        project = self._loaded.project
        seen = None if wanted.revoke else wanted.seen or _seen(project)
        try:
            if seen is None:
                trust.revoke(project)
            else:
                trust.trust(project, seen.config, seen.files)
        except OSError as error:
            raise CommandError(str(error)) from error
        fresh = self._loaded.again()
        if seen is None:
            return calls.ProjectTrust(project, fresh.trust, revoked=True)
        refused = tuple(problem for problem in fresh.problems if problem.origin.layer == "project")
        return calls.ProjectTrust(project, fresh.trust, tuple(seen.files), refused)


def _seen(project: Path) -> calls.SeenProject:
    """The project's files as they are now. Raises `CommandError`."""
    file = paths.project_config_file(project)
    try:
        return calls.SeenProject(read_bytes(file), trust.brought(project))
    except OSError as error:
        raise CommandError(f"Can't read {file}: {error.strerror or error}.") from error


def _trust_question(project: Path) -> Question:
    seen = _seen(project)
    file = paths.project_config_file(project)
    said = (
        f"{_heading(str(file))} says:\n\n{_quoted(seen.config.decode('utf-8', 'replace'))}"
        if seen.config is not None
        else ""
    )
    try:
        differ = trust.differences(project, seen.files)
    except trust.TrustError as error:
        raise CommandError(str(error)) from error
    programs = {f"{trust.GIT}{each.name}": each for each in git_programs(project)}
    changes = [
        _shown_program(project, name, how, programs)
        if name.startswith(trust.GIT)
        else _shown_change(project, name, how)
        for name, how in differ
    ]
    if any(name.startswith(trust.GIT) for name, _ in differ):
        changes.append(_GIT_RUNS)
    quoted = "\n\n".join([said.rstrip() or f"There is no {_heading(str(file))}.", *changes])
    return Question(calls.TrustProject(seen=seen), f"Trust {project}?", yes="Trust", quoted=quoted)


def _shown_change(project: Path, name: str, how: str, file: Path | None = None) -> str:
    """A file of the folder that differs from the trusted version, with its current text."""
    if how == "removed":
        return f"{_heading(name)} is gone."
    try:
        with (file or project / name).open("rb") as opened:
            text = opened.read(_SHOWN).decode("utf-8", "replace")
            more = "\n[the rest is not shown]" if opened.read(1) else ""
    except OSError as error:
        text, more = f"cannot read it: {error.strerror or error}", ""
    return f"{_heading(name)} ({how}) says:\n\n{_quoted(text.rstrip())}{more}"


def _shown_program(project: Path, name: str, how: str, programs: dict[str, GitProgram]) -> str:
    """What git runs there and differs from what was trusted, with its exact value."""
    found = programs.get(name)
    shown = _heading(name)
    if found is None:
        return f"{shown} is gone."
    if found.file is not None and not found.value:
        return _shown_change(project, name, how, found.file)
    return f"{shown} ({how}) is:\n\n{_quoted(found.shown)}"


def _heading(name: str) -> str:
    """A foreign name in a heading of the list, as one line."""
    return one_line(visible(name, counted=False), _LONGEST_NAME)


def _quoted(text: str) -> str:
    """A foreign text, indented so that none of its lines can be taken for a heading of the list."""
    return "\n".join(f"    {line}" for line in re.split(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text))


def _render_settings(found: calls.ShownSettings) -> Outcome:
    data = report(found.loaded, found.key)
    text = report_text(data)
    return Outcome(data, fenced(text), aloud=text)


def _render_value(found: calls.SettingValue) -> Outcome:
    text = found.value if isinstance(found.value, str) else _short(found.value)
    return Outcome(found.value, text, is_value=True)


def _render_places(found: calls.ConfigPlaces) -> Outcome:
    data = {name: str(path) for name, path in found.paths.items()}
    text = facts((name, cell(path)) for name, path in data.items())
    return Outcome(data, text, plain=bare_columns(text))


def _render_schema(found: calls.SettingsSchema) -> Outcome:
    return Outcome(found.schema, fenced(json.dumps(found.schema, indent=2, ensure_ascii=False)))


def _render_changed(done: calls.ChangedSetting) -> Outcome:
    data = {"key": done.key, "value": done.value, "file": str(done.file)}
    return Outcome(data, f"{done.key} = {_short(done.value)} {_applies(done.key)}; it is kept in {done.file}.")


def _render_reset(done: calls.ResetValue) -> Outcome:
    data = {"key": done.key, "found": done.found, "file": str(done.file)}
    if not done.found:
        return Outcome(data, f"{done.key} was not set in {done.file}.")
    return Outcome(data, f"{done.key} is no longer in {done.file}; its default {_applies(done.key)}.")


_AT_ONCE = (
    "keybindings",
    "notify",
    "ui.diff_columns",
    "ui.fps",
    "ui.keys",
    "ui.notifications",
    "ui.result_lines",
    "ui.theme",
)
"""Settings and tables of settings that an open window takes from `SettingChanged`."""


def _applies(key: str) -> str:
    return "applies now" if any(_is_under(key, one) for one in _AT_ONCE) else "applies from the next start"


def _render_file(found: calls.ConfigFile) -> Outcome:
    return Outcome({"file": str(found.file)}, f"Edit {found.file}; `config show` then shows what applies.")


def _render_trust(done: calls.ProjectTrust) -> Outcome:
    data: dict[str, Any] = {"project": str(done.project), "trust": done.trust}
    data["problems"] = refused = [str(problem) for problem in done.refused]
    if done.revoked:
        return Outcome(data, f"{done.project} is not trusted.")
    said = f"{done.project} is trusted; its configuration applies from the next start, where it is stricter."
    named = [name if name.isprintable() else repr(name) for name in done.files[:8]]
    more = ["…"] if len(done.files) > len(named) else []
    brings = [f"Trusted as they are now: {', '.join([*named, *more])}."] if named else []
    return Outcome(data | {"files": sorted(done.files)}, "\n".join([said, *brings, *refused]))
