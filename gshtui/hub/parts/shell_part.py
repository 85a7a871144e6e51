"""The part for the person's shells: what runs in them, and the changes of the project's files.

Needs the record, and refuses to start without. Started by the hub.
"""

from __future__ import annotations

from gshtui.hub.hub import Hub
from gshtui.hub.part_lifecycle import MissingPart


async def start_shell(hub: Hub) -> None:
    """Listen to shells and watch files. Raises `MissingPart`, `StoreError`."""
    if hub.store is None:
        raise MissingPart("store", "The shell log needs the record.")
    from gshtui.agents.telemetry import redactor
    from gshtui.shell.log.shell_log import make_shell_log

    sits = hub.options.keeper or (hub.options.respondent == "person" and not hub.options.visiting)
    hub.shell_log = make_shell_log(
        hub.bus,
        hub.store,
        hub.settings,
        hub.options.cwd,
        visiting=not sits,
        redact=redactor(hub.settings, hub.environ).redact,
    )
    hub.parts.stops_with("shell", hub.shell_log.stop)
    await hub.shell_log.start()
    if hub.settings.shell.watch_files and sits and not hub.options.keeper:
        from gshtui.shell.log.project_files import ProjectFiles

        files = ProjectFiles(hub.bus, hub.store, hub.project)
        files.start()
        hub.parts.stops_with("files", files.stop)
