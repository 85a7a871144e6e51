"""What the browser brings (`settings/contract.py`)."""

from __future__ import annotations

from gshtui.settings.contract import Brought

BRINGS = (Brought("faces", "gshtui.features.web.web_process:serve_window", "web"),)
