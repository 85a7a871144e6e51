"""The mode that a program's own settings choose: where that is the stricter one, it holds, and nothing wider is passed.

Reads what each vendor documents, of the person and of the project. Where a program is not known, or its settings say
nothing, ours is passed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from gshtui.bus.agent_data import GuardMode
from gshtui.guard.modes import MODES
from gshtui.programs.codex import codex_settings
from gshtui.programs.codex.thread_modes import Permissions, permissions_in
from gshtui.programs.opencode import opencode_settings
from gshtui.programs.profiles.profile import Profile, ProgramModeRule
from gshtui.programs.profiles.program_modes import passed_rule
from gshtui.programs.profiles.settings_files import content_of, folders_above, value_at
from gshtui.programs.transcripts import claude_transcript, codex_transcript, qwen_transcript
from gshtui.programs.transcripts.transcript_readers import home_of
from gshtui.settings.git_info import find_project


class OwnMode(msgspec.Struct, frozen=True):
    """What a program's own settings choose."""

    like: GuardMode
    """Our mode that allows as much."""
    file: str
    """Which of them say so."""
    keeps: bool = False
    """It stands for more than a mode that could be passed: nothing is passed in its place."""
    codex: Permissions | None = None
    opencode: Mapping[str, object] = msgspec.field(default_factory=dict[str, object])
    """Codex's and OpenCode's own permissions, which are held to one by one."""


class PassedMode(NamedTuple):
    """How a program is started in a mode."""

    mode: GuardMode
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    by: str
    """The file of its own settings that holds; empty: ours does."""


def own_mode(profile: Profile, argv: Sequence[str], environ: Mapping[str, str], folder: Path) -> OwnMode | None:
    """What its settings choose for a start in this folder; `None`: nothing. Blocks for a moment."""
    kind = profile.hooks.kind or profile.name
    if kind == "codex":
        found = codex_settings.read(codex_transcript.root(environ, home_of(environ)), folder)
        return found and OwnMode(found.permissions.like, found.file, codex=found.permissions)
    if kind == "opencode":
        own = opencode_settings.read(environ, home_of(environ), folder)
        return own and OwnMode(own.like, own.file, opencode=own.permissions)
    if (reads := _READ.get(kind)) is None:
        return None
    files, key, likes = reads
    named = [words[1] for words in itertools.pairwise(argv) if words[0] == "--settings" and kind == "claude"]
    for file in (*(folder / each for each in named), *files(environ, home_of(environ), folder)):
        word = value_at(content_of(file), key)
        if isinstance(word, str) and word in likes:
            return OwnMode(likes[word], str(file), keeps=word in _KEPT)
    return None


def passed_mode(profile: Profile, mode: GuardMode, own: OwnMode | None) -> PassedMode:
    """The stricter of ours and the program's own, and what of it is passed."""
    rule = passed_rule(profile, mode)
    if own is None:
        return _ours(mode, rule)
    if own.codex is not None:
        return _with_codex(mode, rule, own, own.codex)
    stricter = MODES.index(own.like) < MODES.index(mode)
    if stricter or (own.keeps and own.like == mode):
        rule = None if own.keeps else passed_rule(profile, own.like)
        made = _ours(own.like, rule)._replace(by=own.file)
    else:
        made = _ours(mode, rule)
    if own.opencode:
        made = made._replace(environment=opencode_settings.narrowed(made.environment, own.opencode))
    return made


def _ours(mode: GuardMode, rule: ProgramModeRule | None) -> PassedMode:
    return PassedMode(mode, rule.arguments, rule.environment, "") if rule is not None else PassedMode(mode, (), {}, "")


def _with_codex(mode: GuardMode, rule: ProgramModeRule | None, own: OwnMode, its: Permissions) -> PassedMode:
    """Its settings hold where they are stricter; where its policy alone is as strict, only its sandbox is chosen."""
    wanted = permissions_in(rule.arguments) if rule is not None else None
    if wanted is None or MODES.index(its.like) > MODES.index(mode):
        return _ours(mode, rule)
    if its.like == mode and its != wanted and not codex_settings.fits(its.sandbox, wanted.sandbox):
        return PassedMode(mode, ("-s", wanted.sandbox), {}, own.file)
    return _ours(mode, rule) if its == wanted else PassedMode(its.like, (), {}, own.file)


_Files = Callable[[Mapping[str, str], Path, Path], Iterator[Path]]


def _claude(environ: Mapping[str, str], home: Path, folder: Path) -> Iterator[Path]:
    yield Path("/etc/claude-code/managed-settings.json")
    yield Path("/Library/Application Support/ClaudeCode/managed-settings.json")
    for each in folders_above(folder):
        yield each / ".claude/settings.local.json"
        yield each / ".claude/settings.json"
    project = find_project(folder)
    if project.worktree and project.git_dir is not None:  # of the main checkout it reads what git does not have
        yield project.git_dir.parents[2] / ".claude/settings.local.json"
    yield claude_transcript.root(environ, home) / "settings.json"


def _gemini(environ: Mapping[str, str], home: Path, folder: Path) -> Iterator[Path]:
    yield Path(environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "") or "/etc/gemini-cli/settings.json")
    yield from (each / ".gemini/settings.json" for each in folders_above(folder))
    yield Path(environ.get("GEMINI_CLI_HOME", "") or home) / ".gemini/settings.json"


def _qwen(environ: Mapping[str, str], home: Path, folder: Path) -> Iterator[Path]:
    yield Path(environ.get("QWEN_CODE_SYSTEM_SETTINGS_PATH", "") or "/etc/qwen-code/settings.json")
    yield from (each / ".qwen/settings.json" for each in folders_above(folder))
    yield qwen_transcript.root({**environ, "QWEN_RUNTIME_DIR": ""}, home) / "settings.json"


def _vibe(environ: Mapping[str, str], home: Path, folder: Path) -> Iterator[Path]:
    yield from (each / ".vibe/config.toml" for each in folders_above(folder))
    yield Path(environ.get("VIBE_HOME", "") or home / ".vibe") / "config.toml"


_READ: dict[str, tuple[_Files, str, dict[str, GuardMode]]] = {
    "claude": (
        _claude,
        "permissions.defaultMode",
        {"plan": "plan", "default": "ask", "manual": "ask", "dontAsk": "ask", "acceptEdits": "edit", "auto": "auto"},
    ),
    "gemini": (_gemini, "general.defaultApprovalMode", {"plan": "plan", "default": "ask", "auto_edit": "edit"}),
    "qwen": (_qwen, "tools.approvalMode", {"plan": "plan", "default": "ask", "auto-edit": "edit", "auto": "auto"}),
    "vibe": (_vibe, "default_agent", {"plan": "plan", "ask": "ask", "accept-edits": "edit", "smart-approve": "auto"}),
}
"""Files, those that count most first, the key in them, and our mode that each value is like."""
_KEPT = frozenset(("dontAsk",))
"""What is not allowed beforehand is refused there, which no mode of ours is like."""
