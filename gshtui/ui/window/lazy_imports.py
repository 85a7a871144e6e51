"""Imports on demand: the palette when it opens, the hub after the first frame.

Owns nothing. The app class passes these where Textual and the bridge want a function.
"""

from __future__ import annotations

import asyncio
import os
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gshtui.ui.kit.hub_port import HubPort, OpenRequest

if TYPE_CHECKING:
    from gshtui.settings.loader import Loaded


def palette_provider(name: str) -> Any:
    """A provider of the palette."""
    from gshtui.ui.window import palette

    return getattr(palette, name)


_PROVIDERS = ("ActionProvider", "CommandProvider", "ThemeProvider", "ListProvider")
PALETTE = {partial(palette_provider, name) for name in _PROVIDERS}


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
