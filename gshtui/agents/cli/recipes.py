"""How each program is given hooks for one start, in words that its own configuration understands.

Pure text. Nothing of the user's own configuration is read or written: a recipe is a file of ours, plus the arguments or
variables that name it when an agent is started. Called by `hooks` (the file) and `launch` (arguments and variables).
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gshtui.agents.cli.profile import Profile

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


def file_name(profile: Profile) -> str:
    """Of the recipe's file."""
    return {"opencode": "opencode.js"}.get(profile.hooks.kind, f"{profile.hooks.kind}.json")


def command(profile: Profile) -> str:
    """The shell command that a hook runs. The same for every agent: some programs trust a hook by its exact text."""
    script = Path(__file__).with_name("report_hook.py")
    return shlex.join([sys.executable, "-I", "-S", str(script), profile.hooks.kind])


def content(profile: Profile) -> str:
    """The recipe's file."""
    hook: dict[str, Any] = {"type": "command", "command": command(profile), "timeout": _SECONDS}
    match profile.hooks.kind:
        case "claude" | "codex":
            data = {"hooks": {event: [{"hooks": [hook]}] for event in profile.hooks.events}}
        case "gemini":
            hook |= {"name": "gsh-tui", "timeout": _SECONDS * 1000}
            data = {"hooks": {event: [{"matcher": "*", "hooks": [hook]}] for event in profile.hooks.events}}
        case "opencode":
            return _OPENCODE.replace("WANTED", json.dumps(sorted(profile.hooks.events)))
        case _:
            return ""
    return json.dumps(data, indent=2) + "\n"


def given(profile: Profile, file: Path, argv: Sequence[str], environ: Mapping[str, str]) -> Given:
    """Arguments and variables for a start; nothing where they would displace something of the user's."""
    match profile.hooks.kind:
        case "claude":
            mine = any(word == "--settings" or word.startswith("--settings=") for word in argv)
            return Given() if mine else Given(("--settings", str(file)))
        case "codex":
            return Given(tuple(word for value in _codex(file) for word in ("-c", value)))
        case "gemini":
            name = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
            there = name in environ or Path("/etc/gemini-cli/system-defaults.json").exists()
            return Given() if there else Given((), {name: str(file)})
        case "opencode":
            name = "OPENCODE_CONFIG_CONTENT"
            return Given() if name in environ else Given((), {name: json.dumps({"plugin": [file.as_uri()]})})
        case _:
            return Given()


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
