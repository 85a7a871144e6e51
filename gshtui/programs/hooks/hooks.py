"""Hooks of other programs: how each program declares them, installing them with consent, removing them completely."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from gshtui.programs.profiles.profile import Profile
from gshtui.programs.report_hook import WAITS
from gshtui.settings import paths
from gshtui.system.caller_environment import caller_environ
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files
from gshtui.system.files.private_files import open_reader

EXTENSION = "gsh-tui"
"""Name of Gemini's extension."""
_SECONDS = 5
_QWEN_DEFAULTS = (
    Path("/etc/qwen-code/system-defaults.json"),
    Path("/Library/Application Support/QwenCode/system-defaults.json"),
)
_REPORT = """\
// Written by gsh-tui. Reports what PROGRAM does to the gsh-tui that started it; elsewhere it does nothing.
import { appendFileSync } from "node:fs"

const spool = process.env.GSH_HOOK_SPOOL
const short = (value) => (typeof value === "string" ? value.slice(0, 400) : "")
const subjects = ["command", "filePath", "path", "pattern", "description"]
const subjectOf = (given) => short(given?.[subjects.find((name) => given?.[name])])
const report = (event, more) => {
  if (!spool || !spool.startsWith("/")) return
  try {
    appendFileSync(spool, JSON.stringify({ at: Date.now() / 1000, program: "PROGRAM", event, ...more }) + "\\n")
  } catch {}
}
"""
_OPENCODE = """\
const wanted = new Set(WANTED)
const helpers = new Set()
const own = (session) => (helpers.has(session) ? "" : short(session))

export const GshReport = async () => ({
  event: async ({ event }) => {
    const about = event.properties ?? {}
    const session = about.sessionID ?? about.info?.id
    const name = event.type === "session.status" ? `session.status.${about.status?.type ?? ""}` : event.type
    if (about.info?.parentID) helpers.add(about.info.id)
    // A helper's question is one; its end is no end of the turn.
    if (!wanted.has(name) || (helpers.has(session) && name.startsWith("session."))) return
    report(name, { conversation: own(session), tool: short(about.permission), text: short(about.error?.data?.message) })
  },
  "tool.execute.before": async (input, output) => {
    const about = { tool: short(input.tool), subject: subjectOf(output?.args) }
    report("tool.execute.before", { conversation: own(input.sessionID), ...about })
  },
  "tool.execute.after": async (input) => {
    report("tool.execute.after", { conversation: own(input.sessionID), tool: short(input.tool) })
  },
})
"""
_PI = """\
let answer = ""

export default function (pi) {
  for (const name of WANTED) {
    pi.on(name, async (event, context) => {
      const said = event.messages?.filter((each) => each.role === "assistant").at(-1)?.content ?? []
      const texts = Array.isArray(said) ? said.filter((part) => part.type === "text").map((part) => part.text) : []
      answer = name === "before_agent_start" ? "" : texts.join("\\n\\n").slice(0, 8000) || answer
      report(name, {
        conversation: short(context.sessionManager.getSessionId()),
        kind: short(event.reason),
        tool: short(event.toolName),
        subject: subjectOf(event.args),
        text: short(event.title),
        prompt: short(event.prompt),
        answer: name === "agent_settled" ? answer : "",
      })
    })
  }
}
"""


class HookSetup(msgspec.Struct, frozen=True):
    """What a start gets so that its program reports."""

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    reports: bool = True
    """The program will report. It will not where that would displace something of the user's."""


NOTHING = HookSetup(reports=False)


def hook_files(profile: Profile) -> dict[str, str]:
    """The recipe's files by their names in its folder; the first one is the recipe."""
    match profile.hooks.kind:
        case "":
            return {}
        case "opencode" | "pi" as kind:
            script = _REPORT.replace("PROGRAM", kind) + (_OPENCODE if kind == "opencode" else _PI)
            events = dict.fromkeys(event.partition(".")[0] if kind == "pi" else event for event in profile.hooks.events)
            return {f"{kind}.js": script.replace("WANTED", json.dumps(sorted(events)))}
        case "gemini":
            about = {"name": EXTENSION, "version": "1.0.0", "description": "Reports its status to gsh-tui"}
            manifest = json.dumps(about, indent=2) + "\n"
            return {f"{EXTENSION}/hooks/hooks.json": _hooks(profile), f"{EXTENSION}/gemini-extension.json": manifest}
        case kind:
            return {f"{kind}.json": _hooks(profile)}


def hook_command(profile: Profile) -> str:
    """The shell command that a hook runs. The same for every agent: some programs trust a hook by its exact text."""
    script = Path(__file__).parents[1] / "report_hook.py"
    return shlex.join([sys.executable, "-I", "-S", str(script), profile.hooks.kind])


def _hooks(profile: Profile) -> str:
    """Hooks in the format that claude, codex, gemini and qwen share."""
    hook: dict[str, Any] = {"type": "command", "command": hook_command(profile), "timeout": _SECONDS}
    group: dict[str, Any] = {"hooks": [hook]}
    if profile.hooks.kind == "gemini":
        hook |= {"name": EXTENSION, "timeout": _SECONDS * 1000}
        group["matcher"] = "*"
    events = {event.partition(".")[0]: [group] for event in profile.hooks.events}
    if profile.hooks.answers:  # it waits for a person, beside the program's own box
        events["PermissionRequest"] = [group | {"hooks": [hook | {"timeout": WAITS + _SECONDS}]}]
    if profile.hooks.kind == "codex":  # its turn would go on until that has ended (before 0.148 it leaves such out)
        events["Stop"] = [{"hooks": [hook | {"async": True}]}]
    version = {"$version": 4} if profile.hooks.kind == "qwen" else {}  # which it adds to settings that have none
    return json.dumps({"hooks": events, **version}, indent=2) + "\n"


def hook_setup(profile: Profile, file: Path, argv: Sequence[str], environ: Mapping[str, str]) -> HookSetup:
    """Arguments and variables for a start, of the recipe in this file."""
    match profile.hooks.kind:
        case "claude":
            mine = any(word == "--settings" or word.startswith("--settings=") for word in argv)
            return NOTHING if mine else HookSetup(("--settings", str(file)))
        case "codex":
            return HookSetup(tuple(word for value in _codex(file) for word in ("-c", value)))
        case "gemini":
            return HookSetup()  # it looks for its extensions by itself
        case "opencode":
            name = "OPENCODE_CONFIG_CONTENT"
            return NOTHING if name in environ else HookSetup((), {name: json.dumps({"plugin": [file.as_uri()]})})
        case "pi":
            return HookSetup(("--extension", str(file)))
        case "qwen":  # as the settings of the system that count least, where there are none
            name = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"
            taken = name in environ or any(each.exists() for each in _QWEN_DEFAULTS)
            return NOTHING if taken else HookSetup((), {name: str(file)})
        case _:
            return NOTHING


def _codex(file: Path) -> list[str]:
    """The file's hooks as overrides of Codex's configuration, which is TOML."""
    data = json.loads(file.read_text("utf-8"))
    overrides: list[str] = []
    for event, groups in data["hooks"].items():
        hooks = [
            f'{{type="command",command={json.dumps(hook["command"])},timeout={int(hook["timeout"])}'
            f"{',async=true' if hook.get('async') else ''}}}"
            for group in groups
            for hook in group["hooks"]
        ]
        overrides.append(f"hooks.{event}=[{{hooks=[{','.join(hooks)}]}}]")
    return overrides


State = Literal["impossible", "absent", "installed", "outdated", "unreadable"]


class HooksError(ExpectedError):
    """The hooks could not be put in or taken out; one sentence."""


class HookChange(msgspec.Struct, frozen=True):
    """A change of one file. `None` means that the file does not exist."""

    file: Path
    before: str | None
    after: str | None

    @property
    def diff(self) -> str:
        """Exactly what changes, as a unified diff; empty when nothing does."""
        import difflib  # the keeper loads this module, and shows no changes

        old = (self.before or "").splitlines(keepends=True)
        new = (self.after or "").splitlines(keepends=True)
        source = str(self.file) if self.before is not None else "/dev/null"
        target = str(self.file) if self.after is not None else "/dev/null"
        return "".join(difflib.unified_diff(old, new, source, target))


class HookPlan(msgspec.Struct, frozen=True):
    """What an installation or a removal would do."""

    changes: tuple[HookChange, ...]

    @property
    def file(self) -> Path:
        return self.changes[0].file

    @property
    def diff(self) -> str:
        return "".join(change.diff for change in self.changes)


def folder_of(profile: Profile) -> Path:
    """The folder for recipes of this kind: in our configuration, except Gemini's, which is among its extensions."""
    if profile.hooks.kind == "gemini":
        home = caller_environ().get("GEMINI_CLI_HOME", "")
        return (Path(home) if home.startswith("/") else paths.home()) / ".gemini" / "extensions"
    return paths.config_dir() / "hooks"


def file_of(profile: Profile, folder: Path | None = None) -> Path:
    return (folder or folder_of(profile)) / next(iter(hook_files(profile)), "none")


def state(profile: Profile, folder: Path | None = None) -> State:
    """Whether the hooks are in, and are those that this version would put in. Blocks for a moment."""
    if not profile.hooks.kind:
        return "impossible"
    try:
        changes = plan(profile, folder=folder).changes
    except HooksError:
        return "unreadable"
    if all(change.before is None for change in changes):
        return "absent"
    return "installed" if all(change.before == change.after for change in changes) else "outdated"


def plan(profile: Profile, *, remove: bool = False, folder: Path | None = None) -> HookPlan:
    """What would be done. Blocks for a moment. Raises `HooksError` where nothing can be done."""
    if not profile.hooks.kind:
        raise HooksError(f"gsh-tui knows no hooks of {profile.title}.")
    place = folder or folder_of(profile)
    wanted = hook_files(profile)
    return HookPlan(
        tuple(HookChange(place / n, _read(place / n), None if remove else text) for n, text in wanted.items())
    )


def apply_plan(what: HookPlan) -> list[Path]:
    """Apply the change; returns the backups of the old files. Blocks for a moment. Raises `HooksError`: a file has
    changed since the plan was made, or cannot be written.
    """
    for change in what.changes:
        if _read(change.file) != change.before:
            raise HooksError(f"{change.file} has changed in the meantime; review the difference again.")
    kept: list[Path] = []
    for change in what.changes:
        try:
            kept += _carried_out(change)
        except OSError as error:
            raise HooksError(f"Cannot write {change.file}: {error.strerror or error}.") from error
    return kept


def _carried_out(change: HookChange) -> list[Path]:
    if change.before == change.after:
        return []
    file, kept = change.file, list[Path]()
    if change.before is not None:
        folder = paths.state_dir() / "hooks"  # not beside it: a program may read every file that it finds there
        private_files.make_folder(folder)
        kept.append(folder / f"{file.name}.backup-{time.strftime('%Y%m%d-%H%M%S')}")
        private_files.write_whole(kept[0], change.before.encode(), sync=True)
    if change.after is not None:
        private_files.make_folder(file.parent)
        private_files.write_whole(file, change.after.encode(), sync=True)
        return kept
    file.unlink()
    for folder in (file.parent, file.parent.parent):
        if EXTENSION in folder.parts and not any(folder.iterdir()):
            folder.rmdir()  # of the extension; nobody else's
    return kept


def _read(file: Path) -> str | None:
    try:
        descriptor = private_files.open_existing(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HooksError(f"Cannot read {file}: {error.strerror or error}.") from error
    with open_reader(descriptor) as opened:
        return opened.read(1_000_000).decode("utf-8", "replace")
