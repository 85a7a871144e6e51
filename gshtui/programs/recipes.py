"""How each program is given hooks for one start, in words that its own configuration understands.

Pure text. Nothing of the user's own configuration is read or written: a recipe is files of ours, plus the arguments or
variables that name them when an agent is started. Called by `hooks` (the files) and `launch` (arguments and variables).
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gshtui.programs.profile import Profile

EXTENSION = "gsh-tui"
"""Name of Gemini's extension."""
_SECONDS = 5
_OPENCODE = """\
// Written by gsh-tui. Reports what OpenCode does to the gsh-tui that started it; elsewhere it does nothing.
import { appendFileSync } from "node:fs"

const spool = process.env.GSH_HOOK_SPOOL
const short = (value) => (typeof value === "string" ? value.slice(0, 400) : "")
const report = (event, more) => {
  if (!spool || !spool.startsWith("/")) return
  try {
    appendFileSync(spool, JSON.stringify({ at: Date.now() / 1000, program: "opencode", event, ...more }) + "\\n")
  } catch {}
}
const wanted = new Set(WANTED)

export const GshReport = async () => ({
  event: async ({ event }) => {
    const about = event.properties ?? {}
    const conversation = short(about.sessionID ?? about.info?.id)
    const name = event.type === "session.status" ? `session.status.${about.status?.type ?? ""}` : event.type
    if (!wanted.has(name) || about.info?.parentID) return
    report(name, { conversation, tool: short(about.permission), text: short(about.error?.data?.message) })
  },
  "tool.execute.before": async (input, output) => {
    const given = output?.args ?? {}
    const subject = short(given.command ?? given.filePath ?? given.pattern ?? given.description)
    report("tool.execute.before", { conversation: short(input.sessionID), tool: short(input.tool), subject })
  },
  "tool.execute.after": async (input) => {
    report("tool.execute.after", { conversation: short(input.sessionID), tool: short(input.tool) })
  },
})
"""


@dataclass(frozen=True, slots=True)
class Given:
    """What a start gets so that its program reports."""

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    reports: bool = True
    """The program will report. It will not where that would displace something of the user's."""


NOTHING = Given(reports=False)


def files(profile: Profile) -> dict[str, str]:
    """The recipe's files by their names in its folder; the first one is the recipe."""
    match profile.hooks.kind:
        case "":
            return {}
        case "opencode":
            return {"opencode.js": _OPENCODE.replace("WANTED", json.dumps(sorted(profile.hooks.events)))}
        case "gemini":
            about = {"name": EXTENSION, "version": "1.0.0", "description": "Reports its status to gsh-tui"}
            manifest = json.dumps(about, indent=2) + "\n"
            return {f"{EXTENSION}/hooks/hooks.json": _hooks(profile), f"{EXTENSION}/gemini-extension.json": manifest}
        case kind:
            return {f"{kind}.json": _hooks(profile)}


def command(profile: Profile) -> str:
    """The shell command that a hook runs. The same for every agent: some programs trust a hook by its exact text."""
    script = Path(__file__).with_name("report_hook.py")
    return shlex.join([sys.executable, "-I", "-S", str(script), profile.hooks.kind])


def _hooks(profile: Profile) -> str:
    """Hooks in the words that claude, codex and gemini share."""
    hook: dict[str, Any] = {"type": "command", "command": command(profile), "timeout": _SECONDS}
    group: dict[str, Any] = {"hooks": [hook]}
    if profile.hooks.kind == "gemini":
        hook |= {"name": EXTENSION, "timeout": _SECONDS * 1000}
        group["matcher"] = "*"
    events = dict.fromkeys(event.partition(".")[0] for event in profile.hooks.events)
    return json.dumps({"hooks": {event: [group] for event in events}}, indent=2) + "\n"


def given(profile: Profile, file: Path, argv: Sequence[str], environ: Mapping[str, str]) -> Given:
    """Arguments and variables for a start, of the recipe in this file."""
    match profile.hooks.kind:
        case "claude":
            mine = any(word == "--settings" or word.startswith("--settings=") for word in argv)
            return NOTHING if mine else Given(("--settings", str(file)))
        case "codex":
            return Given(tuple(word for value in _codex(file) for word in ("-c", value)))
        case "gemini":
            return Given()  # it looks for its extensions by itself
        case "opencode":
            name = "OPENCODE_CONFIG_CONTENT"
            return NOTHING if name in environ else Given((), {name: json.dumps({"plugin": [file.as_uri()]})})
        case _:
            return NOTHING


def _codex(file: Path) -> list[str]:
    """The file's hooks as overrides of Codex's configuration, which is TOML."""
    data = json.loads(file.read_text("utf-8"))
    overrides: list[str] = []
    for event, groups in data["hooks"].items():
        hooks = [
            f'{{type="command",command={json.dumps(hook["command"])},timeout={int(hook["timeout"])}}}'
            for group in groups
            for hook in group["hooks"]
        ]
        overrides.append(f"hooks.{event}=[{{hooks=[{','.join(hooks)}]}}]")
    return overrides
