"""What the door for people elsewhere brings (`settings/contract.py`)."""

from __future__ import annotations

from gshtui.settings.contract import Brought

BRINGS = (
    Brought("faces", "gshtui.features.ssh.ssh_process:serve_people", "ssh"),
    Brought("faces", "gshtui.features.ssh.people_door:PeopleDoor", "ssh door"),
)
