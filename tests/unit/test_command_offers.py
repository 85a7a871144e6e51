"""The one list of commands: what a window's hub has, and what an agent's own process leaves out."""

import ast
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from gshtui import hub as hub_package
from gshtui.bus.bus import Bus
from gshtui.commands.registry import Registry
from gshtui.hub.command_offers import ROOMS, CommandOffers
from gshtui.hub.faces.local_commands import LocalCommands
from gshtui.settings.contract import brought
from gshtui.settings.loader import load
from tests.kit.command import environment
from tests.kit.running_hub import running_hub
from tests.kit.shell_forms import PARTS

_HUB = Path(hub_package.__file__).parent


async def test_every_room_makes_the_commands_that_the_list_names(tmp_path: Path) -> None:
    """Of what the hub provides; the registry refuses other commands."""
    async with running_hub(tmp_path, parts=PARTS, visiting=True) as hub:
        made = {name for command in hub.registry for name in (command.name, *command.aliases)}
    rooms = itertools.chain(*ROOMS.values(), brought("commands"))
    listed = {name for room in rooms for name in room.name.split()}
    assert listed - made == {"ssh"}


def _types(file: Path) -> Iterator[tuple[ast.FunctionDef, dict[str, str]]]:
    """The functions of a module, and where the names that it imports come from."""
    tree = ast.parse(file.read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    origins = {one.name: f"{node.module}.{one.name}" for node in imports for one in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node, origins


def test_an_annotation_means_one_type_everywhere() -> None:
    """What is provided is found by the name of its type alone."""
    asked: dict[str, set[str]] = {}
    for module in {room.value for room in itertools.chain(*ROOMS.values(), brought("commands"))}:
        for made, origins in _types(Path(*module.split(".")).with_suffix(".py")):
            for argument in made.args.args if made.name == "commands" else ():
                for name in re.findall(r"\w+", ast.unparse(argument.annotation or ast.Name("self"))):
                    asked.setdefault(name, set()).add(origins.get(name, f"{module}.{name}"))
    for file in _HUB.rglob("*.py"):
        for made, origins in _types(file):
            if isinstance(made.returns, ast.Name) and made.returns.id in asked:
                asked[made.returns.id].add(origins.get(made.returns.id, f"{file}"))
    builtin = {"Callable", "None", "self", "str", "bool", "int", "float"}
    assert [types for name, types in asked.items() if len(types) > 1 and name not in builtin] == []


def _offered(folder: Path, *, of_agent: bool) -> list[str]:
    registry = Registry()
    offers = CommandOffers(registry, Bus(), load(folder, flags={}), of_agent=of_agent)
    for part in ("hub", "settings", "models"):
        offers.offer(part)
    return list(registry.offered_names)


async def test_an_agents_process_leaves_out_rooms_of_the_one_list(tmp_path: Path) -> None:
    """The rest keeps its order."""
    all_of_them, agents = _offered(tmp_path, of_agent=False), _offered(tmp_path, of_agent=True)
    left_out = (
        "profiles program_hooks hooks config guard hub host hunk people plugins file init review mcp brief provider"
    )
    assert set(all_of_them) - set(agents) == set(left_out.split())
    assert agents == [name for name in all_of_them if name in agents]


_MAKES_ALL = """
import asyncio, sys
from pathlib import Path
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.hub.command_offers import ROOMS, load_rooms
from gshtui.hub.faces.local_commands import LocalCommands
from gshtui.settings.loader import load
async def make():
    hub = build_hub(HubOptions(Path.cwd(), load(Path.cwd()), parts=frozenset()))
    await hub.start()
    load_rooms(hub.settings.features)
    before = set(sys.modules)
    for room in (*ROOMS["hub"], *ROOMS["models"]):
        if room.for_agents:
            hub.registry.get(room.name.split()[0])
    print(sorted(name for name in set(sys.modules) - before if name.startswith("gshtui.")))
    await hub.stop()
asyncio.run(make())
"""


def test_the_rooms_are_loaded_before_the_commands_are_made(tmp_path: Path) -> None:
    """The loop of an agent's process waits for no module: its link to the hub speaks meanwhile."""
    words = [sys.executable, "-c", _MAKES_ALL]
    made = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"


async def test_the_rooms_of_the_settings_need_no_hub(tmp_path: Path) -> None:
    made = {name for command in LocalCommands(load(tmp_path)).registry for name in (command.name, *command.aliases)}
    assert made == {name for room in ROOMS["settings"] for name in room.name.split()} - {"ssh"}
