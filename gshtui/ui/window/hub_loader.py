"""Makes the hub of a window: imports it in a thread, reads the settings, builds it in the loop.

Owns the heavy imports, which no other file of the window may do before the first frame; refuses to start what it
built. Called by the bridge, in a worker.
"""

from __future__ import annotations

import asyncio
import os
from importlib import import_module
from typing import TYPE_CHECKING

from gshtui.ui.kit.hub_port import HubPort, OpenRequest

if TYPE_CHECKING:
    from gshtui.settings.loader import Loaded


async def make_hub(opening: OpenRequest) -> HubPort:
    """The hub for this opening, not yet started."""
    loaded = await asyncio.to_thread(_load, opening)
    from gshtui.hub.hub import Hub
    from gshtui.hub.hub_options import HubOptions

    options = HubOptions(
        cwd=opening.cwd,
        loaded=loaded,
        session=opening.session or "new",
        agent=opening.agent or "main",
        provider=opening.provider,
        model=opening.model,
        where=_where(),
    )
    return Hub(options)


def _load(opening: OpenRequest) -> Loaded:
    import_module("gshtui.hub.hub")  # here, in the thread: it takes longer than all the rest
    from gshtui.settings.loader import load

    return load(opening.cwd)


def _where() -> str:
    """This window, in words for another one that wants the same conversation."""
    try:
        return f"the window on {os.ttyname(0)}"
    except OSError:
        return "a window"
