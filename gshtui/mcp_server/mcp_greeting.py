"""What our MCP server answers to `initialize`, known before the SDK has loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import gshtui

NAME = "gsh-tui"
VERSION = gshtui.__version__
INSTRUCTIONS = """\
Agents of gsh-tui, a terminal workbench: list and read them, search the shell history and past conversations, and, \
where the person allowed it, start, prompt and interrupt agents. An agent's own questions are answered by its person."""
_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of the protocol to which the SDK agrees by this request."""


def greeting(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The result of this request, if it is a plain `initialize`; `None`: the SDK answers it."""
    params: object = request.get("params")
    if request.get("method") != "initialize" or not isinstance(params, dict):
        return None
    told = cast("dict[str, object]", params)
    client = told.get("clientInfo")
    named = isinstance(client, dict) and all(
        isinstance(cast("dict[str, object]", client).get(key), str) for key in ("name", "version")
    )
    if told.get("protocolVersion") not in _VERSIONS or not named or not isinstance(told.get("capabilities"), dict):
        return None
    return {
        "protocolVersion": told["protocolVersion"],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": NAME, "version": VERSION},
        "instructions": INSTRUCTIONS,
    }
