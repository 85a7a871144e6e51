"""The MCP registry: servers found by words, and one of them as what would be written into the configuration.

What it says is only shown and checked: a name and version that are exactly a package's, else nothing is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from gshtui.mcp_client.mcp_calls import AddServer, RegistryServer
from gshtui.mcp_client.server_definition import McpError
from gshtui.settings.setting_values import server_name
from gshtui.system.json_types import is_array, obj, parse_foreign_json, seq
from gshtui.system.network.downloads import DownloadError, download
from gshtui.text.sanitise import one_line, plain

_WITHIN = 20.0
_LARGEST = 4_000_000
MOST = 30
"""Servers of one search."""
_NAME = re.compile(r"[A-Za-z0-9.-]{1,200}/[A-Za-z0-9._-]{1,200}")
_PACKAGE = {
    "npm": re.compile(r"(?:@[a-z0-9-~][a-z0-9-._~]{0,100}/)?[a-z0-9-~][a-z0-9-._~]{0,200}"),
    "pypi": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,200}[A-Za-z0-9])?"),
}
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+_-]{0,100}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}")
Table = Mapping[str, Any]


def is_registry_name(name: str) -> bool:
    """Whether this is a name as the registry gives them, such as `io.github.someone/server`."""
    return _NAME.fullmatch(name) is not None


async def search(registry: str, word: str) -> list[RegistryServer]:
    """The newest version of each server that the word finds. Raises `McpError`."""
    address = f"{registry}/v0.1/servers?search={quote(word, safe='')}&version=latest&limit={MOST}"
    listed = obj(await _got(address)).get("servers")
    found: list[RegistryServer] = []
    for each in listed if is_array(listed) else []:
        server = obj(obj(each).get("server"))
        if is_registry_name(name := str(server.get("name") or "")):
            found.append(
                RegistryServer(
                    name, _line(server.get("version"), 40), _line(server.get("description"), 200), _ways(server)
                )
            )
    return found[:MOST]


async def server_of(registry: str, name: str) -> AddServer:
    """What adds a server of the registry, with exactly its newest version. Raises `McpError`."""
    answer = obj(await _got(f"{registry}/v0.1/servers/{quote(name, safe='')}/versions/latest"))
    server = obj(answer.get("server"))
    local = re.sub(r"[^A-Za-z0-9-]+", "-", name.rpartition("/")[2]).strip("-")[:40]
    try:
        server_name(local)
    except ValueError:
        local = f"mcp-{local}"[:40]
    problems: list[str] = []
    for package in map(obj, seq(server.get("packages"))):
        made = _of_package(local, package)
        if isinstance(made, AddServer):
            return made
        problems.append(made)
    for remote in map(obj, seq(server.get("remotes"))):
        url = str(remote.get("url") or "")
        if remote.get("type") == "streamable-http" and url.startswith("https://") and "{" not in url:
            return AddServer(name=local, argv=[url], header=_named(remote.get("headers"), problems))
        problems.append("its address needs values, or speaks the old HTTP with SSE")
    why = "; ".join(dict.fromkeys(problems)) or "the registry knows no package and no address of it"
    raise McpError(f"The server {name} cannot be added by its name: {why}.", "`mcp add NAME COMMAND…` adds it by hand.")


def _of_package(local: str, package: Table) -> AddServer | str:
    """A package as a command that runs exactly its version, or why it cannot be one."""
    kind, name, version = (str(package.get(key) or "") for key in ("registryType", "identifier", "version"))
    if kind not in _PACKAGE:
        return f"a package of the kind {_line(kind, 20)!r} is not run here"
    if not _PACKAGE[kind].fullmatch(name) or not _VERSION.fullmatch(version):
        return "its package has no exact name and version"
    if str(obj(package.get("transport")).get("type") or "stdio") != "stdio":
        return "its package does not speak over standard input and output"
    if package.get("registryBaseUrl") not in (None, "", "https://registry.npmjs.org", "https://pypi.org"):
        return "its package is in another registry"
    words: list[str] = []
    for argument in map(obj, seq(package.get("packageArguments"))):
        value = argument.get("value", argument.get("default"))
        if value is None or "{" in str(value):
            if argument.get("isRequired"):
                return f"it needs a value for {_line(argument.get('name') or argument.get('valueHint'), 40)}"
            continue
        words += [str(argument["name"])] if argument.get("type") == "named" and argument.get("name") else []
        words.append(plain(str(value)))
    problems: list[str] = []
    env = _named(package.get("environmentVariables"), problems)
    if problems:
        return problems[0]
    launcher = ["npx", "-y"] if kind == "npm" else ["uvx"]
    return AddServer(name=local, argv=[*launcher, f"{name}@{version}", *words], env=env)


def _named(listed: object, problems: list[str]) -> list[str]:
    """Variables or headers as NAME=VALUE; what the person has to give is taken from a variable of theirs."""
    found: list[str] = []
    for one in map(obj, seq(listed)):
        name, value = str(one.get("name") or ""), one.get("value", one.get("default"))
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", name):
            problems.append("it wants a variable whose name is none")
            continue
        if isinstance(value, str) and value and "{" not in value and "$" not in value and not one.get("isSecret"):
            found.append(f"{name}={plain(value)}")
        elif one.get("isRequired") or one.get("isSecret"):
            variable = name if _VARIABLE.fullmatch(name) else re.sub(r"[^A-Za-z0-9]+", "_", name).upper()
            found.append(f"{name}=${{{variable}}}" if one.get("isRequired") else f"{name}=${{{variable}:-}}")
    return found


def _ways(server: Table) -> str:
    """How it comes, in a few words."""
    kinds = [str(one.get("registryType") or "") for one in map(obj, seq(server.get("packages")))]
    kinds += ["address"] if seq(server.get("remotes")) else []
    return _line(", ".join(dict.fromkeys(kind for kind in kinds if kind)), 60)


def _line(value: object, most: int) -> str:
    return one_line(plain(str(value or "")), most)


class UnreachableError(McpError):
    """The registry was not reached, which scripts tell from all else by the exit code."""


async def _got(address: str) -> object:
    try:
        shown = one_line(plain(address), 200)
        return parse_foreign_json(await download(address, largest=_LARGEST, within=_WITHIN, shown=shown))
    except DownloadError as error:
        if error.status == 404:
            raise McpError("The registry has no server of this name.", "`mcp search WORD` finds some.") from error
        kind = UnreachableError if error.status == 0 or error.status >= 500 else McpError
        raise kind(f"The registry cannot be asked: {error.message}") from error
    except (ValueError, RecursionError) as error:
        raise McpError(f"The registry's answer is no JSON: {one_line(plain(str(error)), 200)}.") from error
