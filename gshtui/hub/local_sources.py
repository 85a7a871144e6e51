"""What commands need that is made of the settings alone, so that it is there without a hub, too."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import Noticed
from gshtui.hub.provision import Provision
from gshtui.settings import paths
from gshtui.settings.loader import Loaded

if TYPE_CHECKING:
    from collections.abc import Callable

    from gshtui.bus.agent_data import AgentRow
    from gshtui.commands.config_commands import SettingsChanged
    from gshtui.fleet.lifecycle.fleet import Fleet
    from gshtui.guard.people_commands import NamesTaken
    from gshtui.guard.sandbox.sandboxes import Sandboxes
    from gshtui.guard.secrets.redaction import Redactor
    from gshtui.hosts.host_link import HostLinks
    from gshtui.programs.check.profile_trials import Look
    from gshtui.store.record.store import Store
    from gshtui.tmux.server import PaneInfo
    from gshtui.tools.files.workspace import ToolConfig


def provide_local(things: Provision) -> None:
    """Provide all of this."""
    things.add(sandboxes, hosts, redactor, tool_config, settings_changed, names_taken, look)


def sandboxes(loaded: Loaded, bus: Bus) -> Sandboxes:
    """The sandboxes of a hub, proven once."""
    from gshtui.guard.sandbox.sandboxes import Sandboxes

    def notice(text: str) -> None:
        bus.publish(Noticed(level="warning", text=text, about="sandbox"))

    with contextlib.suppress(paths.FolderError):  # without it, no sandbox can be tried, and none is used
        paths.state_dir()
    general = loaded.settings.general
    ours = (paths.state_dir(create=False), paths.data_dir(create=False), paths.config_dir(create=False))
    own = (ours[0], general.session_dir, general.log_dir, *ours[1:])
    return Sandboxes(loaded.settings.sandbox, own, notice)


def hosts(loaded: Loaded) -> HostLinks:
    """The other machines of the configuration; one connection to each for all of a hub."""
    from gshtui.hosts.host_link import HostLinks
    from gshtui.settings.changed_settings import changed_settings

    return HostLinks(loaded.settings.hosts, paths.runtime_dir, loaded.environ, changed=changed_settings(loaded))


def redactor(loaded: Loaded) -> Redactor:
    """Takes out secrets."""
    from gshtui.agents import telemetry

    return telemetry.redactor(loaded.settings, loaded.environ)


def tool_config(loaded: Loaded, sandboxes: Sandboxes) -> ToolConfig:
    """The limits of tools."""
    from gshtui.tools.files.workspace import ToolConfig

    return ToolConfig.from_settings(loaded.settings, loaded.environ, sandboxes)


def settings_changed() -> SettingsChanged:
    """Passes changed settings on to the shells' plugins."""

    def write(loaded: Loaded) -> None:
        from gshtui.shell import plugin_files

        with contextlib.suppress(OSError):  # then they keep the previous ones
            plugin_files.write_options(loaded.settings)

    return write


def names_taken(loaded: Loaded, store: Callable[[], Store | None]) -> NamesTaken:
    """The names of who sits here and of agents, as far as the record can be read."""

    async def names() -> set[str]:
        from gshtui.calls.call_service import person_name
        from gshtui.store.engine.store_errors import StoreError

        taken, record = {person_name(loaded.settings.general.name), *loaded.settings.agents}, store()
        with contextlib.suppress(StoreError):
            rows = [] if record is None else await record.agents.find_all()
            taken |= {row.name for row in rows if not row.killed}
        return taken

    return names


def look(fleet: Callable[[], Fleet | None]) -> Look:
    """Finds an agent's row and its screen. Raises `CommandError`."""

    async def screen(agent: str) -> tuple[AgentRow, PaneInfo, tuple[str, ...]]:
        from gshtui.commands.command_errors import command_error
        from gshtui.commands.declaration import CommandError
        from gshtui.fleet.core.ports import FleetError
        from gshtui.tmux.tmux_errors import TmuxError

        if (agents := fleet()) is None:
            raise CommandError("There are no agents here.")
        try:
            row = await agents.find(agent)
            return row, *await agents.terminals.server(row.socket).capture_screen(row.pane)
        except (FleetError, TmuxError) as error:
            raise command_error(error) from error

    return screen
