"""The one list of commands: what a window's hub has, and what an agent's own process leaves out."""

import subprocess
import sys
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.commands.registry import Registry
from gshtui.fleet.core.agent_states import AgentStates
from gshtui.hub.command_offers import LEFT_OUT_OF_AGENTS, AgentSources, CommandOffers, Spawner
from gshtui.settings.loader import load
from tests.kit.command import environment


async def _general(folder: Path, without: frozenset[str] = frozenset()) -> list[str]:
    bus, registry = Bus(), Registry()
    offers = CommandOffers(registry, bus, load(folder, flags={}), folder, without=without)
    offers.offer_general(AgentSources(AgentStates(bus)), Spawner())
    names = [command.name for command in registry]
    await bus.close()
    return names


async def test_an_agents_process_leaves_out_families_of_the_one_list(tmp_path: Path) -> None:
    """The rest keeps its order."""
    all_of_them = await _general(tmp_path)
    agents = await _general(tmp_path, LEFT_OUT_OF_AGENTS)
    left_out = {
        *(
            "profiles",
            "program_hooks",
            "config",
            "guard",
            "hub",
            "host",
            "hunk",
            "people",
            "plugins",
            "file",
            "init",
            "review",
            "mcp",
        )
    }
    assert set(all_of_them) - set(agents) == left_out
    assert agents == [name for name in all_of_them if name in agents]


_MAKES_ALL = """
import asyncio, sys, tests.unit.test_command_offers as here
from gshtui.hub.command_offers import LEFT_OUT_OF_AGENTS, load_rooms
load_rooms()
before = set(sys.modules)
asyncio.run(here._general(here.Path.cwd(), LEFT_OUT_OF_AGENTS))
print(sorted(name for name in set(sys.modules) - before if name.startswith("gshtui.")))
"""


def test_the_rooms_are_loaded_before_the_commands_are_made(tmp_path: Path) -> None:
    """The loop of an agent's process waits for no module: its link to the hub speaks meanwhile."""
    words = [sys.executable, "-c", _MAKES_ALL]
    made = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"
