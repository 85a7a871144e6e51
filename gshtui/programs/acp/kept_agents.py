"""Agents of the ACP registry that a person has installed: what starts each, at exactly its version.

A file of the data folder, beside the folders of those that come as programs. Names of the house (`acp_commands`) win.
"""

from __future__ import annotations

import msgspec

from gshtui.settings import paths
from gshtui.system.files import private_files
from gshtui.system.struct_types import learned

FILE = "acp-agents.json"
FOLDER = "acp-agents"


class KeptAgent(msgspec.Struct, frozen=True):
    """One of them."""

    version: str
    argv: tuple[str, ...]
    """With its variables before it, set by `env`."""


def kept_agents() -> dict[str, KeptAgent]:
    """All of them by name; none where the file cannot be read."""
    try:
        data = (paths.data_dir(create=False) / FILE).read_bytes()
        return msgspec.json.decode(data, type=learned(dict[str, KeptAgent]))
    except (OSError, msgspec.DecodeError, paths.FolderError):
        return {}


def keep_agent(name: str, agent: KeptAgent | None) -> None:
    """Keep one, or with `None` forget it. Raises `OSError`, `FolderError`."""
    kept = kept_agents()
    kept.pop(name, None)
    if agent is not None:
        kept[name] = agent
    private_files.write_whole(paths.data_dir() / FILE, msgspec.json.encode(kept))
