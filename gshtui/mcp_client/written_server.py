"""A server as a person writes it, in a shell or a line of a window, and as the configuration then holds it: without
secrets. Pure; each function raises `UsageError`.
"""

from __future__ import annotations

from typing import Any

from gshtui.commands.declaration import UsageError
from gshtui.guard.secrets.child_environment import is_secret_variable
from gshtui.mcp_client.mcp_calls import AddServer
from gshtui.settings.setting_values import looks_secret
from gshtui.text.sanitise import literal, one_line


def written_values(wanted: AddServer) -> dict[str, Any]:
    """A server's table. Raises `UsageError`."""
    if not wanted.argv:
        raise UsageError("mcp add: the command or the address is missing.", hint="mcp add git uvx mcp-server-git")
    if wanted.argv[0].startswith("-"):
        raise UsageError(f"mcp add: there is no option {one_line(literal(wanted.argv[0]), 40)}.")
    is_address = len(wanted.argv) == 1 and wanted.argv[0].startswith(("http://", "https://"))
    values: dict[str, Any] = (
        {"url": wanted.argv[0]} if is_address else {"command": wanted.argv[0], "args": wanted.argv[1:]}
    )
    values["env"] = _pairs(wanted.env, "variable")
    values["headers"] = _pairs(wanted.header, "header")
    values["cwd"], values["hosts"], values["writable"] = wanted.cwd, wanted.host, wanted.writable
    if wanted.outside:
        values["sandbox"] = False
    if secret := next((word for word in wanted.argv if looks_secret(word)), ""):
        raise UsageError(
            f"An argument is a key ({secret[:4]}…), which the configuration must not hold.",
            hint="Write ${NAME} in its place, and put the key into that variable.",
        )
    return {name: value for name, value in values.items() if value or value is False}


def _pairs(words: list[str], kind: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"A {kind} is written as NAME=VALUE.")
        if "${" not in value and (is_secret_variable(name, value) or name.strip().lower() == "authorization"):
            raise UsageError(
                f"The {kind} {name[:40]} looks like a secret, which the configuration must not hold.",
                hint=f"Write {name.strip()[:40]}='${{NAME}}', and put the secret into that variable.",
            )
        found[name.strip()] = value
    return found
