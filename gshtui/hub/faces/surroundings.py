"""Whether this process can do something for a face as the face would do it itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from gshtui.hub.hub import Hub
from gshtui.settings import paths
from gshtui.settings.loader import Loaded
from gshtui.system.processes import process_limits

_SHARED = ("tmux", "store")
"""The settings that a face must share with the host; and where the record is."""


def other_place(cwd: str, environ: Mapping[str, str]) -> str:
    """Why a face's folder, or the folders of its program, are not to be had here; empty: they are."""
    if any(os.environ.get(name, "") != environ.get(name, "") for name in paths.VARIABLES):
        return "it is about other folders"
    folder = Path(cwd)
    return "" if folder.is_absolute() and folder.is_dir() else "its folder is gone"


class Surroundings(Protocol):
    """What a face passes on to what it starts."""

    @property
    def cwd(self) -> str: ...
    @property
    def environ(self) -> Mapping[str, str]: ...
    @property
    def umask(self) -> int: ...
    @property
    def limits(self) -> list[tuple[int, int]]: ...


def difference(host: Hub, there: Surroundings, loaded: Loaded) -> str:
    """Why what the face asks would be another thing here; empty: it would not. `loaded`: the settings there."""
    if why := other_place(there.cwd, there.environ):
        return why
    ours = host.settings
    if process_limits.unable_to_give(there.limits):
        return "it has higher limits"
    if loaded.settings.general.session_dir != ours.general.session_dir:
        return "it has another record"
    if any(getattr(loaded.settings, table) != getattr(ours, table) for table in _SHARED):
        return "it has other settings"
    return ""
