"""The servers that other programs have configured, as they would be written into our configuration.

Reads their files and writes nothing. A value that is or may be a secret is not taken over: the name of a variable
stands in its place.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gshtui.guard.secrets.child_environment import is_secret_variable
from gshtui.mcp_client.mcp_calls import PROGRAMS, FoundServer
from gshtui.settings.server_files import server_files
from gshtui.settings.setting_values import looks_secret, server_name
from gshtui.settings.started_programs import McpServer
from gshtui.settings.toml_file import load_toml, read_bytes
from gshtui.system.json_types import is_array, obj

if TYPE_CHECKING:
    from gshtui.settings.claude_plugins import ClaudePlugin

_UNUSABLE = re.compile(r"[^A-Za-z0-9-]+")
_OPENCODE = re.compile(r"\{env:(\w{1,80})\}")
_INPUT = re.compile(r"\$\{input:([^}]{1,80})\}")
_WORKSPACE = "${workspaceFolder}"
Entries = Iterator[tuple[str, dict[str, Any], Path]]
"""(name, entry as it is there, file)"""


def found_servers(
    source: str, home: Path, project: Path, may_read: Callable[[Path], bool] = lambda _: True
) -> tuple[list[FoundServer], list[str]]:
    """The servers of a program, or of all, and why others are left out, a sentence each. Blocks for a moment.
    `may_read`: whether what is in a file counts.
    """
    found: dict[str, FoundServer] = {}
    skipped: list[str] = []
    for program in PROGRAMS:
        if source not in ("all", program):
            continue
        for name, entry, file in _entries(program, home, project):
            if not may_read(file):
                continue
            made = _server(name, entry, file, project)
            if isinstance(made, str):
                skipped.append(made)
            elif made.name not in found:
                found[made.name] = made
            elif found[made.name].values != made.values:
                skipped.append(
                    f"{made.name} of {file} is left out: another one of this name is taken from"
                    f" {found[made.name].source}."
                )
    return list(found.values()), skipped


def plugin_servers(plugin: ClaudePlugin, project: Path, taken: Collection[str]) -> list[FoundServer]:
    """The servers of a plugin that can be used. One whose name is taken is called `plugin-server`."""
    found: list[FoundServer] = []
    for name, entry in plugin.servers.items():
        made = _server(name, entry, plugin.folder, project)
        if not isinstance(made, str) and made.name in taken:
            made = _server(f"{plugin.name}-{name}", entry, plugin.folder, project)
        if not isinstance(made, str) and made.name not in (*taken, *(one.name for one in found)):
            found.append(made)
    return found


def _entries(program: str, home: Path, project: Path) -> Entries:
    for one, file in server_files(home, project):
        if one.program == program:
            data = _toml(file) if file.suffix == ".toml" else _json(file)
            yield from _named(data.get(one.key), file)
            if one.path == ".claude.json":
                here = obj(obj(data.get("projects")).get(str(project)))
                yield from _named(here.get("mcpServers"), file)


def _toml(file: Path) -> dict[str, Any]:
    try:
        return load_toml((read_bytes(file) or b"").decode("utf-8"))
    except (OSError, ValueError):
        return {}


def _named(servers: object, file: Path) -> Entries:
    for name, entry in obj(servers).items():
        yield name, obj(entry), file


def _texts(value: object) -> dict[str, str]:
    return {name: str(text) for name, text in obj(value).items() if isinstance(text, str | int | float)}


def _json(file: Path) -> dict[str, Any]:
    """A file of JSON, perhaps with comments; nothing where there is none that can be read."""
    try:
        raw = read_bytes(file)
        text = (raw or b"{}").decode("utf-8")
        try:
            return obj(json.loads(text))
        except ValueError:
            return obj(json.loads(without_comments(text)))
    except (OSError, ValueError, RecursionError):
        return {}


def without_comments(text: str) -> str:
    """JSON without comments and without commas before a closing bracket."""
    made: list[str] = []
    at, size = 0, len(text)
    while at < size:
        letter = text[at]
        if letter == '"':
            end = at + 1
            while end < size and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            made.append(text[at : end + 1])
            at = end + 1
        elif text.startswith("//", at):
            at = next((end for end in [text.find("\n", at)] if end >= 0), size)
        elif text.startswith("/*", at):
            at = next((end + 2 for end in [text.find("*/", at + 2)] if end >= 0), size)
        elif letter in "]}":
            while made and made[-1].isspace():
                made.pop()
            if made and made[-1] == ",":
                made.pop()
            made.append(letter)
            at += 1
        else:
            made.append(letter)
            at += 1
    return "".join(made)


def _server(name: str, entry: dict[str, Any], file: Path, project: Path) -> FoundServer | str:
    """An entry as ours, or why it cannot be, as a sentence."""
    usable = _UNUSABLE.sub("-", name).strip("-")[:40]
    try:
        server_name(usable)
    except ValueError:
        return f"{name[:40]!r} of {file} is left out: it has no name that can be used."
    entry = _usual(entry)
    notes: list[str] = [] if usable == name else [f"It is called {name[:40]!r} there."]
    values: dict[str, Any] = {}
    secrets: dict[str, str] = {}
    url = entry.get("url") or entry.get("httpUrl") or entry.get("serverUrl")
    kind = str(entry.get("type") or entry.get("transport") or "")
    if kind == "sse":
        return f"{usable} of {file} is left out: it speaks the old HTTP with SSE, which is not supported."
    if isinstance(url, str) and url:
        values["url"] = url
        headers = _texts(entry.get("headers") or entry.get("http_headers"))
        for header, variable in _texts(entry.get("env_http_headers")).items():
            headers[header] = f"${{{variable}}}"
        if isinstance(bearer := entry.get("bearer_token_env_var"), str):
            headers["Authorization"] = f"Bearer ${{{bearer}}}"
        values["headers"] = {key: _safe(key, text, usable, notes, secrets) for key, text in headers.items()}
    else:
        command = entry.get("command")
        words = [str(one) for one in command] if is_array(command) else None
        if words is None and isinstance(command, str) and command:
            words = [command]
        if not words:
            return f"{usable} of {file} is left out: it has neither a command nor an address."
        given = entry.get("args")
        words += [str(one) for one in given] if is_array(given) else []
        if secret := next((word for word in words if looks_secret(word)), ""):
            return f"{usable} of {file} is left out: its arguments hold a key ({secret[:4]}…)."
        values["command"], values["args"] = words[0], [_placed(word, project) for word in words[1:]]
        env = _texts(entry.get("env"))
        env |= {one: f"${{{one}}}" for one in cast("list[object]", entry.get("env_vars") or []) if isinstance(one, str)}
        values["env"] = {key: _safe(key, text, usable, notes, secrets) for key, text in env.items()}
        if isinstance(folder := entry.get("cwd"), str):
            values["cwd"] = _placed(folder, project)
    if entry.get("enabled") is False or entry.get("disabled") is True:
        values["enabled"] = False
    values = {key: value for key, value in values.items() if value or value is False}
    try:
        McpServer.model_validate(values)
    except ValueError as error:
        return f"{usable} of {file} is left out: {str(error).splitlines()[2].strip()[:120]}."
    return FoundServer(usable, values, str(file), tuple(notes), secrets)


def _usual(entry: dict[str, Any]) -> dict[str, Any]:
    """What OpenCode and Zed say in ways of their own, in everybody's."""
    made = obj(json.loads(_OPENCODE.sub(r"${\1}", json.dumps(entry, default=str))))
    if isinstance(given := made.get("command"), dict):  # Zed's
        command = obj(cast("object", given))
        made |= {"command": command.get("path"), "args": command.get("args"), "env": command.get("env")}
    return made if "env" in made else {**made, "env": made.get("environment")}


def _placed(text: str, project: Path) -> str:
    """The text with VS Code's word for the project put in, which is where servers start here."""
    return text.replace(_WORKSPACE, "." if text == _WORKSPACE else str(project))


def _safe(name: str, text: str, server: str, notes: list[str], secrets: dict[str, str]) -> str:
    """A value without a secret in it, which goes to `secrets` under the variable that stands in its place."""
    if asked := _INPUT.search(text):
        variable = _variable(asked[1])
        notes.append(f"Set the variable {variable}: {name} is asked for there.")
        return _INPUT.sub(f"${{{variable}}}", text)
    if "${" in text:
        return text
    scheme, _, rest = text.partition(" ")
    is_header = scheme in ("Bearer", "Basic", "token") and bool(rest)
    if looks_secret(text) or is_secret_variable(name, text) or is_header or name.lower() == "authorization":
        variable = _variable(name if name.isupper() else f"{server}_{name}")
        notes.append(f"Set the variable {variable}: the value of {name} stands in the file there and is not copied.")
        secrets[variable] = rest if is_header else text
        return f"{scheme} ${{{variable}}}" if is_header else f"${{{variable}}}"
    return text


def _variable(text: str) -> str:
    made = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").upper()
    return made if made[:1].isalpha() else f"MCP_{made}"


def shown_server(values: Mapping[str, Any]) -> str:
    line = str(values.get("url") or shlex.join([str(values.get("command", "")), *values.get("args", [])]))
    more = [f"{key}={text}" for table in ("env", "headers") for key, text in values.get(table, {}).items()]
    return " · ".join([line, *more])
