"""The process of an MCP server: in the sandbox where that holds, with the variables and folders of its settings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from gshtui.guard.sandbox.overlapping_runs import OverlappingRuns
from gshtui.guard.sandbox.sandbox import ProjectSandbox
from gshtui.guard.sandbox.stdio_server import FindSandbox, ServerProcess, start_server_process
from gshtui.guard.secrets.child_environment import agent_environment
from gshtui.mcp_client.server_definition import McpError, ResolvedServer, ServerDefinition
from gshtui.settings import paths
from gshtui.system.files import private_files
from gshtui.text.host_rules import HostRules
from gshtui.text.sanitise import literal, one_line

_LAUNCHERS = {
    "npm_config_cache": "npm",
    "npm_config_store_dir": "pnpm",
    "YARN_CACHE_FOLDER": "yarn",
    "BUN_INSTALL_CACHE_DIR": "bun",
    "DENO_DIR": "deno",
    "UV_CACHE_DIR": "uv",
    "UV_TOOL_DIR": "uv-tools",
    "PIPX_HOME": "pipx",
    "PIP_CACHE_DIR": "pip",
}
"""Where programs that fetch servers may write: the variable that each reads, and its folder in the scratch folder."""
LONGEST = 16 * 1024 * 1024
"""Bytes of one line of a server; a longer one is not read."""


def scratch_folder(name: str) -> Path:
    """The folder of a server's own, which it may write to in the sandbox."""
    return paths.cache_dir() / "mcp" / name


async def start_server(
    definition: ServerDefinition, resolved: ResolvedServer, environ: Mapping[str, str], find_sandbox: FindSandbox | None
) -> ServerProcess:
    """Start a server's program. Raises `McpError`: it cannot be started."""
    own = {**agent_environment(environ), **resolved.env}
    sandbox = await _sandbox(definition, find_sandbox)
    if isinstance(sandbox, ProjectSandbox):
        scratch = scratch_folder(definition.name)
        own = {**{name: str(scratch / folder) for name, folder in _LAUNCHERS.items()}, **own}
    about = f"the MCP server {definition.name}"
    try:
        return await start_server_process(resolved.argv, resolved.cwd, own, sandbox, about)
    except (OSError, ValueError) as error:
        why = (
            "No such program"
            if isinstance(error, FileNotFoundError)
            else getattr(error, "strerror", None) or str(error)
        )
        program = one_line(literal(resolved.argv[0]), 100)
        raise McpError(
            f"The MCP server {definition.name} cannot be started: {program}: {why}.",
            f"`gsh-tui mcp doctor {definition.name}` checks it.",
        ) from error


async def _sandbox(definition: ServerDefinition, find: FindSandbox | None) -> ProjectSandbox | str:
    """The sandbox of a server, or why there is none, as the end of a sentence.

    The project can be read, and written only where its settings say so; a folder of its own can be written.
    """
    if not definition.settings.sandbox:
        return "its settings say so"
    if find is None:
        return "there is no sandbox here"
    project = Path(os.path.realpath(definition.project))
    found = await find(project, "")
    if isinstance(found, str):
        return found
    return await asyncio.to_thread(_narrowed, found, definition, project)


def _narrowed(sandbox: ProjectSandbox, definition: ServerDefinition, project: Path) -> ProjectSandbox:
    scratch = scratch_folder(definition.name)
    private_files.make_folder(scratch)
    named = [Path(os.path.realpath(project / Path(word).expanduser())) for word in definition.settings.writable]
    all_of_it = project in named
    return replace(
        sandbox,
        writable=(Path(os.path.realpath(scratch)), *(path for path in named if path != project and path.is_dir())),
        read_only=not all_of_it,
        nested=tuple(one for one in sandbox.nested if one.root == project) if all_of_it else (),
        runs=OverlappingRuns(),  # it runs for hours, in which a person makes files of their own
        hosts=sandbox.hosts | HostRules.parse(definition.hosts),
    )
