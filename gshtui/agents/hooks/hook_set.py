"""The hooks that there are: a person's own, of `[hooks]`, and those of Claude Code's settings and approved plugins.

A hook of somebody else's file runs only after a person has approved exactly its event, its matcher and its command; a
change asks again. One that comes into `[hooks]` while agents run waits for that, too, or for the next start. What
gsh-tui itself put into Claude Code's settings is left out. A bad entry is reported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from gshtui.settings import paths, plugins
from gshtui.settings.started_programs import HookEntry, Hooks
from gshtui.settings.toml_file import read_bytes
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import blocking_lock
from gshtui.system.json_types import is_array, is_object, parse_foreign_json
from gshtui.system.struct_types import learned
from gshtui.text.linear_regex import Linear, LinearError, compile_linear
from gshtui.text.sanitise import one_line

HookEvent = Literal[
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "SessionStart",
    "SessionEnd",
    "Notification",
]
EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
MOST_SECONDS = 600.0
DEFAULT_SECONDS = 60.0
_MAX_BYTES = 1024 * 1024
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
OWN = "yours"
"""The source of hooks of the person's configuration."""
_OURS = "report_hook"
"""In the commands that gsh-tui puts into Claude Code's settings to see what it does."""


class Hook(msgspec.Struct, frozen=True):
    """One hook.

    Args:
        matcher: a regular expression over the whole name of a tool, a trigger or a source; empty: all.
        seconds: its deadline.
        sandbox: it runs in the sandbox, where that holds.
        source: `yours`, or the file that it is from.
        approved: it may run.
    """

    event: HookEvent
    command: str = ""
    url: str = ""
    matcher: str = ""
    seconds: float = DEFAULT_SECONDS
    sandbox: bool = True
    source: str = OWN
    approved: bool = True
    plugin: str = ""
    """The folder of the plugin that brings it."""

    @property
    def id(self) -> str:
        """Says exactly what was approved, in short."""
        exact = json.dumps([self.event, self.matcher, self.command, self.url, self.source])
        return hashlib.sha256(exact.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def is_own(self) -> bool:
        """Whether it is of `[hooks]` of the person's configuration."""
        return self.source == OWN

    @property
    def shown(self) -> str:
        return one_line(self.command or self.url, 120)

    def matches(self, subject: str) -> bool:
        """Whether it is for this tool, trigger or source."""
        if self.matcher in ("", "*"):
            return True
        expression = _expression(self.matcher)
        # A hook may be there to refuse: where nobody can tell in time whether it is meant, it is.
        return expression.fullmatch(subject) is not None or expression.slow


class HookSet(msgspec.Struct):
    """The hooks of a folder, and one sentence for each entry that cannot be used."""

    hooks: list[Hook] = msgspec.field(default_factory=list[Hook])
    problems: list[str] = msgspec.field(default_factory=list[str])
    plugin_files: list[Path] = msgspec.field(default_factory=list[Path])
    """Everything in the folders of approved plugins that bring hooks: a change of it makes them hooks of none."""

    def find_matching(self, event: HookEvent, subject: str = "") -> list[Hook]:
        """Those that are asked or told now."""
        return [hook for hook in self.hooks if hook.event == event and hook.approved and hook.matches(subject)]

    @property
    def waiting(self) -> list[Hook]:
        """Those that nobody has approved."""
        return [hook for hook in self.hooks if not hook.approved]


class _Approved(msgspec.Struct):
    """Hooks by their id: whether they run outside the sandbox."""

    hooks: dict[str, bool] = {}


def read_hooks(
    settings: Hooks, project: Path, environ: Mapping[str, str], begun: Collection[Hook] | None = None
) -> HookSet:
    """All hooks. Reads files; blocks for a moment. Never raises for what a file holds.

    Args:
        environ: of whoever opened the folder.
        begun: those of the person's configuration that this process began with; others of it need an approval, as an
            agent may have written them. `None`: it begins now, with all of them.
    """
    found = HookSet()
    approved = _read_approved().hooks
    known = None if begun is None else {(hook.id, hook.sandbox) for hook in begun}
    for event in EVENTS:
        for entry in cast("list[HookEntry]", getattr(settings, event)):
            hook = Hook(event, entry.command, entry.url, entry.matcher, entry.timeout, entry.sandbox)
            if known is not None and (hook.id, hook.sandbox) not in known:
                outside = approved.get(hook.id)
                hook = replace(hook, approved=outside is not None and (outside or hook.sandbox))
            _add(found, hook, f"[hooks] {event}")
    for file in _claude_files(project, environ):
        for hook in _of_claude(found, file):
            outside = approved.get(hook.id)
            _add(found, replace(hook, approved=outside is not None, sandbox=outside is not True), str(file))
    for hook in _of_plugins(found, project):
        outside = approved.get(hook.id)
        _add(found, replace(hook, approved=outside is not None, sandbox=outside is not True), hook.source)
    return found


def _of_plugins(found: HookSet, project: Path) -> list[Hook]:
    """The hooks of approved plugins, each of which waits for its own approval."""
    approved, problems = plugins.approved_claude_plugins(project)
    found.problems += problems
    hooks: list[Hook] = []
    for plugin in approved:
        found.plugin_files += plugin.files if plugin.hooks else []
        for file, table in plugin.hooks:
            for one in _of_table(found, file, table):
                hooks.append(replace(one, command=plugin.placed(one.command), plugin=str(plugin.folder)))
    return hooks


class HookFiles:
    """The hooks as they are now: read again only when one of the files has changed, so that a look costs four calls."""

    def __init__(
        self,
        read_settings: Callable[[], Hooks | None],
        project: Path,
        environ: Mapping[str, str],
        on_waiting: Callable[[list[Hook]], None],
    ) -> None:
        """
        Args:
            read_settings: reads `[hooks]` of the configuration; `None`: it has a mistake, so they stay as they are.
            environ: of whoever opened the folder.
            on_waiting: called with those that are new and that nobody has approved.
        """
        self._read_settings = read_settings
        self._project = project
        self._environ = environ
        self._on_waiting = on_waiting
        self._settings = Hooks()
        self._begun: list[Hook] | None = None
        self._told: set[str] = set()
        self._seen: list[tuple[int, int] | None] = []
        self._found = HookSet()

    def read(self) -> HookSet:
        """The hooks now. Raises nothing."""
        others = (*self._found.plugin_files, plugins.approvals_file(), _file(), paths.config_file())
        seen = [_state(file) for file in (*_claude_files(self._project, self._environ), *others)]
        if seen == self._seen:
            return self._found
        if seen[-1:] != self._seen[-1:]:
            self._settings = self._read_settings() or self._settings
        self._seen, self._found = seen, read_hooks(self._settings, self._project, self._environ, self._begun)
        if self._begun is None:
            self._begun = [hook for hook in self._found.hooks if hook.is_own]
        fresh = [hook for hook in self._found.waiting if hook.id not in self._told]
        self._told |= {hook.id for hook in fresh}
        if fresh:
            self._on_waiting(fresh)
        return self._found


def _state(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _claude_files(project: Path, environ: Mapping[str, str]) -> list[Path]:
    claude = Path(environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    files = (claude / "settings.json", project / ".claude/settings.json", project / ".claude/settings.local.json")
    return list(dict.fromkeys(files))


def _add(found: HookSet, hook: Hook, where: str) -> None:
    if why := _wrong(hook):
        found.problems.append(f"A hook of {where} is not used: {why}.")
    elif hook.id not in {one.id for one in found.hooks}:
        found.hooks.append(hook)


def _wrong(hook: Hook) -> str:
    if bool(hook.command.strip()) == bool(hook.url):
        return "it needs either `command` or `url`"
    if hook.url:
        try:
            parts = urlsplit(hook.url)
            loopback = parts.scheme == "http" and parts.hostname in _LOOPBACK and (parts.port or 80) > 0
        except ValueError:
            loopback = False
        if not loopback:
            return f"{one_line(hook.url, 80)!r} is not an http address of this machine, such as http://127.0.0.1:8080/"
    try:
        _expression(hook.matcher)
    except LinearError as error:
        return f"its matcher {one_line(hook.matcher, 60)!r} is not an expression: {one_line(str(error), 120)}"
    return ""


def _expression(matcher: str) -> Linear:
    return compile_linear(rf"(?s:{matcher})" if matcher not in ("", "*") else ".*")


def _of_claude(found: HookSet, file: Path) -> list[Hook]:
    """The hooks of a file of Claude Code's settings."""
    try:
        raw = read_bytes(file)
        if raw is None:
            return []
        if len(raw) > _MAX_BYTES:
            raise ValueError(f"it has {len(raw):,} bytes")
        data: Any = parse_foreign_json(raw)
    except (OSError, ValueError) as error:
        found.problems.append(f"The hooks of {file} are not used: {one_line(str(error), 200)}.")
        return []
    table: Any = data.get("hooks") if is_object(data) else None
    return _of_table(found, file, table) if is_object(table) else []


def _of_table(found: HookSet, file: Path, table: dict[str, Any]) -> list[Hook]:
    """The hooks by event that a file has."""
    hooks: list[Hook] = []
    for event, groups in table.items():
        if event not in EVENTS:
            found.problems.append(f"{file}: hooks of {one_line(str(event), 40)!r} are not run here.")
            continue
        for group in groups if is_array(groups) else []:
            hooks += _of_group(found, file, event, group)
    return [hook for hook in hooks if _OURS not in hook.command]


def _of_group(found: HookSet, file: Path, event: HookEvent, group: object) -> list[Hook]:
    if not is_object(group):
        return []
    entries: Any = group.get("hooks")
    hooks: list[Hook] = []
    for entry in entries if is_array(entries) else []:
        one = entry if is_object(entry) else {}
        kind = one.get("type", "command")
        if kind not in ("command", "http"):
            named = one_line(str(kind), 40)
            found.problems.append(f"{file}: a hook of {event} has the type {named!r}; command and http are run here.")
            continue
        seconds: Any = one.get("timeout", DEFAULT_SECONDS)
        limit = (
            float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else DEFAULT_SECONDS
        )
        hooks.append(
            Hook(
                event,
                str(one.get("command") or ""),
                str(one.get("url") or ""),
                str(group.get("matcher") or ""),
                min(max(limit, 0.1), MOST_SECONDS),
                source=str(file),
                approved=False,
            )
        )
    return hooks


def approve(ids: Mapping[str, bool]) -> None:
    """Note that a person has approved these; the value: outside the sandbox. Blocks. Raises `OSError`."""
    _change(lambda known: known.hooks.update(ids))


def withdraw(ids: list[str]) -> None:
    """Note that these must not run any more. Blocks. Raises `OSError`."""

    def drop(known: _Approved) -> None:
        for one in ids:
            known.hooks.pop(one, None)

    _change(drop)


def _change(change: Callable[[_Approved], object]) -> None:
    paths.data_dir()
    with blocking_lock(_file().with_suffix(".lock")):
        known = _read_approved()
        change(known)
        private_files.write_whole(_file(), msgspec.json.encode(known), sync=True)


def _read_approved() -> _Approved:
    """An unreadable file approves nothing."""
    try:
        return msgspec.json.decode(_file().read_bytes(), type=learned(_Approved))
    except (OSError, msgspec.DecodeError):
        return _Approved()


def _file() -> Path:
    return paths.data_dir(create=False) / "approved-hooks.json"
