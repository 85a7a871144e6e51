"""What our agent answers to `initialize` of the Agent Client Protocol, known before the SDK has loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import gshtui

PROTOCOL = 1
GREETING: Mapping[str, Any] = {
    "protocolVersion": PROTOCOL,
    "agentInfo": {"name": "gsh-tui", "title": "gsh-tui", "version": gshtui.__version__},
    "agentCapabilities": {
        "loadSession": True,
        "mcpCapabilities": {"http": True, "sse": False},
        "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
        "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
    },
    "authMethods": [],
}
"""Version 1, whatever the client asks for: it decides whether it goes on."""


def greeting(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The result of this request, if it is a plain `initialize`; `None`: the SDK answers it."""
    params: object = request.get("params")
    if request.get("method") != "initialize" or not isinstance(params, dict):
        return None
    version = cast("dict[str, object]", params).get("protocolVersion")
    return GREETING if isinstance(version, int) and not isinstance(version, bool) else None
