"""What the face for other programs brings (`settings/contract.py`)."""

from __future__ import annotations

from gshtui.settings.contract import Brought

BRINGS = (Brought("faces", "gshtui.features.mcp_server.mcp_process:serve_opening", "mcp_server"),)
