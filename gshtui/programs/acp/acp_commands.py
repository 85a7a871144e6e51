"""The programs that are known to speak the Agent Client Protocol, by the name that a person types.

`command_for` turns `gemini` into the command line that starts it in this protocol; any other command line is run as it
is. Looks at the PATH, and at what a person has installed of the ACP registry, each at exactly its version: a file of
the data folder beside the folders of those that come as programs. Names of the house win.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

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


KNOWN: dict[str, tuple[tuple[str, ...], ...]] = {
    "claude": (
        ("claude-agent-acp",),
        ("claude-code-acp",),
        ("npx", "-y", "@agentclientprotocol/claude-agent-acp"),
    ),
    "codex": (("codex-acp",), ("npx", "-y", "@agentclientprotocol/codex-acp")),
    "gemini": (("gemini", "--acp"), ("gemini", "--experimental-acp")),
    "qwen": tuple(("qwen", way, "--exclude-tools", "agent") for way in ("--acp", "--experimental-acp")),
    "opencode": (("opencode", "acp"),),
    "goose": (("goose", "acp"),),
    "copilot": (("copilot", "--acp"),),
}
"""The ways in which each program is started, the preferred one first; Qwen's helpers edit without asking."""
ASKING: dict[str, str] = {
    "claude": "default",
    "codex": "read-only",
    "gemini": "default",
    "qwen": "default",
    "goose": "approve",
}
"""The mode of its own in which each program asks before it acts: some begin in one in which they do not."""
STRICTER = frozenset(("plan", "dontAsk"))
"""Modes that a program's own settings may choose, in which it does no more than it would be asked for in that one."""


def command_for(argv: Sequence[str], which: Callable[[str], str | None] = shutil.which) -> tuple[str, ...]:
    """The command line that speaks the protocol, of a command line that a person typed.

    A known program's name alone gets what it needs; of several ways, the first whose program is on the PATH.
    """
    if len(argv) != 1:
        return tuple(argv)
    if (ways := KNOWN.get(argv[0])) is None:
        kept = kept_agents().get(argv[0])
        return tuple(argv) if kept is None else kept.argv
    return next((way for way in ways if which(way[0])), ways[0])


def program_name(argv: Sequence[str]) -> str:
    """A short name for the program of a command line: a known one's, else that of its file."""
    for name, ways in KNOWN.items():
        if any(tuple(argv[: len(way)]) == way for way in ways):
            return name
    return next(
        (name for name, kept in kept_agents().items() if tuple(argv) == kept.argv), Path(argv[0]).name if argv else ""
    )
