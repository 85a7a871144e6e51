"""The hub, imported after the first frame.

Owns nothing. The app class passes this to the bridge.
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
    """The hub for this opening, not yet started: imported in a thread, built in the loop."""
    loaded = await asyncio.to_thread(_load, opening)
    from gshtui.hub.composition import build_hub
    from gshtui.hub.hub_options import HubOptions

    options = HubOptions(
        cwd=opening.cwd,
        loaded=loaded,
        session=opening.session or "new",
        agent=opening.agent or "main",
        provider=opening.provider,
        model=opening.model,
        mode=opening.mode,
        where=_where(),
    )
    return build_hub(options)


def _load(opening: OpenRequest) -> Loaded:
    import_module("gshtui.hub.composition")  # here, in the thread: it takes longer than all the rest
    from gshtui.settings.loader import load

    return load(opening.cwd)


def _where() -> str:
    """This window's description, for another one that wants the same conversation."""
    try:
        return f"the window on {os.ttyname(0)}"
    except OSError:
        return "a window"
