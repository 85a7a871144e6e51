"""What is known of all declared commands without creating them, and what writes it: `python -m tests.kit.shell_forms`.

Their forms in the shell, and which of them are tools.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import textwrap
from pathlib import Path

from gshtui.cli import form_projection
from gshtui.commands import registry
from gshtui.commands.registry import Registry
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load

WRITTEN = Path(form_projection.__file__).with_name("declared_forms.py")
TOOLS = Path(registry.__file__).with_name("known_tools.py")
PARTS = frozenset({"store", "guard", "providers", "fleet"})
"""With these, every command is there."""


_TOOLS = '''\
"""Which commands are tools, generated from their declarations by `python -m tests.kit.shell_forms`.

A request to a model lists all tools: this way without creating them. A test checks that they match.
"""

from __future__ import annotations

# fmt: off

TOOLS = {
    # name: family, whether each request describes it
'''


async def declared(folder: Path) -> tuple[str, str]:
    """The modules with the forms and with the tools, as the commands of a hub in this folder declare them."""
    hub = build_hub(HubOptions(cwd=folder, loaded=load(folder), parts=PARTS, visiting=True))
    await hub.start()
    try:
        return form_projection.source(*form_projection.forms(hub.registry)), _tools(hub.registry)
    finally:
        await hub.stop()


def _tools(registry: Registry) -> str:
    tools = {tool.name: (tool.family, tool.always_offered) for tool in registry.tools()}
    others = sorted(name for command in registry for name in (command.name, *command.aliases) if name not in tools)
    listed = "".join(f"    {name!r}: {about!r},\n" for name, about in tools.items())
    names = textwrap.fill(", ".join(map(repr, others)), 115, initial_indent="    ", subsequent_indent="    ")
    return f"{_TOOLS}{listed}}}\nNO_TOOLS = frozenset((\n{names},\n))\n".replace("'", '"')


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        # Whoever runs this has a record and settings of their own, which have nothing to do with it.
        os.environ |= {f"XDG_{kind}_HOME": f"{name}/{kind}" for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        for path, text in zip((WRITTEN, TOOLS), asyncio.run(declared(Path(name))), strict=True):
            path.write_text(text, encoding="utf-8")
