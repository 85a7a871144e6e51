"""What is known of all declared commands without creating them, and what writes it: `python -m tests.kit.shell_forms`.

Their forms in the shell, and which of them are tools.
"""

import asyncio
import json
import os
import tempfile
from pathlib import Path

from gshtui.cli import by_hand, declared_forms, form_projection
from gshtui.commands import known_tools
from gshtui.commands.registry import Registry
from tests.kit.running_hub import running_hub

PARTS = frozenset({"store", "guard", "providers", "fleet"})
"""With these, every command is there."""


async def declared(folder: Path) -> dict[Path, str]:
    """The texts of the files of forms and of tools, as the commands of a hub in this folder declare them."""
    async with running_hub(folder, parts=PARTS, visiting=True) as hub:
        groups, forms = form_projection.forms(hub.registry)
        shell = sorted({*(form.name for form in forms), *by_hand.MODULES})
        return {
            declared_forms.FILE: form_projection.written(groups, forms),
            known_tools.FILE: _tools(hub.registry, shell),
        }


def _tools(registry: Registry, shell: list[str]) -> str:
    tools = {tool.name: (tool.family, tool.always_offered) for tool in registry.tools()}
    families = {name: command.family for command in registry for name in (command.name, *command.aliases)}
    known = {
        "tools": tools,
        "does": {tool.name: tool.does for tool in registry.tools() if tool.does},
        "others": {name: families[name] for name in sorted(families) if name not in tools},
        "shell": shell,
    }
    return json.dumps(known, indent=1) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        # Whoever runs this has a record and settings of their own, which have nothing to do with it.
        os.environ |= {f"XDG_{kind}_HOME": f"{name}/{kind}" for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        for path, text in asyncio.run(declared(Path(name))).items():
            path.write_text(text, encoding="utf-8")
