"""The files in which other programs keep their servers of tools (MCP)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gshtui.settings import paths


class ServerFile(NamedTuple):
    """A file, and the key of the table of servers in it."""

    program: str
    path: str
    """Below the person's home, or the project."""
    key: str = "mcpServers"


IN_PROJECT = (
    ServerFile("claude", ".mcp.json"),
    ServerFile("codex", ".codex/config.toml", "mcp_servers"),
    *(ServerFile("opencode", name, "mcp") for name in ("opencode.json", "opencode.jsonc")),
    *(ServerFile("opencode", f".opencode/{name}", "mcp") for name in ("opencode.json", "opencode.jsonc")),
    ServerFile("gemini", ".gemini/settings.json"),
    ServerFile("qwen", ".qwen/settings.json"),
    *(ServerFile("crush", name, "mcp") for name in ("crush.json", ".crush.json")),
    ServerFile("vscode", ".vscode/mcp.json", "servers"),
    ServerFile("cursor", ".cursor/mcp.json"),
    ServerFile("zed", ".zed/settings.json", "context_servers"),
)
AT_HOME = (
    ServerFile("claude", ".claude.json"),
    ServerFile("codex", ".codex/config.toml", "mcp_servers"),
    *(ServerFile("opencode", f".config/opencode/{name}", "mcp") for name in ("opencode.json", "opencode.jsonc")),
    ServerFile("gemini", ".gemini/settings.json"),
    ServerFile("qwen", ".qwen/settings.json"),
    ServerFile("copilot", ".copilot/mcp-config.json"),
    ServerFile("crush", ".config/crush/crush.json", "mcp"),
    ServerFile("vscode", ".config/Code/User/mcp.json", "servers"),
    ServerFile("vscode", "Library/Application Support/Code/User/mcp.json", "servers"),
    ServerFile("cursor", ".cursor/mcp.json"),
    ServerFile("windsurf", ".codeium/windsurf/mcp_config.json"),
    ServerFile("zed", ".config/zed/settings.json", "context_servers"),
)
PROJECT_FILES = tuple(one.path for one in IN_PROJECT)


def server_files(home: Path, project: Path) -> Iterator[tuple[ServerFile, Path]]:
    """Each file with its place, whether or not it is there: the project's, then the person's."""
    yield from ((one, project / one.path) for one in IN_PROJECT)
    is_own = home == paths.home()
    yield from ((one, paths.program_file(one.path) if is_own else home / one.path) for one in AT_HOME)


def has_server_files(home: Path, project: Path) -> bool:
    """Whether there is any of them. Looks at names alone."""
    return any(place.exists() for _, place in server_files(home, project))
