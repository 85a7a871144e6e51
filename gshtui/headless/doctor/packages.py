"""Which package manager this system has, and the exact command that installs a package with it.

Looks at the system only; installs nothing. Called by the doctor.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

_COMMANDS = {
    "apt": "apt-get install -y",
    "dnf": "dnf install -y",
    "yum": "yum install -y",
    "pacman": "pacman -S --needed",
    "zypper": "zypper install -y",
    "apk": "apk add",
    "brew": "brew install",
}
_BY_FAMILY = {
    "debian": "apt",
    "ubuntu": "apt",
    "fedora": "dnf",
    "rhel": "dnf",
    "centos": "dnf",
    "arch": "pacman",
    "suse": "zypper",
    "opensuse": "zypper",
    "alpine": "apk",
}
_PROGRAMS = {"apt": "apt-get"}


def manager(release: Path = Path("/etc/os-release"), platform: str = sys.platform) -> str:
    """The package manager's name in `_COMMANDS`; empty when none is known here."""
    if platform == "darwin":
        return "brew"
    for family in _families(release):
        if family in _BY_FAMILY:
            name = _BY_FAMILY[family]
            return "yum" if name == "dnf" and not shutil.which("dnf") and shutil.which("yum") else name
    return next((name for name in _COMMANDS if shutil.which(_PROGRAMS.get(name, name))), "")


def install(packages: Sequence[str], name: str, *, root: bool | None = None) -> str:
    """The command that installs these packages; empty when there are none, or no manager is known."""
    if not packages or name not in _COMMANDS:
        return ""
    command = f"{_COMMANDS[name]} {' '.join(packages)}"
    is_root = os.geteuid() == 0 if root is None else root
    return command if name == "brew" or is_root else f"sudo {command}"


def _families(release: Path) -> list[str]:
    """`ID` and `ID_LIKE` of the system, nearest first."""
    try:
        text = release.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    fields = dict(line.split("=", 1) for line in text.split("\n") if "=" in line and not line.startswith("#"))
    words = f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".replace('"', "").replace("'", "")
    return [word.lower().partition("-")[0] for word in words.split()]
