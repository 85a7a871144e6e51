"""What the face for editors brings (`settings/contract.py`)."""

from __future__ import annotations

from gshtui.settings.contract import Brought

BRINGS = (Brought("faces", "gshtui.features.acp.acp_process:serve_opening", "acp"),)
