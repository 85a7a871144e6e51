"""The MCP servers that a client passes on with a session. They run as those that a project brings: once the person has
agreed to exactly this, in the sandbox, and each call past the guard. Pure.

What looks like a secret becomes a variable of this process, so that no list, question or record shows it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from gshtui.guard.secrets.child_environment import is_secret_variable
from gshtui.settings.loader import ClientServers
from gshtui.settings.setting_values import looks_secret
from gshtui.settings.settings_tables import McpServer
from gshtui.text.sanitise import literal, one_line

_FOREIGN = re.compile(r"[^A-Za-z0-9-]+")
_MOST = 50


def client_servers(passed: Sequence[Any]) -> tuple[ClientServers, list[str]]:
    """The servers as settings, and a sentence for each that cannot be used."""
    servers: dict[str, McpServer] = {}
    variables: dict[str, str] = {}
    refused: list[str] = []

    def hidden(value: str) -> str:
        variable = f"GSH_CLIENT_{hashlib.sha256(value.encode()).hexdigest()[:16].upper()}"
        variables[variable] = value
        return "${" + variable + "}"

    def put(value: str, name: str = "") -> str:
        plain = "${" not in value and not looks_secret(value) and not is_secret_variable(name, value)
        return value if plain else hidden(value)

    for one in passed[:_MOST]:
        shown = one_line(literal(one.name), 60)
        name = _FOREIGN.sub("-", one.name).strip("-")[:40]
        match getattr(one, "type", "stdio"):
            case "stdio":
                env = {each.name: put(each.value, each.name) for each in one.env}
                values = {"command": put(one.command), "args": [put(word) for word in one.args], "env": env}
            case "http":
                values = {"url": one.url, "headers": {each.name: hidden(each.value) for each in one.headers}}
            case kind:
                refused.append(f"The MCP server {shown} is not used: gsh-tui does not speak {kind} to servers.")
                continue
        if not name or name in servers:
            refused.append(f"The MCP server {shown} is not used: its name cannot be told from another's.")
            continue
        try:
            servers[name] = McpServer.model_validate(values)
        except ValidationError as error:
            why = one_line(str(error.errors()[0]["msg"]).removeprefix("Value error, "), 200)
            refused.append(f"The MCP server {shown} is not used: {why}.")
    if len(passed) > _MOST:
        refused.append(f"Only the first {_MOST} of {len(passed)} MCP servers are used.")
    return ClientServers(servers, variables), refused
