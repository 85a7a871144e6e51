"""What `code` brings: its command, what edits are checked with, and what `doctor` says (`settings/contract.py`)."""

from __future__ import annotations

from gshtui.settings.contract import Brought

_HERE = "gshtui.features.code"
BRINGS = (
    Brought("commands", f"{_HERE}.commands", "code", after="hub"),
    Brought("things", f"{_HERE}.code_part:language_servers", "LanguageServers"),
    Brought("things", f"{_HERE}.code_part:change_checker", "ChangeChecker"),
    Brought("findings", f"{_HERE}.code_part:examine", "code"),
)
