"""The files in which other programs keep their servers of tools (MCP)."""

from __future__ import annotations

from pathlib import Path

PROJECT_FILES = (".mcp.json", ".codex/config.toml", ".gemini/settings.json", ".vscode/mcp.json", ".cursor/mcp.json")
HOME_FILES = (
    *(".claude.json", ".codex/config.toml", ".gemini/settings.json", ".cursor/mcp.json"),
    *(".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json"),
)
"""Below the person's home."""


def has_server_files(home: Path, project: Path) -> bool:
    """Whether there is any of them. Looks at names alone."""
    return any(
        (folder / name).exists() for folder, names in ((home, HOME_FILES), (project, PROJECT_FILES)) for name in names
    )
