"""The commands on the record alone: usage, search and outputs."""

from __future__ import annotations

from gshtui.agents.usage import commands as usage_commands
from gshtui.agents.usage.commands import SyncPrograms
from gshtui.commands.registry import AnyCommand
from gshtui.context.retrieval import search_commands
from gshtui.context.retrieval.log_commands import FlushLog
from gshtui.context.retrieval.shell_summary import SyncShells
from gshtui.settings.model import Settings
from gshtui.store.record.store import Store
from gshtui.tools.shell import stored_output


def commands(
    store: Store,
    settings: Settings,
    sync_shells: SyncShells,
    sync_programs: SyncPrograms,
    flush_log: FlushLog,
) -> list[AnyCommand]:
    """Usage, search and outputs."""
    return [
        *usage_commands.commands(store, sync_programs),
        *search_commands.commands(store, settings.general.log_dir, sync_shells, flush_log),
        stored_output.command(store.outputs.get, store.outputs.folders, settings.context.max_tool_output_bytes),
    ]
