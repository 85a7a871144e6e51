"""The servers that agents can use: of the settings, of the client of this process, and of other programs' files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from gshtui.mcp_client.server_definition import ServerDefinition, ServerSource
from gshtui.settings import paths, plugins, trust
from gshtui.settings.loader import Loaded
from gshtui.settings.server_files import has_server_files
from gshtui.settings.started_programs import McpServer


def configured_servers(loaded: Loaded) -> list[ServerDefinition]:
    """The servers of the settings, and those of the client that have no name of one of them.

    Those that a key of the project's file is about are the project's.
    """
    projects = {
        key.split(".")[2]
        for key, origin in loaded.origins.items()
        if key.startswith("mcp.servers.") and origin.layer == "project"
    }
    servers = {**loaded.client.servers, **loaded.settings.mcp.servers}

    def source(name: str) -> ServerSource:
        if name not in loaded.settings.mcp.servers:
            return "editor"
        return "project" if name in projects else "yours"

    ours = [ServerDefinition(name, server, loaded.project, source(name)) for name, server in servers.items()]
    return sorted((*ours, *_of_programs(loaded.project, servers)), key=lambda one: one.name)


def _of_programs(project: Path, taken: Collection[str]) -> list[ServerDefinition]:
    """The servers in other programs' files and approved plugins, but for names that are taken.

    A project's file must be trusted as it is.
    """
    home = paths.home()
    if not has_server_files(home, project) and not plugins.has_claude_plugins():
        return []
    from gshtui.mcp_client.import_sources import found_servers, plugin_servers  # few people have such a file

    made: list[ServerDefinition] = []
    for one in found_servers("all", home, project, may_read=lambda file: _is_obeyed(file, project))[0]:
        if one.name not in taken:
            settings, inside = McpServer.model_validate(one.values), Path(one.source).is_relative_to(project)
            mine = None if inside and project != home else home
            made.append(ServerDefinition(one.name, settings, project, "program", one.source, one.secrets, mine))
    for plugin in plugins.approved_claude_plugins(project)[0]:
        for one in plugin_servers(plugin, project, {*taken, *(each.name for each in made)}):
            settings = McpServer.model_validate(one.values)
            made.append(ServerDefinition(one.name, settings, project, "program", one.source, one.secrets, home))
    return made


def untrusted_files(project: Path) -> tuple[str, ...]:
    """The project's files that name servers and do not count, since nobody has trusted them as they are."""
    home = paths.home()
    if not has_server_files(home, project):
        return ()
    from gshtui.mcp_client.import_sources import found_servers

    refused: dict[str, None] = {}

    def may_read(file: Path) -> bool:
        if not (obeyed := _is_obeyed(file, project)):
            refused[str(file.relative_to(project))] = None
        return obeyed

    found_servers("all", home, project, may_read=may_read)
    return tuple(refused)


def _is_obeyed(file: Path, project: Path) -> bool:
    """Whether another program's file counts: a person's own does, a project's once it is trusted as it is."""
    if project == paths.home() or not file.is_relative_to(project):
        return True
    return trust.state(project, None) != "untrusted" and trust.file_state(project, file) == "trusted"
