"""The one list of the rooms with commands, and what offers them to a registry, for the hub of a window and of
an agent. A room is loaded only when one of its commands is requested.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from gshtui.bus.bus import Bus
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.hub import command_sources
from gshtui.hub.provision import Provision
from gshtui.settings.contract import Brought, brought, how_to_switch_on
from gshtui.settings.loader import Loaded

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandboxes import Sandboxes
    from gshtui.hosts.host_link import HostLinks
    from gshtui.settings.settings_tables import Features


Room = functools.partial(Brought, "commands")
"""A module whose function `commands` makes commands, and their names."""
_FILE_TOOLS = "read glob grep cat head tail ls cd pwd write edit append mkdir rm"
_MAIL, _CALLS = "say talk wall report", "create join leave calls topic invite history"
ROOMS: Mapping[str, tuple[Brought, ...]] = {
    "hub": (
        Room("gshtui.tools.commands", f"{_FILE_TOOLS} bash git_commit git_worktree"),
        Room("gshtui.fleet.commands.status_commands", "agents who status info clear new interrupt quit exit"),
        Room("gshtui.fleet.native.commands", "spawn_agent personas"),
        Room("gshtui.agents.skills.commands", "skills"),
        Room("gshtui.commands.help_command", "help ?"),
        Room("gshtui.commands.line_commands", "echo env diff pipe exec vim"),
        Room("gshtui.commands.tool_search", "find_tool"),
        Room("gshtui.context.log.scratchpad", "think"),
        Room("gshtui.agents.commands.prompt_commands", "file init review", for_agents=False),
    ),
    "settings": (
        Room("gshtui.tools.git.hunk_commands", "hunk", for_agents=False),
        Room("gshtui.programs.commands", "profiles program_hooks hooks", for_agents=False),
        Room("gshtui.commands.config_commands", "config", for_agents=False),
        Room("gshtui.guard.commands", "guard", for_agents=False),
        Room("gshtui.context.retrieval.log_commands", "logs"),
        Room("gshtui.fleet.commands.host_commands", "host", for_agents=False),
        Room("gshtui.tools.remote.ssh_tool", "ssh"),
        Room("gshtui.fleet.keeper.keeper_commands", "hub", for_agents=False),
        Room("gshtui.mcp_client.commands", "mcp", for_agents=False),
        Room("gshtui.guard.people_commands", "people", for_agents=False),
        Room("gshtui.commands.plugin_commands", "plugins", for_agents=False),
    ),
    "models": (
        Room("gshtui.agents.commands.brief_command", "brief", for_agents=False),
        Room("gshtui.agents.commands.provider_command", "provider", for_agents=False),
        Room("gshtui.tools.code.python_commands", "python"),
    ),
    "store": (
        Room("gshtui.agents.prompts.commands", "prompt prompts", for_agents=False),
        Room("gshtui.agents.hooks.commands", "hook", for_agents=False),
        Room("gshtui.store.sessions.session_commands", "session resume", for_agents=False),
        Room("gshtui.agents.commands.queue_command", "queue", for_agents=False),
        Room("gshtui.agents.commands.rewind_commands", "rewind redo fork", for_agents=False),
        Room("gshtui.agents.commands.record_commands", "usage cost search_context search output"),
        Room("gshtui.shell.log.note_command", "note", for_agents=False),
        Room("gshtui.context.tasks.task_list", "todo"),
        Room("gshtui.context.tasks.plan_command", "plan", for_agents=False),
        Room("gshtui.agents.memory.commands", "remember forget memory"),
        Room("gshtui.agents.commands.approval_commands", "approvals permissions", for_agents=False),
    ),
    "guard": (Room("gshtui.guard.mode_commands", "mode", for_agents=False),),
    "providers": (Room("gshtui.providers.model_command", "model effort"),),
    "contexts": (
        Room(
            "gshtui.context.commands.context_commands",
            "context timeline whatif carry compact prune clear_context pin unpin restore undo tune",
        ),
    ),
    "fleet": (
        Room("gshtui.fleet.commands.agent_commands", "spawn agent", for_agents=False),
        Room("gshtui.fleet.commands.worktree_commands", "worktree"),
        Room("gshtui.fleet.mail.commands", f"{_MAIL} mail"),
        Room("gshtui.calls.commands", _CALLS),
        Room("gshtui.fleet.terminal_tools.commands", "tmux terminal"),
    ),
    "native": (
        Room("gshtui.fleet.mail.commands", _MAIL),
        Room("gshtui.calls.commands", _CALLS),
        Room("gshtui.fleet.terminal_tools.commands", "tmux terminal"),
    ),
}
"""By the part of the hub that provides what the rooms need; those of `settings` need no hub."""


def load_rooms(features: Features) -> None:
    """Load the modules of an agent's own commands. It takes long: call it in a thread before they are created.
    `features`: whether ours are on.
    """
    for room in (*_all_rooms(), *brought("commands", features)):
        if room.for_agents:
            import_module(room.value)
    for needed in ("gshtui.guard.sandbox.sandboxes", "gshtui.tools.code.python_tool"):
        import_module(needed)


def _all_rooms() -> Iterator[Brought]:
    return (room for rooms in ROOMS.values() for room in rooms)


class CommandOffers:
    """Offers the commands of the rooms to one registry, as soon as the things that they work on exist."""

    def __init__(self, registry: Registry, bus: Bus, loaded: Loaded, *, of_agent: bool = False) -> None:
        """`of_agent`: for an agent's own hub."""
        self._registry = registry
        self._of_agent = of_agent
        self._left_out: set[str] = set()
        settings = loaded.settings
        self.leave_out(
            {name for name, used in (("ssh", settings.hosts), ("python", settings.python.enabled)) if not used}
        )
        self.acting: Callable[[AnyCommand], AnyCommand] | None = None
        """Makes of a command one that acts on another machine, if it is such a one; `None`: all act on this one."""
        self.things = Provision(registry, bus, loaded, settings)
        """What the rooms need; the parts of a hub add theirs."""
        self.things.add_from(command_sources)
        self._features = settings.features
        self._started: set[str] = set()
        registry.why_absent = self._why_absent
        for one in brought("things", settings.features):
            self.things.add_later(one.name, one.load)

    def leave_out(self, families: Iterable[str]) -> None:
        """Offer none of these rooms, by the first name of each."""
        self._left_out.update(families)

    def offer(self, part: str) -> None:
        """Offer the rooms of a part, which provides what they need."""
        self._started.add(part)
        for room in (*ROOMS[part], *self._rooms_after(part)):
            names = room.name.split()
            if names[0] not in self._left_out and (room.for_agents or not self._of_agent):
                self._registry.offer(names, functools.partial(self._make, room))

    def _rooms_after(self, part: str) -> Iterator[Brought]:
        """Those of our features that have waited for this part last."""
        for one in brought("commands", self._features):
            after = one.after.split()
            if part in after and self._started.issuperset(after):
                yield one

    def _why_absent(self, name: str) -> str:
        on = [one.value for one in brought("commands", self._features)]
        for one in brought("commands"):
            if one.value not in on and name.partition(" ")[0] in one.name.split():
                return f"Its feature is switched off: {how_to_switch_on(one.feature)}"
        return ""

    def _make(self, room: Brought) -> list[AnyCommand]:
        made: list[AnyCommand] = self.things.call(room.load())
        return made if self.acting is None else [self.acting(command) for command in made]

    @property
    def sandboxes(self) -> Sandboxes:
        """The sandboxes of this hub, proven once."""
        return self.things.get(command_sources.sandboxes)

    @property
    def hosts(self) -> HostLinks:
        """The other machines of the configuration; one connection to each for all of this hub."""
        return self.things.get(command_sources.hosts)
