"""Personas: what an agent is for, and which tools it may not use. Built in, the user's own, or a trusted project's.

A persona only narrows: it removes tools and adds text. A project's persona needs the user's trust, cannot replace
another one, and cannot choose the model that is sent the data. A bad file is skipped and reported.
"""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import msgspec

from gshtui.settings import paths, plugins, trust
from gshtui.settings.paths import definition_entries
from gshtui.settings.toml_file import load_toml
from gshtui.system.json_types import is_array, is_object
from gshtui.system.struct_types import learned
from gshtui.text.front_matter import has_front_matter, parse
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line

MAX_BYTES = 64 * 1024
MAX_FILES = 200
"""Files that are read of one folder."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_KEYS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "summary": str,
    "prompt": str,
    "tools": list,
    "read_only": bool,
    "provider": str,
    "model": str,
    "max_iterations": int,
    "budget_usd": (int, float),
}
_PROJECT_FOLDERS = (".gsh/agents", ".claude/agents", ".opencode/agent", ".opencode/agents", ".codex/agents")
"""Ours first."""
_ALSO_CALLED = {"description": "summary", "words": "prompt"}


class Persona(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an agent is for: text for its system section, and what it may not use. Narrows, never widens."""

    name: str
    summary: str = ""
    words: str = ""
    """Added to the system section."""
    tools: tuple[str, ...] = ()
    """The only tools it may use; empty: no such limit."""
    read_only: bool = False
    """Tools that only read."""
    provider: str = ""
    model: str = ""
    max_iterations: int = 0
    budget_usd: float = 0.0
    source: str = ""
    """The file it is from; empty: built in."""
    without: tuple[str, ...] = ()
    """Tools that it may not use."""


BUILT_IN: dict[str, Persona] = {
    persona.name: persona
    for persona in (
        Persona(
            "explore",
            "Answers a question; changes nothing",
            "You explore: find out what was asked, and report it with the locations (path:line). You can "
            "only read. Say what you looked at and what you did not find. You may suggest changes, but leave "
            "them to others.",
            read_only=True,
        ),
        Persona(
            "test",
            "Runs tests, says what fails and why; edits nothing",
            "You test: run the project's own tests and checks, no more of them than the question needs, and "
            "report what failed, with the message and the likely cause (path:line). You fix nothing.",
            tools=("read", "glob", "grep", "bash"),
        ),
        Persona(
            "build",
            "Makes a change with its tests, and checks it",
            "You build: make the requested change, with its tests, in the style of the surrounding code. Run "
            "the project's checks before you report; say what you ran and what the result was.",
        ),
    )
}


class Personas(msgspec.Struct):
    """The personas by name, and the problems of bad persona files."""

    found: dict[str, Persona] = msgspec.field(default_factory=lambda: dict(BUILT_IN))
    problems: list[str] = msgspec.field(default_factory=list[str])
    """One clear sentence each, with the file."""

    def get(self, name: str) -> Persona:
        """The persona of this name. Raises `KeyError`, with a sentence that names those that there are."""
        if (persona := self.found.get(name)) is not None:
            return persona
        bad = next((problem for problem in self.problems if f"/{name}." in problem), "")
        raise KeyError(f"There is no persona {name[:80]!r}. {bad or known_names('personas', self.found)}")


def is_persona_name(name: str) -> bool:
    """Whether a persona can have this name."""
    return _NAME.fullmatch(name) is not None


def load_personas(cwd: Path) -> Personas:
    """All personas for a folder. Reads files; blocks for a moment. Never raises for what a file holds."""
    personas = Personas()
    _add_plugins(personas)
    home = paths.home()
    own = {
        paths.config_dir() / "agents": False,
        paths.claude_dir() / "agents": True,
        home / ".config" / "opencode" / "agent": True,
        home / ".config" / "opencode" / "agents": True,
        home / ".codex" / "agents": True,
    }
    for folder, foreign in own.items():
        for file in _files(folder, personas):
            _add(personas, file, project=False, foreign=foreign)
    root = paths.project_root(cwd)
    _add_claude_plugins(personas, root)
    for name in _PROJECT_FOLDERS:
        if (folder := root / name) not in own and folder.is_dir():
            _add_project(personas, folder, root, foreign=name != _PROJECT_FOLDERS[0])
    return personas


def _add_project(personas: Personas, folder: Path, root: Path, *, foreign: bool) -> None:
    if trust.state(root, None) == "untrusted":
        personas.problems.append(f"{folder} is not used: this folder is not trusted; run `gsh-tui config trust`.")
        return
    for file in _files(folder, personas):
        if trust.file_state(root, file) == "trusted":
            _add(personas, file, project=True, foreign=foreign)
        else:
            said = "is not used: it is new or changed since you trusted this folder; run `gsh-tui config trust`."
            personas.problems.append(f"The persona {file} {said}")


def _add_plugins(personas: Personas) -> None:
    """The personas of approved plugins: a `Persona`, or a list of them."""
    try:
        for one in plugins.load_contributions("personas"):
            given = cast("Any", one.found)
            listed = given if is_array(given) else [given]
            known = [persona for persona in listed if isinstance(persona, Persona)]
            if one.problem or not known:
                personas.problems.append(one.problem or f"{one.name} of the plugin {one.plugin.name} is no persona.")
            for persona in known:
                if not _NAME.fullmatch(persona.name) or persona.name in personas.found:
                    said = f"The plugin {one.plugin.name} brings a persona {persona.name[:40]!r}, a name that it cannot"
                    personas.problems.append(f"{said} have.")
                    continue
                personas.found[persona.name] = msgspec.structs.replace(persona, source=f"plugin {one.plugin.name}")
    except plugins.PluginError as error:
        personas.problems.append(error.message)


def _add_claude_plugins(personas: Personas, project: Path) -> None:
    """The agents of approved plugins, which are called `plugin:agent` where there is a persona of that name."""
    approved, problems = plugins.approved_claude_plugins(project)
    personas.problems += problems
    for plugin in approved:
        for file in plugin.agents[:MAX_FILES]:
            own = Personas(found={})
            _add(own, file, project=True, foreign=True)
            personas.problems += own.problems
            for persona in own.found.values():
                name = f"{plugin.name}:{persona.name}" if persona.name in personas.found else persona.name
                words = plugin.placed(persona.words)
                personas.found.setdefault(name, msgspec.structs.replace(persona, name=name, words=words))


def _files(folder: Path, personas: Personas) -> list[Path]:
    return definition_entries(folder, lambda file: file.suffix in (".toml", ".md"), MAX_FILES, personas.problems)


def _add(personas: Personas, file: Path, *, project: bool, foreign: bool = False) -> None:
    """`foreign`: it is of another program, and is read as that reads it."""
    try:
        if file.is_symlink() and foreign and not project:
            file = file.resolve()  # the person's own, who keeps it elsewhere
        fields = _fields(file)
        persona = _foreign_persona(file, fields) if foreign else _persona(file, fields)
        if project or foreign:
            if persona.name in personas.found:
                whose = "a project" if project else "another program's"
                raise ValueError(f"there is already a persona {persona.name!r}, which {whose} cannot replace")
            if persona.provider or persona.model:
                raise ValueError("a project's persona cannot choose the provider or the model")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        personas.problems.append(f"The persona {file} is not used: {why}.")
    else:
        personas.found[persona.name] = persona


def _fields(file: Path) -> dict[str, Any]:
    if file.is_symlink() or not file.is_file():
        raise ValueError("it is a link or not a regular file")
    if (size := file.stat().st_size) > MAX_BYTES:
        raise ValueError(f"it has {size:,} bytes; the limit is {MAX_BYTES:,}")
    try:
        text = file.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8 text") from error
    if file.suffix == ".toml":
        try:
            return load_toml(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"it is not valid TOML: {error}") from error
    return _front_matter(text)


def _front_matter(text: str) -> dict[str, Any]:
    """The keys of its front matter, if any, and the text below."""
    if not has_front_matter(text):
        return {"prompt": text}
    front = parse(text)
    given = {key: _value(key, value) for key, value in front.fields.items()}
    return {"prompt": front.body.strip(), **given}


def _value(key: str, text: str | list[str]) -> Any:
    """The text's value for this key. A list of names can be separated by commas."""
    kind = _KEYS.get(_ALSO_CALLED.get(key, key))
    if isinstance(text, list):
        return text
    if kind is list:
        return [word.strip() for word in text.split(",") if word.strip()]
    if kind is bool and text in ("true", "false"):
        return text == "true"
    if kind in (int, (int, float)):
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            return text
    return text


def _persona(file: Path, fields: dict[str, Any]) -> Persona:
    given = {_ALSO_CALLED.get(key, key): value for key, value in fields.items()}
    for key, value in given.items():
        kind = _KEYS.get(key)
        if kind is None:
            raise ValueError(f"it has the unknown key {key!r}; the keys are {', '.join(_KEYS)}")
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"{key} is {value!r}, but must be {_wanted(key)}")
    tools = cast("list[Any]", given.get("tools", []))
    if not all(isinstance(tool, str) and tool for tool in tools):
        raise ValueError("tools must be a list of names")
    name = str(given.get("name", file.stem)).strip().lower()
    if not _NAME.fullmatch(name):
        raise ValueError(f"its name {name!r} must be one word of a-z, 0-9 and -")
    if min(given.get("max_iterations", 0), given.get("budget_usd", 0)) < 0:
        raise ValueError("a limit cannot be below 0")
    return msgspec.convert(
        {
            "name": name,
            "summary": given.get("summary", ""),
            "words": given.get("prompt", ""),
            "tools": tools,
            "read_only": given.get("read_only", False),
            "provider": given.get("provider", ""),
            "model": given.get("model", ""),
            "max_iterations": given.get("max_iterations", 0),
            "budget_usd": float(given.get("budget_usd", 0.0)),
            "source": str(file),
        },
        learned(Persona),
    )


def _foreign_persona(file: Path, fields: dict[str, Any]) -> Persona:
    """A subagent of Claude Code, an agent of OpenCode or of Codex. Their models are those programs' own."""
    from gshtui.tools.familiar_calls import our_tool  # few people have one

    tools = [str(word) for word in _listed(fields.get("tools"))]
    denied = _listed(fields.get("disallowedTools"))
    if tools[1::2] and set(tools[1::2]) <= {"true", "false"}:  # OpenCode names each with whether it may be used
        denied += [name for name, used in zip(tools[::2], tools[1::2], strict=False) if used == "false"]
        tools = []
    allowed = _listed(fields.get("permission"))
    denied += [name for name, answer in pairwise(allowed) if answer == "deny" and name != "*"]
    if "edit" in denied:
        denied.append("write")
    name = re.sub(r"[^a-z0-9]+", "-", str(fields.get("name") or file.stem).strip().lower()).strip("-")
    if not _NAME.fullmatch(name):
        raise ValueError(f"its name {name!r} must be one word of a-z, 0-9 and -")
    words = fields.get("developer_instructions") or fields.get("prompt") or ""
    if not isinstance(words, str) or not words.strip():
        raise ValueError("it has no text")
    reads = fields.get("sandbox_mode") == "read-only" or fields.get("permissionMode") == "plan"
    return Persona(
        name,
        one_line(str(fields.get("description") or ""), 1_000),
        words.strip(),
        tuple(dict.fromkeys(our_tool(tool) for tool in tools if tool != "*")),
        read_only=reads,
        source=str(file),
        without=tuple(dict.fromkeys(our_tool(tool) for tool in denied)),
    )


def _listed(value: object) -> list[str]:
    if isinstance(value, str):
        return [word.strip() for word in value.strip("[]").split(",") if word.strip()]
    if is_object(value):
        return [str(word) for pair in value.items() for word in pair]
    return [str(word) for word in value] if is_array(value) else []


def _wanted(key: str) -> str:
    if key == "read_only":
        return "true or false"
    names = {"tools": "a list", "max_iterations": "a whole number", "budget_usd": "a number"}
    return names.get(key, "a text")
