"""What replay brings (`settings/contract.py`)."""

from __future__ import annotations

from gshtui.settings.contract import Brought

BRINGS = (Brought("faces", "gshtui.features.replay.replay_process:replay", "replay"),)
