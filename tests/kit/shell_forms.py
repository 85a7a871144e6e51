"""The forms of all declared commands in the shell, and what writes them: `python -m tests.kit.shell_forms`."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from gshtui.cli import form_projection
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load

WRITTEN = Path(form_projection.__file__).with_name("declared_forms.py")
PARTS = frozenset({"store", "guard", "providers", "fleet"})
"""With these, every command is there."""


async def declared(folder: Path) -> str:
    """The module with the forms, as the commands of a hub in this folder declare them."""
    hub = build_hub(HubOptions(cwd=folder, loaded=load(folder), parts=PARTS, visiting=True))
    await hub.start()
    try:
        return form_projection.source(*form_projection.forms(hub.registry))
    finally:
        await hub.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        # Whoever runs this has a record and settings of their own, which have nothing to do with it.
        os.environ |= {f"XDG_{kind}_HOME": f"{name}/{kind}" for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        WRITTEN.write_text(asyncio.run(declared(Path(name))), encoding="utf-8")
