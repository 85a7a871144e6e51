"""The prompts of a folder: a person's own Markdown files, those of Claude Code and Codex, and a trusted project's.

Earlier sources win, and a project replaces nothing. A bad file is reported with its reason and never stops the others.
A list that a server of tools brings is one more source (`PromptSource`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec.structs import replace

from gshtui.settings import paths, plugins, trust
from gshtui.settings.toml_file import read_bytes
from gshtui.system.expected_error import ExpectedError
from gshtui.text.front_matter import FrontMatter, FrontMatterError, has_front_matter, parse
from gshtui.text.plain_name import similar_names
from gshtui.text.sanitise import one_line, plain

MAX_BYTES = 256 * 1024
"""Of one file: more than any prompt that somebody keeps."""
AGENT_FOLDER = "@"
"""What the name of a folder begins with whose prompts are for the agent of that name alone."""
MAX_FILES = 500
"""Files that are read of one folder."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,79}")
_ARGUMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,40}")
_KEYS = frozenset(
    (
        "name",
        "description",
        "argument-hint",
        "arguments",
        "agents",
        "allowed-tools",
        "model",
        "disable-model-invocation",
    )
)
"""`allowed-tools` and `model` are Claude Code's: a file here neither allows anything nor chooses a model."""


class PromptError(ExpectedError):
    """A prompt is not available, or cannot be made. One sentence; `hint` says what to do.

    `kind`: `denied` where what it needs was not allowed.
    """

    def __init__(self, message: str, hint: str = "", *, kind: str | None = None) -> None:
        super().__init__(message, hint)
        self.kind = kind


class KeptPrompt(msgspec.Struct, frozen=True):
    """One prompt: its text with its places for arguments.

    Args:
        source: where it is from, for people: `yours`, `Claude Code`, `Codex`, `the project's`, or a server's name.
        arguments: the names of its arguments, in order; without any it has places such as `$1`.
        agents: the only agents that it is for; empty: all.
        is_of_agent: it is in the folder of that one agent.
    """

    name: str
    source: str
    body: str = ""
    file: Path | None = None
    description: str = ""
    hint: str = ""
    arguments: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    is_of_agent: bool = False
    remote: PromptSource | None = None
    """What makes its text, where that is not `body`."""


class PromptSource(Protocol):
    """Something else that has prompts, such as a server of tools. Raises `PromptError`."""

    @property
    def name(self) -> str:
        """For people, and before the names of its prompts: `NAME:prompt`."""
        ...

    async def prompts(self) -> list[KeptPrompt]:
        """Those that it has now."""
        ...

    async def text(self, prompt: KeptPrompt, arguments: Mapping[str, str]) -> str: ...


class PromptStore(msgspec.Struct):
    """The prompts by name, and one sentence for each file that cannot be used.

    `of_agents`: those of an agent's own folder, by its name and theirs; for that agent, they come before the others.
    """

    found: dict[str, KeptPrompt] = msgspec.field(default_factory=dict[str, KeptPrompt])
    of_agents: dict[tuple[str, str], KeptPrompt] = msgspec.field(default_factory=dict[tuple[str, str], KeptPrompt])
    problems: list[str] = msgspec.field(default_factory=list[str])

    @property
    def prompts(self) -> list[KeptPrompt]:
        return sorted([*self.found.values(), *self.of_agents.values()], key=lambda one: (one.name, one.agents))

    def get(self, name: str, agent: str = "") -> KeptPrompt:
        """The prompt of this name for an agent; without one, that of all agents, or else the first. Raises
        `PromptError`.
        """
        if (prompt := self.of_agents.get((agent, name)) or self.found.get(name)) is not None:
            if agent and prompt.agents and agent not in prompt.agents:
                raise PromptError(f"The prompt {name} is for {', '.join(prompt.agents)}, not for {agent}.")
            return prompt
        if others := [one for one in self.prompts if one.name == name]:
            if not agent:
                return others[0]
            theirs = ", ".join(who for one in others for who in one.agents)
            raise PromptError(f"The prompt {name} is for {theirs}, not for {agent}.")
        near = similar_names(name, {one.name for one in self.prompts}, most=2)
        bad = [problem for problem in self.problems if f"/{name}.md" in problem]
        hint = f"Did you mean {' or '.join(near)}?" if near else "`prompts ls` lists them."
        raise PromptError(f"There is no prompt {one_line(name, 80)!r}.", " ".join([*bad, hint]) if bad else hint)

    def add(self, prompt: KeptPrompt) -> None:
        """Add one, unless there is one of its name, for the same agent, already."""
        if prompt.is_of_agent:
            before = self.of_agents.setdefault((prompt.agents[0], prompt.name), prompt)
        else:
            before = self.found.setdefault(prompt.name, prompt)
        if before is not prompt:
            where = prompt.file or prompt.source
            self.problems.append(
                f"The prompt {where} is not used: there is already a prompt {prompt.name!r} ({before.source})."
            )


def read_prompts(cwd: Path, environ: Mapping[str, str]) -> PromptStore:
    """All prompts for a folder. Reads files; blocks for a moment. Never raises for what a file holds."""
    store = PromptStore()
    home = Path.home()
    claude = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(environ.get("CODEX_HOME") or home / ".codex")
    _read_folder(store, paths.config_dir(create=False) / "prompts", "yours")
    _read_folder(store, claude / "commands", "Claude Code")
    _read_folder(store, codex / "prompts", "Codex")
    root = paths.project_root(cwd)
    _read_plugins(store, root)
    theirs = [folder for folder in (root / ".gsh" / "prompts", root / ".claude" / "commands") if folder.is_dir()]
    if theirs and trust.state(root, None) == "untrusted":
        store.problems.append(f"{theirs[0]} is not used: this folder is not trusted; run `gsh-tui config trust`.")
        return store
    for folder in theirs:
        if folder != claude / "commands":
            _read_folder(store, folder, "the project's", root)
    return store


def _read_plugins(store: PromptStore, project: Path) -> None:
    """Add the commands of approved plugins, which are called `plugin:command` where there is one of that name."""
    approved, problems = plugins.approved_claude_plugins(project)
    store.problems += problems
    for plugin in approved:
        own = PromptStore()
        source = f"the plugin {plugin.name}"
        for place in plugin.commands:
            if place.is_dir():
                _read_folder(own, place, source)
            else:
                _add_file(own, place, place.parent, source)
        store.problems += own.problems
        for prompt in own.prompts:
            name = f"{plugin.name}:{prompt.name}" if prompt.name in store.found else prompt.name
            store.add(replace(prompt, name=name, body=plugin.placed(prompt.body)))


def _read_folder(store: PromptStore, folder: Path, source: str, root: Path | None = None) -> None:
    """Add the prompts of a folder; those of its folders are called `folder:name`, those of `@AGENT` are that agent's.

    `root`: of the project that must be trusted with each file.
    """
    looked = 0
    for where, folders, names in os.walk(folder):  # links to folders are not followed
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(where, name)
            if file.suffix != ".md" or name.startswith("."):
                continue
            looked += 1
            if looked > MAX_FILES:
                store.problems.append(f"{folder} has more than {MAX_FILES} prompts; the others are not read.")
                return
            _add_file(store, file, folder, source, root)


def _add_file(store: PromptStore, file: Path, folder: Path, source: str, root: Path | None = None) -> None:
    try:
        store.add(_read(file, folder, source, root))
    except (PromptError, FrontMatterError) as error:
        why = error.message if isinstance(error, PromptError) else str(error)
        store.problems.append(f"The prompt {one_line(str(file), 300)} is not used: {why.rstrip('.')}.")


def _read(file: Path, folder: Path, source: str, root: Path | None) -> KeptPrompt:
    if root is not None:
        if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root)):
            raise PromptError("a link leads out of the project")
        if trust.file_state(root, file) != "trusted":
            raise PromptError("it is new or has changed since you trusted this folder; run `gsh-tui config trust`")
    text = _text(file)
    front = parse(text) if has_front_matter(text) else FrontMatter(body=text.strip("\n"))
    unknown = sorted(set(front.fields) - _KEYS)
    if unknown and source in ("yours", "the project's"):
        raise PromptError(f"line {front.line[unknown[0]]}: there is no key {unknown[0]!r}")
    parts = file.relative_to(folder).with_suffix("").parts
    agent = parts[0][1:] if parts[0].startswith(AGENT_FOLDER) and len(parts) > 1 else ""
    name = front.text("name") or ":".join(parts[1:] if agent else parts)
    if not _NAME.fullmatch(name):
        raise PromptError(f"its name {one_line(name, 80)!r} must consist of letters, digits, and _ . : or -")
    if not front.body.strip():
        raise PromptError("it has no text")
    arguments = _names(front, "arguments")
    if wrong := next((each for each in arguments if not _ARGUMENT.fullmatch(each)), ""):
        raise PromptError(f"the argument {one_line(wrong, 60)!r} must consist of letters, digits and _")
    body = plain(front.body)
    description = front.text("description") or next(
        (line.strip("# ") for line in body.splitlines() if line.strip()), ""
    )
    return KeptPrompt(
        name,
        source,
        body,
        file,
        one_line(description, 200),
        one_line(front.text("argument-hint"), 100),
        arguments,
        (agent,) if agent else _names(front, "agents"),
        is_of_agent=bool(agent),
    )


def _names(front: FrontMatter, key: str) -> tuple[str, ...]:
    value = front.fields.get(key, "")
    words = value.strip("[]").split(",") if isinstance(value, str) else value
    return tuple(word.strip() for word in words if word.strip())


def _text(file: Path) -> str:
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise PromptError(f"it has {size:,} bytes; the limit is {MAX_BYTES:,}")
        raw = read_bytes(file)
    except OSError as error:
        raise PromptError(f"it cannot be read: {error.strerror or error}") from error
    try:
        text = (raw or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise PromptError("it is not UTF-8 text") from error
    if "\0" in text:
        raise PromptError("it is not a text file")
    return text
