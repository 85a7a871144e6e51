"""The commands that work on the record alone, the same for a window and for an agent in its own process.

Owns the list. Called by the hub and the studio, once they have a record.
"""

from __future__ import annotations

from collections.abc import Callable

from gshtui.agents.usage import commands as usage_commands
from gshtui.agents.whose import sessions_by_agent
from gshtui.bus.bus import Bus
from gshtui.commands.registry import AnyCommand
from gshtui.context.retrieval import commands as search_commands
from gshtui.context.tasks import commands as task_commands
from gshtui.context.tasks.shelf import TaskShelf
from gshtui.settings.model import Settings
from gshtui.store.store import Store
from gshtui.tools import stored_output


def commands(bus: Bus, store: Store, settings: Settings, here: Callable[[str], str], cwd: str) -> list[AnyCommand]:
    """Usage, search, log, outputs and tasks. `here(agent)`: the conversation of an agent of this process, or empty."""
    return [
        *usage_commands.commands(store),
        *search_commands.commands(store, settings.general.log_dir),
        stored_output.command(store.output, store.output_folders, settings.context.max_tool_output_bytes),
        *task_commands.commands(TaskShelf(bus, store), sessions_by_agent(store, here, cwd)),
    ]
